"""Evals in Python: a session of its own, pins, state, and assertions on what was called (contract, section 4).

A client of the control API, used inside of the command of a run.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from eve_mocks.answering import Answering
from eve_mocks.errors import MockError
from eve_mocks.expectations import Action, differences, shown
from eve_mocks.response import encode_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

    from eve_mocks.response import Json

_TIMEOUT = 60.0
_LISTED = 20
_MISSING: Any = ...
# Not what a warning is told of.
_OURS = tuple(file.removesuffix("py") for file in (__file__, contextlib.__file__))  # a whole name is no prefix there


class UnusedStub(UserWarning):
    """A stub of a session, or a pin, that no call used."""


@contextlib.contextmanager
def session(
    *,
    id: str | None = None,  # noqa: A002 - what a session has
    stubs: Sequence[Mapping[str, Json]] = (),
    seed: Mapping[str, Json] | None = None,
) -> Iterator[Session]:
    """A session that the calls of the block belong to: those of this task, its threads, and children given ``env``.

    ``stubs`` are rules in eve's form, ``seed`` the state of mocks by name. Raises ``MockError`` outside of a run and
    for what is wrong in them; ``AssertionError`` at its end where a stub could not be answered.
    """
    given = {"stubs": list(stubs), "seeds": dict(seed or {}), **({} if id is None else {"id": id})}
    begun = _ask("POST", "/v1/sessions", given)
    with Answering() as answering:
        found = Session(begun["id"], begun["proxy"], answering)
        with _stamped(found.id):
            yield found
        found.verify()


class Session:
    """One eval's world. Operations are named as in stubs: ``create_issue``, ``linear:create_issue``, ``GET /pages``."""

    def __init__(self, id_: str, proxy: str, answering: Answering) -> None:
        self.id = id_
        self.proxy = proxy
        self._answering = answering
        self._path = f"/v1/sessions/{quote(id_, safe='')}"

    @property
    def env(self) -> dict[str, str]:
        """The environment of a child process whose calls belong to the session."""
        plain = os.environ["EVE_MOCKS_URL"]
        kept = ("EVE_MOCKS_URL", "EVE_MOCKS_PROXY")
        proxies = {name: self.proxy for name, value in os.environ.items() if value == plain and name not in kept}
        return {**os.environ, **proxies, "EVE_MOCKS_SESSION": self.id}

    def mock(
        self,
        operation: str,
        response: Json = _MISSING,
        *,
        outcome: Mapping[str, Json] | None = None,
        outcomes: Sequence[Mapping[str, Json]] | None = None,
    ) -> None:
        """Pin what an operation answers from now on: a response, an outcome as in mock files, or a sequence of them.

        A function is given the input of each call; it returns the response, raises ``Throw`` or ``ToolError``, or
        passes with ``NotImplemented``.
        """
        if (response is not _MISSING) + (outcome is not None) + (outcomes is not None) != 1:
            raise TypeError("a pin has one of a response, an outcome, and outcomes")
        given: dict[str, Json] = {}
        if callable(response):
            given = {"callback": self._answering.url_of(response)}
        elif response is not _MISSING:
            given = {"outcome": {"response": response}}
        given |= {} if outcome is None else {"outcome": dict(outcome)}
        given |= {} if outcomes is None else {"outcomes": list(outcomes)}
        self._ask("PUT", "/pins", {"operation": operation, **given})

    def state(self, mock: str) -> Json:
        """The state of a mock in this session."""
        return self._ask("GET", f"/state/{quote(mock, safe='')}")

    def seed(self, mock: str, state: Json) -> None:
        """Set the state of a mock in this session."""
        self._ask("PUT", f"/state/{quote(mock, safe='')}", state)

    def calls(self) -> list[dict[str, Any]]:
        """The calls so far, as lines of the log with their ``input``."""
        found: list[dict[str, Any]] = self._ask("GET", "/calls")
        return found

    def actions(self) -> list[Action]:
        """The calls so far that asked for something to be done."""
        return [Action.of(line) for line in self.calls() if line["isAction"]]

    def requests(self, name: str | None = None) -> list[dict[str, Any]]:
        """What models were asked so far, or by requests of a name: ``model``, ``prompt``, ``messages``, ``tools``.

        ``prompt`` is the text of the last message of the user. A request that is longer than 64 KiB has a name alone.
        """
        lines = [line for line in self.calls() if _is_of_a_model(line) and name in (None, line["operation"])]
        return [{"request": line["operation"], **line.get("asked", {})} for line in lines]

    def called_tool(
        self,
        name: str,
        *,
        input: Json = _MISSING,  # noqa: A002 - as eve calls it
        count: int | None = None,
        status: str | None = None,
    ) -> None:
        """Assert that an operation was called, at least once or ``count`` times.

        ``input`` is what the input has at least; ``status`` is ``completed`` or ``failed``.
        """
        if status not in (None, "completed", "failed"):
            raise ValueError(f"a status is completed or failed, not {status!r}")
        __tracebackhide__ = True  # pytest shows the caller
        actions = self.actions()
        named = [action for action in actions if action.is_named(name)]
        missed = {action: list(differences(action, input, status)) for action in named}
        fitting = [action for action in named if not missed[action]]
        if count == 0 and not named:
            self._check_tool(name)
        if len(fitting) == count or (count is None and fitting):
            return
        wanted = f"{name}{'' if input is _MISSING else f' {shown(input)}'}{'' if status is None else f' ({status})'}"
        times = "" if count is None else f" {_times(count)}"
        if fitting:
            lines = [f"{wanted} was called {_times(len(fitting))}, not {count}"]
        else:
            lines = [f"{wanted} was not called{times}"]
        if not fitting and named:
            near = min(named, key=lambda action: len(missed[action]))
            lines.append(f"nearest is {near}: {'; '.join(missed[near])}")
        raise AssertionError("\n".join([*lines, *_listing(actions)]))

    def not_called_tool(self, name: str) -> None:
        """Assert that an operation was not called. Raises ``MockError`` for a name that no mock has."""
        __tracebackhide__ = True  # pytest shows the caller
        actions = self.actions()
        found = [action for action in actions if action.is_named(name)]
        if found:
            raise AssertionError("\n".join([f"{name} was called {_times(len(found))}", *_listing(actions)]))
        self._check_tool(name)

    def tool_order(self, names: Sequence[str]) -> None:
        """Assert that operations were called in this order; others may be between them."""
        __tracebackhide__ = True  # pytest shows the caller
        actions = self.actions()
        rest = iter(actions)
        for position, name in enumerate(names):
            if not any(action.is_named(name) for action in rest):
                after = f" after {names[position - 1]}" if position else ""
                raise AssertionError("\n".join([f"{name} was not called{after}", *_listing(actions)]))

    def no_failed_actions(self) -> None:
        """Assert that no call failed."""
        __tracebackhide__ = True  # pytest shows the caller
        failed = [action for action in self.actions() if action.failed]
        if failed:
            raise AssertionError("\n".join([f"{len(failed)} of the calls failed", *map(_line, failed)]))

    def verify(self) -> None:
        """Raise ``AssertionError`` where a stub could not be answered, and warn of those that no call used."""
        told = self._ask("GET", "/stubs")
        if told["error"] is not None:
            raise AssertionError(f"a stub failed: {told['error']}")
        if told["unusedRuleIds"]:
            warnings.warn(f"no call used {', '.join(told['unusedRuleIds'])}", UnusedStub, skip_file_prefixes=_OURS)

    def _check_tool(self, name: str) -> None:
        """That a call could have the name: an assertion on a misspelt one would always hold."""
        __tracebackhide__ = True  # pytest shows the caller
        found = self._ask("GET", f"/operations/{quote(name, safe='')}")
        if all(target["kind"] == "model" for target in found):
            raise MockError(
                f"{name} is what a model is asked, not an operation that it calls",
                why="requests to models are no actions, so this assertion would always hold",
                fix=f"Assert on session.requests({name!r}).",
            )

    def _ask(self, method: str, path: str, body: Json = _MISSING) -> Any:
        return _ask(method, self._path + path, body)


def _is_of_a_model(line: Mapping[str, Any]) -> bool:
    return line.get("kind") == "model" and ("asked" in line or "stub" in line)


def _times(count: int) -> str:
    return f"{count} time{'' if count == 1 else 's'}"


def _listing(actions: Sequence[Action]) -> list[str]:
    if not actions:
        return ["nothing was called"]
    more = len(actions) - _LISTED
    return ["called were:", *map(_line, actions[:_LISTED]), *([f"  and {more} more"] if more > 0 else [])]


def _line(action: Action) -> str:
    return f"  {action}"


def _ask(method: str, path: str, body: Json = _MISSING) -> Any:
    """What the control API answers. Raises ``MockError``."""
    url, token = os.environ.get("EVE_MOCKS_URL"), os.environ.get("EVE_MOCKS_TOKEN")
    if not url or not token:
        raise MockError(
            "there is no run that the session could be in",
            why="EVE_MOCKS_URL and EVE_MOCKS_TOKEN are not set",
            fix="Start this program inside of a run: eve-mocks run -- COMMAND",
        )
    data = None if body is _MISSING else encode_json(body)
    try:
        with contextlib.closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=_TIMEOUT)) as connection:
            connection.request(method, path, data, {"authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            content = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise MockError(
            "the run is over",
            why=f"its control API does not answer: {error}",
            fix="Start this program inside of a run.",
        ) from error
    if answer.status >= 400:
        told = json.loads(content)
        first, *others = (MockError(**error) for error in told.get("errors", [told["error"]]))
        for other in others:
            first.add_note(str(other))
        raise first
    return json.loads(content) if content else None


@contextlib.contextmanager
def _stamped(id_: str) -> Iterator[None]:
    preload = _preload()
    if preload is None:
        yield
        return
    before = preload.current.set(id_)
    preload.opened.append(id_)
    try:
        yield
    finally:
        preload.opened.remove(id_)
        preload.current.reset(before)


def _preload() -> ModuleType | None:
    """What stamps the calls of this process; None where Python was started without its environment (-I, -E)."""
    return sys.modules.get("_eve_mocks_session")
