"""One system call that waits for the supervisor, and what it can be told."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Verdict(enum.Enum):
    """The answer that is not a result."""

    PROCEED = "proceed"
    """Let the kernel run the call as it is."""


type Answer = int | Verdict
"""The call's result, a negative errno, or the verdict."""


class Question(NamedTuple):
    """A call of a contained thread."""

    id: int
    thread: int
    number: int
    place: int
    """The address of the instruction that made the call."""
    arguments: tuple[int, ...]

    @property
    def fd(self) -> int:
        return self.arguments[0] & 0xFFFFFFFF
