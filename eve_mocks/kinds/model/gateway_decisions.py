"""Vercel AI Gateway: decision models, which answer questions about a state, such as those of eve's judge.

``questions`` are named, and an entry answers them by these names, in short or as the gateway itself does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eve_mocks.kinds.model.bodies import body_of, dig, objects
from eve_mocks.kinds.model.gateway import failed, model_named_in, told_names
from eve_mocks.kinds.model.turn import Asked, Message, json_text
from eve_mocks.model import BadRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.kinds.model.turn import Chunk, Failure, Turn
    from eve_mocks.model import Request
    from eve_mocks.response import Json

# What a request is called that has no name of its own, after the names of its questions.
NAME = "decision"
_REFUSED: Mapping[str, Json] = {"type": "refusal"}


class _Decisions:
    takes_entry = True

    def read(self, request: Request, params: Mapping[str, str]) -> Asked:  # noqa: ARG002 - the headers tell the model
        body = body_of(request)
        questions = body.get("questions")
        if not isinstance(questions, dict) or not questions:
            raise BadRequest("the body has no questions")
        return Asked(
            body=body,
            model=model_named_in(request, "ai-model-id", "ai-decision-model-id"),
            names=(*told_names(request, body), *questions, NAME),
            messages=(Message(role="user", content="\n".join(_texts(body, questions))),),
        )

    def unscripted(self, asked: Asked) -> None:  # noqa: ARG002 - without a script there is no answer
        return None

    def whole(self, asked: Asked, turn: Turn) -> Json:
        usage = {"inputTokens": turn.usage.input, "outputTokens": turn.usage.output}
        return {"answers": answers(asked.body["questions"], turn), "model": asked.model, "usage": usage, "warnings": []}

    def stream(self, asked: Asked, turn: Turn) -> Iterator[Chunk]:  # noqa: ARG002 - it is told whole
        return iter(())

    def failed(self, failure: Failure) -> Json:
        return failed(failure)


API = _Decisions()


def answers(questions: Mapping[str, Json], turn: Turn) -> dict[str, Json]:
    """The answers by the names of their questions. A value that names none of them is that of each."""
    if turn.refusal is not None:
        return {name: dict(_REFUSED) for name in questions}
    value = turn.text if turn.value is None else turn.value
    if isinstance(value, dict) and isinstance(value.get("answers"), dict) and "answers" not in questions:
        value = value["answers"]
    if not isinstance(value, dict) or not (value.keys() & questions.keys()):
        value = dict.fromkeys(questions, value)
    return {name: _answer(dig(questions.get(name), "type"), given) for name, given in value.items()}


def _answer(type_: Json, given: Json) -> Json:
    """An answer in full. What does not fit its question is left for the client to refuse."""
    if isinstance(given, dict):
        return given if "type" in given or type_ is None else {"type": type_, **given}
    if given is None or given == "null":
        return dict(_REFUSED)
    if type_ == "boolean":
        return {"type": type_, "probability": float(given) if isinstance(given, bool) else given}
    key = {"choice": "choice", "score": "score", "box": "box"}.get(str(type_), "value")
    return {"type": type_, key: given}


def _texts(body: dict[str, Json], questions: Mapping[str, Json]) -> Iterator[str]:
    for part in objects(body.get("stateParts")):
        yield part["text"] if isinstance(part.get("text"), str) else json_text(part.get("value"))
    for name, question in questions.items():
        asked = dig(question, "instructions")
        yield f"{name}: {asked if isinstance(asked, str) else json_text(asked)}"
