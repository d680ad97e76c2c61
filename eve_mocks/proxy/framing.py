"""mitmproxy's reading and writing of HTTP/1, except for what it gets wrong or leaves out.

- The head of every HTTP/1 request is judged by our own reader. With one that is not to be carried on, the connection
  is given back: only in the answering lane is it known what becomes of it.
- HTTP/1 has trailers, interim answers before the final one, and frames the bodies that HTTP/2 frames by itself.
- A 304 has no last chunk, whatever its head says of a body.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import h11
from h11._readers import ChunkedReader
from mitmproxy import http
from mitmproxy.net.http import http1
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    HttpEvent,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    RequestTrailers,
    ResponseEndOfMessage,
    ResponseTrailers,
)
from mitmproxy.proxy.layers.http._http1 import Http1Client, Http1Connection, Http1Server, make_body_reader

from eve_mocks.dispatch import INTERNAL_PREFIX
from eve_mocks.proxy import head
from eve_mocks.proxy.interim import Interim

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy.proxy.context import Context
    from mitmproxy.proxy.layer import CommandGenerator

type Judge = Callable[[bytes], http.Request | None]

# An answer before the final one, which only 101 is not (RFC 9110, section 15.2).
_INTERIM = re.compile(rb"HTTP/1\.\d 1(?!01)\d\d\b.*?\n\r?\n", re.DOTALL)
_BAD_BODY = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"
# RFC 9110, section 6.5.1: what frames or routes a message has no meaning behind it.
_NOT_IN_TRAILERS = {"transfer-encoding", "content-length", "content-encoding", "host", "trailer"}


class _Reader:
    """A reader of bodies that keeps the trailers for itself, which mitmproxy stumbles over."""

    def __init__(self, reader: Any) -> None:
        self.trailers: list[tuple[bytes, bytes]] = []
        self._read = reader
        self.read_eof = reader.read_eof

    def __call__(self, buffer: Any) -> Any:
        event = self._read(buffer)
        if not isinstance(event, h11.EndOfMessage):
            return event
        self.trailers = list(event.headers.raw_items())
        return h11.EndOfMessage()


def harmless(trailers: http.Headers | None) -> http.Headers | None:
    """Trailers without what frames or routes the message, and without what is spoken between us and the preloads.

    Their names are in lower case, which is all that HTTP/2 takes.
    """
    if trailers is None:
        return None
    fields = [(name.lower(), value) for name, value in trailers.fields]
    return http.Headers(field for field in fields if _may_trail(field[0].decode("latin-1")))


def _may_trail(name: str) -> bool:
    return name not in _NOT_IN_TRAILERS and not name.startswith(INTERNAL_PREFIX)


class _Trailing(Http1Connection):
    """HTTP/1.1 with trailers (RFC 9112, section 7.1.2)."""

    ReceiveTrailers: type[RequestTrailers | ResponseTrailers]
    _trailers = b""

    def read_body(self, event: events.Event) -> CommandGenerator[None]:
        if isinstance(self.body_reader, ChunkedReader):
            self.body_reader = _Reader(self.body_reader)  # type: ignore[assignment]
        reader = self.body_reader
        for command in super().read_body(event):
            ends = isinstance(command, ReceiveHttp) and isinstance(command.event, self.ReceiveEndOfMessage)
            if ends and isinstance(reader, _Reader) and reader.trailers:
                trailers, reader.trailers = http.Headers(reader.trailers), []
                assert self.stream_id is not None  # noqa: S101 - set while a body is read
                yield ReceiveHttp(self.ReceiveTrailers(self.stream_id, trailers))
            yield command

    def send(self, event: HttpEvent) -> CommandGenerator[None]:
        if isinstance(event, RequestTrailers | ResponseTrailers):
            self._trailers = bytes(event.trailers)
            return
        trailers = b""
        if isinstance(event, RequestEndOfMessage | ResponseEndOfMessage):
            trailers, self._trailers = self._trailers, b""
        for command in super().send(event):
            if trailers and isinstance(command, commands.SendData) and command.data == _LAST_CHUNK:
                command = commands.SendData(command.connection, b"0\r\n" + trailers + b"\r\n")  # noqa: PLW2901
            yield command


class Server(_Trailing, Http1Server):
    """Toward the client. ``given_back`` is what was read and belongs to the answering lane."""

    ReceiveTrailers = RequestTrailers

    def __init__(self, context: Context, judge: Judge) -> None:
        super().__init__(context)
        self._judge = judge
        self._is_given_back = False

    @property
    def given_back(self) -> bytes | None:
        return bytes(self.buf) if self._is_given_back else None

    def read_headers(self, event: events.ConnectionEvent) -> CommandGenerator[None]:
        if not isinstance(event, events.DataReceived):
            yield from super().read_headers(event)
            return
        data = bytes(self.buf)
        try:
            empty = head.empty_lines(data)
            end = head.find_end(data[empty:])
        except head.BadHead:
            yield from self._give_back()
            return
        if end is None:
            return
        request = self._judge(data[empty : empty + end])
        if request is None:
            yield from self._give_back()
            return
        self.buf.maybe_extract_at_most(empty + end)
        self.request = request
        size = http1.expected_http_body_size(request)
        yield ReceiveHttp(RequestHeaders(self.stream_id, request, size == 0))
        self.body_reader = make_body_reader(size)
        self.state = self.read_body
        yield from self.state(event)

    def read_body(self, event: events.Event) -> CommandGenerator[None]:
        for command in super().read_body(event):
            if isinstance(event, events.DataReceived) and not self.request_done:
                if isinstance(command, commands.CloseConnection) and self.response is None:
                    yield commands.SendData(self.conn, _BAD_BODY)
                elif isinstance(command, ReceiveHttp) and isinstance(command.event, RequestProtocolError):
                    command.event.code = ErrorCode.REQUEST_VALIDATION_FAILED
            yield command

    def send(self, event: HttpEvent) -> CommandGenerator[None]:
        if isinstance(event, Interim):
            if self.request is not None and self.request.http_version != "HTTP/1.0":  # RFC 9110, section 15.2
                raw = http1.assemble_response_head(event.response)  # type: ignore[no-untyped-call]
                yield commands.SendData(self.conn, raw)
            return
        bodiless = self.response is not None and self.response.status_code == 304  # RFC 9112, section 6.3
        for command in super().send(event):
            if not (bodiless and isinstance(command, commands.SendData) and command.data == _LAST_CHUNK):
                yield command

    def _give_back(self) -> CommandGenerator[None]:
        self._is_given_back = True
        self.state = self.done  # what may still arrive is kept in the buffer
        yield commands.CloseConnection(self.conn)


class Client(_Trailing, Http1Client):
    """Toward the upstream."""

    ReceiveTrailers = ResponseTrailers

    def send(self, event: HttpEvent) -> CommandGenerator[None]:
        if isinstance(event, RequestHeaders) and not event.end_stream:
            headers = event.request.headers
            if "content-length" not in headers and "transfer-encoding" not in headers:
                # HTTP/2 frames bodies itself (RFC 9113, section 8.1.1). Here an unframed one would be the next request.
                headers["Transfer-Encoding"] = "chunked"
        yield from super().send(event)

    def read_headers(self, event: events.ConnectionEvent) -> CommandGenerator[None]:
        if isinstance(event, events.DataReceived) and self.request:
            while _INTERIM.match(bytes(self.buf)):
                lines = self.buf.maybe_extract_lines() or []
                try:
                    interim = http1.read_response_head([bytes(line) for line in lines])
                except ValueError:
                    continue  # it is none that means anything
                assert self.stream_id is not None  # noqa: S101 - set with the request
                yield ReceiveHttp(Interim(self.stream_id, interim))
            if not self.buf:
                return
        yield from super().read_headers(event)


# mitmproxy makes clients itself, and of this class.
layers.Http1Client = Client  # type: ignore[attr-defined]
