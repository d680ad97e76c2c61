"""A proxy in this process, on a thread and a loop of its own, so that real clients can be held against it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import inspect
import secrets
import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any

import pytest

from eve_mocks.ca import ensure_ca
from eve_mocks.dispatch import Dispatcher
from eve_mocks.model import Answer, Call, Passage, Request
from eve_mocks.proxy.carrier import Carrier
from eve_mocks.proxy.certificates import Certificates
from eve_mocks.proxy.listener import BACKLOG, Listener
from eve_mocks.proxy.upstream import Upstreams
from eve_mocks.response import Response
from eve_mocks.router import Router
from eve_mocks.session import Sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from eve_mocks.session import Session

HOST = "api.pay.test"
URL = f"https://{HOST}/v1"
PATIENCE = 10.0


@dataclasses.dataclass
class FunctionMock:
    """A mock that is a function from a request to a ``Response`` or JSON."""

    url: str
    function: Callable[[Request], Any]
    body: bool = True
    name: str = "pay"
    kind: str = "http"
    file: str = "mocks/pay.py"
    line: int | None = 1

    def operations(self) -> list[str]:
        return []

    def reads_body(self, request: Request) -> bool:
        return self.body

    async def answer(self, request: Request, session: Session) -> Answer:
        given = self.function(request)
        if inspect.isawaitable(given):
            given = await given
        response = given if isinstance(given, Response) else Response(json=given)
        return Answer(response=response, operation=f"{request.method} {request.path}")


def echo(request: Request) -> dict[str, Any]:
    """What a handler sees of a request."""
    return {
        "method": request.method,
        "url": request.url,
        "path": request.path,
        "query": request.query,
        "headers": list(request.headers.pairs),
        "body": request.body.decode("latin-1"),
    }


class RunningProxy:
    """The proxy, and what it recorded so far."""

    def __init__(self, ca: Path) -> None:
        self.ca = ca
        self.calls: list[Call] = []
        self._recorded = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.listener: Listener
        self.port = 0

    def start(
        self, mocks: list[FunctionMock], passages: list[Passage], upstreams: Upstreams, wrap: Callable[..., Any]
    ) -> None:
        sock = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self.port = sock.getsockname()[1]

        async def start() -> None:
            dispatcher = Dispatcher(Router(mocks, passages), Sessions(), self._record)
            token = secrets.token_urlsafe()
            carrier = Carrier(dispatcher, upstreams, address=sock.getsockname()[:2], token=token)
            self.listener = wrap(Listener(dispatcher, Certificates(self.ca), carrier, token=token))
            await self.listener.start(sock)

        self.run(start())

    def run(self, coroutine: Any) -> Any:
        """Run a coroutine on the proxy's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def stop(self) -> None:
        self.run(self.listener.stop())

    def close(self) -> None:
        with contextlib.suppress(AttributeError):
            self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _record(self, call: Call) -> None:
        with self._recorded:
            self.calls.append(call)
            self._recorded.notify_all()

    def recorded(self, count: int = 1) -> list[Call]:
        """The calls, once there are so many."""
        with self._recorded:
            assert self._recorded.wait_for(lambda: len(self.calls) >= count, PATIENCE), self.calls
            return list(self.calls)

    def call(self) -> Call:
        """The one call that was recorded."""
        (call,) = self.recorded()
        return call

    # Clients that are no more than a socket.

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def tunnel(self, authority: str = f"{HOST}:443", *fields: str) -> socket.socket:
        """A connection on which CONNECT was answered."""
        plain = self.connect()
        head = "".join(f"{line}\r\n" for line in (f"CONNECT {authority} HTTP/1.1", f"Host: {authority}", *fields))
        plain.sendall(f"{head}\r\n".encode())
        answer = read_head(plain)
        assert answer.startswith(b"HTTP/1.1 200"), answer
        return plain

    def secure(
        self, authority: str = f"{HOST}:443", *fields: str, sni: str | None = HOST, alpn: tuple[str, ...] = ()
    ) -> ssl.SSLSocket:
        """A connection inside TLS, checked against the CA as ``sni`` says."""
        context = self.context()
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if sni is None:
            context.check_hostname = False
        return context.wrap_socket(self.tunnel(authority, *fields), server_hostname=sni)

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.ca))

    def ask(self, raw: bytes, authority: str = f"{HOST}:443") -> bytes:
        """Everything that comes back for these bytes inside TLS, until the proxy closes."""
        with self.secure(authority) as client:
            client.sendall(raw)
            return read_all(client)


def read_head(client: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        data = client.recv(1)
        assert data, head
        head += data
    return head


def read_all(client: socket.socket) -> bytes:
    data = b""
    while part := client.recv(65536):
        data += part
    return data


def request(method: str = "GET", path: str = "/v1/charges", *fields: str, body: bytes = b"", host: str = HOST) -> bytes:
    """A request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *fields]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.fixture(scope="session")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure_ca(tmp_path_factory.mktemp("ca")).path


@pytest.fixture
def proxy(ca: Path) -> Iterator[Callable[..., RunningProxy]]:
    """``proxy(function_or_mocks, passages=…)`` starts a proxy; it is stopped after the test."""
    started: list[RunningProxy] = []

    def start(
        given: Callable[[Request], Any] | list[FunctionMock] = echo,
        *,
        passages: list[Passage] | None = None,
        upstreams: Upstreams | None = None,
        wrap: Callable[[Listener], Listener] = lambda listener: listener,
    ) -> RunningProxy:
        running = RunningProxy(ca)
        started.append(running)
        mocks = given if isinstance(given, list) else [FunctionMock(URL, given)]
        running.start(mocks, passages or [], upstreams or Upstreams(), wrap)
        return running

    yield start
    for running in started:
        running.close()
