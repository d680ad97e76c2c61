"""HTTP/1.1 toward the client: requests are read with h11, and answered by the dispatcher.

One request is answered at a time; what is pipelined behind it waits. A message that is not clearly framed is refused
before anything of it reaches a handler (RFC 9112, section 11.2, on request smuggling).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import socket
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import h11

from eve_mocks.dispatch import Exchange
from eve_mocks.encoding import LIMIT, BadEncoding, decode
from eve_mocks.match import is_loopback
from eve_mocks.model import URL, Headers, Passage, Request
from eve_mocks.proxy import forward, head, reply
from eve_mocks.proxy.connection import (
    CONTROL,
    BadTarget,
    Connection,
    Disagreement,
    NotForwarded,
    host_of,
    parse_authority,
    presumed_target,
    proxy_user,
    target_of,
)
from eve_mocks.response import Response

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from eve_mocks.control import ControlApi
    from eve_mocks.dispatch import Dispatcher
    from eve_mocks.model import Call, Peer

log = logging.getLogger(__name__)

# What may wait behind the request that is being answered before the client is slowed down.
_PIPELINE_LIMIT = 256 * 1024
# How long what a client still sends is read and dropped after an early answer, which a reset would destroy.
_LINGER = 1.0
# How often a client that sends no more is looked after, while it waits for an answer.
_LOOK_AGAIN = 1.0
# Between the client and a proxy (RFC 9110, section 7.6.1, and the older Proxy-Connection).
# A CONNECT with it gets no answer: our own preload sends it, and goes on as if the server itself had been reached.
QUIET = "x-eve-mocks-quiet"
# With this one it only tells of a connection that it had to refuse.
UNLED = "x-eve-mocks-unled"
HOP_HEADERS = ("proxy-authorization", "proxy-connection")


class Lanes(Protocol):
    """Where a connection goes on, once a request says that it is not for this one. The listener has them."""

    dispatcher: Dispatcher
    token: str
    address: tuple[str, int]
    control: ControlApi | None

    def peer(self, connection: Connection) -> Peer: ...
    def is_gone(self, connection: Connection) -> bool: ...
    def block(self, connection: Connection, reason: str, why: str, fix: str) -> None: ...
    def keep(self, task: asyncio.Task[None]) -> None: ...
    def tunnel(self, transport: asyncio.Transport, connection: Connection, rest: bytes, *, quiet: bool) -> None: ...
    def pass_on(self, transport: asyncio.Transport, connection: Connection, data: bytes) -> None: ...
    def relay(self, transport: asyncio.Transport, target: URL, data: bytes) -> None: ...


class Refused(NamedTuple):
    """Why a request is answered with a refusal, and what helps."""

    reason: str
    why: str
    fix: str


BROKEN = "Correct what makes the request: no server would be bound to read it as it was meant."
_UNLED = (
    "Its socket began with TLS before it was connected, so that it cannot be led to the proxy.",
    "Have it use tls.connect(), or https.",
)
ONE_NAME = "Have the connection, TLS and the Host header name one origin."


def broken_inside(error: BaseException) -> Refused:
    """What is recorded where eve-mocks itself fails, and can answer no more."""
    why = f"eve-mocks itself failed: {type(error).__name__}."
    return Refused("internal", why, "Report it with the output.log of the run.")


@dataclasses.dataclass(slots=True)
class Incoming:
    """A request whose body is being read."""

    request: Request
    connection: Connection
    control: ControlApi | None = None  # answers it, where it is for us
    refused: Refused | None = None  # answered by ``Dispatcher.refuse``, whatever it asks for
    parts: list[bytes] = dataclasses.field(default_factory=list)
    size: int = 0
    awaited: asyncio.Future[bytes] | None = None  # set where the answer was made before the body came


class Http1(asyncio.Protocol):
    """Serves the requests of one connection, to a known destination or to the proxy itself."""

    def __init__(self, lanes: Lanes, connection: Connection) -> None:
        self._lanes = lanes
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self.conn = head.connection()
        self.transport: asyncio.Transport
        self._pending = bytearray()  # received, and not yet given to h11
        self._scanned = 0  # so much of it holds no end of a head
        self._incoming: Incoming | None = None
        self._task: asyncio.Task[None] | None = None
        self._drain: asyncio.Future[None] | None = None
        self._over = False  # nothing more is read here
        self._ended = False  # the client sends no more

    # Events of the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        try:
            if self._incoming is not None:
                self.conn.receive_data(data)
                self._read_body(self._incoming)
            else:
                self._pending += data
            if self._task is None:
                self._read_requests()
                if self._incoming is not None and not self.transport.is_closing():
                    _acknowledge(self.transport)
            elif len(self._pending) > _PIPELINE_LIMIT:
                self.transport.pause_reading()
        except Exception as error:
            # Nothing leaves through this lane, so there is nothing to undo: the client sees a dead connection.
            log.exception("a connection was dropped because of an error inside eve-mocks")
            self._lanes.block(self._connection, *broken_inside(error))
            self._over = True
            self.transport.abort()

    def eof_received(self) -> bool:
        """The client hung up, or only sends no more (``shutdown(SHUT_WR)``): then it still waits for the answer."""
        self._ended = True
        if self._task is None or not self.transport.can_write_eof():
            if self._task is not None:
                self._task.cancel()
            return False
        self._look_after()
        return True

    def _look_after(self) -> None:
        """Cancel what a client does not wait for any more: after its FIN, the connection itself tells nothing."""
        if self._task is None or self._over:
            return
        if self._lanes.is_gone(self._connection):
            self._task.cancel()
            self.transport.close()
        else:
            self._loop.call_later(_LOOK_AGAIN, self._look_after)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._over = True
        if self._task is not None:
            self._task.cancel()
        self.resume_writing()

    def pause_writing(self) -> None:
        self._drain = self._loop.create_future()

    def resume_writing(self) -> None:
        drain, self._drain = self._drain, None
        if drain is not None and not drain.done():
            drain.set_result(None)

    async def drained(self) -> None:
        if self._drain is not None:
            await self._drain

    # Reading.

    def _read_requests(self) -> None:
        """Read and answer what has arrived, until something has to be waited for."""
        while self._task is None and self._incoming is None and not self._over:
            if not self.transport.is_reading() and not self.transport.is_closing():
                self.transport.resume_reading()
            try:
                del self._pending[: head.empty_lines(self._pending)]
                found = head.find_end(self._pending, self._scanned)
            except head.BadHead as error:
                self._refuse_message(str(error), bytes(self._pending), status=error.status)
                return
            self._scanned = len(self._pending)
            if found is None:
                return
            raw = bytes(self._pending)
            self._pending.clear()
            self._scanned = 0
            self._read_head(raw)

    def _read_head(self, raw: bytes) -> None:
        try:
            self._begin(head.read(self.conn, raw), raw)
        except NotForwarded as error:
            self._answer_itself(str(error))
        except BadTarget as error:
            self._refuse_message(str(error), raw)
        except head.BadHead as error:
            self._refuse_message(str(error), raw, status=error.status)
        else:
            if self._incoming is not None:
                self._read_body(self._incoming)

    def _begin(self, event: h11.Request, raw: bytes) -> None:
        """Decide by the head of a request where it goes: elsewhere with the connection, or to a mock."""
        headers = Headers(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items()
        )
        connection, headers = self._identify(headers)
        forwarded = connection.host is not None and self._connection.host is None
        method, raw_target = event.method.decode("ascii"), event.target.decode("ascii")
        if connection.host is None and raw_target.startswith("/v1/") and self._lanes.control is not None:
            raw_target, headers = f"{CONTROL.origin}{raw_target}", headers.without("host")
        if method.upper() == "CONNECT":
            self._connect(raw_target, connection, headers)
            return
        refused = None
        host = host_of(headers.get("host"))
        connection = connection.called(host)
        try:
            target = target_of(raw_target, host, connection)
        except Disagreement as error:
            target, refused = error.target, Refused("authority", str(error), ONE_NAME)
        if refused is None and self._lanes.control is not None and self._is_for_us(target):
            request = Request(method=method, target=target, headers=headers)
            self._incoming = Incoming(request, connection, control=self._lanes.control)
            if self.conn.they_are_waiting_for_100_continue:
                self._continue()
            return
        entry = self._lanes.dispatcher.resolve(target)
        if refused is None and connection.host is None and is_loopback(target.host):
            self._over = True
            self._lanes.relay(self.transport, target, forward.origin_form(event, target) + self.conn.trailing_data[0])
        elif refused is None and not forwarded and isinstance(entry, Passage) and entry.kind == "allow":
            self._over = True
            self._lanes.pass_on(self.transport, connection if self._connection.host else self._connection, raw)
        else:
            request = Request(method=method, target=target, headers=headers)
            self._incoming = Incoming(request, connection, refused=refused)
            if self.conn.they_are_waiting_for_100_continue:
                self._expect(self._incoming)

    def _identify(self, headers: Headers) -> tuple[Connection, Headers]:
        """Whose request it is and where its connection leads, and the headers without what told so."""
        if self._connection.host is not None:
            return self._connection, headers
        known = forward.unwrap(headers, self._lanes.token)
        if known is not None:
            return known, headers.without(*forward.HEADERS)
        user = proxy_user(headers.get("proxy-authorization"))
        return dataclasses.replace(self._connection, user=user), headers.without(*HOP_HEADERS)

    def _is_for_us(self, target: URL) -> bool:
        own = self._connection.host is None and target.port == self._lanes.address[1] and is_loopback(target.host)
        return target.origin == CONTROL.origin or (own and target.path.startswith("/v1/"))

    def _connect(self, authority: str, connection: Connection, headers: Headers) -> None:
        if connection.host is not None:
            raise BadTarget("CONNECT inside a connection to an upstream")
        host, port = parse_authority(authority)
        connection = dataclasses.replace(connection, host=host, port=port)
        self._over = True
        if UNLED in headers:
            self._lanes.block(dataclasses.replace(connection, scheme="tcp"), "protocol", *_UNLED)
            self.transport.close()
            return
        self._lanes.tunnel(self.transport, connection, self.conn.trailing_data[0], quiet=QUIET in headers)

    def _expect(self, incoming: Incoming) -> None:
        request, user = incoming.request, incoming.connection.session
        if incoming.refused is not None or not self._lanes.dispatcher.reads_body(request, user=user):
            self._start(self._answer_early(incoming))
        else:
            self._continue()

    def _continue(self) -> None:
        self.transport.write(self.conn.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")

    def _read_body(self, incoming: Incoming) -> None:
        try:
            while not isinstance(event := self.conn.next_event(), h11.EndOfMessage):
                if not isinstance(event, h11.Data):
                    return
                incoming.parts.append(bytes(event.data))
                incoming.size += len(event.data)
                if incoming.size > LIMIT:
                    self._refuse_message(f"the body is larger than {LIMIT} bytes", status=413)
                    return
        except h11.RemoteProtocolError as error:
            self._refuse_message(head.in_own_words(error))
            return
        self._incoming = None
        self._pending += self.conn.trailing_data[0]
        body = b"".join(incoming.parts)
        if incoming.awaited is None:
            self._start(self._answer(incoming, body))
        elif not incoming.awaited.done():
            incoming.awaited.set_result(body)

    # Answering.

    async def _answer(self, incoming: Incoming, body: bytes) -> None:
        status = 403
        codings = incoming.request.headers.get("content-encoding")
        if codings and incoming.refused is None:
            try:
                body = decode(body, codings)
            except BadEncoding as error:
                incoming.refused, status = Refused("message", f"{error}.", BROKEN), 400
        exchange = await self._exchange(incoming, body, status)
        if exchange.response is None:
            self._let_through(incoming, exchange)
        else:
            await reply.send(self, exchange)

    def _let_through(self, incoming: Incoming, exchange: Exchange) -> None:
        """Send a request on whose mock leaves it to the upstream, as its body came. What follows goes with it."""
        self._over = True
        data = forward.to_upstream(exchange, b"".join(incoming.parts), self._lanes.token) + self._pending
        self._lanes.pass_on(self.transport, incoming.connection, bytes(data))

    async def _answer_early(self, incoming: Incoming) -> None:
        """Answer ``Expect: 100-continue``: an error at once, anything else when the body has come after all."""
        exchange = await self._exchange(incoming, b"")
        assert exchange.response is not None  # noqa: S101 - this lane answers itself
        if exchange.response.status >= 400:
            self._incoming = None
            await reply.send(self, exchange, close=True)
            return
        if self._incoming is incoming:  # else the client did not wait, and the body is here
            self._continue()
            incoming.awaited = self._loop.create_future()
            try:
                await incoming.awaited
            except asyncio.CancelledError:
                exchange.finish(status=None, error="cancelled: the client hung up", cancelled=True)
                raise
        body = b"".join(incoming.parts)
        exchange.note(request_body=body, request_bytes=len(body))
        await reply.send(self, exchange)

    async def _exchange(self, incoming: Incoming, body: bytes, status: int = 403) -> Exchange:
        def peer() -> Peer:
            return self._lanes.peer(incoming.connection)

        request = dataclasses.replace(incoming.request, body=body) if body else incoming.request
        user = incoming.connection.session
        if incoming.control is not None and incoming.refused is None:
            exchange = Exchange(request, session="", record=_forget)
            exchange.response = await incoming.control.answer(request)
            return exchange
        if incoming.refused is None:
            client = incoming.connection.peer
            return await self._lanes.dispatcher.answer(request, user=user, client=client, peer=peer)
        reason, why, fix = incoming.refused
        return self._lanes.dispatcher.refuse(
            request, reason=reason, why=why, fix=fix, status=status, user=user, peer=peer
        )

    def _start(self, answering: Coroutine[Any, Any, None]) -> None:
        """Run an answer; one that waits for nothing is done when this returns."""
        task = asyncio.Task(answering, loop=self._loop, eager_start=True)
        if task.done():
            self._settle(task)
        else:
            self._task = task
            self._lanes.keep(task)
            task.add_done_callback(self._resume)

    def _resume(self, task: asyncio.Task[None]) -> None:
        self._task = None
        self._settle(task)
        self.data_received(b"")
        if self._ended and self._task is None and not self._over:
            self._close(linger=False)

    def _settle(self, task: asyncio.Task[None]) -> None:
        """Make the connection ready for the next request, or close it."""
        if self._over:
            return
        if task.cancelled() or self.transport.is_closing():
            self._over = True
        elif (error := task.exception()) is not None:
            log.error("a connection was dropped because of an error inside eve-mocks", exc_info=error)
            self._lanes.block(self._connection, *broken_inside(error))
            self._over = True
            self.transport.abort()
        elif self.conn.our_state is h11.DONE and self.conn.their_state is h11.DONE:
            if self._pending:  # goes through _read_head, so h11 must not have read on
                self.conn = head.connection()
            else:
                self.conn.start_next_cycle()
        else:
            self._close(linger=self.conn.their_state is h11.SEND_BODY)

    def _refuse_message(self, why: str, raw: bytes = b"", *, status: int = 400) -> None:
        """Answer a message that cannot be trusted, and close: where it ends is not known. ``raw`` is how it begins."""
        incoming, self._incoming = self._incoming, None
        if self._task is not None:
            self._task.cancel()  # an early answer that waits for the body
        connection = self._connection if incoming is None else incoming.connection
        exchange = self._lanes.dispatcher.refuse(
            self._presumed(raw) if incoming is None else incoming.request,
            reason="message",
            why=f"The request is not valid HTTP: {why}.",
            fix=BROKEN,
            status=status,
            user=connection.session,
            peer=lambda: self._lanes.peer(connection),
        )
        self._answer_last(exchange)

    def _presumed(self, raw: bytes) -> Request:
        """What a broken message asks for, as far as that can be told: for the record alone."""
        target = self._connection.url
        if self._connection.host is None:
            target = presumed_target(raw) or URL("tcp", *self._lanes.address, "/")
        return Request(method="?", target=target, headers=Headers())

    def _answer_itself(self, why: str) -> None:
        """Answer what is asked of the proxy, not through it; nothing of that would leave, so nothing is recorded."""
        request = Request(method="?", target=self._connection.url, headers=Headers())
        exchange = Exchange(request, session="", record=_forget)
        exchange.response = Response(400, text=f"eve-mocks: {why}\n")
        self._answer_last(exchange)

    def _answer_last(self, exchange: Exchange) -> None:
        assert exchange.response is not None  # noqa: S101 - set by the callers
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            reply.whole(self, exchange, exchange.response, close=True)
        else:
            exchange.finish(status=None)
        self._close(linger=True)

    def _close(self, *, linger: bool) -> None:
        """Close. Data that nobody reads would turn that into a reset, so it may be read and dropped for a while."""
        self._over = True
        if not linger:
            self.transport.close()
            return
        if self.transport.can_write_eof():
            with contextlib.suppress(OSError):  # the client is gone already
                self.transport.write_eof()
        self._loop.call_later(_LINGER, self.transport.close)


def _forget(call: Call) -> None:
    """Stand in for the log where there is nothing to tell."""


def _acknowledge(transport: asyncio.Transport) -> None:
    """Acknowledge what has arrived at once: urllib3 sends a body after its head, with Nagle's algorithm where it has
    a proxy, so that the body would wait for a delayed acknowledgement (RFC 1122, section 4.2.3.2; tcp(7)).
    """
    if hasattr(socket, "TCP_QUICKACK"):
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
