"""Vercel AI Gateway: the language models of ``/v4/ai``, ``/v3/ai`` and ``/v1/ai``, as `@ai-sdk/gateway` asks for them.

What goes over the wire are the call options, results and stream parts of the AI SDK's provider specification: version 4
and 3 are alike here, version 2, under ``/v1/ai``, differs in how usage and the reason of the end are told.
"""

from __future__ import annotations

import dataclasses
import datetime
from typing import TYPE_CHECKING

from eve_mocks.kinds.model.bodies import body_of, dig, header_names, objects, only, texts
from eve_mocks.kinds.model.turn import CREATED, Asked, Chunk, Failure, Message, Turn, Usage, halves, json_text, pieces
from eve_mocks.model import BadRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.model import Request
    from eve_mocks.response import Json

# The `type` of an error by its status (`gateway-stream-errors.ts` of the SDK).
_TYPES = {
    401: "authentication_error",
    403: "forbidden",
    404: "model_not_found",
    424: "failed_dependency",
    429: "rate_limit_exceeded",
}
_TEXT_ID = "0"


def failed(failure: Failure) -> dict[str, Json]:
    """An error of any of the gateway's own APIs."""
    usual = "internal_server_error" if failure.status >= 500 else "invalid_request_error"
    type_ = failure.name or _TYPES.get(failure.status, usual)
    return {"error": {"message": failure.message, "type": type_, "param": None, "code": failure.code}}


def model_named_in(request: Request, *headers: str) -> str:
    """The model. Raises ``BadRequest``."""
    model = next((found for name in headers if (found := request.headers.get(name))), None)
    if model is None:
        raise BadRequest(f"the request has no header {headers[0]}")
    return model


def told_names(request: Request, body: Mapping[str, Json]) -> tuple[str, ...]:
    """What a client calls a request: by the header, or by the tags that the gateway keeps for its reports."""
    tags = dig(dict(body), "providerOptions", "gateway", "tags")
    return (*header_names(request), *(texts(tags) if isinstance(tags, list) else ()))


def agent_of(request: Request) -> str | None:
    """The agent that asks: eve names it in the header that the gateway has for the name of an application."""
    is_eve = request.headers.get("user-agent", "").startswith("eve/")
    return (request.headers.get("x-title") or None) if is_eve else None


@dataclasses.dataclass(frozen=True, slots=True)
class _Language:
    is_flat: bool = False  # version 2 of the specification
    takes_entry: bool = True

    def read(self, request: Request, params: Mapping[str, str]) -> Asked:  # noqa: ARG002 - the headers tell the model
        body = body_of(request)
        model = model_named_in(request, "ai-language-model-id", "ai-model-id")
        tools = texts([tool.get("name") for tool in objects(body.get("tools"))])
        choice = body.get("toolChoice")
        forced = dig(choice, "toolName") or (only(tools) if dig(choice, "type") == "required" else None)
        name = dig(body, "responseFormat", "name")
        return Asked(
            body=body,
            model=model,
            names=told_names(request, body),
            caller=agent_of(request),
            schema_name=name if isinstance(name, str) else None,
            schema=dig(body, "responseFormat", "schema"),
            tools=tools,
            forced=forced if isinstance(forced, str) else None,
            messages=tuple(
                Message(role=str(message.get("role")), content=_text(message.get("content")))
                for message in objects(body.get("prompt"))
            ),
            streams=request.headers.get("ai-language-model-streaming", "").lower() == "true",
        )

    def unscripted(self, asked: Asked) -> None:  # noqa: ARG002 - without a script there is no answer
        return None

    def whole(self, asked: Asked, turn: Turn) -> Json:
        content: list[Json] = [{"type": "text", "text": said}] if (said := _said(turn)) is not None else []
        content += [_call(use.id, use.name, use.arguments) for use in turn.tools]
        head = {"id": _id(turn), "timestamp": _TIMESTAMP, "modelId": asked.model}
        return {"content": content, **self._end(turn), "warnings": [], "response": head}

    def stream(self, asked: Asked, turn: Turn) -> Iterator[Chunk]:
        yield _part("stream-start", warnings=[])
        yield _part("response-metadata", id=_id(turn), modelId=asked.model, timestamp=_TIMESTAMP)
        said = _said(turn)
        if said is not None:
            yield _part("text-start", id=_TEXT_ID)
            for piece in pieces(said):
                yield _part("text-delta", is_paced=True, id=_TEXT_ID, delta=piece)
        if turn.failure is not None:
            # By the status, the SDK decides whether it asks again.
            yield _part("error", error={**failed(turn.failure)["error"], "statusCode": turn.failure.status})
            return
        if said is not None:
            yield _part("text-end", id=_TEXT_ID)
        for use in turn.tools:
            id_ = f"call_{use.id}"
            yield _part("tool-input-start", id=id_, toolName=use.name)
            for piece in halves(use.arguments):
                yield _part("tool-input-delta", is_paced=True, id=id_, delta=piece)
            yield _part("tool-input-end", id=id_)
            yield Chunk(_call(use.id, use.name, use.arguments))
        yield _part("finish", **self._end(turn))

    def failed(self, failure: Failure) -> Json:
        return failed(failure)

    def _end(self, turn: Turn) -> dict[str, Json]:
        unified, raw = _reason(turn)
        if self.is_flat:
            return {"finishReason": unified, "usage": _flat_usage(turn.usage)}
        return {"finishReason": {"unified": unified, "raw": raw}, "usage": _usage(turn.usage)}


LANGUAGE = _Language()
LANGUAGE_V2 = _Language(is_flat=True)
_TIMESTAMP = f"{datetime.datetime.fromtimestamp(CREATED, datetime.UTC):%Y-%m-%dT%H:%M:%S.000Z}"


def _part(type_: str, *, is_paced: bool = False, **data: Json) -> Chunk:
    return Chunk({"type": type_, **data}, is_paced=is_paced)


def _id(turn: Turn) -> str:
    return f"gen_{turn.id}"


def _said(turn: Turn) -> str | None:
    return turn.text if turn.refusal is None else turn.refusal


def _call(id_: str, name: str, arguments: str) -> dict[str, Json]:
    """A call of a tool; its input is JSON text, as the client is to parse it."""
    return {"type": "tool-call", "toolCallId": f"call_{id_}", "toolName": name, "input": arguments}


def _reason(turn: Turn) -> tuple[str, str]:
    """Why the turn ended, in the words of the SDK and of a provider."""
    if turn.refusal is not None:
        return "content-filter", "refusal"
    return ("tool-calls", "tool_calls") if turn.tools else ("stop", "stop")


def _usage(usage: Usage) -> Json:
    return {
        "inputTokens": {
            "total": usage.input,
            "noCache": max(0, usage.input - usage.cache_read - usage.cache_write),
            "cacheRead": usage.cache_read,
            "cacheWrite": usage.cache_write,
        },
        "outputTokens": {
            "total": usage.output,
            "text": max(0, usage.output - usage.reasoning),
            "reasoning": usage.reasoning,
        },
    }


def _flat_usage(usage: Usage) -> Json:
    return {
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "totalTokens": usage.total,
        "reasoningTokens": usage.reasoning,
        "cachedInputTokens": usage.cache_read,
    }


def _text(content: Json) -> str:
    return content if isinstance(content, str) else "\n".join(map(_part_text, objects(content)))


def _part_text(part: dict[str, Json]) -> str:
    type_ = part.get("type")
    if isinstance(part.get("text"), str):  # text and reasoning
        return str(part["text"])
    if type_ == "tool-call":
        return f"{part.get('toolName')}({json_text(part.get('input'))})"
    if type_ == "tool-result":
        value = dig(part, "output", "value")
        return value if isinstance(value, str) else json_text(value)
    if type_ == "file":
        inline = dig(part, "data", "text")
        return inline if isinstance(inline, str) else f"[{str(part.get('mediaType', 'file')).partition('/')[0]}]"
    return f"[{type_ or 'part'}]"
