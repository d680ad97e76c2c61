"""The proxy's side of redirection: which destination a connection that arrives was meant for. asyncio only.

The kernel finishes a connection before the supervisor can tell of it, so either may come first. Each connection is
announced once and accepted once, in the same order for any one source address: the first announcement of a source
belongs to the first connection from it.
"""

from __future__ import annotations

import asyncio
import collections
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eve_mocks.records import Redirect

MOST = 65536


class Arrivals:
    """Brings announcements and connections together."""

    def __init__(self) -> None:
        self._announced: dict[tuple[str, int], collections.deque[Redirect]] = {}
        self._waiting: dict[tuple[str, int], asyncio.Future[Redirect | None]] = {}

    def announce(self, redirect: Redirect) -> None:
        waiting = self._waiting.pop(redirect.source, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(redirect)
            return
        self._announced.setdefault(redirect.source, collections.deque()).append(redirect)
        if len(self._announced) > MOST:
            del self._announced[next(iter(self._announced))]

    def close(self) -> None:
        """Nothing is announced any more: whoever waits is told so."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(None)

    def missing(self) -> list[Redirect]:
        """Announcements of connections that did not come."""
        return [redirect for announced in self._announced.values() for redirect in announced]

    async def meant(self, source: tuple[str, int], *, patience: float = 5.0) -> Redirect | None:
        """The announcement of the connection that came from ``source``; None if there is none in time."""
        announced = self._announced.get(source)
        if announced:
            redirect = announced.popleft()
            if not announced:
                del self._announced[source]
            return redirect
        waiting = self._waiting[source] = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait([waiting], timeout=patience)
            # After a loop that was busy for long, both may have come at once: what is there counts.
            return waiting.result() if waiting.done() else None
        finally:
            if self._waiting.get(source) is waiting:
                del self._waiting[source]
