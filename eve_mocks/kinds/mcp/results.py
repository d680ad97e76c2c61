"""What a tool answers, as MCP's ``CallToolResult``: a JSON value is text, and structured where that is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eve_mocks.errors import MockError, as_written
from eve_mocks.response import encode_json

if TYPE_CHECKING:
    from eve_mocks.response import Json

type Result = dict[str, Any]

# MCP 2026-07-28, CallToolResult and ContentBlock. An object with other keys or types is data: an Anthropic message and
# a rich-text page have a `content` array too.
_KEYS = {"content", "structuredContent", "isError", "_meta", "resultType"}
_BLOCKS = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": ("resource",),
}


def succeeded(value: Json, *, structured: bool) -> Result:
    """The result of a tool that answered a value. Raises ``MockError`` for what is not JSON."""
    encoded = encode_json(value).decode()
    if _is_result(value):
        _check(value["content"])
        return {**value, "resultType": "complete"}
    result = _text(value if isinstance(value, str) else encoded)
    return {**result, "structuredContent": value} if structured else result


def failed(message: str) -> Result:
    """The result of a tool that failed in a way the agent is meant to see."""
    return {**_text(message), "isError": True}


def _is_result(value: Json) -> bool:
    """Whether a value is a ``CallToolResult`` already."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("content"), list)
        and value.keys() <= _KEYS
        and all(isinstance(block, dict) and block.get("type") in _BLOCKS for block in value["content"])
    )


def _check(content: list[dict[str, Json]]) -> None:
    for index, block in enumerate(content):
        check_block(
            block, f"content[{index}] of the result", or_else=", or answer with the JSON alone, without content"
        )


def check_block(block: Json, what: str, *, or_else: str = "") -> None:
    """Raise ``MockError`` for what is no content block of MCP."""
    if not isinstance(block, dict) or block.get("type") not in _BLOCKS:
        raise MockError(
            f"{what} is {as_written(block)}",
            why=f"a block of content has a type, one of {', '.join(_BLOCKS)}",
            fix="Write text, or for example {type: text, text: Hello}",
        )
    for key in _BLOCKS[block["type"]]:
        if not isinstance(block.get(key), dict if key == "resource" else str):
            raise MockError(
                f"{what} has {'a wrong' if key in block else 'no'} {key}",
                why=f"a block of type {block['type']} has {' and '.join(_BLOCKS[block['type']])}",
                fix=f"Correct {key}{or_else}.",
            )


def _text(text: str) -> Result:
    return {"content": [{"type": "text", "text": text}], "resultType": "complete"}
