"""Gemini: ``models/M:generateContent`` and its kin (Gemini API reference), with token counting and lists of models."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from eve_mocks.kinds.model.bodies import body_of, dig, header_names, objects, only, texts
from eve_mocks.kinds.model.plain import Plain, about_models
from eve_mocks.kinds.model.tokens import tokens_of
from eve_mocks.kinds.model.turn import Asked, Chunk, Failure, Message, Turn, Usage, json_text, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.model import Request
    from eve_mocks.response import Json

# The `status` of an error by its code: the names of google.rpc.Code that a client meets.
_STATUSES = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}
_HUMP = re.compile(r"(?=[A-Z])")
_SCHEMAS = ("responseSchema", "responseJsonSchema")
_PARAMETERS = ("parameters", "parametersJsonSchema")


def failed(failure: Failure) -> Json:
    """An error of any of Gemini's operations."""
    usual = "INTERNAL" if failure.status >= 500 else "INVALID_ARGUMENT"
    status = failure.name or _STATUSES.get(failure.status, usual)
    error: dict[str, Any] = {"code": failure.status, "message": failure.message, "status": status}
    if failure.code is not None:
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": failure.code, "domain": "eve-mocks"}
        error["details"] = [info]
    return {"error": error}


def under(value: Json, *names: str) -> Json:
    """What is under names within each other; also where they are written in snake case (ProtoJSON, Parsing)."""
    for name in names:
        found = dig(value, name)
        value = dig(value, _HUMP.sub("_", name).lower()) if found is None else found
    return value


def said(content: Json) -> str:
    """The text of a content; what is no text by its kind."""
    return "\n".join(map(_part, _parts(content)))


def _parts(content: Json) -> list[dict[str, Json]]:
    parts = dig(content, "parts")
    return objects(parts if isinstance(parts, list) else [parts])


def _part(part: dict[str, Json]) -> str:
    if isinstance(part.get("text"), str):
        return str(part["text"])
    media = under(part, "inlineData", "mimeType") or under(part, "fileData", "mimeType")
    if isinstance(media, str):
        return f"[{media.partition('/')[0]}]"
    return f"[{next(iter(part), 'part')}]"


def _schema_of(holder: Json, names: tuple[str, ...]) -> Json:
    return next((found for name in names if (found := under(holder, name)) is not None), None)


def _functions(body: dict[str, Json]) -> list[dict[str, Json]]:
    return [one for tool in objects(body.get("tools")) for one in objects(under(tool, "functionDeclarations"))]


def _read(request: Request, params: Mapping[str, str]) -> Asked:
    body = body_of(request)
    functions = _functions(body)
    tools = texts([function.get("name") for function in functions])
    calling = under(body, "toolConfig", "functionCallingConfig")
    allowed = under(calling, "allowedFunctionNames")
    forced = None
    if under(calling, "mode") == "ANY":
        forced = only(texts(allowed) if isinstance(allowed, list) and allowed else tools)
    schema = _schema_of(under(body, "generationConfig"), _SCHEMAS)
    if schema is None and forced is not None:
        schema = next((_schema_of(one, _PARAMETERS) for one in functions if one.get("name") == forced), None)
    title = dig(schema, "title")
    return Asked(
        body=body,
        model=unquote(params["model"]),
        names=header_names(request),
        schema_name=title if isinstance(title, str) else None,
        schema=schema,
        tools=tools,
        forced=forced,
        messages=tuple(_messages(body)),
    )


def _messages(body: dict[str, Json]) -> Iterator[Message]:
    if (system := under(body, "systemInstruction")) is not None:
        yield Message(role="system", content=said(system))
    contents = body.get("contents")
    for content in objects(contents if isinstance(contents, list) else [contents]):
        rest: list[Json] = []
        for part in _parts(content):
            if (result := under(part, "functionResponse")) is not None:
                yield Message(role="tool", content=json_text(dig(result, "response")))
            else:
                rest.append(part)
        if rest:
            yield Message(role=str(content.get("role", "user")), content=said({"parts": rest}))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """Both ways to generate. A stream is one of events only where the query asks for it, else a JSON array."""

    takes_entry = True
    is_stream: bool = False

    def read(self, request: Request, params: Mapping[str, str]) -> Asked:
        return dataclasses.replace(_read(request, params), streams=self.is_stream and request.query.get("alt") == "sse")

    def unscripted(self, asked: Asked) -> None:  # noqa: ARG002 - without a script there is no answer
        return None

    def whole(self, asked: Asked, turn: Turn) -> Json:
        if self.is_stream:
            return [chunk.data for chunk in self.stream(asked, turn)]
        parts = [{"text": turn.text}] if turn.text is not None else []
        return _ended(asked, turn, [*parts, *_calls(turn)])

    def stream(self, asked: Asked, turn: Turn) -> Iterator[Chunk]:
        chunks: list[list[Json]] = [[{"text": piece}] for piece in pieces(turn.text or "")]
        if turn.tools:
            chunks.append(_calls(turn))
        *before, last = chunks or [[{"text": ""}]]
        if turn.failure is not None:
            before.append(last)
        for parts in before:
            candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
            yield Chunk(_response(asked, turn, candidate), is_paced=True)
        ended = failed(turn.failure) if turn.failure is not None else _ended(asked, turn, last)
        yield Chunk(ended, is_paced=turn.failure is None)

    def failed(self, failure: Failure) -> Json:
        return failed(failure)


def _calls(turn: Turn) -> list[Json]:
    return [{"functionCall": {"id": use.id, "name": use.name, "args": use.input}} for use in turn.tools]


def _response(asked: Asked, turn: Turn, candidate: Json) -> dict[str, Json]:
    return {"candidates": [candidate], "modelVersion": asked.model, "responseId": turn.id}


def _ended(asked: Asked, turn: Turn, parts: list[Json]) -> Json:
    """The last that is told of a turn. What is refused comes without content."""
    candidate: dict[str, Json] = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    if turn.refusal is not None:
        candidate = {"finishReason": "SAFETY", "finishMessage": turn.refusal, "index": 0}
    return {**_response(asked, turn, candidate), "usageMetadata": _usage(turn.usage)}


def _usage(usage: Usage) -> Json:
    told = {"promptTokenCount": usage.input, "candidatesTokenCount": max(0, usage.output - usage.reasoning)}
    if usage.reasoning:
        told["thoughtsTokenCount"] = usage.reasoning
    if usage.cache_read:
        told["cachedContentTokenCount"] = usage.cache_read
    return {**told, "totalTokenCount": usage.total}


def _to_count(request: Request, params: Mapping[str, str]) -> Asked:
    asked = _read(request, params)
    inner = under(asked.body, "generateContentRequest")
    if not isinstance(inner, dict):
        return asked
    return dataclasses.replace(asked, body=inner, messages=tuple(_messages(inner)))


def _count(asked: Asked) -> Json:
    functions = [json_text(function) for function in _functions(dict(asked.body))]
    return {"totalTokens": tokens_of([message.content for message in asked.messages] + functions)}


def _model(name: str) -> Json:
    methods = ["generateContent", "streamGenerateContent", "countTokens", "embedContent", "batchEmbedContents"]
    bare = name.removeprefix("models/")
    return {"name": f"models/{bare}", "version": "001", "displayName": bare, "supportedGenerationMethods": methods}


def _list(asked: Asked) -> Json:
    return {"models": [_model(name) for name in asked.body["models"]]}


CONTENT = _Content()
STREAM = _Content(is_stream=True)
COUNT = Plain(asks=_to_count, tells=_count, fails=failed)
MODELS = Plain(asks=about_models, tells=_list, fails=failed)
# Whichever is asked for: a script may be by the name of a request, and then serves any model.
MODEL = Plain(asks=about_models, tells=lambda asked: _model(asked.model), fails=failed)
