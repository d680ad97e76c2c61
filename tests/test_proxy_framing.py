"""What goes on to an allowed upstream is what was judged: byte by byte, to an upstream that is only a socket."""

from __future__ import annotations

import contextlib
import json
import ssl
from typing import TYPE_CHECKING

import h2.config
import h2.connection
import h2.events
import pytest
from mitmproxy.proxy.layers.http._http1 import Http1Connection
from raw_upstream import RawUpstream
from running_proxy import HOST, FunctionMock, echo, read_all, read_head, request

from eve_mocks.model import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "upstream.example.com"
CLOSE = "Connection: close"
ALLOW = [
    Passage(kind="allow", name="up", url=f"https://{NAME}/free/", why="a test"),
    Passage(kind="allow", name="plain", url=f"http://{NAME}/free/", why="a test"),
]


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[RawUpstream]:
    made = RawUpstream(tmp_path)
    yield made
    made.close()


@pytest.fixture
def passing(proxy, upstream):
    mocks = [FunctionMock(f"https://{NAME}/mocked", echo), FunctionMock(f"https://{HOST}/v1", echo, name="other")]
    return proxy(mocks, passages=ALLOW, upstreams=upstream.upstreams)


def after_an_allowed_one(passing, raw: bytes) -> bytes:
    """The answer to bytes that follow an allowed request on its connection."""
    with passing.secure(f"{NAME}:443", sni=NAME) as client:
        client.sendall(request("GET", "/free/first", host=NAME))
        assert read_head(client).startswith(b"HTTP/1.1 200 ")
        assert client.recv(2) == b"ok"
        client.sendall(raw)
        return read_all(client)


class TestHttp2:
    def ask(self, passing, *fields: tuple[str, str], body: bytes = b"", trailers: dict[str, str] | None = None):
        """Status and body of one request, whose fields replace the usual ones; no status where it is reset."""
        usual = {":method": "POST", ":scheme": "https", ":authority": NAME, ":path": "/free/x"}
        asked = [(name, value) for name, value in ({**usual, **dict(fields)}).items() if value]
        with passing.secure(f"{NAME}:443", sni=NAME, alpn=("h2",)) as client:
            config = h2.config.H2Configuration(header_encoding="utf-8", validate_outbound_headers=False)
            connection = h2.connection.H2Connection(config)
            connection.initiate_connection()
            connection.send_headers(1, asked, end_stream=not body)
            if body:
                connection.send_data(1, body, end_stream=trailers is None)
            if trailers is not None:
                connection.send_headers(1, list(trailers.items()), end_stream=True)
            client.sendall(connection.data_to_send())
            status, answer = "", b""
            while data := client.recv(65536):
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.ResponseReceived):
                        status = dict(event.headers)[":status"]
                    elif isinstance(event, h2.events.DataReceived):
                        answer += event.data
                    elif isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
                        return status, answer
                client.sendall(connection.data_to_send())
        return status, answer

    def test_a_body_without_a_length_stays_a_body_upstream(self, passing, upstream):
        smuggled = request("GET", "/smuggled", host=NAME)
        assert self.ask(passing, body=smuggled) == ("200", b"ok")
        ((head, body),) = upstream.requests
        assert b"transfer-encoding: chunked" in head.lower()
        assert body == b"%x\r\n%s\r\n0\r\n\r\n" % (len(smuggled), smuggled)
        assert passing.call().request_body == smuggled

    def test_a_body_without_a_length_reaches_a_mock(self, passing):
        status, answer = self.ask(passing, (":path", "/mocked/x"), body=b"hello")
        assert (status, json.loads(answer)["body"]) == ("200", "hello")

    def test_a_length_that_is_told_is_kept(self, passing, upstream):
        assert self.ask(passing, ("content-length", "5"), body=b"hello") == ("200", b"ok")
        ((head, body),) = upstream.requests
        assert (b"chunked" in head, body) == (False, b"hello")

    def test_a_body_that_ends_too_soon_costs_its_stream_alone(self, passing, upstream):
        assert self.ask(passing, ("content-length", "50"), body=b"hello") == ("", b"")
        call = passing.call()
        assert (call.outcome, call.cancelled) == ("allowed", True)

    def test_trailers(self, passing, upstream):
        self.ask(passing, body=b"hello", trailers={"x-sum": "1", "x-eve-mocks-session": "s1"})
        assert upstream.requests[0][1] == b"5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n"

    @pytest.mark.parametrize(
        ("fields", "status", "reason"),
        [
            pytest.param({":scheme": "http"}, "400", "message", id="scheme"),
            pytest.param({":authority": "evil.test"}, "403", "authority", id="authority"),
            pytest.param({"host": "evil.test"}, "", "message", id="Host beside authority"),
            pytest.param({":path": "https://evil.test/free/x"}, "403", "authority", id="absolute path"),
            pytest.param({":path": "/free/x#y"}, "400", "message", id="fragment"),
            pytest.param({":method": "CONNECT", ":scheme": "", ":path": ""}, "", "message", id="CONNECT"),
            pytest.param({":method": "CONNECT"}, "", "message", id="CONNECT with a path"),
        ],
    )
    def test_what_is_refused(self, passing, upstream, fields, status, reason):
        found, answer = self.ask(passing, *fields.items(), body=b"hello")
        assert found == status
        assert not status or json.loads(answer)["title"] == "blocked by eve-mocks"
        call = passing.call()
        assert (call.outcome, call.reason) == ("blocked", reason)
        assert upstream.requests == []

    def test_trailers_of_an_upstream_without_it(self, passing, upstream):
        body = b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"
        upstream.answers["/free/x"] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
        assert self.ask(passing, (":method", "GET")) == ("200", b"hello")


class TestTrailers:
    """RFC 9112, section 7.1.2."""

    def test_of_a_request(self, passing, upstream):
        raw = request("POST", "/free/x", "Transfer-Encoding: chunked", CLOSE, host=NAME)
        raw += b"5\r\nhello\r\n0\r\nX-Sum: 1\r\nContent-Length: 7\r\nX-Eve-Mocks-Session: s1\r\n\r\n"
        assert after_an_allowed_one(passing, raw).endswith(b"ok")
        assert upstream.requests[1][1] == b"5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n"
        assert passing.recorded(2)[1].request_body == b"hello"

    def test_of_an_answer(self, passing, upstream):
        body = b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"
        upstream.answers["/free/x"] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n" + body
        raw = request("GET", "/free/x", host=NAME) + request("GET", "/free/y", CLOSE, host=NAME)
        answers = after_an_allowed_one(passing, raw)
        assert body.lower() in answers
        assert answers.endswith(b"\r\n\r\nok")


def test_an_answer_without_a_body_has_no_last_chunk(passing, upstream):
    answer = b"HTTP/1.1 304 Not Modified\r\ntransfer-encoding: chunked\r\n\r\n"
    upstream.answers["/free/x"] = answer
    raw = request("GET", "/free/x", host=NAME) + request("GET", "/free/y", CLOSE, host=NAME)
    assert after_an_allowed_one(passing, raw).startswith(answer + b"HTTP/1.1 200 ")


@pytest.mark.parametrize("status", ["100 Continue", "103 Early Hints", "102 Processing"])
def test_interim_answers_are_handed_on_and_not_taken_for_the_final_one(passing, upstream, status):
    interim = f"HTTP/1.1 {status}\r\nlink: </a.css>\r\n\r\n".encode()
    final = b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok"
    upstream.answers["/free/x"] = interim * 2 + final
    assert after_an_allowed_one(passing, request("GET", "/free/x", CLOSE, host=NAME)) == interim * 2 + final
    assert passing.recorded(2)[1].status == 201


class TestTargets:
    @pytest.mark.parametrize(
        ("asked", "sent"),
        [
            ("/free/a%2Fb/%7e/%e4?x=%2e%2E&y=..%2F../", "/free/a%2Fb/%7e/%e4?x=%2e%2E&y=..%2F../"),
            ("/free//a/", "/free//a/"),
            ("/free/a;b=1/...", "/free/a;b=1/..."),
            ("/admin/../free/x", "/free/x"),
            ("/admin/%2e%2E/free/x", "/free/x"),
            ("/admin/.%2e/free/%2e/x?y", "/free/x?y"),
            ("/free/x//..", "/free/x/"),
            ("/free/a\\..\\b", "/free/a%5C..%5Cb"),
            ("/free/ü", "/free/%C3%BC"),
        ],
    )
    def test_what_was_decided_on_is_sent(self, passing, upstream, asked, sent):
        for target in (asked, f"https://u:p@{NAME}{asked}", f"wss://{NAME}:443{asked}"):
            upstream.requests.clear()
            after_an_allowed_one(passing, request("GET", target, CLOSE, host=NAME))
            assert upstream.lines[1:] == [f"GET {sent} HTTP/1.1"]

    @pytest.mark.parametrize("scheme", ["https", "wss", "HTTPS"])
    def test_absolute_form_to_the_proxy(self, passing, upstream, scheme):
        with passing.connect() as client:
            for path in ("/admin/../free/1", "/free/2"):
                client.sendall(request("GET", f"{scheme}://u:p@{NAME}{path}", host=NAME))
                read_head(client)
                assert client.recv(2) == b"ok"
        assert upstream.lines == ["GET /free/1 HTTP/1.1", "GET /free/2 HTTP/1.1"]

    @pytest.mark.parametrize("path", ["/free/../admin", "/free/%2e%2e/admin", "//free/x", "/free%2fx", "/free/#/../x"])
    def test_what_only_seems_to_be_allowed(self, passing, upstream, path):
        after_an_allowed_one(passing, request("GET", path, CLOSE, host=NAME))
        assert passing.recorded(2)[1].outcome == "blocked"
        assert len(upstream.requests) == 1


HEAD = f"POST /free/x HTTP/1.1\r\nHost: {NAME}\r\n".encode()


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        pytest.param(HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400, id="two lengths"),
        pytest.param(
            HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, id="length and chunks"
        ),
        pytest.param(HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400, id="space before colon"),
        pytest.param(HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501, id="unknown coding"),
        pytest.param(HEAD + b"Content-Length: +3\r\n\r\nabc", 400, id="signed length"),
        pytest.param(HEAD + b"X: a\rb\r\n\r\n", 400, id="bare CR"),
        pytest.param(HEAD + b"X: a\0b\r\n\r\n", 400, id="NUL"),
        pytest.param(HEAD + b"Host: evil.test\r\n\r\n", 400, id="two hosts"),
        pytest.param(HEAD + b"X: " + b"y" * 200_000 + b"\r\n\r\n", 431, id="large head"),
        pytest.param(b"GET /free/" + b"y" * 70_000 + b" HTTP/1.1\r\n", 414, id="long target"),
        pytest.param(b"GET /free/x HTTP/1.1\r\n\r\n", 400, id="no host"),
        pytest.param(b"garbage\r\n\r\n", 400, id="garbage"),
        pytest.param(HEAD.replace(b"/1.1", b"/2.0") + b"\r\n", 505, id="HTTP/2.0"),
        pytest.param(b"\r\n" * 10_000, 400, id="empty lines"),
        pytest.param(b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", 400, id="CONNECT"),
        pytest.param(f"connect /free/x HTTP/1.1\r\nHost: {NAME}\r\n\r\n".encode(), 400, id="connect"),
    ],
)
def test_a_later_request_is_judged_as_the_first(passing, upstream, raw, status):
    answer = after_an_allowed_one(passing, raw + request("GET", "/free/smuggled", host=NAME))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"application/problem+json" in answer
    assert answer.count(b"HTTP/1.1 ") == 1
    assert upstream.lines == ["GET /free/first HTTP/1.1"]
    call = passing.recorded(2)[1]
    assert (call.outcome, call.reason, call.status, call.target) == ("blocked", "message", status, NAME)


def test_a_folded_field_goes_on_as_one_line(passing, upstream):
    after_an_allowed_one(passing, request("GET", "/free/x", "X: a\r\n b", CLOSE, host=NAME))
    assert b"\r\nX: a b\r\n" in upstream.requests[1][0]


def test_a_body_that_breaks_off_ends_both_connections(passing):
    raw = HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n"
    assert after_an_allowed_one(passing, raw).startswith(b"HTTP/1.1 400 ")
    call = passing.recorded(2)[1]
    assert (call.outcome, call.cancelled) == ("allowed", None)
    assert "protocol error" in (call.error or "")


def test_another_authority_inside_of_a_tunnel(passing, upstream):
    raw = request("GET", "https://evil.test/free/x", host=NAME) + request("GET", "/free/y", CLOSE, host=NAME)
    answers = after_an_allowed_one(passing, raw)
    assert answers.startswith(b"HTTP/1.1 403 ")
    assert answers.endswith(b"ok")  # the next one is carried again
    call = passing.recorded(3)[1]
    assert call.reason == "authority"
    assert "the target is https://evil.test" in (call.error or "")
    assert upstream.lines == ["GET /free/first HTTP/1.1", "GET /free/y HTTP/1.1"]


class TestConnect:
    """After a request in absolute form, on one connection to the proxy."""

    def connect(self, passing, authority: str):
        client = passing.connect()
        client.sendall(request("GET", f"https://{NAME}/free/x", host=NAME))
        read_head(client)
        assert client.recv(2) == b"ok"
        client.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        return client

    @pytest.mark.parametrize("host", [HOST, "nowhere.test"])
    def test_its_tunnel_is_ours(self, passing, host):
        with self.connect(passing, f"{host}:443") as plain:
            assert read_head(plain).startswith(b"HTTP/1.1 200 ")
            with passing.context().wrap_socket(plain, server_hostname=host) as client:
                client.sendall(request("GET", "/v1/x", CLOSE, host=host))
                answer = read_all(client)
        wanted = ("mocked", 200) if host == HOST else ("blocked", 403)
        call = passing.recorded(2)[1]
        assert (call.outcome, call.status) == wanted
        assert answer.startswith(f"HTTP/1.1 {wanted[1]} ".encode())

    def test_other_protocols_in_it_are_recorded(self, passing):
        with self.connect(passing, "db.test:5432") as client:
            read_head(client)
            client.sendall(b"\0\0\0\x08\x04\xd2\x16\x2f")
            with pytest.raises(ConnectionResetError):
                client.recv(1)
        assert passing.recorded(2)[1].reason == "protocol"


def test_a_failure_of_mitmproxy_ends_the_connection_and_the_run(passing, monkeypatch, caplog):
    def fail(*_: object, **__: object) -> None:
        raise NotImplementedError("something it does not know")

    monkeypatch.setattr(Http1Connection, "mark_done", fail)
    with passing.secure(f"{NAME}:443", sni=NAME) as client:
        client.sendall(request("GET", "/free/x", host=NAME))
        with contextlib.suppress(ssl.SSLError, ConnectionError):  # it ends, in whatever way
            read_all(client)
    call = passing.call()
    assert (call.outcome, call.target) == ("error", "up")
    assert "eve-mocks itself failed" in (call.error or "")
    assert "something it does not know" in caplog.text
