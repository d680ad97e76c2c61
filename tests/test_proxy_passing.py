"""Allowed upstreams: real servers under names that only the caller's own proxy knows, so that nothing leaves."""

from __future__ import annotations

import base64
import contextlib
import gzip
import http.server
import json
import socket
import ssl
import subprocess
import threading
import time
from typing import TYPE_CHECKING

import h2.config
import h2.connection
import h2.events
import httpx
import pytest
import wsproto
from running_proxy import FunctionMock, echo, read_all, read_head, request
from upstream import certify

from eve_mocks.encoding import decode
from eve_mocks.load import load
from eve_mocks.model import Headers, Passage
from eve_mocks.proxy.recording import Body
from eve_mocks.proxy.upstream import UnknownProxy, Upstreams, parse_proxy
from eve_mocks.response import Response

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "upstream.example.com"
CLOSE = "Connection: close"
ALLOW = [
    Passage(kind="allow", name="up", url=f"https://{NAME}/", why="a test"),
    Passage(kind="allow", name="plain", url=f"http://{NAME}/", why="a test"),
]
CHUNK = bytes(range(256)) * 256


class Handler(http.server.BaseHTTPRequestHandler):
    """What the upstream answers; ``server.turn`` lets it go on one step at a time."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/events":
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for n in range(3):
                self.server.turn.acquire(timeout=10)
                data = f"data: {n}\n\n".encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")
        elif self.path == "/hold":
            self.server.turn.acquire(timeout=10)
        elif self.path == "/websocket":
            self.upgrade()
        elif self.path == "/break":
            self.send_response(200)
            self.send_header("content-length", "10")
            self.end_headers()
            self.wfile.write(b"half")
            self.close_connection = True
        elif self.path.startswith("/large"):
            self.send_response(200)
            self.send_header("content-length", str(len(CHUNK) * 1600))
            self.end_headers()
            for _ in range(1600):
                self.wfile.write(CHUNK)
        else:
            self.tell({})

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "99")
        self.end_headers()

    def do_POST(self) -> None:
        size = 0
        while size < int(self.headers["content-length"]):
            size += len(self.rfile.read(min(65536, int(self.headers["content-length"]) - size)))
        self.tell({"size": size})

    def tell(self, more: dict[str, object]) -> None:
        body = json.dumps({"path": self.path, "headers": self.headers.items(), **more}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("Set-Cookie", "a=1")
        self.send_header("Set-Cookie", "b=2")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def upgrade(self) -> None:
        connection = wsproto.WSConnection(wsproto.ConnectionType.SERVER)
        head = f"{self.requestline}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        connection.receive_data(f"{head}\r\n".encode())
        for event in connection.events():
            if isinstance(event, wsproto.events.Request):
                self.wfile.write(connection.send(wsproto.events.AcceptConnection()))
        while data := self.connection.recv(65536):
            connection.receive_data(data)
            for event in connection.events():
                if isinstance(event, wsproto.events.TextMessage):
                    self.wfile.write(connection.send(wsproto.events.TextMessage(data=event.data.upper())))
                elif isinstance(event, wsproto.events.CloseConnection):
                    self.wfile.write(connection.send(event.response()))
                    self.close_connection = True
                    return

    def log_message(self, *args: object) -> None:
        pass


class CorporateProxy(threading.Thread):
    """The caller's proxy: leads every name to the upstream, by CONNECT or in absolute form, and notes what it saw."""

    def __init__(self, tls_port: int, plain_port: int) -> None:
        super().__init__(daemon=True)
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self.seen: list[bytes] = []
        self.ports = {443: tls_port, 80: plain_port}

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.sock.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            head = read_head(client)
            self.seen.append(head)
            method, target, _ = head.split(b" ", 2)
            if method != b"CONNECT":
                client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nabsolute")
                return
            with socket.create_connection(("127.0.0.1", self.ports[int(target.rpartition(b":")[2])])) as server:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                back = threading.Thread(target=pump, args=(server, client), daemon=True)
                back.start()
                pump(client, server)
                back.join(10)


def pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


class Outside:
    """The upstream with TLS and without, and the proxy that leads to it."""

    def __init__(self, folder: Path) -> None:
        self.ca = str(certify(folder))
        self.turn = threading.Semaphore(0)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem")
        self.servers = []
        for secure in (True, False):
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            server.daemon_threads = True
            server.turn = self.turn
            if secure:
                server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            self.servers.append(server)
        self.proxy = CorporateProxy(*(server.server_address[1] for server in self.servers))
        self.proxy.start()

    def upstreams(self, *, credentials: str = "", trusted: bool = True) -> Upstreams:
        url = f"http://{credentials}127.0.0.1:{self.proxy.port}"
        return Upstreams({"http": url, "https": url, "no": ""}, self.ca if trusted else None)

    def close(self) -> None:
        self.proxy.sock.shutdown(socket.SHUT_RDWR)
        self.proxy.sock.close()
        for server in self.servers:
            server.shutdown()
            server.server_close()


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Outside]:
    made = Outside(tmp_path)
    yield made
    made.close()


@pytest.fixture
def passing(proxy, outside):
    return proxy([FunctionMock(f"https://{NAME}/mocked", echo)], passages=ALLOW, upstreams=outside.upstreams())


@pytest.fixture
def client(passing):
    with httpx.Client(proxy=passing.url, verify=passing.context(), timeout=10) as made:
        yield made


class TestPassing:
    def test_an_allowed_request_reaches_its_upstream(self, passing, client, outside):
        answer = client.get(f"https://{NAME}/a%2Fb?c=d", headers={"X-CaSe": "1"})
        assert answer.json()["path"] == "/a%2Fb?c=d"
        assert ["X-CaSe", "1"] in answer.json()["headers"]
        assert answer.headers.get_list("set-cookie") == ["a=1", "b=2"]
        call = passing.call()
        assert (call.outcome, call.target, call.kind, call.status) == ("allowed", "up", "allow", 200)
        assert (call.url, call.response_bytes) == (f"https://{NAME}/a%2Fb?c=d", len(answer.content))
        assert call.response_body == answer.content
        assert outside.proxy.seen[0].startswith(f"CONNECT {NAME}:443 HTTP/1.1\r\n".encode())

    def test_plain_http_goes_to_the_callers_proxy_in_absolute_form(self, passing, client, outside):
        assert client.get(f"http://{NAME}/x").text == "absolute"
        assert outside.proxy.seen[0].startswith(f"GET http://{NAME}/x HTTP/1.1\r\n".encode())
        assert passing.call().target == "plain"

    def test_what_is_between_us_and_the_client_stays_there(self, proxy, outside):
        running = proxy([], passages=ALLOW, upstreams=outside.upstreams(credentials="me:p%40ss@"))
        with running.connect() as client:
            fields = [
                "X-Eve-Mocks-Session: s1",
                "Proxy-Authorization: Basic ZXZhbDp0",
                "Proxy-Connection: close",
                CLOSE,
            ]
            client.sendall(request("GET", f"https://{NAME}/x", *fields, host=NAME))
            body = json.loads(read_all(client).partition(b"\r\n\r\n")[2])
        assert sorted(name.lower() for name, _ in body["headers"]) == ["connection", "host"]
        assert running.call().session == "s1"
        (seen,) = outside.proxy.seen
        assert f"proxy-authorization: Basic {base64.b64encode(b'me:p@ss').decode()}".lower() in seen.decode().lower()
        assert b"ZXZhbDp0" not in seen

    def test_events_arrive_one_by_one(self, passing, client, outside):
        with client.stream("GET", f"https://{NAME}/events") as answer:
            lines = answer.iter_lines()
            for n in range(3):
                outside.turn.release()
                assert next(lines) == f"data: {n}"  # each before the next is let go
                assert next(lines) == ""
        (call,) = passing.recorded()
        assert call.response_body == b"data: 0\n\ndata: 1\n\ndata: 2\n\n"

    def test_a_hundred_megabytes_each_way(self, passing, client):
        size = 0
        with client.stream("GET", f"https://{NAME}/large") as answer:
            for part in answer.iter_raw():
                size += len(part)
        assert size == len(CHUNK) * 1600
        answer = client.post(
            f"https://{NAME}/x", content=(CHUNK for _ in range(1600)), headers={"content-length": str(size)}
        )
        assert answer.json()["size"] == size
        down, up = passing.recorded(2)
        assert (down.response_bytes, up.request_bytes) == (size, size)
        assert down.response_body == CHUNK == up.request_body

    @pytest.mark.parametrize("method", ["HEAD", "GET"])
    def test_the_connection_is_kept(self, passing, client, method):
        for _ in range(3):
            assert client.request(method, f"https://{NAME}/x").status_code == 200
        assert len(passing.recorded(3)) == 3

    def test_websocket(self, passing, outside):
        connection = wsproto.WSConnection(wsproto.ConnectionType.CLIENT)
        with passing.secure(f"{NAME}:443", sni=NAME) as client:
            client.sendall(connection.send(wsproto.events.Request(host=NAME, target="/websocket")))
            received: list[object] = []
            while not any(isinstance(event, wsproto.events.CloseConnection) for event in received):
                data = client.recv(65536)
                assert data, "the connection ended"
                connection.receive_data(data)
                for event in connection.events():
                    received.append(event)
                    if isinstance(event, wsproto.events.AcceptConnection):
                        client.sendall(connection.send(wsproto.events.TextMessage(data="hello")))
                    elif isinstance(event, wsproto.events.TextMessage):
                        assert event.data == "HELLO"
                        client.sendall(connection.send(wsproto.events.CloseConnection(code=1000)))
        call = passing.call()
        assert (call.status, call.request_body, call.response_body) == (101, b"hello", b"HELLO")

    def test_expect(self, passing):
        with passing.secure(f"{NAME}:443", sni=NAME) as client:
            fields = ("Expect: 100-continue", "Content-Length: 5", CLOSE)
            client.sendall(request("POST", "/x", *fields, host=NAME))
            assert read_head(client).startswith(b"HTTP/1.1 100 ")
            client.sendall(b"hello")
            assert b'"size": 5' in read_all(client)

    def test_http_2(self, passing, needs):
        command = [
            needs("curl"),
            "-sS",
            "--http2",
            "-x",
            passing.url,
            "--cacert",
            str(passing.ca),
            "-w",
            "%{http_version}",
        ]
        command += [f"https://{NAME}/x", f"https://{NAME}/mocked/y"]
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        assert found.stdout.count("}2") == 2, (found.stdout, found.stderr)
        assert [(call.outcome, call.target) for call in passing.recorded(2)] == [("allowed", "up"), ("mocked", "pay")]


class TestMixed:
    """Allowed and other requests on one connection."""

    @pytest.mark.parametrize("paths", [["/x", "/mocked/a"], ["/mocked/a", "/x", "/mocked/b"]])
    def test_each_request_has_its_own_answer(self, passing, client, paths):
        for path in paths:
            answer = client.post(f"https://{NAME}{path}", content=b"hello", headers={"X-CaSe": "1"})
            found = answer.json()
            assert found["path"] == path
            assert ["X-CaSe", "1"] in found["headers"]
            assert not any("eve-mocks" in name.lower() for name, _ in found["headers"])
            assert found.get("body", "hello") == "hello"
        wanted = ["allowed" if path == "/x" else "mocked" for path in paths]
        assert [call.outcome for call in passing.recorded(len(paths))] == wanted

    def test_an_unclaimed_path_is_blocked(self, proxy, outside):
        allow = [Passage(kind="allow", name="up", url=f"https://{NAME}/free/", why="a test")]
        running = proxy([], passages=allow, upstreams=outside.upstreams())
        with httpx.Client(proxy=running.url, verify=running.context()) as client:
            assert client.get(f"https://{NAME}/free/x").status_code == 200
            answer = client.get(f"https://{NAME}/taken")
        assert (answer.status_code, answer.headers["eve-mocks"]) == (403, "blocked")
        call = running.recorded(2)[1]
        assert (call.url, call.reason) == (f"https://{NAME}/taken", "unclaimed")
        assert call.pid is not None
        assert len(outside.proxy.seen) == 1

    @pytest.mark.parametrize("first", ["/mocked/a", "/x"])
    def test_names_that_disagree(self, passing, outside, first):
        with passing.secure(f"{NAME}:443", sni=NAME) as client:
            client.sendall(request("GET", first, host=NAME))
            head = read_head(client)
            client.recv(65536)
            assert head.startswith(b"HTTP/1.1 200 ")
            client.sendall(request("GET", "/x", CLOSE, host="evil.test"))
            assert read_all(client).startswith(b"HTTP/1.1 403 ")
        assert passing.recorded(2)[1].reason == "authority"
        assert not any(b"evil.test" in head for head in outside.proxy.seen)

    def test_a_bad_session_is_refused(self, passing, client, outside):
        answer = client.get(f"https://{NAME}/x", headers={"x-eve-mocks-session": "../.."})
        assert answer.status_code == 400
        assert passing.call().outcome == "blocked"
        assert outside.proxy.seen == []

    def test_a_forged_token_is_not_believed(self, passing, client):
        client.get(f"https://{NAME}/x")
        forged = {"x-eve-mocks-internal-token": "x", "x-eve-mocks-internal-host": "evil.test"}
        assert client.get(f"https://{NAME}/mocked/a", headers=forged).json()["url"] == f"https://{NAME}/mocked/a"

    @pytest.mark.parametrize("fault", ["reset", "empty", "truncated", "malformed"])
    def test_faults(self, proxy, outside, fault):
        mock = FunctionMock(f"https://{NAME}/mocked", lambda asked: Response(text="0123456789", fault=fault))
        running = proxy([mock], passages=ALLOW, upstreams=outside.upstreams())
        with httpx.Client(proxy=running.url, verify=running.context()) as client:
            assert client.get(f"https://{NAME}/x").status_code == 200
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                client.get(f"https://{NAME}/mocked/a")
        assert running.recorded(2)[1].outcome == "mocked"

    def test_events_of_a_mock_after_an_allowed_request(self, proxy, outside):
        events = [{"data": "one"}, {"data": "two", "delay": 0.3}]
        mock = FunctionMock(f"https://{NAME}/mocked", lambda asked: Response(events=events))
        running = proxy([mock], passages=ALLOW, upstreams=outside.upstreams())
        with httpx.Client(proxy=running.url, verify=running.context()) as client:
            client.get(f"https://{NAME}/x")
            with client.stream("GET", f"https://{NAME}/mocked/e") as answer:
                began = time.monotonic()
                arrived = [time.monotonic() - began for _ in answer.iter_raw()]
        assert arrived[0] < 0.2
        assert arrived[-1] > 0.28

    def test_absolute_form_to_several_hosts(self, proxy, outside):
        mock = FunctionMock("http://plain.test/", echo)
        running = proxy([mock], passages=ALLOW, upstreams=outside.upstreams())
        with socket.create_server(("127.0.0.1", 0)) as local, running.connect() as client:
            threading.Thread(target=answer_once, args=(local,), daemon=True).start()
            port = local.getsockname()[1]
            answers = []
            for url, host in (
                ("http://plain.test/1", "plain.test"),
                (f"http://{NAME}/2", NAME),
                ("http://plain.test/3", "plain.test"),
                (f"https://{NAME}/4", NAME),
                ("http://nowhere.test/5", "nowhere.test"),
                (f"http://localhost:{port}/6", f"localhost:{port}"),
            ):
                client.sendall(request("GET", url, host=host))
                head = read_head(client)
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
                answers.append((int(head.split()[1]), client.recv(int(length.split()[1]), socket.MSG_WAITALL)))
        assert [status for status, _ in answers] == [200, 200, 200, 200, 403, 200]
        assert answers[1][1] == b"absolute"
        assert answers[5][1] == b"local"
        wanted = ["mocked", "allowed", "mocked", "allowed", "blocked"]
        assert [call.outcome for call in running.recorded(5)] == wanted


def answer_once(server: socket.socket) -> None:
    client, _ = server.accept()
    with client:
        read_head(client)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlocal")


class TestFailures:
    """What cannot be reached is told, and recorded."""

    def ask(self, running, url=f"https://{NAME}/x", **more):
        with httpx.Client(proxy=running.url, verify=running.context(), timeout=10) as client:
            return client.post(url, content=b"hello", **more)

    def check(self, running, answer, text):
        assert (answer.status_code, answer.headers["content-type"]) == (502, "application/problem+json")
        assert text in answer.json()["why"]
        assert answer.json()["fix"]
        call = running.call()
        assert (call.outcome, call.status, call.reason) == ("allowed", 502, "upstream")
        assert text in (call.error or "")
        assert call.fix == answer.json()["fix"]

    def test_a_certificate_that_is_not_trusted(self, proxy, outside):
        running = proxy([], passages=ALLOW, upstreams=outside.upstreams(trusted=False))
        self.check(running, self.ask(running), "ertificate")

    def test_a_certificate_for_another_name(self, proxy, outside):
        allow = [Passage(kind="allow", name="other", url="https://other.test/", why="a test")]
        running = proxy([], passages=allow, upstreams=outside.upstreams())
        self.check(running, self.ask(running, "https://other.test/"), "ertificate")

    def test_nobody_listens(self, proxy):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        running = proxy([], passages=ALLOW, upstreams=Upstreams({"https": f"http://127.0.0.1:{port}"}))
        self.check(running, self.ask(running), "Connect call failed")

    def test_no_such_name(self, proxy):
        allow = [Passage(kind="allow", name="nowhere", url="https://nowhere.invalid/", why="a test")]
        running = proxy([], passages=allow)
        self.check(running, self.ask(running, "https://nowhere.invalid/"), "[Errno -")

    def test_a_proxy_of_an_unknown_kind(self, proxy):
        running = proxy([], passages=ALLOW, upstreams=Upstreams({"https": "socks5://127.0.0.1:1"}))
        self.check(running, self.ask(running), "socks5")

    def test_after_a_failure_the_connection_serves_on(self, proxy, outside):
        mock = FunctionMock(f"https://{NAME}/mocked", echo)
        running = proxy([mock], passages=ALLOW, upstreams=outside.upstreams(trusted=False))
        with httpx.Client(proxy=running.url, verify=running.context()) as client:
            for path, status in (("/x", 502), ("/mocked/a", 200), ("/y", 502)):
                assert client.get(f"https://{NAME}{path}").status_code == status
        assert len(running.recorded(3)) == 3

    def test_an_upstream_that_breaks_off(self, passing, client):
        with pytest.raises(httpx.RemoteProtocolError):
            client.get(f"https://{NAME}/break")
        call = passing.call()
        assert (call.status, call.response_body) == (200, b"half")
        assert "broke off" in (call.error or "")

    def test_a_client_that_hangs_up(self, passing):
        with passing.secure(f"{NAME}:443", sni=NAME) as client:
            client.sendall(request("GET", "/events", host=NAME))
            read_head(client)
        call = passing.call()
        assert (call.cancelled, call.status) == (True, 200)

    def test_the_run_ends(self, passing, outside):
        with passing.secure(f"{NAME}:443", sni=NAME) as client:
            client.sendall(request("GET", "/hold", host=NAME))
            while not outside.proxy.seen:
                time.sleep(0.01)
            passing.stop()
        assert passing.call().cancelled

    def test_smuggling(self, passing, outside):
        raw = f"POST /x HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        with passing.secure(f"{NAME}:443", sni=NAME) as client:
            client.sendall(request("GET", "/x", host=NAME))
            read_head(client)
            client.recv(65536)
            client.sendall(raw.encode() + request("GET", "/smuggled", host=NAME))
            answer = read_all(client)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert not any(call.outcome == "allowed" for call in passing.calls[1:])


class TestHttp2Only:
    """A client that speaks nothing else, as gRPC's do, with a mock and no allow at all."""

    def exchange(self, client: socket.socket, host: str, paths: list[str], scheme: str) -> dict[str, tuple[str, bytes]]:
        connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        connection.initiate_connection()
        asked = {}
        for path in paths:
            stream = connection.get_next_available_stream_id()
            asked[stream] = path
            fields = [(":method", "GET"), (":path", path), (":scheme", scheme), (":authority", host)]
            connection.send_headers(stream, fields, end_stream=True)
        client.sendall(connection.data_to_send())
        status, bodies, done = {}, dict.fromkeys(asked, b""), 0
        while done < len(asked):
            data = client.recv(65536)
            assert data, "the connection ended"
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived):
                    status[event.stream_id] = dict(event.headers)[":status"]
                elif isinstance(event, h2.events.DataReceived):
                    bodies[event.stream_id] += event.data
                elif isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
                    done += 1
            client.sendall(connection.data_to_send())
        return {path: (status[stream], bodies[stream]) for stream, path in asked.items()}

    def test_over_tls(self, proxy):
        running = proxy([FunctionMock("https://grpc.test/", echo)])
        paths = [f"/{n}" for n in range(30)]
        with running.secure("grpc.test:443", sni="grpc.test", alpn=("h2",)) as client:
            found = self.exchange(client, "grpc.test", paths, "https")
        assert all(status == "200" for status, _ in found.values())
        assert {json.loads(body)["url"] for _, body in found.values()} == {f"https://grpc.test{path}" for path in paths}

    def test_with_prior_knowledge(self, proxy):
        running = proxy([FunctionMock("http://grpc.test/", echo)])
        with running.tunnel("grpc.test:80") as client:
            found = self.exchange(client, "grpc.test", ["/a"], "http")
        assert json.loads(found["/a"][1])["url"] == "http://grpc.test/a"

    def test_another_authority(self, proxy):
        running = proxy([FunctionMock("https://grpc.test/", echo)])
        with running.secure("grpc.test:443", sni="grpc.test", alpn=("h2",)) as client:
            found = self.exchange(client, "evil.test", ["/a"], "https")
        assert found["/a"][0] == "403"
        assert running.call().reason == "authority"


class TestUpstreams:
    """HTTP_PROXY, HTTPS_PROXY and NO_PROXY as other programs read them."""

    @pytest.mark.parametrize(
        ("no", "host", "port", "direct"),
        [
            ("", "a.test", 443, False),
            ("*", "a.test", 443, True),
            ("a.test", "a.test", 443, True),
            ("a.test", "b.a.test", 443, True),
            (".a.test", "a.test", 443, True),
            ("*.a.test", "b.a.test", 443, True),
            ("a.test", "ba.test", 443, False),
            ("x, A.TEST ,y", "a.test", 443, True),
            ("a.test:8443", "a.test", 443, False),
            ("a.test:443", "a.test", 443, True),
            ("10.0.0.0/8", "10.1.2.3", 443, True),
            ("10.0.0.0/8", "11.1.2.3", 443, False),
            ("192.0.2.1", "192.0.2.1", 443, True),
            ("[2001:db8::1]", "2001:db8::1", 443, True),
            ("2001:db8::1", "2001:db8::1", 443, True),
        ],
    )
    def test_no_proxy(self, no, host, port, direct):
        upstreams = Upstreams({"https": "http://corp:3128", "no": no})
        assert (upstreams.proxy("https", host, port) is None) == direct

    def test_each_scheme_has_its_own(self):
        upstreams = Upstreams({"https": "http://corp:3128", "http": None})
        assert upstreams.proxy("http", "a.test", 80) is None

    @pytest.mark.parametrize(
        ("url", "scheme", "host", "port", "credentials"),
        [
            ("http://corp:3128", "http", "corp", 3128, None),
            ("corp:3128", "http", "corp", 3128, None),
            ("HTTPS://corp/", "https", "corp", 443, None),
            ("http://u%40x:p%3A@[::1]:80", "http", "::1", 80, "u@x:p:"),
            ("http://user@corp", "http", "corp", 80, "user:"),
        ],
    )
    def test_urls(self, url, scheme, host, port, credentials):
        found = parse_proxy(url)
        wanted = None if credentials is None else f"Basic {base64.b64encode(credentials.encode()).decode()}"
        assert (found.scheme, found.host, found.port, found.authorization) == (scheme, host, port, wanted)

    @pytest.mark.parametrize("url", ["socks5://corp:1", "http://", "http://corp:x"])
    def test_what_is_not_a_proxy(self, url):
        with pytest.raises(UnknownProxy):
            parse_proxy(url)


def test_a_compressed_answer_is_recorded_as_text():
    body = Body()
    packed = gzip.compress(b'{"token": "secret"}')
    for n in range(len(packed)):
        assert body.take(packed[n : n + 1]) == packed[n : n + 1]
    assert body.plain(Headers([("Content-Encoding", "gzip")])) == decode(packed, "gzip")
    assert body.size == len(packed)


class TestSeam:
    """A mock leaves one request to the upstream, between two that it answers."""

    SCRIPT = "{kind: model, url: 'https://upstream.example.com/v1', scripts: {m: [one, slot, two]}, seam: SEAM}"

    @pytest.fixture
    def seam(self, proxy, outside, tmp_path):
        (tmp_path / "mocks").mkdir()
        seam = "{request: m, occurrence: 2}"
        (tmp_path / "mocks" / "ai.yaml").write_text(self.SCRIPT.replace("SEAM", seam))
        return proxy(load(tmp_path / "mocks").mocks, upstreams=outside.upstreams())

    @staticmethod
    def ask(client, text, **given):
        url = f"https://{NAME}/v1/chat/completions"
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
        return client.post(url, content=body, **given).json()

    @pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
    def test_one_request_reaches_the_upstream(self, seam, http2):
        with httpx.Client(proxy=seam.url, verify=seam.context(), timeout=10, http2=http2) as client:
            first = self.ask(client, "a", headers={"x-eve-mocks-session": "s1"})
            asked = self.ask(client, "b", headers={"x-eve-mocks-session": "s1", "authorization": "Bearer key"})
            last = self.ask(client, "c", headers={"x-eve-mocks-session": "s1"})
        assert [one["choices"][0]["message"]["content"] for one in (first, last)] == ["one", "two"]
        assert asked["path"] == "/v1/chat/completions"
        headers = dict(asked["headers"])
        assert headers["authorization"] == "Bearer key"
        assert not [name for name in headers if name.lower().startswith("x-eve-mocks")]
        calls = seam.recorded(3)
        assert [(call.outcome, call.target, call.session) for call in calls] == [
            ("mocked", "ai", "s1"),
            ("allowed", "ai", "s1"),
            ("mocked", "ai", "s1"),
        ]
        assert (calls[1].stub, calls[1].position, calls[1].operation) == ("ai:m", 1, "m")
        assert b'"content": "b"' in calls[1].request_body
        assert not [value for name, value in calls[1].request_headers if "internal" in name]

    def test_a_compressed_body_arrives_as_it_was(self, seam):
        with httpx.Client(proxy=seam.url, verify=seam.context(), timeout=10) as client:
            self.ask(client, "a")
            body = gzip.compress(b'{"model": "m", "messages": []}')
            answer = client.post(
                f"https://{NAME}/v1/chat/completions", content=body, headers={"content-encoding": "gzip"}
            ).json()
        headers = {name.lower(): value for name, value in answer["headers"]}
        assert (headers["content-encoding"], headers["content-length"]) == ("gzip", str(len(body)))

    def test_a_retry_of_it_reaches_the_upstream_too(self, seam):
        with httpx.Client(proxy=seam.url, verify=seam.context(), timeout=10) as client:
            self.ask(client, "a")
            for count in ("0", "1"):
                assert "path" in self.ask(client, "b", headers={"x-stainless-retry-count": count})
            assert self.ask(client, "c")["choices"][0]["message"]["content"] == "two"

    def test_the_same_question_later_does_not(self, seam):
        with httpx.Client(proxy=seam.url, verify=seam.context(), timeout=10) as client:
            answers = [self.ask(client, "the same") for _ in range(3)]
        assert ["path" in answer for answer in answers] == [False, True, False]
        assert answers[2]["choices"][0]["message"]["content"] == "two"

    @pytest.mark.parametrize("forged", ["x {}", "{}", "no", ""], ids=repr)
    def test_nobody_else_can_ask_for_it(self, seam, forged):
        with httpx.Client(proxy=seam.url, verify=seam.context(), timeout=10) as client:
            headers = {"x-eve-mocks-internal-seam": forged}
            answers = [self.ask(client, text, headers=headers) for text in ("a", "b", "c")]
        assert ["choices" in answer for answer in answers] == [True, False, True]
