"""Bytes carried both ways between two sockets, unread: loopback passes natively (contract, section 2)."""

from __future__ import annotations

import asyncio
import dataclasses


class Pipe(asyncio.Protocol):
    """One end of a relay: what arrives here is written to the other end."""

    def __init__(self) -> None:
        self.size = 0
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport | None = None
        self.other: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.size += len(data)
        if self.other is not None:
            self.other.write(data)

    def eof_received(self) -> bool:
        if self.other is not None and self.other.can_write_eof() and not self.other.is_closing():
            self.other.write_eof()
        return True  # the other direction may go on

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self.lost.set_result(None)
        if self.other is not None:
            self.other.close()

    def pause_writing(self) -> None:
        if self.other is not None and not self.other.is_closing():
            self.other.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and not self.other.is_closing():
            self.other.resume_reading()


@dataclasses.dataclass(frozen=True, slots=True)
class Relay:
    """Two sockets that are joined. ``server`` is the far one."""

    server: asyncio.Transport
    near: Pipe
    far: Pipe

    async def end(self) -> tuple[int, int]:
        """Wait until both are closed; the bytes that went to the server, and those that came back."""
        await self.near.lost
        await self.far.lost
        return self.near.size, self.far.size


async def relay(
    client: asyncio.Transport, host: str, port: int, *, greeting: bytes, failure: bytes, data: bytes
) -> Relay:
    """Connect a client with a server. Raises ``OSError`` where it is not there, and closes the client's connection.

    ``greeting`` goes to the client once the server is there, ``failure`` if it is not; ``data`` to the server first.
    """
    near, far = Pipe(), Pipe()
    client.set_protocol(near)
    client.pause_reading()
    near.connection_made(client)
    try:
        server, _ = await asyncio.get_running_loop().create_connection(lambda: far, _dialled(host), port)
    except OSError:
        client.write(failure)
        client.close()
        raise
    near.other, far.other = server, client
    client.write(greeting)
    near.data_received(data)
    client.resume_reading()
    return Relay(server, near, far)


def _dialled(host: str) -> str:
    """RFC 6761, section 6.3: names under ``localhost`` are loopback, and are not to be looked up."""
    return "localhost" if host.endswith(".localhost") else host
