"""Vercel AI Gateway: which models there are, and embeddings.

eve compiles an agent only with a model that is in the catalog. So the catalog has each name that the mock knows, those
without a provider under every provider, as a script by the model's plain name serves them all.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from eve_mocks.kinds.model.bodies import body_of
from eve_mocks.kinds.model.gateway import failed, model_named_in, told_names
from eve_mocks.kinds.model.plain import Plain, about_models
from eve_mocks.kinds.model.tokens import tokens_of
from eve_mocks.kinds.model.turn import CREATED, Asked, Message, Turn, Usage
from eve_mocks.kinds.model.vectors import unit_vector, vectors
from eve_mocks.model import BadRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.kinds.model.turn import Chunk, Failure
    from eve_mocks.model import Request
    from eve_mocks.response import Json

# The makers of models that the gateway has most of.
_CREATORS = (
    *("openai", "anthropic", "google", "xai", "meta", "mistral", "deepseek", "alibaba", "amazon", "cohere"),
    *("moonshotai", "zai", "minimax", "perplexity", "nvidia", "vercel"),
)
# So large that no conversation of a test is shortened for it.
_CONTEXT = 1_000_000
_OUTPUT = 128_000
_DIMENSIONS = 1536


def _catalog(asked: Asked) -> Json:
    slugs = dict.fromkeys(slug for name in asked.body["models"] for slug in _slugs(name))
    return {"models": [_in_catalog(*slug.split("/", 1)) for slug in slugs], "providerAliases": {}}


def _slugs(name: str) -> Iterator[str]:
    if "/" in name.strip("/"):
        yield name
    else:
        yield from (f"{creator}/{name}" for creator in _CREATORS)


def _in_catalog(creator: str, model: str) -> dict[str, Json]:
    limits = {"contextWindowTokens": _CONTEXT, "maxOutputTokens": _OUTPUT}
    return {
        "slug": f"{creator}/{model}",
        "providers": [{"provider": creator, "providerModelId": model, **limits}],
    }


def _config(asked: Asked, version: str) -> Json:
    return {
        "models": [
            {
                "id": name,
                "name": name,
                "specification": {
                    "specificationVersion": version,
                    "provider": name.partition("/")[0],
                    "modelId": name,
                },
                "modelType": "language",
            }
            for name in asked.body["models"]
        ]
    }


def _list(asked: Asked) -> Json:
    return {
        "object": "list",
        "data": [
            {
                "id": name,
                "object": "model",
                "created": CREATED,
                "owned_by": name.partition("/")[0],
                "name": name,
                "type": "language",
                "context_window": _CONTEXT,
                "max_tokens": _OUTPUT,
            }
            for name in asked.body["models"]
        ],
    }


CATALOG = Plain(asks=about_models, tells=_catalog, fails=failed)
MODELS = Plain(asks=about_models, tells=_list, fails=failed)
CONFIG = {
    version: Plain(asks=about_models, tells=functools.partial(_config, version=version), fails=failed)
    for version in ("v2", "v3", "v4")
}


class _Embeddings:
    takes_entry = True

    def read(self, request: Request, params: Mapping[str, str]) -> Asked:  # noqa: ARG002 - the headers tell the model
        body = body_of(request)
        given = body.get("values", body.get("input"))  # as versions 4 and 3 say it, and version 2
        values = [given] if isinstance(given, str) else given
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise BadRequest("the body has no values")
        return Asked(
            body=body,
            model=model_named_in(request, "ai-model-id", "ai-embedding-model-id"),
            names=told_names(request, body),
            messages=tuple(Message(role="user", content=value) for value in values),
        )

    def unscripted(self, asked: Asked) -> Turn:
        dimensions = asked.body.get("dimensions")
        count = dimensions if isinstance(dimensions, int) and 0 < dimensions <= _CONTEXT else _DIMENSIONS
        usage = Usage(input=tokens_of(message.content for message in asked.messages))
        return Turn(id="", value=[unit_vector(message.content, count) for message in asked.messages], usage=usage)

    def whole(self, asked: Asked, turn: Turn) -> Json:
        found = vectors(turn.value, len(asked.messages))
        return {"embeddings": found, "usage": {"tokens": turn.usage.input}, "warnings": []}

    def stream(self, asked: Asked, turn: Turn) -> Iterator[Chunk]:  # noqa: ARG002 - it is told whole
        return iter(())

    def failed(self, failure: Failure) -> Json:
        return failed(failure)


EMBEDDINGS = _Embeddings()
