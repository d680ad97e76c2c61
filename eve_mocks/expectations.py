"""A call as an eval asserts on it, and what keeps it from being the one that was expected."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eve_mocks.response import Json

_SHOWN = 300


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Action:
    """One call of an operation; ``why`` is told where it failed inside of eve-mocks."""

    mock: str
    operation: str
    input: dict[str, Json]
    failed: bool
    why: str | None = None
    headers: frozenset[str] = frozenset()  # of the input, what a person does not ask for

    @classmethod
    def of(cls, line: dict[str, Any]) -> Action:
        """The action of a call that the control API tells of."""
        return cls(
            mock=line["target"],
            operation=line["operation"],
            input=line["input"],
            failed=line["failed"],
            why=line.get("error"),
            headers=frozenset(map(str.lower, line["requestHeaders"])) if line.get("kind") != "mcp" else frozenset(),
        )

    def is_named(self, name: str) -> bool:
        return name in (self.operation, f"{self.mock}:{self.operation}", f"{self.mock}__{self.operation}")

    def __str__(self) -> str:
        failed = f" (failed{f': {self.why}' if self.why else ''})" if self.failed else ""
        told = {key: value for key, value in self.input.items() if key not in self.headers}
        return f"{self.mock}:{self.operation} {shown(told)}{failed}"


def shown(value: Json) -> str:
    """A value as JSON, cut short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def differences(action: Action, input_: Json, status: str | None) -> Iterator[str]:
    """What keeps an action from fitting; ``...`` and None ask nothing."""
    if input_ is not ...:
        yield from _below("input", action.input, input_)
    if status is not None and status != ("failed" if action.failed else "completed"):
        yield f"it {'failed' if action.failed else 'did not fail'}"


def _below(path: str, given: Json, wanted: Json) -> Iterator[str]:
    """A mapping may have more than is wanted; everything else has to be equal."""
    if isinstance(wanted, dict) and isinstance(given, dict):
        for key, value in wanted.items():
            if key in given:
                yield from _below(f"{path}.{key}", given[key], value)
            else:
                yield f"{path}.{key} is missing"
    elif not _equal(given, wanted):
        yield f"{path} is {shown(given)}, not {shown(wanted)}"


def _equal(given: Json, wanted: Json) -> bool:
    """As JSON: true is not 1, and 1.0 is."""
    if isinstance(given, bool) or isinstance(wanted, bool):
        return given is wanted
    if isinstance(given, dict) and isinstance(wanted, dict):
        return given.keys() == wanted.keys() and all(_equal(given[key], wanted[key]) for key in wanted)
    if isinstance(given, list) and isinstance(wanted, list | tuple):
        return len(given) == len(wanted) and all(map(_equal, given, wanted))
    return bool(given == wanted)
