"""mitmproxy's reading and writing of HTTP/2, except for what it gets wrong or leaves out.

- What is received is acknowledged when it has gone on: whoever reads slowly slows the sender, and we hold little.
- A peer that is leaving (GOAWAY without an error) has what is on its way; mitmproxy would cut it off.
- Interim answers are handed on.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Any

import h2.errors
import h2.events
import h2.exceptions
from mitmproxy import http
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import ErrorCode, ResponseProtocolError
from mitmproxy.proxy.layers.http._http2 import (
    Http2Client,
    Http2Connection,
    Http2Server,
    normalize_h1_headers,
    parse_h2_response_headers,
)
from mitmproxy.proxy.layers.http._http_h2 import BufferedH2Connection

from eve_mocks.proxy.interim import Interim

if TYPE_CHECKING:
    from collections.abc import Callable

    from h2.config import H2Configuration
    from hyperframe.frame import DataFrame, Frame, GoAwayFrame
    from mitmproxy.proxy.context import Context
    from mitmproxy.proxy.layer import CommandGenerator

# What a stream may send before any of it has gone on, and what may wait for a reader until the sender waits too.
WINDOW = 4 * 2**20


@dataclasses.dataclass
class GoneOn(events.Event):
    """What was received on these streams is on its way, and more may come."""

    streams: list[int]


class _H2(BufferedH2Connection):
    """``held`` is what was received by stream, and not acknowledged. ``last`` is set by a peer that is leaving."""

    def __init__(self, config: H2Configuration) -> None:
        super().__init__(config)
        self.held: collections.Counter[int] = collections.Counter()
        self.last: int | None = None
        self.local_settings.initial_window_size = WINDOW
        self.local_settings.acknowledge()

    def waiting(self, stream_id: int) -> int:
        """How many bytes wait for the peer's window."""
        return sum(len(part.data) for part in self.stream_buffers.get(stream_id, ()))

    def acknowledge_received_data(self, acknowledged_size: int, stream_id: int) -> None:
        self.held[stream_id] += acknowledged_size

    def release(self, stream_id: int) -> None:
        super().acknowledge_received_data(self.held.pop(stream_id, 0), stream_id)

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[h2.events.Event]]:
        if frame.error_code != h2.errors.ErrorCodes.NO_ERROR:
            return super()._receive_goaway_frame(frame)
        self.last = frame.last_stream_id
        return [], []

    def _receive_data_frame(self, frame: DataFrame) -> tuple[list[Frame], list[h2.events.Event]]:
        """A body that ends too soon is an error of its stream (RFC 9113, section 8.1.1), not of the connection.

        A client that has its answer ends an upload so (curl does).
        """
        try:
            return super()._receive_data_frame(frame)
        except h2.exceptions.InvalidBodyLengthError:
            self.reset_stream(frame.stream_id, h2.errors.ErrorCodes.PROTOCOL_ERROR)
            event = h2.events.StreamReset(stream_id=frame.stream_id)
            event.error_code = h2.errors.ErrorCodes.PROTOCOL_ERROR
            return [], [event]


class _Flowing(Http2Connection):
    h2_conn: _H2

    def __init__(self, context: Context, *more: Any) -> None:
        super().__init__(context, *more)
        self.h2_conn = _H2(self.h2_conf)

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        if not isinstance(event, GoneOn):
            yield from super()._handle_event(event)
            return
        for stream_id in event.streams:
            self.h2_conn.release(stream_id)
        if self.conn.state & ConnectionState.CAN_READ and (data := self.h2_conn.data_to_send()):
            yield commands.SendData(self.conn, data)

    def close_connection(self, *why: str) -> CommandGenerator[None]:
        self.h2_conn.held.clear()
        yield from super().close_connection(*why)


class Server2(_Flowing, Http2Server):
    """Toward the client. ``broken`` is told why a connection is not valid HTTP/2.

    A client that is leaving may still ask (RFC 9113, section 6.8: its GOAWAY is about pushes), and closes by itself.
    """

    def __init__(self, context: Context, broken: Callable[[str], None]) -> None:
        super().__init__(context)
        self._broken = broken

    def protocol_error(self, message: str, *more: Any) -> CommandGenerator[None]:
        self._broken(message)
        yield from super().protocol_error(message, *more)

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        if not isinstance(event, Interim):
            yield from super()._handle_event(event)
        elif self.is_open_for_us(event.stream_id):
            fields = normalize_h1_headers(list(event.response.headers.fields), False)
            status = b"%d" % event.response.status_code
            self.h2_conn.send_headers(event.stream_id, [(b":status", status), *fields])
            yield commands.SendData(self.conn, self.h2_conn.data_to_send())


class Client2(_Flowing, Http2Client):
    """Toward the upstream."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.h2_conn.local_settings.enable_push = 0
        self.h2_conn.local_settings.acknowledge()

    def handle_h2_event(self, event: h2.events.Event) -> CommandGenerator[bool]:
        if not isinstance(event, h2.events.InformationalResponseReceived):
            return (yield from super().handle_h2_event(event))
        status, headers = parse_h2_response_headers(event.headers)
        response = http.Response.make(status)
        response.headers = headers
        yield ReceiveHttp(Interim(event.stream_id, response))
        return False

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        yield from super()._handle_event(event)
        if self.h2_conn.last is not None:
            yield from self._let_go(self.h2_conn.last)

    def _let_go(self, last: int) -> CommandGenerator[None]:
        """Ask an upstream that is leaving for no more; it has not seen the streams after the last (section 6.8)."""
        self.conn.state &= ~ConnectionState.CAN_WRITE  # mitmproxy connects anew for the next request
        unseen = [self.their_stream_id[stream_id] for stream_id in self.streams if stream_id > last]
        unseen += self.stream_queue
        self.stream_queue.clear()
        for stream_id in [stream_id for stream_id in self.streams if stream_id > last]:
            del self.streams[stream_id]
        for stream_id in unseen:
            why = "the upstream is leaving, and has not taken the request"
            yield ReceiveHttp(ResponseProtocolError(stream_id, why, ErrorCode.GENERIC_SERVER_ERROR))


# mitmproxy makes clients itself, and of this class.
layers.Http2Client = Client2  # type: ignore[attr-defined]
