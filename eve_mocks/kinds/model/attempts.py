"""Which requests are the same call once more: an SDK that retries gets the entry of its first attempt.

The SDKs of OpenAI and Anthropic count their attempts in a header; of others, a request that repeats one that failed
in a way that is worth a retry.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
from typing import TYPE_CHECKING

from eve_mocks.scripts import REQUEST_HEADER

if TYPE_CHECKING:
    from eve_mocks.kinds.model.turn import Turn
    from eve_mocks.model import Request

_COUNT = "x-stainless-retry-count"
# What may tell two requests of the same body apart: the AI Gateway's model stands in a header.
_TOLD = (REQUEST_HEADER, "ai-language-model-id", "ai-model-id")
# Enough for all that one session has under way at a time.
_KEPT = 256


@dataclasses.dataclass(slots=True)
class Taken:
    """A call that has its entry, how often it was answered with it, and the count that its next attempt sends."""

    turn: Turn
    key: str
    position: int
    label: str
    unoffered: str | None = None
    served: int = 1
    expected: int = 1
    passes: bool = False  # the real model is asked

    @property
    def is_over(self) -> bool:
        """Whether the next attempt is to get another entry."""
        failure = self.turn.failure
        return failure is not None and failure.attempts is not None and self.served >= failure.attempts

    @property
    def is_worth_a_retry(self) -> bool:
        """Whether a client without a counter asks again: what the AI SDK retries, and the others less.

        Never for what the real model was asked: the seam is one request, and what came of it is not known here.
        """
        failure = self.turn.failure
        return failure is not None and (failure.status in (408, 409, 429) or failure.status >= 500)

    def again(self) -> None:
        """It is answered with the same entry once more."""
        self.served += 1
        self.expected += 1


class Attempts:
    """The calls of one session to one mock that may be asked again."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: collections.OrderedDict[bytes, list[Taken]] = collections.OrderedDict()

    def before(self, request: Request) -> Taken | None:
        """The call that a request repeats; None for a new one."""
        calls = self._calls.get(_identity(request), [])
        count = _count(request)
        if count is not None:
            # From the last on: an earlier one that was asked the same may have ended long ago. Those that failed come
            # first: one beside them, asked the same at the same time, was answered well and is not asked again.
            repeated = [call for call in reversed(calls) if call.expected == count] if count else []
            return next((call for call in repeated if call.is_worth_a_retry), next(iter(repeated), None))
        return next((call for call in calls if call.is_worth_a_retry), None)

    def keep(self, request: Request, taken: Taken, *, instead_of: Taken | None = None) -> None:
        """Remember a call; ``instead_of`` is the one whose attempts are over."""
        identity = _identity(request)
        calls = self._calls.setdefault(identity, [])
        if instead_of is not None:
            calls.remove(instead_of)
        count = _count(request)
        taken.expected = (count or 0) + 1
        if taken.is_worth_a_retry or count is not None:
            calls.append(taken)
        del calls[:-_KEPT]
        self._calls.move_to_end(identity)
        while len(self._calls) > _KEPT:
            self._calls.popitem(last=False)


def _count(request: Request) -> int | None:
    """Which attempt the client says this is, from 0 on; None where it does not count."""
    counted = request.headers.get(_COUNT, "")
    return int(counted[:9]) if counted.isascii() and counted.isdigit() else None


def _identity(request: Request) -> bytes:
    told = (request.path, *(request.headers.get(name, "") for name in _TOLD))
    return hashlib.blake2b("\0".join(told).encode() + b"\0" + request.body, digest_size=16).digest()
