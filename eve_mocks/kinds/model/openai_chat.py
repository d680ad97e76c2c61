"""OpenAI Chat Completions: ``POST /v1/chat/completions`` (OpenAI API reference, Chat), which many servers speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eve_mocks.kinds.model.bodies import (
    body_of,
    dig,
    header_names,
    metadata_names,
    model_of,
    objects,
    only,
    text_at,
    texts,
)
from eve_mocks.kinds.model.turn import (
    CREATED,
    Asked,
    Chunk,
    Failure,
    Message,
    Turn,
    Usage,
    called,
    halves,
    pieces,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.model import Request
    from eve_mocks.response import Json

# The `type` of an error by its status (OpenAI API reference, Error codes).
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def failed(failure: Failure) -> Json:
    """An error of any of OpenAI's APIs."""
    type_ = failure.name or _TYPES.get(failure.status, "server_error" if failure.status >= 500 else _TYPES[400])
    code = failure.code or ("rate_limit_exceeded" if failure.status == 429 else None)
    return {"error": {"message": failure.message, "type": type_, "param": None, "code": code}}


class _Chat:
    takes_entry = True

    def read(self, request: Request, params: Mapping[str, str]) -> Asked:
        body = body_of(request)
        offered = objects(body.get("tools"))
        tools = texts([dig(tool, "function", "name") or dig(tool, "custom", "name") for tool in offered])
        forced = _forced(body.get("tool_choice"), tools)
        schema = dig(body, "response_format", "json_schema", "schema")
        if schema is None and forced is not None:
            functions = [tool["function"] for tool in offered if dig(tool, "function", "name") == forced]
            schema = next((function.get("parameters") for function in functions), None)
        return Asked(
            body=body,
            model=model_of(body, params),
            names=(*header_names(request), *metadata_names(body)),
            schema_name=text_at(body, "response_format", "json_schema", "name"),
            schema=schema,
            tools=tools,
            forced=forced,
            messages=tuple(_messages(body)),
            streams=body.get("stream") is True,
        )

    def unscripted(self, asked: Asked) -> None:  # noqa: ARG002 - without a script there is no answer
        return None

    def whole(self, asked: Asked, turn: Turn) -> Json:
        message: dict[str, Any] = {"role": "assistant", "content": turn.text, "refusal": turn.refusal}
        if turn.tools:
            message["tool_calls"] = [
                {"id": f"call_{use.id}", "type": "function", "function": {"name": use.name, "arguments": use.arguments}}
                for use in turn.tools
            ]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(turn)}
        return {**_head(asked, turn, "chat.completion"), "choices": [choice], "usage": _usage(turn.usage)}

    def stream(self, asked: Asked, turn: Turn) -> Iterator[Chunk]:
        with_usage = dig(asked.body, "stream_options", "include_usage") is True

        def chunk(delta: dict[str, Json], reason: str | None = None, *, is_paced: bool = False) -> Chunk:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            head = _head(asked, turn, "chat.completion.chunk")
            return Chunk({**head, "choices": [choice], **({"usage": None} if with_usage else {})}, is_paced=is_paced)

        yield chunk({"role": "assistant", "content": "" if turn.text is not None else None, "refusal": None})
        for piece in pieces(turn.text or ""):
            yield chunk({"content": piece}, is_paced=True)
        for piece in pieces(turn.refusal or ""):
            yield chunk({"refusal": piece}, is_paced=True)
        if turn.failure is not None:
            yield Chunk(failed(turn.failure))
            return
        for index, use in enumerate(turn.tools):
            call = {"index": index, "id": f"call_{use.id}", "type": "function"}
            yield chunk({"tool_calls": [{**call, "function": {"name": use.name, "arguments": ""}}]})
            for piece in halves(use.arguments):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, is_paced=True)
        yield chunk({}, _reason(turn))
        if with_usage:
            yield Chunk({**_head(asked, turn, "chat.completion.chunk"), "choices": [], "usage": _usage(turn.usage)})
        yield Chunk("[DONE]")

    def failed(self, failure: Failure) -> Json:
        return failed(failure)


API = _Chat()


def _forced(choice: Json, tools: tuple[str, ...]) -> str | None:
    """The one tool that has to be called, where it is one."""
    if dig(choice, "type") == "allowed_tools":
        allowed = dig(choice, "allowed_tools")
        tools = texts([dig(tool, "function", "name") for tool in objects(dig(allowed, "tools"))])
        choice = dig(allowed, "mode")
    if choice == "required":
        return only(tools)
    name = dig(choice, "function", "name")
    return name if isinstance(name, str) else None


def _messages(body: dict[str, Json]) -> Iterator[Message]:
    for message in objects(body.get("messages")):
        functions = [call.get("function") for call in objects(message.get("tool_calls"))]
        calls = [called(dig(one, "name"), dig(one, "arguments")) for one in functions]
        content = "\n".join(filter(None, [text_of(message.get("content")), *calls]))
        yield Message(role=str(message.get("role")), content=content)


def _head(asked: Asked, turn: Turn, kind: str) -> dict[str, Json]:
    return {"id": f"chatcmpl-{turn.id}", "object": kind, "created": CREATED, "model": asked.model}


def _reason(turn: Turn) -> str:
    return "tool_calls" if turn.tools else "stop"


def _usage(usage: Usage) -> Json:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    }
