"""Scripts: queues of a model's answers, by the name of a request or of a model. Pure; the same on the wire and off it.

The rules are those of ``runSeam`` (contract, sections 6 and 10): a request takes the entries of its queue in order, and
a queue that is used up is dry.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from eve_mocks.response import Json

# Names a request, for a client that can set a header.
REQUEST_HEADER = "x-eve-mocks-request"
EXHAUSTED = "seam-script-exhausted"
ENVELOPE_KEYS = ("result", "messages", "usage", "raw")

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Envelope(NamedTuple):
    """What an entry stands for: the output of a request, and what is told beside it."""

    result: Json
    messages: Json = None
    usage: Mapping[str, Any] = _NOTHING
    raw: Json = None


def envelope(entry: Json) -> Envelope:
    """Read an entry: as an envelope where its own keys are ``result`` and, maybe, the others; else as the result."""
    if is_envelope(entry):
        return Envelope(**entry)
    return Envelope(entry)


def is_envelope(entry: Json) -> bool:
    return isinstance(entry, dict) and "result" in entry and entry.keys() <= set(ENVELOPE_KEYS)


def key_of(candidates: Iterable[str], queues: Collection[str]) -> str | None:
    """The queue of a request: that of the first of its names, from the most to the least particular, that has one."""
    return next((name for name in candidates if name in queues), None)


class Positions:
    """How much of each queue has been taken."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def take(self, key: str, length: int, *, repeat_last: bool = False) -> int | None:
        """The index of the next entry, counted from 0; None where the queue is dry."""
        position = self._taken.get(key, 0)
        if position >= length:
            return length - 1 if repeat_last and length else None
        self._taken[key] = position + 1
        return position
