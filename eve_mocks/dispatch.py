"""resolve, answer, record: what happens to every request, whichever way it came in.

The rule: each request ends in exactly one ``Call``, and any exception ends in an answer that lets nothing through.
"""

from __future__ import annotations

import dataclasses
import datetime
import logging
import time
from typing import TYPE_CHECKING

from eve_mocks.advice import Advisor
from eve_mocks.errors import MockError
from eve_mocks.interruption import is_from_outside
from eve_mocks.model import URL, Answer, BadRequest, Call, Headers, Mock, OutcomeWord, Passage, Peer, Request
from eve_mocks.response import Response
from eve_mocks.router import Router
from eve_mocks.scripts import REQUEST_HEADER
from eve_mocks.session import BadSession, Session, Sessions, gateway_session
from eve_mocks.signin import SignIn, is_sign_in, may_be_sign_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

log = logging.getLogger(__name__)

SESSION_HEADER = "x-eve-mocks-session"
AGENT_HEADER = "x-eve-mocks-agent"
INTERNAL_PREFIX = "x-eve-mocks-"

_EVE = "eve's own machinery, which a mocked run does not need"
# Called by eve itself without the agent's doing (contract, section 2).
EVE_PASSAGES = (Passage(kind="block", name="eve-telemetry", url="https://telemetry.vercel.com/", why=_EVE),)
EVE_DEV_PASSAGES = (Passage(kind="block", name="eve-dev", url="https://api.vercel.com/", why=_EVE),)


def _nobody() -> Peer:
    return Peer()


class Exchange:
    """One request on its way to its ``Call``. ``response`` is None where the upstream is to be asked."""

    def __init__(
        self, request: Request, *, session: str, record: Callable[[Call], None], client: Peer | None = None
    ) -> None:
        self.request = request
        self.response: Response | None = None
        self._record = record
        self._at = datetime.datetime.now(datetime.UTC)
        self._started = time.perf_counter()
        self._done = False
        self.call = Call(
            at=self._at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            session=session,
            outcome="blocked",
            target=request.target.host,
            kind="",
            operation=f"{request.method} {request.path}",
            method=request.method,
            url=request.url,
            status=None,
            duration_ms=0.0,
            request_bytes=len(request.body),
            response_bytes=0,
            agent=request.headers.get(AGENT_HEADER),
            pid=None if client is None else client.pid,
            program=None if client is None else client.program,
            request_headers=request.headers.pairs,
            request_body=request.body,
        )

    def note(self, **changes: object) -> None:
        self.call = dataclasses.replace(self.call, **changes)  # type: ignore[arg-type]

    def finish(
        self,
        *,
        status: int | None,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes = b"",
        size: int | None = None,
        error: str | None = None,
        cancelled: bool = False,
    ) -> None:
        """Record the call, once. ``body`` may be the beginning of it alone, ``size`` is then the whole's."""
        if self._done:
            return
        self._done = True
        self.note(
            status=status,
            duration_ms=round((time.perf_counter() - self._started) * 1000, 3),
            response_bytes=len(body) if size is None else size,
            response_headers=tuple(headers),
            response_body=body,
            error=error or self.call.error,
            cancelled=True if cancelled else None,
        )
        self._record(self.call)


class Dispatcher:
    """Answers requests from the mocks of a router, and hands each finished ``Call`` to ``record``."""

    def __init__(
        self,
        router: Router,
        sessions: Sessions,
        record: Callable[[Call], None],
        *,
        eve_dev: bool = False,
        advisor: Advisor | None = None,
    ) -> None:
        self.router = router
        self.sessions = sessions
        self._record = record
        self._advisor = advisor or Advisor()
        self._machinery = Router((), (*EVE_PASSAGES, *(EVE_DEV_PASSAGES if eve_dev else ())))
        self._sign_in = SignIn()

    def resolve(self, url: URL) -> Mock | Passage | None:
        """The entry that claims a URL, before anything but the URL is known."""
        return self.router.resolve(url)

    def reads_body(self, request: Request, *, user: str | None = None) -> bool:
        """Whether the answer depends on the body; if not, it can be given before the body is sent."""
        entry = self.resolve(request.target)
        if entry is None:
            return may_be_sign_in(request)
        if isinstance(entry, Passage):
            return False
        try:
            return entry.reads_body(request) or not self._session(request, user).stubs.is_empty
        except BadSession:  # refused whatever the body is
            return False

    def allowed(
        self, request: Request, passage: Passage, *, user: str | None = None, client: Peer | None = None
    ) -> Exchange:
        """An exchange that the upstream will answer; the carrier calls ``finish``. Raises ``BadSession``."""
        session = self._session(request, user)
        exchange = Exchange(request, session=session.id, record=self._record, client=client)
        exchange.note(outcome="allowed", target=passage.name, target_url=passage.url, kind="allow")
        return exchange

    async def answer(
        self,
        request: Request,
        *,
        user: str | None = None,
        client: Peer | None = None,
        peer: Callable[[], Peer] = _nobody,
    ) -> Exchange:
        """Answer a request that stays here: mocked or blocked.

        ``user`` is the session that the connection tells. ``client`` is who asks, as far as it is known; ``peer``
        looks it up for a call that is blocked.

        The caller sends ``exchange.response`` and calls ``finish``. Where this coroutine is cancelled because the
        client hung up, the call is recorded here.
        """
        try:
            session = self._session(request, user)
        except BadSession as error:
            fix = f"Correct the {SESSION_HEADER} header, or the user name of the proxy URL."
            return self.refuse(request, status=400, reason="session", why=f"{error}.", fix=fix, peer=peer)
        clean = dataclasses.replace(request, headers=without_internal(request.headers))
        exchange = Exchange(request, session=session.id, record=self._record, client=client)
        try:
            await self._answer(exchange, clean, session)
        except BaseException as error:
            if is_from_outside(error):
                exchange.finish(status=None, error="cancelled: the client hung up", cancelled=True)
                raise
            log.exception("blocked by an error inside eve-mocks")
            self._block(
                exchange,
                reason="internal",
                why=f"eve-mocks itself failed: {type(error).__name__}: {error}",
                fix="Report it with the output.log of the run.",
            )
        if exchange.call.outcome in ("blocked", "error"):
            who = peer()
            exchange.note(pid=who.pid, program=who.program)
        return exchange

    async def _answer(self, exchange: Exchange, request: Request, session: Session) -> None:
        entry: Mock | Passage | None = self.resolve(request.target)
        if entry is None and is_sign_in(request):
            entry = self._sign_in
        if entry is None:
            entry = self._machinery.resolve(request.target)
        if entry is None:
            suggestion = self._advisor.suggest(request)
            exchange.note(suggestion=suggestion.as_json())
            fix = suggestion.fix(self._advisor.folder)
            self._block(exchange, reason="unclaimed", why="No mock claims it, and nothing allows it.", fix=fix)
        elif isinstance(entry, Passage):
            exchange.note(target=entry.name, target_url=entry.url)
            if entry.kind == "block":
                self._block_as_expected(exchange, entry)
            else:  # an allowed URL never comes here by itself; if it does, nothing is let through
                self._block(
                    exchange,
                    reason="internal",
                    why="It is allowed, but reached the part that only mocks.",
                    fix="Report it with the output.log of the run.",
                )
        else:
            exchange.note(outcome="mocked", target=entry.name, target_url=entry.url or None, kind=entry.kind)
            _apply(exchange, await _ask(entry, request, session))

    def refuse(
        self,
        request: Request,
        *,
        reason: str,
        why: str,
        fix: str,
        status: int = 403,
        user: str | None = None,
        peer: Callable[[], Peer] = _nobody,
    ) -> Exchange:
        """Block a request for a reason of its connection: names that disagree, a broken message, a bad session."""
        try:
            session = self._session(request, user).id
        except BadSession:
            session = self.sessions.default
        exchange = Exchange(request, session=session, record=self._record)
        self._block(exchange, reason=reason, why=why, fix=fix, status=status)
        who = peer()
        exchange.note(pid=who.pid, program=who.program)
        return exchange

    def refuse_connection(
        self,
        url: URL,
        *,
        reason: str,
        why: str,
        fix: str | None = None,
        names: tuple[str, ...] = (),
        user: str | None = None,
        peer: Callable[[], Peer] = _nobody,
    ) -> None:
        """Block and record a connection on which no request can be read; where it goes is all that is known of it.

        ``names`` are other names of its host. Without a fix, it is to be let through as a whole.
        """
        exchange = self.refuse(
            Request(method="CONNECT", target=url, headers=Headers()),
            reason=reason,
            why=why,
            fix=fix or self._advisor.raw(url),
            user=user,
            peer=peer,
        )
        exchange.note(operation=_attempt(url))
        hosts = (url.host, *names)
        known = (self.router.only(host, url.port) for host in hosts)
        entry = (
            self.router.raw("udp" if url.scheme == "udp" else "tcp", hosts, url.port)
            or next((entry for entry in known if entry is not None), None)
            or self._machinery.only(url.host, url.port)
        )
        if entry is not None:
            # QUIC (RFC 9114, section 3.1.2), TCP Fast Open (RFC 7413, section 4.1.3): a client that cannot have it goes
            # on with TCP as ever, where it is answered.
            expected = url.scheme in ("udp", "tcp-fast-open") or (isinstance(entry, Passage) and entry.kind == "block")
            exchange.note(target=entry.name, target_url=entry.url, expected=expected)
        exchange.finish(status=None)

    def _session(self, request: Request, user: str | None) -> Session:
        return self.sessions.get(request.headers.get(SESSION_HEADER) or user or gateway_session(request))

    def _block_as_expected(self, exchange: Exchange, passage: Passage) -> None:
        exchange.note(expected=True)
        at = f"{passage.file}:{passage.line}" if passage.line else passage.file
        fix = f"It fails no run. To have it answered, put a mock in the place of {at}." if at else "It fails no run."
        self._block(exchange, reason="block", why=f"It is blocked on purpose: {passage.why.rstrip('.')}.", fix=fix)

    def _block(self, exchange: Exchange, *, reason: str, why: str, fix: str, status: int = 403) -> None:
        message = f"eve-mocks blocked {exchange.request.method} {exchange.request.target}"
        exchange.note(
            outcome="blocked",
            kind="block",
            reason=reason,
            expected=bool(exchange.call.expected),
            error=why,
            fix=fix if exchange.call.suggestion is None else None,
        )
        exchange.response = Response(
            status,
            # RFC 9457: the members `title`, `status` and `detail` are the standard's, the rest are ours.
            json={
                "title": "blocked by eve-mocks",
                "status": status,
                "detail": message,
                "message": message,
                "why": why,
                "fix": fix,
                **_for_sdks(exchange.call, f"{message}\n{why}\n{fix}"),
            },
            headers={"content-type": "application/problem+json", "eve-mocks": "blocked", "x-should-retry": "false"},
        )


def _for_sdks(call: Call, text: str) -> dict[str, object]:
    """Where the SDKs of model providers look for what to tell."""
    is_of_a_model = call.suggestion is not None and call.suggestion["kind"] == "model"
    return {"type": "error", "error": {"type": "eve_mocks_blocked", "message": text}} if is_of_a_model else {}


def _attempt(url: URL) -> str:
    """What was tried where no request was: a port of 0 stands for a socket that was never made."""
    if url.port == 0:
        return f"SOCKET {url.host}"
    return f"{'UDP' if url.scheme == 'udp' else 'CONNECT'} {url.authority}"


def without_internal(headers: Headers) -> Headers:
    """Headers without those that are spoken between eve-mocks and its preloads; the name of a request is the mock's."""

    def is_internal(name: str) -> bool:
        return name.startswith(INTERNAL_PREFIX) and name != REQUEST_HEADER

    return Headers(pair for pair in headers.pairs if not is_internal(pair[0].lower()))


async def _ask(mock: Mock, request: Request, session: Session) -> Answer:
    try:
        return await mock.answer(request, session)
    except BadRequest as error:
        body = {"error": {"message": str(error)}}
        return Answer(response=Response(400, json=body), operation=f"{request.method} {request.path}")
    except BaseException as error:
        if is_from_outside(error):
            raise
        return broken(mock, f"{request.method} {request.path}", error)


def broken(mock: Mock, operation: str, error: BaseException) -> Answer:
    """The 500 of a mock that broke: it names the file and line, and fails the run."""
    if not isinstance(error, MockError):
        error = MockError(
            f"{type(error).__name__}: {error}",
            why=f"the mock {mock.name} failed while it answered {operation}",
            fix="Correct the mock; a failure that the agent is meant to see is raised as ToolError or Throw.",
        )
    error.at(mock.file, mock.line)
    body = {"error": {"name": "BrokenMock", **error.as_json()}}
    response = Response(500, json=body, headers={"eve-mocks": "error", "x-should-retry": "false"})
    return Answer(response=response, operation=operation, error=f"{error.where}: {error.message}")


def _apply(exchange: Exchange, answer: Answer) -> None:
    outcome: OutcomeWord = "mocked" if answer.error is None else "error"
    exchange.response = answer.response
    exchange.note(
        outcome=outcome,
        operation=answer.operation,
        stub=answer.stub,
        position=answer.position,
        nearest=answer.nearest,
        unanswered=answer.unanswered,
        error=answer.error,
        fix=answer.fix,
        doubt=answer.doubt,
        usage=answer.usage,
    )
