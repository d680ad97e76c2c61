"""Allowed requests go to their upstream, carried by mitmproxy; nothing else does.

mitmproxy gets connections that are decrypted already, and asks for each request in ``requestheaders``. One that is
allowed is let through, as its bytes come, and recorded; any other is sent back to our own listener, which answers it.
Behind that, ``server_connect`` refuses every address that no request of its connection was allowed to.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import functools
import logging
import sys
import time
from typing import TYPE_CHECKING, Any

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
from eve_mocks.proxy.asked import judge, read
from eve_mocks.proxy.connection import BadTarget, Connection, Disagreement
from eve_mocks.proxy.framing import harmless
from eve_mocks.proxy.head import in_own_words
from eve_mocks.proxy.http1 import BROKEN, HOP_HEADERS, ONE_NAME, Refused, broken_inside
from eve_mocks.proxy.layers import HUNG_UP, REFUSED, PassingLayer
from eve_mocks.proxy.peer import Peers
from eve_mocks.proxy.recording import Recording, failure
from eve_mocks.proxy.upstream import UnknownProxy, Upstreams
from eve_mocks.proxy.upstream_tls import UpstreamTls
from eve_mocks.session import BadSession

if TYPE_CHECKING:
    from mitmproxy.proxy import events
    from mitmproxy.proxy.server_hooks import ServerConnectionHookData

    from eve_mocks.dispatch import Dispatcher
    from eve_mocks.model import Peer

log = logging.getLogger(__name__)

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
    crash: BaseException | None = None


class Passing:
    """mitmproxy without a listener of its own: it is given connections, and is an addon to itself."""

    def __init__(self, dispatcher: Dispatcher, upstreams: Upstreams, *, address: Address, token: str) -> None:
        logging.getLogger("mitmproxy.proxy").setLevel(logging.CRITICAL)  # what fails is recorded, and told the client
        self._dispatcher = dispatcher
        self._upstreams = upstreams
        self._address = address
        self._token = token
        self._peers = Peers()
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
    ) -> bytes | None:
        """Carry one connection to its end, or to a request that is for the answering lane: what was read of that."""
        carried = Carried(connection)
        handler = _Handler(self._master, reader, writer, self._master.options, self._mode)  # type: ignore[no-untyped-call]
        handler.carried = carried
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
        layer = PassingLayer(
            context,
            mode,
            judge=functools.partial(judge, connection=connection),
            broken=functools.partial(self._broken, connection),
        )
        handler.layer = layer
        self._carried[client.id] = carried
        try:
            await handler.handle_client()
        finally:
            del self._carried[client.id]
            self._settle(carried)
        return layer.given_back

    # Hooks of mitmproxy.

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        carried = self._carried[flow.client_conn.id]
        flow.server_conn = Server(address=None)
        try:
            self._decide(flow, carried)
        except Exception as error:  # mitmproxy would carry the request on
            log.exception("blocked by an error inside eve-mocks")
            self._refuse(flow, carried, broken_inside(error))

    def _decide(self, flow: http.HTTPFlow, carried: Carried) -> None:
        if REFUSED in flow.metadata:
            why = in_own_words(flow.metadata[REFUSED])
            self._refuse(flow, carried, Refused("message", f"The request is not valid HTTP: {why}.", BROKEN))
            return
        seam = forward.let_through(flow.request.headers.pop(forward.SEAM, None), self._token)
        try:
            connection, request = read(flow, carried.connection)
        except BadTarget as error:
            self._refuse(flow, carried, Refused("message", f"The request is not valid HTTP: {error}.", BROKEN))
            return
        except Disagreement as error:
            self._refuse(flow, carried, Refused("authority", str(error), ONE_NAME), error.target)
            return
        entry = self._dispatcher.resolve(request.target)
        if carried.connection.host is None and is_loopback(request.target.host):
            self._direct(flow, carried, request.target)
        elif seam is not None and entry is not None:
            passage = Passage(kind="allow", name=entry.name, url=entry.url, why="the mock leaves it to the upstream")
            self._let_through(flow, carried, connection, request, passage, **seam)
        elif isinstance(entry, Passage) and entry.kind == "allow":
            self._let_through(flow, carried, connection, request, entry)
        else:
            self._send_back(flow, carried, connection)

    def request(self, flow: http.HTTPFlow) -> None:
        flow.request.trailers = harmless(flow.request.trailers)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        assert flow.response is not None  # noqa: S101 - mitmproxy's promise
        recording = _recording(flow)
        if flow.response.status_code != 101 and flow.response.raw_content is None:
            flow.response.stream = True if recording is None else recording.response.take

    def response(self, flow: http.HTTPFlow) -> None:
        assert flow.response is not None  # noqa: S101 - mitmproxy's promise
        flow.response.trailers = harmless(flow.response.trailers)
        if (recording := _recording(flow)) and flow.websocket is None:
            recording.finish(flow.response)

    def error(self, flow: http.HTTPFlow) -> None:
        recording = _recording(flow)
        if recording is not None and self._carried[flow.client_conn.id].crash is None:  # else see ``_settle``
            message = flow.error.msg if flow.error is not None else "unknown error"
            listens = flow.client_conn.state & ConnectionState.CAN_READ
            if flow.metadata.get(HUNG_UP, not listens):  # the upstream may only have been dropped because of that
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
        self,
        flow: http.HTTPFlow,
        carried: Carried,
        connection: Connection,
        request: Request,
        entry: Passage,
        **told: object,
    ) -> None:
        try:
            exchange = self._dispatcher.allowed(request, entry, user=connection.session, client=connection.peer)
        except BadSession:
            self._send_back(flow, carried, connection)
            return
        exchange.note(**told)
        recording = Recording(exchange, carried.recordings)
        flow.metadata[_RECORDING] = recording
        try:
            self._direct(flow, carried, request.target, through_proxy=True)
        except UnknownProxy as error:
            flow.response = failure(exchange, str(error))
            recording.finish(flow.response)
            flow.metadata[REFUSED] = str(error)
        else:
            flow.request.stream = recording.request.take

    def _refuse(self, flow: http.HTTPFlow, carried: Carried, refused: Refused, target: URL | None = None) -> None:
        """Answer a request here: it could not even be sent back. ``target`` is None where it cannot be told."""
        reason, why, fix = refused
        exchange = self._dispatcher.refuse(
            Request(method=flow.request.method, target=target or carried.connection.url, headers=Headers()),
            reason=reason,
            why=why,
            fix=fix,
            status=400 if reason == "message" else 403,
            user=carried.connection.session,
            peer=lambda: self._peer(carried.connection),
        )
        response = exchange.response
        assert response is not None  # noqa: S101 - a refusal has one
        flow.response = http.Response.make(response.status, response.body, dict(response.headers))
        flow.metadata[REFUSED] = why
        exchange.finish(status=response.status, headers=response.headers, body=response.body)

    def _peer(self, connection: Connection) -> Peer:
        return connection.peer or self._peers.find(connection.client_port, self._address[1])

    def _broken(self, connection: Connection, why: str) -> None:
        said = in_own_words(why.removeprefix("HTTP/2 protocol error: ")).rstrip(".")
        why = f"The connection is not valid HTTP/2: {said}."
        self._refuse_connection(connection, Refused("message", why, BROKEN))

    def _settle(self, carried: Carried) -> None:
        """Record what is left of a connection that has ended."""
        unfinished, error = list(carried.recordings), carried.crash
        for recording in unfinished:
            if error is None:
                recording.finish(None, cancelled=True)
            else:
                refused = broken_inside(error)
                recording.exchange.note(outcome="error", fix=refused.fix)
                recording.finish(None, error=refused.why)
        if error is not None and not unfinished:
            self._refuse_connection(carried.connection, broken_inside(error))

    def _refuse_connection(self, connection: Connection, refused: Refused) -> None:
        reason, why, fix = refused
        self._dispatcher.refuse_connection(
            connection.url,
            reason=reason,
            why=why,
            fix=fix,
            user=connection.session,
            peer=lambda: self._peer(connection),
        )

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


class _Handler(ProxyConnectionHandler):
    """mitmproxy would log its own failure and let the connection hang; and it minds the windows of TCP alone."""

    carried: Carried
    layer: PassingLayer
    _moved: asyncio.Event | None = None

    async def server_event(self, event: events.Event) -> None:
        await super().server_event(event)
        if self._moved is not None:
            self._moved.set()

    async def drain_writers(self) -> None:
        await super().drain_writers()  # type: ignore[no-untyped-call]
        task = asyncio.current_task()
        connection = next((one for one, io in self.transports.items() if io.handler is task), None)
        while connection is not None and self.layer.is_ahead(connection):
            self._moved = self._moved or asyncio.Event()
            self._moved.clear()
            await self._moved.wait()

    def log(self, message: str, level: int = logging.INFO, exc_info: Any = None) -> None:
        error = exc_info[1] if isinstance(exc_info, tuple) else sys.exception()
        if exc_info is None or error is None:
            super().log(message, level)
            return
        log.error("a connection was dropped because of an error inside eve-mocks", exc_info=error)
        self.carried.crash = error
        io = self.transports.get(self.client)
        if io is not None and isinstance(io.writer, asyncio.StreamWriter):
            io.writer.transport.abort()


def _recording(flow: http.HTTPFlow) -> Recording | None:
    found = flow.metadata.get(_RECORDING)
    return found if isinstance(found, Recording) else None
