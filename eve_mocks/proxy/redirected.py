"""What the supervisor of a contained command tells the proxy: connections that it sent here, attempts that it refused.

Redirected connections come to listeners of their own, where nobody speaks HTTP to a proxy knowingly.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from eve_mocks.hosts import Hosts
from eve_mocks.match import BadURL, normalise_host
from eve_mocks.model import URL, Peer
from eve_mocks.ports import SERVER_FIRST
from eve_mocks.proxy.arrivals import Arrivals
from eve_mocks.proxy.connection import Connection
from eve_mocks.proxy.listener import BACKLOG
from eve_mocks.proxy.reply import reset
from eve_mocks.records import LONGEST, Redirect, decode

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable

    from eve_mocks.proxy.listener import Listener
    from eve_mocks.records import Process, Refused

_SAME_NETWORK = "Let the program share the network of the run, without a namespace of its own: there eve-mocks is."
# Read at a time, so that connections get their turn.
_MOST_RECORDS = 256


class Redirected:
    """Accepts redirected connections for a listener, each with the destination that its record names."""

    def __init__(self, listener: Listener, records: socket.socket) -> None:
        self.arrivals = Arrivals()
        self._listener = listener
        self._records = records
        self._hosts = Hosts()
        self._servers: list[asyncio.Server] = []
        self._arriving: set[asyncio.Task[None]] = set()

    async def start(self, sockets: Iterable[socket.socket]) -> None:
        loop = asyncio.get_running_loop()
        self._records.setblocking(False)
        loop.add_reader(self._records, self._read)
        for sock in sockets:
            self._servers.append(await loop.create_server(lambda: _Arriving(self), sock=sock, backlog=BACKLOG))

    async def stop(self) -> None:
        """Take nothing more; what was told until now is recorded."""
        for server in self._servers:
            server.close()
        while self._read():
            pass
        self.arrivals.close()
        if self._arriving:
            await asyncio.wait(self._arriving)
        for redirect in self.arrivals.missing():
            self._missing(redirect)
        asyncio.get_running_loop().remove_reader(self._records)

    def _read(self) -> bool:
        """Take what there is of records; whether there may be more."""
        for _ in range(_MOST_RECORDS):
            try:
                record = self._records.recv(LONGEST)
            except BlockingIOError:
                return False
            if not record:  # the wrapper is gone, and so will be this process
                asyncio.get_running_loop().remove_reader(self._records)
                return False
            match decode(record):
                case Redirect() as redirect:
                    self.arrivals.announce(redirect)
                case refused:
                    self._refused(refused)
        return True

    def arrive(self, transport: asyncio.Transport) -> None:
        transport.pause_reading()
        task = asyncio.get_running_loop().create_task(self._accept(transport))
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)

    async def _accept(self, transport: asyncio.Transport) -> None:
        redirect = await self.arrivals.meant(transport.get_extra_info("peername")[:2])
        if redirect is None or transport.is_closing():
            transport.close()  # nobody of the command's, or gone already
            return
        peer = _peer(redirect.process)
        transport.resume_reading()  # before somebody takes it who wants it to wait
        if (redirect.host, redirect.port) == self._listener.address:
            self._listener.accept(transport, peer=peer)
        elif (host := _normal(redirect.host)) is None:
            url = URL("tcp", redirect.host, redirect.port, "/")
            self._block(
                url, "This is not the name of a host.", peer, fix="Correct the name that the program connects to."
            )
            reset(transport)
        else:
            self._listener.accept(transport, (host, redirect.port), names=self._hosts.names(host), peer=peer)

    def _missing(self, redirect: Redirect) -> None:
        """A program in a network namespace of its own finds nobody there, and its connect need not have failed."""
        connection = Connection(
            client_port=redirect.source[1],
            host=redirect.host,
            port=redirect.port,
            names=self._hosts.names(redirect.host),
        )
        if (redirect.host, redirect.port) != self._listener.address and not self._listener.knows(connection):
            why = "It did not arrive here: the program has a network of its own, or has hung up at once."
            self._block(URL("tcp", redirect.host, redirect.port, "/"), why, _peer(redirect.process), fix=_SAME_NETWORK)

    def _refused(self, refused: Refused) -> None:
        url = URL(refused.protocol, _normal(refused.host) or refused.host, refused.port, "/")
        if not refused.port:  # a socket that was never made goes nowhere: its protocol stands in for the host
            url = URL("socket", refused.protocol.lower().replace(" ", "-"), 0, "/")
        out_of_reach = refused.protocol == "tcp" and refused.port not in SERVER_FIRST
        why = f"{refused.reason[0].upper()}{refused.reason[1:]}."
        self._block(url, why, _peer(refused.process), fix=_SAME_NETWORK if out_of_reach else None)

    def _block(self, url: URL, why: str, peer: Peer, *, fix: str | None = None) -> None:
        self._listener.dispatcher.refuse_connection(
            url,
            reason="protocol",
            why=why,
            fix=fix,
            names=self._hosts.names(url.host),
            user=peer.session,
            peer=lambda: peer,
        )


class _Arriving(asyncio.Protocol):
    """A connection whose destination has not been told yet."""

    def __init__(self, redirected: Redirected) -> None:
        self._redirected = redirected

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self._redirected.arrive(transport)


def _peer(process: Process) -> Peer:
    return Peer(pid=process.pid, program=process.program, session=process.session)


def _normal(host: str) -> str | None:
    try:
        return normalise_host(host)
    except BadURL:
        return None
