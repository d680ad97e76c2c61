"""mitmproxy's HTTP layer, except in how it ends when the upstream fails.

mitmproxy would send an HTML page. Here the ``error`` hook may put an answer into ``flow.response``; without one the
client sees the connection end, as it does where a mock's fault ends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mitmproxy import flow
from mitmproxy.proxy import events
from mitmproxy.proxy.layers.http import DropStream, HttpLayer, HttpStream, SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._hooks import HttpErrorHook

if TYPE_CHECKING:
    from mitmproxy.proxy.layer import CommandGenerator

# Key in a flow's metadata: the client, not the upstream, ended it.
HUNG_UP = "eve-mocks-hung-up"


class _Stream(HttpStream):
    def handle_protocol_error(self, event: RequestProtocolError | ResponseProtocolError) -> CommandGenerator[None]:
        if isinstance(event, RequestProtocolError):
            self.flow.metadata[HUNG_UP] = True
        answerable = self.flow.response is None and self.client_state != self.state_errored
        if not isinstance(event, ResponseProtocolError) or not answerable:
            yield from super().handle_protocol_error(event)
            return
        self.flow.error = flow.Error(event.message)
        yield HttpErrorHook(self.flow)
        client, response = self.context.client, self.flow.response
        if response is None:
            yield SendHttp(ResponseProtocolError(self.stream_id, event.message, ErrorCode.KILL), client)
        else:
            yield SendHttp(ResponseHeaders(self.stream_id, response, end_stream=False), client)
            yield SendHttp(ResponseData(self.stream_id, response.raw_content or b""), client)
            yield SendHttp(ResponseEndOfMessage(self.stream_id), client)
        self.client_state = self.server_state = self.state_errored
        self.flow.live = False
        yield DropStream(self.stream_id)


class PassingLayer(HttpLayer):
    """The top layer of a connection whose client speaks HTTP in the clear, or was decrypted before."""

    def make_stream(self, stream_id: int) -> CommandGenerator[None]:
        self.streams[stream_id] = _Stream(self.context.fork(), stream_id)
        yield from self.event_to_child(self.streams[stream_id], events.Start())
