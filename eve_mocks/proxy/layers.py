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
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._hooks import HttpErrorHook, HttpRequestHeadersHook

from eve_mocks.proxy.framing import Judge, Server, Server2

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy.proxy.context import Context
    from mitmproxy.proxy.layer import CommandGenerator

# Keys in a flow's metadata: whether the client hung up on it; why the request is not to be carried on.
HUNG_UP = "eve-mocks-hung-up"
REFUSED = "eve-mocks-refused"


class _Stream(HttpStream):
    def handle_protocol_error(self, event: RequestProtocolError | ResponseProtocolError) -> CommandGenerator[None]:
        self._note(event)
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
        if context.client.alpn == b"h2":
            self.connections[context.client] = Server2(context.fork(), broken)
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
