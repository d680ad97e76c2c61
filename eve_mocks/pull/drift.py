"""A schema file as text: the same value is always the same text, so that a change of one line is a diff of one line."""

from __future__ import annotations

import difflib
import json
from typing import Any

_MOST_LINES = 100
_MOST_COMPARED = 400_000  # lines, which take some seconds
_METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


def text(value: Any) -> str:
    """Raises ``ValueError`` for what no JSON file can hold."""
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, allow_nan=False) + "\n"


def is_same(before: str, value: Any) -> bool:
    """Whether a file says this already, however it is laid out."""
    try:
        return text(json.loads(before)) == text(value)
    except (ValueError, RecursionError):
        return False


def lines(before: str, after: str, name: str) -> list[str]:
    """The difference, as diff writes it, cut where it grows long."""
    try:
        old = text(json.loads(before)).splitlines() if before else []
    except (ValueError, RecursionError):
        old = before.splitlines()
    new = after.splitlines()
    if not old:
        return [f"+ {name} is not there"]
    if len(old) + len(new) > _MOST_COMPARED:
        return [f"~ {name} has {len(old)} lines, and would have {len(new)}"]
    found = list(difflib.unified_diff(old, new, name, f"{name} (upstream)", n=2, lineterm=""))
    more = len(found) - _MOST_LINES
    return [*found[:_MOST_LINES], *([f"… and {more} more lines"] if more > 0 else [])]


def count(value: Any) -> str:
    """How much a description describes: its tools, or its operations."""
    if "tools" in value:
        return _counted(len(value["tools"]), "tool")
    paths = value.get("paths")
    items = paths.values() if isinstance(paths, dict) else ()
    return _counted(sum(len(_METHODS & item.keys()) for item in items if isinstance(item, dict)), "operation")


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
