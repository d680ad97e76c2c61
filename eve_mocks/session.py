"""All the state there is: one ``Session`` for each identity, gone when the run ends (contract, section 4)."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

from eve_mocks.stubs.playback import Playback

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from eve_mocks.stubs.rules import Rules

# An id comes from a header or a user name and is shown in reports: printable, short, and never a path.
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+=~-]{0,199}")


class BadSession(ValueError):
    """The text cannot be a session's id."""


def session_id(text: str) -> str:
    """Check an id that came from outside. Raises ``BadSession``."""
    if not _ID.fullmatch(text):
        # The text itself is not told: it may be a credential in the wrong place.
        raise BadSession(
            f"a text of {len(text)} characters cannot be a session's id: use up to 200 letters, digits and _.:@+=~-, "
            "beginning with a letter, a digit or _"
        )
    return text


class Session:
    """What one session has seen so far: the state of each mock, a turn-taking lock for each, and its stubs.

    ``stubs`` are rules that come before those of the mocks, list by list.
    """

    __slots__ = ("_states", "_turns", "id", "stubs")

    def __init__(self, id_: str, *stubs: Rules) -> None:
        self.id = id_
        self.stubs = Playback(*stubs)
        self._states: dict[str, Any] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    def turn(self, mock: str) -> asyncio.Lock:
        """The lock under which an answer is chosen and its handler runs; it is taken in arrival order."""
        lock = self._turns.get(mock)
        if lock is None:
            import asyncio

            lock = self._turns[mock] = asyncio.Lock()
        return lock

    def state(self, mock: str, seed: Callable[[], Any] | Any) -> Any:
        """The state of a mock in this session: made from its seed (a value, copied, or a function) at first use."""
        if mock not in self._states:
            self._states[mock] = seed() if callable(seed) else copy.deepcopy(seed)
        return self._states[mock]


class Sessions:
    """The sessions of one run, made as their first call arrives. ``stubs`` are in front of the mocks' in each."""

    def __init__(self, default: str = "run", *stubs: Rules) -> None:
        self.default = session_id(default)
        self._stubs = stubs
        self._sessions: dict[str, Session] = {}

    def get(self, id_: str | None = None) -> Session:
        """The session of an identity, else the default one. Raises ``BadSession``."""
        wanted = self.default if id_ is None else id_
        session = self._sessions.get(wanted)
        if session is None:
            session = self._sessions[wanted] = Session(session_id(wanted), *self._stubs)
        return session
