"""TLS toward the client, as a layer between two asyncio protocols.

Toward the socket it is a protocol, toward the application a transport. asyncio has such a layer, but it must see the
first bytes of a connection itself; here they have been looked at already, to tell TLS from other protocols.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 256 * 1024
# How long a client may take for the handshake.
_PATIENCE = 10.0


class ServerSide(ssl.SSLObject):
    """Remembers the name that the client asked for (RFC 6066, section 3), and how it ended the connection."""

    sni: str | None = None  # it asked for none
    ended_cleanly = False
    error: ssl.SSLError | None = None


class TlsLayer(asyncio.Transport, asyncio.Protocol):
    """Decrypts what a client sends, for the protocol that ``established`` gives when the handshake is done.

    ``offered`` is called before our certificate is sent, which it is not where a session is resumed. ``failed`` is
    called where the handshake does not succeed, with the error, or None where the client just hung up.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        *,
        offered: Callable[[], None],
        established: Callable[[ServerSide], asyncio.BaseProtocol],
        failed: Callable[[ServerSide, ssl.SSLError | None], None],
    ) -> None:
        super().__init__()
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        assert isinstance(tls, ServerSide)  # noqa: S101 - Certificates makes no other contexts
        self._tls = tls
        self._offered = offered
        self._established = established
        self._failed = failed
        self._socket: asyncio.Transport
        self._timer: asyncio.TimerHandle
        self._protocol: asyncio.BaseProtocol | None = None
        self._answered = False  # whether the client has seen our certificate
        self._closing = False
        self._reading = True

    # The side of the socket.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self._socket = transport
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE, self._time_out)

    def data_received(self, data: bytes) -> None:
        self._incoming.write(data)
        if self._protocol is None and not self._shake_hands():
            return
        self._read()

    def eof_received(self) -> bool:
        if self._protocol is None:
            self._give_up(None)
        elif not self._closing and isinstance(self._protocol, asyncio.Protocol):
            self._protocol.eof_received()
            self.close()  # TLS is not half-closed: RFC 5246 (section 7.2.1) allows none, and few clients of 1.3 do it
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        if self._protocol is None:
            self._give_up(None)
        else:
            self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        if self._protocol is not None:
            self._protocol.pause_writing()

    def resume_writing(self) -> None:
        if self._protocol is not None:
            self._protocol.resume_writing()

    def _shake_hands(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            if self._outgoing.pending and not self._answered and not self._tls.session_reused:
                self._offered()
            self._flush()
            return False
        except ssl.SSLError as error:
            self._flush()
            self._give_up(error)
            return False
        self._flush()
        self._timer.cancel()
        self._protocol = self._established(self._tls)
        self._protocol.connection_made(self)
        return True

    def _time_out(self) -> None:
        error = ssl.SSLError()
        error.reason = "the client went silent"
        self._give_up(error)

    def _give_up(self, error: ssl.SSLError | None) -> None:
        self._timer.cancel()
        failed, self._failed = self._failed, _ignore
        if error is not None or self._answered:
            failed(self._tls, error)
        self._closing = True
        self._socket.close()

    def _read(self) -> None:
        while self._reading and not self._closing:
            try:
                data = self._tls.read(_CHUNK)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                data = b""
            except ssl.SSLError as error:
                self._tls.error = error
                self.abort()
                break
            if not data:
                self._tls.ended_cleanly = True
                self.eof_received()
                break
            if isinstance(self._protocol, asyncio.Protocol):
                self._protocol.data_received(data)
        if not self._closing:
            self._flush()  # an answer to a key update

    def _flush(self) -> None:
        data = self._outgoing.read()
        if data:
            self._answered = True
            self._socket.write(data)

    # The side of the application.

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        rest = memoryview(data)
        while rest and not self._closing:
            rest = rest[self._tls.write(rest) :]
            self._flush()

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        with contextlib.suppress(ssl.SSLError):  # the client's close_notify is not waited for (RFC 8446, section 6.1)
            self._tls.unwrap()
        self._flush()
        self._socket.close()

    def abort(self) -> None:
        self._closing = True
        self._socket.abort()

    def is_closing(self) -> bool:
        return self._closing or self._socket.is_closing()

    def pause_reading(self) -> None:
        self._reading = False
        self._socket.pause_reading()

    def resume_reading(self) -> None:
        if not self._reading:
            self._reading = True
            self._socket.resume_reading()
            asyncio.get_running_loop().call_soon(self._read)  # what was decrypted no further than OpenSSL

    def is_reading(self) -> bool:
        return self._reading

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self._protocol is not None  # noqa: S101 - a transport is only seen by its protocol
        return self._protocol

    def can_write_eof(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._socket.get_extra_info(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._socket.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return self._socket.get_write_buffer_size()


def _ignore(tls: ServerSide, error: ssl.SSLError | None) -> None:
    """Stands in for ``failed`` once it has been called."""
