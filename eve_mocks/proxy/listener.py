"""Accepts every connection of the command, and leads it where its target says: to a lane, or to this machine."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import socket
import weakref
from typing import TYPE_CHECKING

from eve_mocks.match import is_loopback
from eve_mocks.model import URL
from eve_mocks.ports import SERVER_FIRST
from eve_mocks.proxy import raw
from eve_mocks.proxy.connection import Connection
from eve_mocks.proxy.http1 import Http1
from eve_mocks.proxy.peer import Peers, is_gone
from eve_mocks.proxy.relay import relay
from eve_mocks.proxy.reply import reset
from eve_mocks.proxy.speech import FirstBytes, hand_over
from eve_mocks.proxy.tls import ServerSide, TlsLayer
from eve_mocks.proxy.trust import Trust

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from eve_mocks.control import ControlApi
    from eve_mocks.dispatch import Dispatcher
    from eve_mocks.model import Peer
    from eve_mocks.proxy.certificates import Certificates

log = logging.getLogger(__name__)

BACKLOG = 4096
_STOPPING = 2.0
_TUNNELLED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_UNREACHABLE = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_FORBIDDEN = b"HTTP/1.1 403 Forbidden\r\neve-mocks: blocked\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

type Carry = Callable[[asyncio.StreamReader, asyncio.StreamWriter, Connection, str | None], Awaitable[bytes | None]]


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
        control: ControlApi | None = None,
    ) -> None:
        self.dispatcher = dispatcher
        self.certificates = certificates
        self.token = token
        self.control = control
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

    def accept(
        self,
        transport: asyncio.Transport,
        destination: tuple[str, int] | None = None,
        *,
        names: tuple[str, ...] = (),
        peer: Peer | None = None,
    ) -> None:
        """Take a connection; ``destination`` is where it was going, where it did not come to a proxy knowingly.

        ``names`` are those of a destination that is an address, and ``peer`` is who asks, where that is known.
        """
        self._transports.add(transport)
        # asyncio does so only where the listening socket was made with IPPROTO_TCP. Without it an answer in two
        # writes waits for the client's delayed acknowledgement.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(client_port=transport.get_extra_info("peername")[1], names=names, peer=peer)
        if destination is not None:
            connection = dataclasses.replace(connection, host=destination[0], port=destination[1])
            if self._waits_for_the_server(connection):
                reset(transport)
                return
        self._begin(transport, connection, b"")

    # The lanes.

    def tunnel(self, transport: asyncio.Transport, connection: Connection, rest: bytes, *, quiet: bool) -> None:
        """What follows a CONNECT; a quiet one is not answered."""
        greeting = b"" if quiet else _TUNNELLED
        assert connection.host is not None  # noqa: S101 - CONNECT names one
        if is_loopback(connection.host):
            self._relay(transport, connection.host, connection.port, greeting=greeting, data=rest)
            return
        if self._waits_for_the_server(connection):
            if quiet:
                reset(transport)
            else:
                transport.write(_FORBIDDEN)
                transport.close()
            return
        self._begin(transport, connection, rest, greeting=greeting, failure=b"" if quiet else _UNREACHABLE)

    def _begin(
        self,
        transport: asyncio.Transport,
        connection: Connection,
        data: bytes,
        *,
        greeting: bytes = b"",
        failure: bytes = b"",
    ) -> None:
        """Take a connection whose destination is known, or is the proxy; ``greeting`` is what its client waits for."""
        entry = raw.allowed(self.dispatcher.router, connection)
        if entry is None:
            transport.write(greeting)
            hand_over(transport, FirstBytes(self, connection), data)
            return
        carrying = raw.carry(
            transport,
            connection,
            entry,
            self.dispatcher,
            greeting=greeting,
            failure=failure,
            data=data,
            dialled=self._transports.add,
        )
        self.keep(asyncio.Task(carrying, loop=self.loop, eager_start=True))

    def _waits_for_the_server(self, connection: Connection) -> bool:
        """Block a connection that would be silent for ever, unless an entry says what it is for."""
        host, protocol = connection.host, SERVER_FIRST.get(connection.port)
        if protocol is None or host is None or raw.allowed(self.dispatcher.router, connection) is not None:
            return False
        if self.dispatcher.router.only(host, connection.port) is not None:
            return False
        why = f"In {protocol}, which has this port, the server speaks first: that is not HTTP."
        self.block(dataclasses.replace(connection, scheme="tcp"), "protocol", why)
        return True

    def relay(self, transport: asyncio.Transport, target: URL, data: bytes) -> None:
        self._relay(transport, target.host, target.port, greeting=b"", data=data)

    def _relay(self, transport: asyncio.Transport, host: str, port: int, *, greeting: bytes, data: bytes) -> None:
        if port == self.address[1]:
            transport.write(_FORBIDDEN)
            transport.close()
            return

        async def carry() -> None:
            with contextlib.suppress(OSError):
                carried = await relay(transport, host, port, greeting=greeting, failure=_UNREACHABLE, data=data)
                self._transports.add(carried.server)

        # Eager, so that the relay has the connection before more of it arrives.
        self.keep(asyncio.Task(carry(), loop=self.loop, eager_start=True))

    def decrypt(self, transport: asyncio.Transport, connection: Connection, data: bytes) -> None:
        """Go on inside TLS, under a certificate for the name that the client asks for."""
        assert connection.host is not None  # noqa: S101 - see FirstBytes
        secure = dataclasses.replace(connection, scheme="https")
        # HTTP/2 goes to the passing lane, so it is only preferred where that is where most requests go anyway.
        hosts = (connection.host, *connection.names)
        passes = any(self.dispatcher.router.may_allow("https", host, connection.port) for host in hosts)
        context = self.certificates.context(connection.host, ("h2", "http/1.1") if passes else ("http/1.1", "h2"))

        def offered() -> None:  # the client is there as long as it waits for this
            nonlocal secure
            secure = dataclasses.replace(secure, peer=self.peer(secure))

        def named(tls: ServerSide) -> Connection:
            return dataclasses.replace(secure.called(tls.sni), sni=tls.sni)

        def established(tls: ServerSide) -> asyncio.BaseProtocol:
            return FirstBytes(self, named(tls), secure=tls)

        def failed(tls: ServerSide, error: ssl.SSLError | None) -> None:
            self.trust.failed(named(tls), error)

        hand_over(transport, TlsLayer(context, offered=offered, established=established, failed=failed), data)

    def pass_on(
        self, transport: asyncio.Transport, connection: Connection, data: bytes, *, alpn: str | None = None
    ) -> None:
        reader = _Reader(loop=self.loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self.loop)
        hand_over(transport, protocol, data)
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
        hand_over(transport, server, begun)
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

    def block(self, connection: Connection, reason: str, why: str, fix: str | None = None) -> None:
        """Record a connection as blocked. Without a fix, it is to be let through as a whole."""
        url = connection.url if connection.host is not None else URL("tcp", *self.address, "/")
        self.dispatcher.refuse_connection(
            url,
            reason=reason,
            why=why,
            fix=fix,
            names=connection.names,
            user=connection.session,
            peer=lambda: self.peer(connection),
        )

    def knows(self, connection: Connection) -> bool:
        """Whether a mock or an entry is about where this connection was going."""
        hosts = (str(connection.host), *connection.names)
        return any(self.dispatcher.router.knows(host, connection.port) for host in hosts)

    def left(self, connection: Connection) -> None:
        """The client hung up before it asked for anything; to what is mocked or allowed it may, as to any server."""
        if not self.knows(connection):
            why = "It connected, and hung up before it asked for anything."
            self.block(dataclasses.replace(connection, scheme="tcp"), "protocol", why)


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
