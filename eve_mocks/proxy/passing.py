"""Allowed requests go to their upstream, carried by mitmproxy; nothing else does.

mitmproxy gets connections that are decrypted already, and asks for each request in ``requestheaders``. One that is
allowed is let through, as its bytes come, and recorded; any other is sent back to our own listener, which answers it.
Behind that, ``server_connect`` refuses every address that no request of its connection was allowed to.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import logging
import time
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes

from mitmproxy import http, options
from mitmproxy.addons.core import Core
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import ConnectionState, Server
from mitmproxy.master import Master
from mitmproxy.proxy.layers.http import HTTPMode
from mitmproxy.proxy.mode_servers import ProxyConnectionHandler
from mitmproxy.proxy.mode_specs import ProxyMode

from eve_mocks.dispatch import INTERNAL_PREFIX
from eve_mocks.match import is_loopback
from eve_mocks.model import URL, Headers, Passage, Request
from eve_mocks.proxy import forward
from eve_mocks.proxy.connection import BadTarget, Connection, Disagreement, check_authority, proxy_user, target_of
from eve_mocks.proxy.http1 import BROKEN, HOP_HEADERS
from eve_mocks.proxy.layers import HUNG_UP, PassingLayer
from eve_mocks.proxy.recording import Recording, failure
from eve_mocks.proxy.upstream import UnknownProxy, Upstreams
from eve_mocks.proxy.upstream_tls import UpstreamTls
from eve_mocks.session import BadSession

if TYPE_CHECKING:
    from mitmproxy.proxy.server_hooks import ServerConnectionHookData

    from eve_mocks.dispatch import Dispatcher

# mitmproxy closes connections on which nothing happens; a model may think for longer than its ten minutes.
_PATIENCE = 24 * 3600
# mitmproxy opens 5 connections to one address at a time, for each client; HTTP/2 asks for more streams than that.
_PARALLEL = 1000
_RECORDING = "eve-mocks-recording"

type Address = tuple[str, int]


@dataclasses.dataclass(slots=True)
class Carried:
    """A client's connection, where it may lead so far, and what the proxies on the way want to see."""

    connection: Connection
    permitted: set[Address] = dataclasses.field(default_factory=set)
    authorizations: dict[Address, str] = dataclasses.field(default_factory=dict)
    recordings: set[Recording] = dataclasses.field(default_factory=set)


class Passing:
    """mitmproxy without a listener of its own: it is given connections, and is an addon to itself."""

    def __init__(self, dispatcher: Dispatcher, upstreams: Upstreams, *, address: Address, token: str) -> None:
        logging.getLogger("mitmproxy").setLevel(logging.CRITICAL)  # what fails is recorded, and told to the client
        self._dispatcher = dispatcher
        self._upstreams = upstreams
        self._address = address
        self._token = token
        self._carried: dict[str, Carried] = {}
        self._mode = ProxyMode.parse("regular")
        self._master = Master(options.Options(mode=[]))
        addons = (Core(), Proxyserver(), UpstreamTls(), self)  # type: ignore[no-untyped-call]
        self._master.addons.add(*addons)  # type: ignore[no-untyped-call]
        self._master.options.update(  # type: ignore[no-untyped-call]
            connection_strategy="lazy", tcp_timeout=_PATIENCE, ssl_verify_upstream_trusted_ca=upstreams.bundle
        )

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Connection, alpn: str | None
    ) -> None:
        """Carry one connection to its end."""
        handler = ProxyConnectionHandler(  # type: ignore[no-untyped-call]
            self._master, reader, writer, self._master.options, self._mode
        )
        handler.max_conns = collections.defaultdict(lambda: asyncio.Semaphore(_PARALLEL))
        context, client = handler.layer.context, handler.client
        if connection.scheme == "https":
            client.tls, client.timestamp_tls_setup = True, time.time()
            client.sni = connection.sni
            client.alpn_offers = (alpn.encode() if alpn else b"http/1.1",)
        if alpn is not None:
            client.alpn = alpn.encode()
        if connection.host is not None:
            context.server.address = (connection.host, connection.port)
            context.server.tls = connection.scheme == "https"
        mode = HTTPMode.regular if connection.host is None else HTTPMode.transparent
        handler.layer = PassingLayer(context, mode)
        carried = self._carried[client.id] = Carried(connection)
        try:
            await handler.handle_client()
        finally:
            del self._carried[client.id]
            for recording in list(carried.recordings):
                recording.finish(None, cancelled=True)

    # Hooks of mitmproxy.

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        carried = self._carried[flow.client_conn.id]
        flow.server_conn = Server(address=None)
        try:
            connection, request = _read(flow, carried.connection)
        except (BadTarget, Disagreement) as error:
            # The answering lane finds the same, and tells it; without a target there is nothing to tell.
            if isinstance(error, BadTarget):
                flow.response = http.Response.make(400, f"eve-mocks: {error}\n", {"connection": "close"})
            else:
                self._send_back(flow, carried, _known(carried.connection, error.target))
            return
        entry = self._dispatcher.resolve(request.target)
        if flow.error is not None:  # mitmproxy refuses it already
            self._dispatcher.refuse(
                request, reason="message", why=f"{flow.error.msg}.", fix=BROKEN, status=400, user=connection.user
            ).finish(status=400)
        elif carried.connection.host is None and is_loopback(request.target.host):
            self._direct(flow, carried, request.target)
        elif isinstance(entry, Passage) and entry.kind == "allow":
            self._let_through(flow, carried, connection, request, entry)
        else:
            self._send_back(flow, carried, connection)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        assert flow.response is not None  # noqa: S101 - mitmproxy's promise
        recording = _recording(flow)
        if flow.response.status_code != 101 and flow.response.raw_content is None:
            flow.response.stream = True if recording is None else recording.response.take

    def response(self, flow: http.HTTPFlow) -> None:
        if (recording := _recording(flow)) and flow.websocket is None:
            recording.finish(flow.response)

    def error(self, flow: http.HTTPFlow) -> None:
        if recording := _recording(flow):
            message = flow.error.msg if flow.error is not None else "unknown error"
            listens = flow.client_conn.state & ConnectionState.CAN_READ
            if flow.metadata.get(HUNG_UP) or not listens:  # the upstream may only have been dropped because of that
                recording.finish(flow.response, cancelled=True)
            elif flow.response is not None:
                recording.finish(flow.response, error=f"the upstream broke off: {message}")
            else:
                flow.response = failure(recording.exchange, message)
                recording.finish(flow.response)

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        assert flow.websocket is not None  # noqa: S101 - mitmproxy's promise
        if recording := _recording(flow):
            for message in flow.websocket.messages:
                side = recording.request if message.from_client else recording.response
                side.take(message.content)
        flow.websocket.messages.clear()  # a socket may stay open for as long as the run

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        if recording := _recording(flow):
            recording.finish(flow.response)

    def server_connect(self, data: ServerConnectionHookData) -> None:
        carried = self._carried.get(data.client.id)
        if carried is None or data.server.address is None or data.server.address[:2] not in carried.permitted:
            data.server.error = "eve-mocks allows no connection to it"

    def http_connect_upstream(self, flow: http.HTTPFlow) -> None:
        address = flow.server_conn.address
        authorization = self._carried[flow.client_conn.id].authorizations.get(address[:2]) if address else None
        if authorization is not None:
            flow.request.headers["Proxy-Authorization"] = authorization

    # Where a request goes.

    def _let_through(
        self, flow: http.HTTPFlow, carried: Carried, connection: Connection, request: Request, entry: Passage
    ) -> None:
        try:
            exchange = self._dispatcher.allowed(request, entry, user=connection.user)
        except BadSession:
            self._send_back(flow, carried, connection)
            return
        recording = Recording(exchange, carried.recordings)
        flow.metadata[_RECORDING] = recording
        try:
            self._direct(flow, carried, request.target, through_proxy=True)
        except UnknownProxy as error:
            flow.response = failure(exchange, str(error))
        else:
            flow.request.stream = recording.request.take

    def _direct(self, flow: http.HTTPFlow, carried: Carried, target: URL, *, through_proxy: bool = False) -> None:
        """Send a request where it asks to go, by the caller's proxy where there is one. Raises ``UnknownProxy``."""
        address = (target.host, target.port)
        proxy = self._upstreams.proxy(target.scheme, *address) if through_proxy else None
        for name in {name for name in flow.request.headers if name.lower().startswith(INTERNAL_PREFIX)} | _HOP:
            flow.request.headers.pop(name, None)
        flow.request.data.host, flow.request.data.port = address
        if proxy is not None:
            via = (proxy.host, proxy.port)
            if target.scheme == "http" and proxy.scheme == "http":
                # RFC 9112, section 3.2.2: a proxy is asked by absolute-form; many let CONNECT reach 443 alone.
                flow.request.data.authority = target.origin.partition("://")[2].encode()
                flow.request.data.host, flow.request.data.port = via
                if proxy.authorization is not None:
                    flow.request.headers["Proxy-Authorization"] = proxy.authorization
            else:
                flow.server_conn.via = (proxy.scheme, via)
                if proxy.authorization is not None:
                    carried.authorizations[via] = proxy.authorization
            address = via
        carried.permitted.add(address)
        flow.request.stream = True

    def _send_back(self, flow: http.HTTPFlow, carried: Carried, connection: Connection) -> None:
        """Have a request answered by our own listener."""
        for name in (*forward.HEADERS, *HOP_HEADERS):
            flow.request.headers.pop(name, None)
        if "host" not in flow.request.headers and flow.request.authority:
            flow.request.headers["Host"] = flow.request.authority
        for name, value in forward.wrap(connection, self._token).items():
            flow.request.headers[name] = value
        flow.request.data.authority = b""
        flow.request.data.scheme = b"http"
        flow.request.data.host, flow.request.data.port = self._address
        carried.permitted.add(self._address)
        flow.request.stream = True


_HOP = set(HOP_HEADERS)


def _recording(flow: http.HTTPFlow) -> Recording | None:
    found = flow.metadata.get(_RECORDING)
    return found if isinstance(found, Recording) else None


def _read(flow: http.HTTPFlow, connection: Connection) -> tuple[Connection, Request]:
    """What a flow asks for, and the connection as it has it. Raises ``BadTarget`` or ``Disagreement``."""
    asked = flow.request
    asked.data.path = quote_from_bytes(asked.data.path, safe=bytes(range(128))).encode()
    headers = Headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in asked.headers.fields)
    if connection.host is None:
        raw, names = asked.url, [headers.get("host")]
        connection = dataclasses.replace(connection, user=proxy_user(headers.get("proxy-authorization")))
    elif asked.is_http2:
        raw, names = asked.path, [asked.authority or None, headers.get("host")]
    else:
        raw = f"{connection.scheme}://{asked.authority}{asked.path}" if asked.authority else asked.path
        names = [headers.get("host")]
    target = target_of(raw, None, connection)
    for name in names:
        check_authority(target, name, connection)
    request = Request(method=asked.method, target=target, headers=headers.without(*HOP_HEADERS))
    return _known(connection, target), request


def _known(connection: Connection, target: URL) -> Connection:
    """The connection with the destination that an absolute-form request names."""
    if connection.host is not None:
        return connection
    return dataclasses.replace(connection, scheme=target.scheme, host=target.host, port=target.port)
