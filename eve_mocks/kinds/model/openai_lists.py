"""OpenAI's embeddings and lists of models (OpenAI API reference, Embeddings and Models)."""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING

from eve_mocks.errors import as_written
from eve_mocks.kinds.model.bodies import body_of, header_names, model_of
from eve_mocks.kinds.model.openai_chat import failed
from eve_mocks.kinds.model.plain import Plain, about_models
from eve_mocks.kinds.model.tokens import tokens_of
from eve_mocks.kinds.model.turn import CREATED, Asked, Message, Turn, Usage
from eve_mocks.kinds.model.vectors import unit_vector, vectors
from eve_mocks.model import BadRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eve_mocks.kinds.model.turn import Chunk, Failure
    from eve_mocks.model import Request
    from eve_mocks.response import Json

# Those of text-embedding-3-small and of its forerunner.
_DIMENSIONS = 1536
# More than any model has: what is larger is a mistake.
_MOST = 16_384


class _Embeddings:
    takes_entry = True

    def read(self, request: Request, params: Mapping[str, str]) -> Asked:
        body = body_of(request)
        dimensions = body.get("dimensions")
        if dimensions is not None and not (_is_whole(dimensions) and 1 <= dimensions <= _MOST):
            raise BadRequest(f"dimensions is {as_written(dimensions)}, not a number from 1 to {_MOST}")
        return Asked(
            body=body,
            model=model_of(body, params),
            names=header_names(request),
            messages=tuple(Message(role="user", content=text) for text in _inputs(body.get("input"))),
        )

    def unscripted(self, asked: Asked) -> Turn:
        count = asked.body.get("dimensions") or _DIMENSIONS
        usage = Usage(input=tokens_of(message.content for message in asked.messages))
        return Turn(id="", value=[unit_vector(message.content, count) for message in asked.messages], usage=usage)

    def whole(self, asked: Asked, turn: Turn) -> Json:
        told = _as_text if asked.body.get("encoding_format") == "base64" else _as_numbers
        return {
            "object": "list",
            "model": asked.model,
            "data": [
                {"object": "embedding", "index": index, "embedding": told(vector)}
                for index, vector in enumerate(vectors(turn.value, len(asked.messages)))
            ],
            "usage": {"prompt_tokens": turn.usage.input, "total_tokens": turn.usage.input},
        }

    def stream(self, asked: Asked, turn: Turn) -> Iterator[Chunk]:  # noqa: ARG002 - it is told whole
        return iter(())

    def failed(self, failure: Failure) -> Json:
        return failed(failure)


def _inputs(given: Json) -> list[str]:
    """The texts, or the tokens of each as a text. Raises ``BadRequest``."""
    inputs = given if isinstance(given, list) and not _are_tokens(given) else [given]
    if not inputs or not all(isinstance(one, str) or _are_tokens(one) for one in inputs):
        raise BadRequest("input is neither a text, nor a list of texts, nor tokens")
    return [one if isinstance(one, str) else " ".join(map(str, one)) for one in inputs]


def _are_tokens(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_whole, value))


def _is_whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _as_bytes(vector: Sequence[float]) -> bytes:
    """Floats of 32 bits, the first byte the lowest."""
    return struct.pack(f"<{len(vector)}f", *vector)


def _as_text(vector: Sequence[float]) -> Json:
    return base64.b64encode(_as_bytes(vector)).decode()


def _as_numbers(vector: Sequence[float]) -> Json:
    """Exactly those that the text has."""
    return list(struct.unpack(f"<{len(vector)}f", _as_bytes(vector)))


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "eve-mocks"}


def _list(asked: Asked) -> Json:
    return {"object": "list", "data": [_model(name) for name in asked.body["models"]]}


EMBEDDINGS = _Embeddings()
MODELS = Plain(asks=about_models, tells=_list, fails=failed)
# Whichever is asked for: a script may be by the name of a request, and then serves any model.
MODEL = Plain(asks=about_models, tells=lambda asked: _model(asked.model), fails=failed)
