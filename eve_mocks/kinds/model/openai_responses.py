"""OpenAI Responses: ``POST /v1/responses`` (OpenAI API reference, Responses and their streaming events)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eve_mocks.kinds.model.bodies import (
    body_of,
    dig,
    header_names,
    metadata_names,
    model_of,
    object_at,
    objects,
    only,
    text_at,
    texts,
)
from eve_mocks.kinds.model.openai_chat import failed
from eve_mocks.kinds.model.turn import CREATED, Asked, Chunk, Failure, Message, Turn, Usage, halves, pieces, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.model import Request
    from eve_mocks.response import Json

# A response repeats what was asked, or else what holds where nothing was.
_REPEATED: Mapping[str, Json] = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "service_tier": "default",
    "temperature": 1.0,
    "tool_choice": "auto",
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


class _Event(NamedTuple):
    """An event of a stream, before it has its number."""

    type: str
    data: dict[str, Json]
    is_paced: bool = False


class _Responses:
    takes_entry = True

    def read(self, request: Request, params: Mapping[str, str]) -> Asked:
        body = body_of(request)
        offered = objects(body.get("tools"))
        tools = texts([tool.get("name") for tool in offered])
        forced = _forced(body.get("tool_choice"), tools)
        for key in ("reasoning", "text"):
            object_at(body, key)
        schema = dig(body, "text", "format", "schema")
        if schema is None and forced is not None:
            schema = next((tool.get("parameters") for tool in offered if tool.get("name") == forced), None)
        return Asked(
            body=body,
            model=model_of(body, params),
            names=(*header_names(request), *metadata_names(body)),
            schema_name=text_at(body, "text", "format", "name"),
            schema=schema,
            tools=tools,
            forced=forced,
            messages=tuple(_messages(body)),
            streams=body.get("stream") is True,
        )

    def unscripted(self, asked: Asked) -> None:  # noqa: ARG002 - without a script there is no answer
        return None

    def whole(self, asked: Asked, turn: Turn) -> Json:
        return _response(asked, turn, _items(turn))

    def stream(self, asked: Asked, turn: Turn) -> Iterator[Chunk]:
        for number, event in enumerate(_events(asked, turn)):
            data = {"type": event.type, **event.data, "sequence_number": number}
            yield Chunk(data, event=event.type, is_paced=event.is_paced)

    def failed(self, failure: Failure) -> Json:
        return failed(failure)


API = _Responses()


def _forced(choice: Json, tools: tuple[str, ...]) -> str | None:
    if dig(choice, "type") == "allowed_tools":
        tools = texts([tool.get("name") for tool in objects(dig(choice, "tools"))])
        choice = dig(choice, "mode")
    if choice == "required":
        return only(tools)
    name = dig(choice, "name")
    return name if isinstance(name, str) else None


def _messages(body: dict[str, Json]) -> Iterator[Message]:
    if body.get("instructions"):
        yield Message(role="system", content=text_of(body["instructions"]))
    given = body.get("input")
    if isinstance(given, str):
        yield Message(role="user", content=given)
    for item in objects(given):
        if "role" in item:
            yield Message(role=str(item["role"]), content=text_of(item.get("content")))
        else:  # calls and what came of them are items of their own
            role = "tool" if str(item.get("type")).endswith("_output") else "assistant"
            yield Message(role=role, content=text_of([item]))


def _events(asked: Asked, turn: Turn) -> Iterator[_Event]:
    begun = {"response": _response(asked, turn, None)}
    yield _Event("response.created", begun)
    yield _Event("response.in_progress", begun)
    items = _items(turn)
    for index, item in enumerate(items):
        parts = _of_message(item) if item["type"] == "message" else _of_call(item)
        yield _Event("response.output_item.added", {"output_index": index, "item": _begun(item)})
        for event in parts:
            if turn.failure is not None and event.type.endswith(".done"):
                yield _failed(turn.failure)
                return
            place = {"item_id": item["id"], "output_index": index}
            yield event._replace(data={**place, **event.data})
        yield _Event("response.output_item.done", {"output_index": index, "item": item})
    yield _Event("response.completed", {"response": _response(asked, turn, items)})


def _of_message(item: dict[str, Any]) -> Iterator[_Event]:
    (part,) = item["content"]
    key = "refusal" if part["type"] == "refusal" else "text"
    beside: dict[str, Json] = {} if key == "refusal" else {"logprobs": []}
    yield _Event("response.content_part.added", {"content_index": 0, "part": {**part, key: ""}})
    for piece in pieces(part[key]):
        yield _Event(f"response.{part['type']}.delta", {"content_index": 0, "delta": piece, **beside}, is_paced=True)
    yield _Event(f"response.{part['type']}.done", {"content_index": 0, key: part[key], **beside})
    yield _Event("response.content_part.done", {"content_index": 0, "part": part})


def _of_call(item: dict[str, Any]) -> Iterator[_Event]:
    for piece in halves(item["arguments"]):
        yield _Event("response.function_call_arguments.delta", {"delta": piece}, is_paced=True)
    yield _Event("response.function_call_arguments.done", {"arguments": item["arguments"]})


def _begun(item: dict[str, Any]) -> dict[str, Json]:
    empty: dict[str, Json] = {"content": []} if item["type"] == "message" else {"arguments": ""}
    return {**item, **empty, "status": "in_progress"}


def _failed(failure: Failure) -> _Event:
    """As the reference has it, and beside that as it is sent, which is what makes the SDKs raise."""
    error = dig(failed(failure), "error")
    return _Event("error", {**{key: error[key] for key in ("code", "message", "param")}, "error": error})


def _items(turn: Turn) -> list[dict[str, Any]]:
    """What the model puts out: a message, and each call of a tool."""
    part: dict[str, Json] | None = None
    if turn.refusal is not None:
        part = {"type": "refusal", "refusal": turn.refusal}
    elif turn.text is not None:
        part = {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}
    items: list[dict[str, Any]] = []
    if part is not None:
        head = {"type": "message", "id": f"msg_{turn.id}", "role": "assistant", "status": "completed"}
        items.append({**head, "content": [part]})
    for use in turn.tools:
        call = {"type": "function_call", "id": f"fc_{use.id}", "call_id": f"call_{use.id}", "status": "completed"}
        items.append({**call, "name": use.name, "arguments": use.arguments})
    return items


def _response(asked: Asked, turn: Turn, items: list[dict[str, Any]] | None) -> dict[str, Json]:
    """The response with its items, or as it begins."""
    body = asked.body
    is_complete = items is not None
    repeated = {key: usual if body.get(key) is None else body[key] for key, usual in _REPEATED.items()}
    return {
        "id": f"resp_{turn.id}",
        "object": "response",
        "created_at": CREATED,
        "status": "completed" if is_complete else "in_progress",
        "completed_at": CREATED if is_complete else None,
        "error": None,
        "incomplete_details": None,
        "model": asked.model,
        "output": items or [],
        **repeated,
        "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
        "text": {"format": {"type": "text"}, "verbosity": "medium", **(body.get("text") or {})},
        "tools": [_tool(tool) for tool in objects(body.get("tools"))],
        "usage": _usage(turn.usage) if is_complete else None,
    }


def _tool(tool: dict[str, Json]) -> Json:
    usual = {"description": None, "parameters": None, "strict": True} if tool.get("type") == "function" else {}
    return {**usual, **tool}


def _usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total,
    }
