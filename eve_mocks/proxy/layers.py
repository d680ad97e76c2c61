"""mitmproxy's layer of HTTP, except in how it ends what goes no further.

mitmproxy would send an HTML page. Here a hook may put an answer into ``flow.response``; without one the client sees
the connection end, as it does where a mock's fault ends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mitmproxy import flow
from mitmproxy.proxy import events
from mitmproxy.proxy.layers.http import DropStream, HttpLayer, HTTPMode, HttpStream, SendHttp, validate_request
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestHeaders,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._hooks import HttpErrorHook, HttpRequestHeadersHook

from eve_mocks.proxy.framing import Client, Judge, Server
from eve_mocks.proxy.http2 import WINDOW, Client2, GoneOn, Server2
from eve_mocks.proxy.interim import Interim

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy.connection import Connection
    from mitmproxy.proxy.context import Context
    from mitmproxy.proxy.layer import CommandGenerator, Layer
    from mitmproxy.proxy.layers.http import RegisterHttpConnection

# Keys in a flow's metadata: whether the client hung up on it; why the request is not to be carried on.
HUNG_UP = "eve-mocks-hung-up"
REFUSED = "eve-mocks-refused"


class _Stream(HttpStream):
    """``_expect`` is that the upstream is to say whether the body may come; mitmproxy would say so itself."""

    _expect: str | None = None

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        if not isinstance(event, Interim):
            yield from super()._handle_event(event)
        elif self.client_state != self.state_errored:
            yield SendHttp(event, self.context.client)

    def state_wait_for_request_headers(self, event: RequestHeaders) -> CommandGenerator[None]:
        self._expect = event.request.headers.pop("expect", None)
        yield from super().state_wait_for_request_headers(event)

    def start_request_stream(self) -> CommandGenerator[None]:
        if self._expect is not None:
            self.flow.request.headers["Expect"] = self._expect
        yield from super().start_request_stream()

    def handle_protocol_error(self, event: RequestProtocolError | ResponseProtocolError) -> CommandGenerator[None]:
        self._note(event)
        unfinished = self.client_state == self.state_stream_request_body and self.server_state == self.state_done
        if isinstance(event, RequestProtocolError) and unfinished:
            yield SendHttp(event, self.context.server)  # which has answered, and would wait for the rest of the body
        answerable = self.flow.response is None and self.client_state != self.state_errored
        if not isinstance(event, ResponseProtocolError) or not answerable:
            yield from super().handle_protocol_error(event)
            return
        self.flow.error = flow.Error(event.message)
        yield HttpErrorHook(self.flow)
        if self.flow.response is None:
            error = ResponseProtocolError(self.stream_id, event.message, ErrorCode.KILL)
            yield SendHttp(error, self.context.client)
        yield from self._end()

    def check_invalid(self, request: bool) -> CommandGenerator[bool]:
        if not request:
            return (yield from super().check_invalid(request))
        asked, spoken = self.flow.request, "https" if self.context.client.tls else "http"
        why = validate_request(self.mode, asked, self.context.options.validate_inbound_headers)
        if why is None and asked.is_http2 and asked.scheme != spoken:  # forgotten by mitmproxy after this
            why = f"its :scheme is not that of the connection, {spoken}"
        if why is None:
            return False
        self.flow.metadata[REFUSED] = why
        yield HttpRequestHeadersHook(self.flow)
        yield from self._end()
        return True

    def check_killed(self, emit_error_hook: bool) -> CommandGenerator[bool]:
        if REFUSED in self.flow.metadata and self.client_state != self.state_errored:
            yield from self._end()
            return True
        for event in self._paused_event_queue:
            self._note(event)
        return (yield from super().check_killed(emit_error_hook))

    def _note(self, event: events.Event) -> None:
        if isinstance(event, RequestProtocolError):
            self.flow.metadata[HUNG_UP] = event.code is not ErrorCode.REQUEST_VALIDATION_FAILED

    def _end(self) -> CommandGenerator[None]:
        """Send what the hooks have as answer, and be done, whatever else of the request may come."""
        response, client = self.flow.response, self.context.client
        if response is not None:
            yield SendHttp(ResponseHeaders(self.stream_id, response, end_stream=False), client)
            yield SendHttp(ResponseData(self.stream_id, response.raw_content or b""), client)
            yield SendHttp(ResponseEndOfMessage(self.stream_id), client)
        self.client_state = self.server_state = self.state_errored
        self.flow.live = False
        yield DropStream(self.stream_id)


class PassingLayer(HttpLayer):
    """The top layer of a connection whose client speaks HTTP in the clear, or was decrypted before.

    ``judge`` makes a request of a head, or None where the head is not one to carry on.
    """

    def __init__(self, context: Context, mode: HTTPMode, *, judge: Judge, broken: Callable[[str], None]) -> None:
        super().__init__(context, mode)
        self._flowing: dict[Connection, Server2 | Client2] = {}
        if context.client.alpn == b"h2":
            self._flowing[context.client] = server = Server2(context.fork(), broken)
            self.connections[context.client] = server
        else:
            self.connections[context.client] = Server(context.fork(), judge)

    @property
    def given_back(self) -> bytes | None:
        """What was read of a connection that is to go on in the answering lane; None where it is not."""
        server = self.connections[self.context.client]
        return server.given_back if isinstance(server, Server) else None

    def make_stream(self, stream_id: int) -> CommandGenerator[None]:
        self.streams[stream_id] = _Stream(self.context.fork(), stream_id)
        yield from self.event_to_child(self.streams[stream_id], events.Start())

    def register_connection(self, command: RegisterHttpConnection) -> CommandGenerator[None]:
        end = self._end(command.connection)
        if isinstance(end, Client2):
            self._flowing[command.connection] = end
        yield from super().register_connection(command)

    # Backpressure: mitmproxy has that of TCP alone, where one stream of HTTP/2 would hold up all of a connection.

    def _handle_event(self, event: events.Event) -> CommandGenerator[None]:
        yield from super()._handle_event(event)
        for connection, end in list(self._flowing.items()):
            gone = [stream_id for stream_id in end.h2_conn.held if self._waiting(end, stream_id) < WINDOW]
            if gone:
                yield from self.event_to_child(self.connections[connection], GoneOn(gone))

    def is_ahead(self, connection: Connection) -> bool:
        """Whether the client is behind with what comes over a connection, which carries one answer at a time."""
        end = self._end(connection)
        return isinstance(end, Client) and end.stream_id is not None and self._waiting(end, end.stream_id) >= WINDOW

    def _end(self, connection: Connection) -> Layer | None:
        """What speaks HTTP on a connection, above TLS and the caller's proxy."""
        stack = self.connections.get(connection)
        return None if stack is None else stack.context.layers[-1]

    def _waiting(self, end: Layer, stream_id: int) -> int:
        """How much of a stream waits at its other end."""
        if isinstance(end, Server2):
            stream = self.streams.get(stream_id)
            other = self._end(stream.context.server) if stream is not None else None
            stream_id = other.our_stream_id.get(stream_id, 0) if isinstance(other, Client2) else 0
        else:
            other = self._end(self.context.client)
            stream_id = end.their_stream_id[stream_id] if isinstance(end, Client2) else stream_id
        return other.h2_conn.waiting(stream_id) if isinstance(other, Server2 | Client2) else 0
