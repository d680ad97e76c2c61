"""The control API: an eval begins sessions, pins answers, sets state, asks what was called (contract, section 4).

JSON over HTTP with a bearer token. It does no I/O of its own, so that the proxy serves it from its one listener.
"""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from eve_mocks import actions
from eve_mocks.beginning import with_state
from eve_mocks.callback import Callback
from eve_mocks.document import Document
from eve_mocks.errors import Mistakes, MockError
from eve_mocks.match import did_you_mean
from eve_mocks.model import BadRequest
from eve_mocks.response import Response
from eve_mocks.session import BadSession, SessionExists
from eve_mocks.stubs.names import find_all
from eve_mocks.stubs.rules import NO_RULES, read_for, read_pin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from eve_mocks.calls import CallLog
    from eve_mocks.dispatch import Dispatcher
    from eve_mocks.folder import Folder
    from eve_mocks.model import Mock, Request
    from eve_mocks.response import Json
    from eve_mocks.session import Session

_SESSION_KEYS = ("id", "stubs", "seeds")


class Refusal(Exception):
    """An answer that is none: a status, and what is told beside it."""

    def __init__(self, status: int, message: str, *, why: str, fix: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.error = MockError(message, why=why, fix=fix)


class Asked(NamedTuple):
    """A request of a session: what was sent, and what of the path follows what is asked for."""

    session: Session
    document: Document
    rest: list[str]


class ControlApi:
    """Answers whoever has the token; ``address`` is where the proxy listens."""

    def __init__(
        self, dispatcher: Dispatcher, log: CallLog, *, folder: Folder, token: str, address: tuple[str, int]
    ) -> None:
        self._dispatcher = dispatcher
        self._log = log
        self._folder = folder
        self._token = token
        self._address = address
        self._of_a_session: dict[str, dict[str, Callable[[Asked], Awaitable[Json]]]] = {
            "pins": {"PUT": self._pin},
            "state": {"GET": self._state, "PUT": self._set_state},
            "calls": {"GET": self._calls},
            "operations": {"GET": self._operations},
            "stubs": {"GET": self._verification},
        }

    async def answer(self, request: Request) -> Response:
        """The answer to a request; without the token it tells nothing."""
        try:
            self._check_token(request.headers.get("authorization", ""))
            return await self._answer(request)
        except Refusal as refusal:
            return _failure(refusal.status, [refusal.error], **refusal.headers)
        except BadSession as error:
            fix = "Leave the id out to be given one."
            return _failure(422, [MockError(f"{error}", why="an id stands in URLs, headers and reports", fix=fix)])
        except BadRequest as error:
            return _failure(400, [MockError(f"{error}", why="the control API takes JSON", fix="Correct what is sent.")])
        except MockError as error:
            return _failure(422, [error])
        except Mistakes as mistakes:
            return _failure(422, list(mistakes.exceptions))
        except Exception as error:  # noqa: BLE001 - whatever it is, the asking program is told, and the run goes on
            return _failure(500, [_failed(request, error, self._folder)])

    def _check_token(self, authorization: str) -> None:
        scheme, _, token = authorization.partition(" ")
        given = token.strip().encode("utf-8", "surrogateescape")
        if scheme.lower() != "bearer" or not secrets.compare_digest(given, self._token.encode()):
            raise Refusal(
                401,
                "the token is missing or wrong",
                why="only the command of this run may ask",
                fix="Send authorization: Bearer, and the value of EVE_MOCKS_TOKEN.",
                **{"www-authenticate": "Bearer"},
            )

    async def _answer(self, request: Request) -> Response:
        parts = [unquote(part) for part in request.path.removeprefix("/").split("/")]
        if parts == ["v1", "sessions"]:
            _check_method(request, ["POST"])
            return Response(201, json=self._begin(self._document(request)))
        if parts[:2] != ["v1", "sessions"] or len(parts) < 4:
            raise _nothing_here(request)
        _, _, id_, what, *rest = parts
        handlers = self._of_a_session.get(what)
        if handlers is None or len(rest) != (what in ("state", "operations")):
            raise _nothing_here(request)
        _check_method(request, list(handlers))
        session = self._dispatcher.sessions.find(id_)
        if session is None:
            raise Refusal(
                404,
                f"there is no session {id_[:80]!r}",
                why="a session begins with POST /v1/sessions, or with its first call",
                fix="Begin it, or correct its id.",
            )
        answer = await handlers[request.method](Asked(session, self._document(request), rest))
        return Response(204) if answer is None else Response(json=answer)

    def _document(self, request: Request) -> Document:
        value = request.json() if request.body else None
        return Document.from_python(
            value, file=f"{request.method} {request.path}", line=None, folder=self._folder, whole="the body"
        )

    @property
    def _mocks(self) -> list[Mock]:
        return self._dispatcher.router.mocks

    def _begin(self, document: Document) -> Json:
        document.mapping(_SESSION_KEYS, example="{id: s1, stubs: [], seeds: {}}")
        id_ = document.part("id").text(example="s1") if "id" in document else f"s-{secrets.token_hex(8)}"
        stubs = read_for(self._mocks, document.part("stubs"), "") if "stubs" in document else NO_RULES
        seeds = document.part("seeds").mapping(example="{notes: {notes: []}}") if "seeds" in document else {}
        for name in seeds:
            with_state(name, self._mocks)
        try:
            session = self._dispatcher.sessions.begin(id_, stubs, seeds)
        except SessionExists as error:
            raise Refusal(
                409,
                f"the session {id_} has begun already",
                why="what a session begins with stays as it is from then on",
                fix="Begin it before its first call, or give it another id.",
            ) from error
        host, port = self._address
        return {"id": session.id, "proxy": f"http://{quote(session.id, safe='')}:{self._token}@{host}:{port}"}

    async def _pin(self, asked: Asked) -> None:
        session = asked.session

        def ask(url: Document, mock: str, operation: str) -> Callback:
            return Callback(url, {"session": session.id, "mock": mock, "operation": operation})

        session.stubs.pin(read_pin(self._mocks, asked.document, ask))

    async def _state(self, asked: Asked) -> Json:
        mock = with_state(asked.rest[0], self._mocks)
        async with _turn(asked.session, mock):
            return asked.session.state(mock.name, mock.seed)

    async def _set_state(self, asked: Asked) -> None:
        mock = with_state(asked.rest[0], self._mocks)
        async with _turn(asked.session, mock):
            asked.session.set_state(mock.name, asked.document.value)

    async def _calls(self, asked: Asked) -> Json:
        models = {mock.name: mock for mock in self._mocks if mock.kind == "model"}
        return [_told(line, models.get(line["target"])) for line in self._log.of(asked.session.id)]

    async def _operations(self, asked: Asked) -> Json:
        kinds = {mock.name: mock.kind for mock in self._mocks}
        found = find_all(asked.rest[0], {mock.name: mock.names() for mock in self._mocks})
        return [{"mock": mock, "operation": operation, "kind": kinds[mock]} for mock, operation in found]

    async def _verification(self, asked: Asked) -> Json:
        return asked.session.stubs.verification()


def _told(line: dict[str, Any], mock: Mock | None) -> Json:
    """A call as evals see it: with what a model was ``asked``, unless that was too long for the log."""
    told = actions.told(line)
    if mock is None or line["outcome"] not in ("mocked", "error"):
        return told
    from eve_mocks.kinds.model.mock import Model

    asked = mock.asked(actions.request_of(line)) if isinstance(mock, Model) else None
    return told if asked is None else {**told, "asked": asked.as_json()}


def _turn(session: Session, mock: Mock) -> AbstractAsyncContextManager[object]:
    """What the state is used under: no call of the mock changes it, but for the function that such a call waits for."""
    return contextlib.nullcontext() if mock.name in session.stubs.asking else session.turn(mock.name)


def _failed(request: Request, error: Exception, folder: Folder) -> MockError:
    """What to tell of an exception: the place in the mock that it comes from, such as a seed that is a function."""
    file, line = folder.place(error) or (None, None)
    return MockError(
        f"{request.method} {request.path[:200]} failed: {type(error).__name__}: {error}",
        why="the mock's own code, or a value that is nested too deeply, does not allow it",
        fix="Correct it there.",
        file=file,
        line=line,
    )


def _check_method(request: Request, methods: list[str]) -> None:
    if request.method not in methods:
        raise Refusal(
            405,
            f"{request.path} does not take {request.method}",
            why=f"it takes {' and '.join(methods)}",
            fix=did_you_mean(request.method, methods),
            allow=", ".join(methods),
        )


def _nothing_here(request: Request) -> Refusal:
    return Refusal(
        404,
        f"there is no {request.path[:200]}",
        why="there are /v1/sessions, and below each session's id pins, state/{mock}, calls and stubs",
        fix="Correct the path.",
    )


def _failure(status: int, errors: list[MockError], **headers: str) -> Response:
    body: dict[str, Any] = {"error": errors[0].as_json()}
    if len(errors) > 1:
        body["errors"] = [error.as_json() for error in errors]
    return Response(status, json=body, headers=headers)
