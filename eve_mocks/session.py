"""All the state there is: one ``Session`` for each identity, gone when the run ends (contract, section 4)."""

from __future__ import annotations

import copy
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from eve_mocks.model import BadRequest
from eve_mocks.stubs.playback import Playback

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from eve_mocks.model import Request
    from eve_mocks.response import Json
    from eve_mocks.stubs.rules import Rules

# An id comes from a header or a user name and is shown in reports: printable, short, and never a path.
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+=~-]{0,199}")


_NO_SEEDS: Mapping[str, Json] = MappingProxyType({})


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


def gateway_session(request: Request) -> str | None:
    """The session that eve names to the AI Gateway: ``providerOptions.gateway.sessionId``; None for any other call."""
    if "ai-gateway-protocol-version" not in request.headers:
        return None
    try:
        found = request.json()["providerOptions"]["gateway"]["sessionId"]
        return session_id(found)
    except (BadRequest, BadSession, LookupError, TypeError):
        return None


class SessionExists(ValueError):
    """A session of the id has begun already."""


class Session:
    """What one session has seen so far: the state of each mock, a turn-taking lock for each, and its stubs.

    ``stubs`` are rules that come before those of the mocks, list by list; ``seeds`` replace those of the mocks.
    """

    __slots__ = ("_progress", "_seeds", "_states", "_turns", "id", "stubs")

    def __init__(self, id_: str, *stubs: Rules, seeds: Mapping[str, Json] = _NO_SEEDS) -> None:
        self.id = id_
        self.stubs = Playback(*stubs)
        self._seeds = seeds
        self._states: dict[str, Any] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._progress: dict[str, Any] = {}

    def turn(self, mock: str) -> asyncio.Lock:
        """The lock under which an answer is chosen and its handler runs; it is taken in arrival order."""
        lock = self._turns.get(mock)
        if lock is None:
            import asyncio

            lock = self._turns[mock] = asyncio.Lock()
        return lock

    def state(self, mock: str, seed: Callable[[], Any] | Any) -> Any:
        """The state of a mock in this session: made at first use, from the session's own seed or else the mock's.

        A seed is a value, which is copied, or a function.
        """
        if mock not in self._states:
            seed = self._seeds.get(mock, seed)
            self._states[mock] = seed() if callable(seed) else copy.deepcopy(seed)
        return self._states[mock]

    def progress[P](self, mock: str, begin: Callable[[], P]) -> P:
        """What the session has used of a mock, beside its stubs: what ``begin`` made at first use."""
        if mock not in self._progress:
            self._progress[mock] = begin()
        found: P = self._progress[mock]
        return found

    def set_state(self, mock: str, state: Json) -> None:
        self._states[mock] = state


class Sessions:
    """The sessions of one run, made as their first call arrives unless they were begun before.

    ``stubs`` and ``seeds`` are what each of them has.
    """

    def __init__(self, default: str = "run", *stubs: Rules, seeds: Mapping[str, Json] = _NO_SEEDS) -> None:
        self.default = session_id(default)
        self._stubs = stubs
        self._seeds = seeds
        self._sessions: dict[str, Session] = {}

    def get(self, id_: str | None = None) -> Session:
        """The session of an identity, else the default one. Raises ``BadSession``."""
        wanted = self.default if id_ is None else id_
        session = self._sessions.get(wanted)
        if session is None:
            session = self._sessions[wanted] = Session(session_id(wanted), *self._stubs, seeds=self._seeds)
        return session

    def find(self, id_: str) -> Session | None:
        """The session of an id, if it has begun; the default one always has."""
        return self.get() if id_ == self.default else self._sessions.get(id_)

    def begin(self, id_: str, stubs: Rules, seeds: Mapping[str, Json]) -> Session:
        """A session with stubs before the common ones, and seeds of its own.

        Raises ``BadSession``, or ``SessionExists``.
        """
        if session_id(id_) == self.default or id_ in self._sessions:
            raise SessionExists(id_)
        session = Session(id_, stubs, *self._stubs, seeds={**self._seeds, **seeds} if seeds else self._seeds)
        self._sessions[id_] = session
        return session
