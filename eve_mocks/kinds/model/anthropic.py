"""Anthropic Messages: ``POST /v1/messages`` (Anthropic API reference), with token counting and lists of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eve_mocks.kinds.model.bodies import body_of, dig, header_names, metadata_names, model_of, objects, only, texts
from eve_mocks.kinds.model.plain import Plain, about_models
from eve_mocks.kinds.model.tokens import tokens_of
from eve_mocks.kinds.model.turn import Asked, Chunk, Failure, Message, Turn, Usage, halves, json_text, pieces, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.model import Request
    from eve_mocks.response import Json

# The `type` of an error by its status (Anthropic API reference, Errors).
_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_CREATED = "2026-01-01T00:00:00Z"


def failed(failure: Failure) -> Json:
    """An error of any of Anthropic's APIs."""
    usual = "api_error" if failure.status >= 500 else "invalid_request_error"
    error: dict[str, Any] = {"type": failure.name or _TYPES.get(failure.status, usual), "message": failure.message}
    if failure.code is not None:
        error["details"] = {"error_code": failure.code}
    return {"type": "error", "error": error}


def _read(request: Request, params: Mapping[str, str]) -> Asked:
    body = body_of(request)
    offered = objects(body.get("tools"))
    tools = texts([tool.get("name") for tool in offered])
    choice = body.get("tool_choice")
    forced = dig(choice, "name") if dig(choice, "type") == "tool" else None
    if dig(choice, "type") == "any":
        forced = only(tools)
    # Before it moved to `output_config`, the format stood at the top.
    schema = dig(body, "output_config", "format", "schema") or dig(body, "output_format", "schema")
    if schema is None and forced is not None:
        schema = next((tool.get("input_schema") for tool in offered if tool.get("name") == forced), None)
    title = dig(schema, "title")
    return Asked(
        body=body,
        model=model_of(body, params),
        names=(*header_names(request), *metadata_names(body)),
        caller=next(iter(metadata_names(body, "user_id")), None),
        schema_name=title if isinstance(title, str) else None,
        schema=schema,
        tools=tools,
        forced=forced if isinstance(forced, str) else None,
        messages=tuple(_messages(body)),
        streams=body.get("stream") is True,
    )


def _messages(body: dict[str, Json]) -> Iterator[Message]:
    if body.get("system"):
        yield Message(role="system", content=text_of(body["system"]))
    for message in objects(body.get("messages")):
        content = message.get("content")
        results = [part for part in objects(content) if part.get("type") == "tool_result"]
        for result in results:  # results of tools are part of what the user says
            yield Message(role="tool", content=text_of(result.get("content")))
        rest = [part for part in content if part not in results] if isinstance(content, list) else content
        if rest or not results:
            yield Message(role=str(message.get("role")), content=text_of(rest))


class _Messages:
    takes_entry = True

    def read(self, request: Request, params: Mapping[str, str]) -> Asked:
        return _read(request, params)

    def unscripted(self, asked: Asked) -> None:  # noqa: ARG002 - without a script there is no answer
        return None

    def whole(self, asked: Asked, turn: Turn) -> Json:
        content: list[Json] = [_text(turn.text)] if turn.text else []
        content += [_use(use.id, use.name, use.input) for use in turn.tools]
        return {**_head(asked, turn), "content": content, **_end(turn), "usage": _usage(turn.usage)}

    def stream(self, asked: Asked, turn: Turn) -> Iterator[Chunk]:
        begun = {"stop_reason": None, "stop_sequence": None, "stop_details": None}
        usage = {**_usage(turn.usage), "output_tokens": 0, "output_tokens_details": None}
        yield _event("message_start", message={**_head(asked, turn), "content": [], **begun, "usage": usage})
        blocks = [(_text(""), "text_delta", "text", pieces(turn.text))] if turn.text else []
        blocks += [
            (_use(use.id, use.name, {}), "input_json_delta", "partial_json", halves(use.arguments))
            for use in turn.tools
        ]
        for index, (block, type_, key, parts) in enumerate(blocks):
            yield _event("content_block_start", index=index, content_block=block)
            for part in parts:
                delta = {"type": type_, key: part}
                yield _event("content_block_delta", is_paced=True, index=index, delta=delta)
            if turn.failure is not None:
                break
            yield _event("content_block_stop", index=index)
        if turn.failure is not None:
            yield Chunk(failed(turn.failure), event="error")
            return
        yield _event("message_delta", delta=_end(turn), usage=_delta_usage(turn.usage))
        yield _event("message_stop")

    def failed(self, failure: Failure) -> Json:
        return failed(failure)


def _event(name: str, *, is_paced: bool = False, **data: Json) -> Chunk:
    return Chunk({"type": name, **data}, event=name, is_paced=is_paced)


def _head(asked: Asked, turn: Turn) -> dict[str, Json]:
    return {"id": f"msg_{turn.id}", "type": "message", "role": "assistant", "model": asked.model}


def _text(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def _use(id_: str, name: str, given: dict[str, Json]) -> dict[str, Json]:
    return {"type": "tool_use", "id": f"toolu_{id_}", "name": name, "input": given}


def _end(turn: Turn) -> dict[str, Json]:
    """Why the turn ended. What is refused comes without content: the reason is told beside it."""
    if turn.refusal is not None:
        details = {"type": "refusal", "category": None, "explanation": turn.refusal}
        return {"stop_reason": "refusal", "stop_sequence": None, "stop_details": details}
    reason = "tool_use" if turn.tools else "end_turn"
    return {"stop_reason": reason, "stop_sequence": None, "stop_details": None}


def _delta_usage(usage: Usage) -> dict[str, Json]:
    """The totals at the end of a stream. ``input_tokens`` has only what no cache knew (Prompt caching)."""
    return {
        "input_tokens": max(0, usage.input - usage.cache_read - usage.cache_write),
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
    }


def _usage(usage: Usage) -> dict[str, Json]:
    written = {"ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0}
    return {**_delta_usage(usage), "cache_creation": written, "service_tier": "standard"}


def _count(asked: Asked) -> Json:
    tools = [json_text(tool) for tool in objects(asked.body.get("tools"))]
    return {"input_tokens": tokens_of([message.content for message in asked.messages] + tools)}


def _model(name: str) -> Json:
    return {"type": "model", "id": name, "display_name": name, "created_at": _CREATED, "lifecycle": "active"}


def _list(asked: Asked) -> Json:
    names = asked.body["models"]
    ends = {"first_id": names[0], "last_id": names[-1]} if names else {"first_id": None, "last_id": None}
    return {"data": [_model(name) for name in names], "has_more": False, **ends}


MESSAGES = _Messages()
COUNT = Plain(asks=_read, tells=_count, fails=failed)
MODELS = Plain(asks=about_models, tells=_list, fails=failed)
# Whichever is asked for: a script may be by the name of a request, and then serves any model.
MODEL = Plain(asks=about_models, tells=lambda asked: _model(asked.model), fails=failed)
