"""How large a list of rules may be, and that it is JSON: what eve checks before it looks at any rule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eve_mocks.document import Document
    from eve_mocks.errors import MockError

RULES = 100
NODES = 20_000  # every value counts, a list or a mapping too
DEPTH = 32  # the list of rules is at depth 0
CHARACTERS = 1_000_000  # of text and of property names
CALLS = 10_000  # of one session
RESERVED = "__proto__"


class Size:
    """What the rules of one list have used of the limits so far."""

    def __init__(self) -> None:
        self._rules = 0
        self._nodes = 1
        self._characters = 0

    def add(self, rule: Document) -> None:
        """Raises ``MockError``. A value that contains itself ends at the depth."""
        self._rules += 1
        if self._rules > RULES:
            raise _too_large(rule, f"is rule {self._rules}, and {RULES} are allowed")
        todo = [rule]
        while todo:
            part = todo.pop()
            self._count(part)
            if len(part.path) - len(rule.path) >= DEPTH:
                raise _too_large(part, f"is nested deeper than {DEPTH}")
            if isinstance(part.value, dict | list):
                todo.extend(below for _, below in part.parts())

    def _count(self, part: Document) -> None:
        self._nodes += 1
        if isinstance(part.value, str):
            self._characters += len(part.value)
        elif isinstance(part.value, dict):
            self._characters += sum(map(len, _names(part)))
        elif not isinstance(part.value, list) and not _is_json(part.value):
            raise part.error(
                f"{part.json_path} is {part.value!r}, of type {type(part.value).__name__}",
                why="stubs are plain JSON: mappings, lists, text, numbers, true, false and null",
                fix="Write it as JSON.",
            )
        if self._nodes > NODES:
            raise _too_large(part, f"is one JSON value too many, after {NODES:,}")
        if self._characters > CHARACTERS:
            raise _too_large(part, f"brings the characters of all rules to more than {CHARACTERS:,}")


def _names(part: Document) -> list[str]:
    for name in part.value:
        if not isinstance(name, str):
            raise part.error(
                f"{part.json_path} has the key {name!r}, which is not text",
                name,
                why="stubs are plain JSON, whose keys are text",
                fix=f'Write "{name}".',
            )
        if name == RESERVED:
            raise part.error(
                f"{part.json_path} has the key {RESERVED}",
                name,
                why="that name is reserved: in ECMAScript it is no property but the object's prototype",
                fix="Take it out.",
            )
    return list(part.value)


def _is_json(value: object) -> bool:
    return value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))


def _too_large(part: Document, what: str) -> MockError:
    return part.error(
        f"{part.json_path} {what}",
        why=f"eve takes up to {RULES} rules, {NODES:,} JSON values, a nesting of {DEPTH} and {CHARACTERS:,} characters",
        fix="Make the rules smaller; large answers can be routes, results or handlers of the mock.",
    )
