"""Accepts every connection of the command, finds out what it speaks and to whom, and chooses its lane.

Whatever cannot be read as HTTP or TLS ends here: it is reset and recorded as blocked.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import re
import socket
import weakref
from typing import TYPE_CHECKING, Literal

from eve_mocks.match import is_loopback
from eve_mocks.model import URL
from eve_mocks.proxy import head
from eve_mocks.proxy.connection import Connection
from eve_mocks.proxy.http1 import Http1, broken_inside
from eve_mocks.proxy.peer import Peers, is_gone
from eve_mocks.proxy.relay import relay
from eve_mocks.proxy.reply import reset
from eve_mocks.proxy.tls import ServerSide, TlsLayer
from eve_mocks.proxy.trust import Trust

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from eve_mocks.dispatch import Dispatcher
    from eve_mocks.model import Peer
    from eve_mocks.proxy.certificates import Certificates

log = logging.getLogger(__name__)

BACKLOG = 4096
# How long a client may be silent before it is taken to wait for the server to speak (contract, section 2).
_SILENCE = 1.0
# A client that checks the certificate after the handshake hangs up so soon, without a word (Node.js does).
_SECOND_THOUGHTS = 1.0
_STOPPING = 2.0
_TUNNELLED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_UNREACHABLE = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_FORBIDDEN = b"HTTP/1.1 403 Forbidden\r\neve-mocks: blocked\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

# Protocols in which the client waits for the server's greeting, by the port that they have at IANA.
_SERVER_FIRST_PORTS = {
    21: "FTP",
    22: "SSH",
    23: "Telnet",
    25: "SMTP",
    110: "POP3",
    119: "NNTP",
    143: "IMAP",
    587: "SMTP",
    3306: "MySQL",
    5900: "VNC",
}
_NO_HTTP = "Only HTTP can be mocked or allowed. Have it use a server on this machine, which it may reach."

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"  # RFC 9113, section 3.4
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,40}"
_REQUEST_LINE = re.compile(_TOKEN + rb" [^\n]* HTTP/\d\.\d\r?")
_BEGUN_REQUEST_LINE = re.compile(_TOKEN + rb"( [^\n]*)?")

type Carry = Callable[[asyncio.StreamReader, asyncio.StreamWriter, Connection, str | None], Awaitable[bytes | None]]
type Speech = Literal["tls", "http/1.1", "h2", "unknown"]


def speech(data: bytes) -> Speech | None:
    """What a client speaks, by its first bytes; None while they do not tell."""
    if data[:1] == b"\x16":  # a TLS record with a handshake message (RFC 8446, section 5.1)
        return None if len(data) < 2 else "tls" if data[1] == 3 else "unknown"
    if data[: len(_PREFACE)] == _PREFACE[: len(data)] and len(data) > 3:
        return "h2" if len(data) >= len(_PREFACE) else None
    line, ended, _ = data.lstrip(b"\r\n").partition(b"\n")
    if ended:
        return "http/1.1" if _REQUEST_LINE.fullmatch(line) else "unknown"
    begun = not line or _BEGUN_REQUEST_LINE.fullmatch(line.removesuffix(b"\r"))
    if begun and len(data) <= head.LIMIT:
        return None
    return "http/1.1" if begun else "unknown"  # the former knows what to answer to one that is too long


class FirstBytes(asyncio.Protocol):
    """Waits for enough of a connection to know what it speaks. ``secure`` is the TLS it is already inside of."""

    def __init__(self, listener: Listener, connection: Connection, *, secure: ServerSide | None = None) -> None:
        self._listener = listener
        self._connection = connection
        self._secure = secure
        self._data = b""
        self._began = listener.loop.time()
        self._silence: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self._transport = transport
        if self._secure is None:
            self._wait()

    def data_received(self, data: bytes) -> None:
        self._stop_waiting()
        self._data += data
        try:
            self._go_on()
        except Exception as error:
            log.exception("a connection was dropped because of an error inside eve-mocks")
            self._listener.block(self._connection, *broken_inside(error))
            self._transport.abort()

    def _go_on(self) -> None:
        if self._secure is not None:
            self._listener.trust.proven(self._connection)
        found = speech(self._data)
        if found is None:
            self._wait()
        elif found == "http/1.1":
            _hand_over(self._transport, Http1(self._listener, self._connection), self._data)
        elif found == "tls" and self._secure is None and self._connection.host is not None:
            self._listener.decrypt(self._transport, self._connection, self._data)
        elif found == "h2" and self._connection.host is not None:
            self._listener.pass_on(self._transport, self._connection, self._data, alpn="h2")
        else:
            self._refuse("Its first bytes are neither HTTP nor TLS.")  # they may be a password, so they are not told

    def _wait(self) -> None:
        """Give the client a while to say (more of) what it speaks; toward the proxy itself it is no hurry."""
        if self._connection.host is not None:
            self._silence = self._listener.loop.call_later(_SILENCE, self._give_up)

    def _stop_waiting(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _give_up(self) -> None:
        said = "went silent before it was clear what it speaks" if self._data else "sent nothing"
        self._refuse(f"It {said}: a protocol in which the server speaks first is not HTTP.")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._stop_waiting()
        soon = self._listener.loop.time() - self._began < _SECOND_THOUGHTS
        if self._secure is not None and not self._data and soon:
            self._listener.trust.left(self._connection, self._secure.error, cleanly=self._secure.ended_cleanly)

    def _refuse(self, why: str) -> None:
        self._silence = None
        scheme = "tls" if self._secure is not None else "tcp"
        self._listener.block(dataclasses.replace(self._connection, scheme=scheme), "protocol", why, _NO_HTTP)
        reset(self._transport)


class Listener:
    """The proxy's server: owns its connections, and is the ``Lanes`` of all of them.

    ``carry`` takes connections to allowed upstreams: a coroutine that ends when the connection does, or with what was
    read of a request that is not for it.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        certificates: Certificates,
        carry: Carry,
        *,
        token: str,
    ) -> None:
        self.dispatcher = dispatcher
        self.certificates = certificates
        self.token = token
        self.loop = asyncio.get_running_loop()
        self.address: tuple[str, int] = ("", 0)
        self._carry = carry
        self.trust = Trust(self.block)
        self._peers = Peers()
        self._server: asyncio.Server | None = None
        self._transports: weakref.WeakSet[asyncio.BaseTransport] = weakref.WeakSet()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, sock: socket.socket) -> None:
        """Serve a socket that is bound already."""
        self.address = sock.getsockname()[:2]
        self._server = await self.loop.create_server(lambda: Accepted(self), sock=sock, backlog=BACKLOG)

    async def stop(self) -> None:
        """Close everything; what waits for an answer is cancelled, and recorded as such."""
        if self._server is not None:
            self._server.close()
        for transport in list(self._transports):
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
        await asyncio.sleep(0)  # connection_lost is called now, and cancels the answers
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_STOPPING)

    def accept(self, transport: asyncio.Transport, destination: tuple[str, int] | None = None) -> None:
        """Take a connection; ``destination`` is where it was going, where it did not come to a proxy knowingly."""
        self._transports.add(transport)
        # asyncio does so only where the listening socket was made with IPPROTO_TCP. Without it an answer in two
        # writes waits for the client's delayed acknowledgement.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(client_port=transport.get_extra_info("peername")[1])
        if destination is not None:
            connection = dataclasses.replace(connection, host=destination[0], port=destination[1])
            if self._waits_for_the_server(connection):
                reset(transport)
                return
        _hand_over(transport, FirstBytes(self, connection), b"")

    # The lanes.

    def tunnel(self, transport: asyncio.Transport, connection: Connection, rest: bytes, *, quiet: bool) -> None:
        """What follows a CONNECT; a quiet one is not answered."""
        greeting = b"" if quiet else _TUNNELLED
        assert connection.host is not None  # noqa: S101 - CONNECT names one
        if is_loopback(connection.host):
            self._relay(transport, connection.host, connection.port, greeting=greeting, data=rest)
            return
        if self._waits_for_the_server(connection):
            transport.write(b"" if quiet else _FORBIDDEN)
            transport.close()
            return
        transport.write(greeting)
        _hand_over(transport, FirstBytes(self, connection), rest)

    def _waits_for_the_server(self, connection: Connection) -> bool:
        """Block a connection that would be silent for ever, unless somebody means to speak HTTP there."""
        host, protocol = connection.host, _SERVER_FIRST_PORTS.get(connection.port)
        if protocol is None or host is None or self.dispatcher.router.only(host, connection.port) is not None:
            return False
        why = f"In {protocol}, which has this port, the server speaks first: that is not HTTP."
        self.block(dataclasses.replace(connection, scheme="tcp"), "protocol", why, _NO_HTTP)
        return True

    def relay(self, transport: asyncio.Transport, target: URL, data: bytes) -> None:
        self._relay(transport, target.host, target.port, greeting=b"", data=data)

    def _relay(self, transport: asyncio.Transport, host: str, port: int, *, greeting: bytes, data: bytes) -> None:
        if port == self.address[1]:
            transport.write(_FORBIDDEN)
            transport.close()
            return

        async def carry() -> None:
            server = await relay(transport, host, port, greeting=greeting, failure=_UNREACHABLE, data=data)
            if server is not None:
                self._transports.add(server)

        # Eager, so that the relay has the connection before more of it arrives.
        self.keep(asyncio.Task(carry(), loop=self.loop, eager_start=True))

    def decrypt(self, transport: asyncio.Transport, connection: Connection, data: bytes) -> None:
        """Go on inside TLS, under a certificate for the name that the client asks for."""
        assert connection.host is not None  # noqa: S101 - see FirstBytes
        secure = dataclasses.replace(connection, scheme="https")
        # HTTP/2 goes to the passing lane, so it is only preferred where that is where most requests go anyway.
        passes = self.dispatcher.router.may_allow("https", connection.host, connection.port)
        context = self.certificates.context(connection.host, ("h2", "http/1.1") if passes else ("http/1.1", "h2"))

        def offered() -> None:  # the client is there as long as it waits for this
            nonlocal secure
            secure = dataclasses.replace(secure, peer=self.peer(secure))

        def established(tls: ServerSide) -> asyncio.BaseProtocol:
            return FirstBytes(self, dataclasses.replace(secure, sni=tls.sni), secure=tls)

        def failed(error: ssl.SSLError | None) -> None:
            self.trust.failed(secure, error)

        _hand_over(transport, TlsLayer(context, offered=offered, established=established, failed=failed), data)

    def pass_on(
        self, transport: asyncio.Transport, connection: Connection, data: bytes, *, alpn: str | None = None
    ) -> None:
        reader = _Reader(loop=self.loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self.loop)
        _hand_over(transport, protocol, data)
        self.keep(self.loop.create_task(self._pass_on(transport, protocol, reader, connection, alpn)))

    async def _pass_on(
        self,
        transport: asyncio.Transport,
        protocol: asyncio.StreamReaderProtocol,
        reader: _Reader,
        connection: Connection,
        alpn: str | None,
    ) -> None:
        begun = None
        try:
            begun = await self._carry(reader, Lent(transport, protocol, reader, self.loop), connection, alpn)
        except Exception:
            log.exception("a connection was dropped because of an error inside eve-mocks")
        if begun is None or transport.is_closing():
            transport.close()
            return
        ended = reader.ended
        reader.feed_eof()
        begun += await reader.read()
        server = Http1(self, connection)
        _hand_over(transport, server, begun)
        if ended and not server.eof_received():
            transport.close()

    def keep(self, task: asyncio.Task[None]) -> None:
        """Hold a task until it is done, and wait for it at the end."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # What is recorded without an answer.

    def peer(self, connection: Connection) -> Peer:
        return connection.peer or self._peers.find(connection.client_port, self.address[1])

    def is_gone(self, connection: Connection) -> bool:
        return is_gone(connection.client_port, self.address[1])

    def block(self, connection: Connection, reason: str, why: str, fix: str) -> None:
        url = connection.url if connection.host is not None else URL("tcp", *self.address, "/")
        self.dispatcher.refuse_connection(
            url, reason=reason, why=why, fix=fix, user=connection.user, peer=lambda: self.peer(connection)
        )


class Accepted(asyncio.Protocol):
    """A connection at the moment in which it is accepted."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self._listener.accept(transport)


class _Reader(asyncio.StreamReader):
    """Knows whether the client sends no more, also while there is something to be read."""

    ended = False

    def feed_eof(self) -> None:
        self.ended = True
        super().feed_eof()


class Lent(asyncio.StreamWriter):
    """Writes to a transport, and leaves its end to whoever lent it."""

    def close(self) -> None:
        pass

    def __del__(self, *_: object) -> None:
        pass


def _hand_over(transport: asyncio.Transport, protocol: asyncio.Protocol, data: bytes) -> None:
    """Let another protocol have a connection, and what was already read of it."""
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    if data:
        protocol.data_received(data)
