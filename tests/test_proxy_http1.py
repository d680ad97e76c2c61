"""Honest HTTP: what arrives at a handler, and what comes back, byte by byte."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import socket
import subprocess
import sys
import threading
import time
import zlib

import brotli
import httpx
import pytest
import requests
from running_proxy import HOST, URL, FunctionMock, echo, read_all, read_head, request

from eve_mocks.response import Response

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def body_of(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def json_of(answer: bytes):
    return json.loads(body_of(answer))


def fields_of(answer: bytes) -> dict[str, str]:
    lines = answer.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


CLOSE = "Connection: close"


class TestRequests:
    """What a handler sees."""

    @pytest.mark.parametrize(
        ("path", "seen", "query"),
        [
            pytest.param("/v1/a%2Fb", "/v1/a%2Fb", {}, id="escaped slash is data"),
            pytest.param("/v1/%63harges", "/v1/charges", {}, id="unreserved escape"),
            pytest.param("/v1/x/../charges", "/v1/charges", {}, id="dot segments"),
            pytest.param("/v1/charges?a=1+2&b=1%2B2", "/v1/charges", {"a": "1 2", "b": "1+2"}, id="plus"),
            pytest.param("/v1/charges?id=1&id=2&x=", "/v1/charges", {"id": ["1", "2"], "x": ""}, id="repeated"),
            pytest.param("/v1/charges?", "/v1/charges", {}, id="empty query"),
            pytest.param("/v1/ü?q=ü", "/v1/%C3%BC", {"q": "ü"}, id="unencoded UTF-8"),
        ],
    )
    def test_targets(self, proxy, path, seen, query):
        found = json_of(proxy().ask(request("GET", path, CLOSE)))
        assert (found["path"], found["query"]) == (seen, query)

    def test_header_case_and_order_are_kept(self, proxy):
        found = json_of(
            proxy().ask(request("GET", "/v1/x", "X-ReQuest-ID: 1", "aCCept: */*", "X-ReQuest-ID: 2", CLOSE))
        )
        assert found["headers"] == [
            ["Host", HOST],
            ["X-ReQuest-ID", "1"],
            ["aCCept", "*/*"],
            ["X-ReQuest-ID", "2"],
            ["Connection", "close"],
        ]

    def test_latin1_header_values(self, proxy):
        raw = request("GET", "/v1/x", CLOSE).replace(b"Connection", b"X-Name: Ren\xe9\r\nConnection")
        assert ["X-Name", "René"] in json_of(proxy().ask(raw))["headers"]

    def test_chunked_body(self, proxy):
        raw = request("POST", "/v1/x", "Transfer-Encoding: chunked", CLOSE)
        raw += b"5;name=value\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nTrailer: x\r\n\r\n"
        assert json_of(proxy().ask(raw))["body"] == "hello world"

    @pytest.mark.parametrize(
        ("coding", "pack"),
        [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress), ("zstd", zstd.compress)],
    )
    def test_compressed_bodies_are_decoded(self, proxy, coding, pack):
        raw = request("POST", "/v1/x", f"Content-Encoding: {coding}", CLOSE, body=pack(b'{"a": 1}'))
        assert json_of(proxy().ask(raw))["body"] == '{"a": 1}'

    def test_a_body_that_is_not_in_its_coding_is_refused(self, proxy):
        running = proxy()
        raw = request("POST", "/v1/x", "Content-Encoding: gzip", CLOSE, body=b"{}")
        assert running.ask(raw).startswith(b"HTTP/1.1 400 ")
        assert running.call().reason == "message"
        assert "gzip" in (running.call().error or "")

    def test_five_megabytes(self, proxy):
        body = json.dumps({"text": "x" * (5 << 20)}).encode()
        running = proxy(lambda asked: {"length": len(asked.json()["text"])})
        with httpx.Client(proxy=running.url, verify=running.context()) as client:
            assert client.post(f"{URL}/x", content=body).json() == {"length": 5 << 20}

    def test_multipart_with_a_random_boundary(self, proxy):
        running = proxy()
        answer = requests.post(
            f"{URL}/x",
            files={"file": ("a.txt", b"content")},
            proxies={"https": running.url},
            verify=str(running.ca),
            timeout=10,
        )
        boundary = dict(map(tuple, answer.json()["headers"]))["Content-Type"].partition("boundary=")[2]
        assert answer.json()["body"].startswith(f"--{boundary}\r\n")

    @pytest.mark.parametrize("host", ["bücher.test", "xn--bcher-kva.test"])
    def test_international_hosts(self, proxy, needs, host):
        running = proxy([FunctionMock("https://bücher.test/", echo)])
        command = [needs("curl"), "-sS", "-x", running.url, "--cacert", str(running.ca), f"https://{host}/ü"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        assert json.loads(answer.stdout)["url"] == "https://xn--bcher-kva.test/%C3%BC", answer.stderr

    def test_absolute_form(self, proxy):
        running = proxy([FunctionMock("http://plain.test/", echo), FunctionMock(URL, echo, name="two")])
        for url in ("http://plain.test/a?b=c", f"{URL}/a?b=c"):  # https in absolute form is what old axios sends
            host = httpx.URL(url).host
            with running.connect() as client:
                client.sendall(request("GET", url, "Proxy-Connection: close", CLOSE, host=host))
                found = json_of(read_all(client))
            assert found["url"] == url
            assert ["Proxy-Connection", "close"] not in found["headers"]

    def test_plain_http_inside_connect(self, proxy):
        running = proxy([FunctionMock("http://plain.test/", echo)])
        with running.tunnel("plain.test:80") as client:
            client.sendall(request("GET", "/a", CLOSE, host="plain.test"))
            assert json_of(read_all(client))["url"] == "http://plain.test/a"

    def test_bytes_that_arrive_one_by_one(self, proxy):
        running = proxy()
        with running.secure() as client:
            for byte in request("POST", "/v1/x", CLOSE, body=b"hello"):
                client.sendall(bytes([byte]))
            assert json_of(read_all(client))["body"] == "hello"

    def test_bytes_that_come_with_the_connect(self, proxy):
        running = proxy([FunctionMock("http://plain.test/", echo)])
        with running.connect() as client:
            client.sendall(b"CONNECT plain.test:80 HTTP/1.1\r\nHost: plain.test:80\r\n\r\n")
            client.sendall(request("GET", "/a", CLOSE, host="plain.test"))
            assert b'"http://plain.test/a"' in read_all(client)

    def test_a_quiet_connect_is_not_answered(self, proxy):
        running = proxy([FunctionMock("http://plain.test/", echo)])
        with running.connect() as client:
            client.sendall(b"CONNECT plain.test:80 HTTP/1.1\r\nHost: plain.test:80\r\nx-eve-mocks-quiet: 1\r\n\r\n")
            client.sendall(request("GET", "/a", CLOSE, host="plain.test"))
            answer = read_all(client)
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert json_of(answer)["url"] == "http://plain.test/a"

    def test_http_1_0_without_host(self, proxy):
        answer = proxy().ask(b"GET /v1/x HTTP/1.0\r\n\r\n")
        assert json_of(answer)["path"] == "/v1/x"

    def test_an_upgrade_is_answered_as_http(self, proxy):
        raw = request("GET", "/v1/x", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
        with proxy().secure() as client:
            client.sendall(raw)
            assert read_head(client).startswith(b"HTTP/1.1 200 ")

    def test_a_client_that_ends_its_side_first(self, proxy):
        running = proxy([FunctionMock("http://plain.test/", echo)])
        with running.connect() as client:
            client.sendall(request("GET", "http://plain.test/", host="plain.test"))
            client.shutdown(1)
            assert json_of(read_all(client))["url"] == "http://plain.test/"

    def test_a_client_that_ends_its_side_while_the_answer_takes_its_time(self, proxy):
        running = proxy([FunctionMock("http://plain.test/", lambda asked: Response(text=asked.path, delay="300ms"))])
        with running.connect() as client:
            for path in ("/a", "/b"):
                client.sendall(request("GET", f"http://plain.test{path}", host="plain.test"))
            client.shutdown(socket.SHUT_WR)
            answers = read_all(client)
        assert re.findall(rb"\n(/.)", answers) == [b"/a", b"/b"]
        assert not any(call.cancelled for call in running.recorded(2))


class TestConnections:
    def test_pipelined_requests_are_answered_in_order(self, proxy):
        running = proxy(lambda asked: Response(json=asked.path, delay=0.05 if asked.path.endswith("0") else 0))
        raw = b"".join(request("GET", f"/v1/{n}", *([CLOSE] if n == 9 else [])) for n in range(10))
        answers = running.ask(raw)
        assert re.findall(rb'"/v1/(\d)"', answers) == [str(n).encode() for n in range(10)]
        assert [call.url[-1] for call in running.recorded(10)] == [str(n) for n in range(10)]

    def test_a_body_and_what_is_pipelined_behind_it(self, proxy):
        raw = request("POST", "/v1/a", body=b"GET /v1/inner HTTP/1.1\r\n\r\n") + request("GET", "/v1/b", CLOSE)
        answers = proxy().ask(raw)
        assert answers.count(b"HTTP/1.1 200 ") == 2
        assert b'"path": "/v1/inner"' not in answers

    def test_a_flood_of_pipelined_requests(self, proxy):
        count = 3000
        running = proxy([FunctionMock("http://plain.test/", lambda asked: {"path": asked.path})])
        raw = request("GET", "/x", host="plain.test") * (count - 1) + request("GET", "/y", CLOSE, host="plain.test")
        with running.tunnel("plain.test:80") as client:  # Python's TLS sockets do not serve two threads
            writer = threading.Thread(target=client.sendall, args=(raw,))
            writer.start()
            answers = read_all(client)
            writer.join()
        assert answers.count(b"HTTP/1.1 200 ") == count

    def test_the_connection_is_kept_after_an_error(self, proxy):
        def answer(asked):
            return Response(500, json={}) if asked.path == "/v1/broken" else {"ok": True}

        running = proxy(answer)
        with running.secure() as client:
            for path, status in (("/v1/broken", b"500"), ("/elsewhere", b"403"), ("/v1/x", b"200")):
                client.sendall(request("GET", path))
                head = read_head(client)
                assert head.startswith(b"HTTP/1.1 " + status)
                client.recv(int(fields_of(head)["content-length"]))

    def test_200_connections_at_once(self, proxy):
        running = proxy()
        clients = [running.secure() for _ in range(200)]
        for client in clients:
            client.sendall(request("GET", "/v1/x", CLOSE))
        assert all(b"200 OK" in read_all(client) for client in clients)
        for client in clients:
            client.close()


class TestResponses:
    """What comes back."""

    @pytest.mark.parametrize(
        ("method", "response", "length", "body"),
        [
            pytest.param("GET", Response(json={"a": 1}), "8", b'{"a": 1}', id="json"),
            pytest.param("GET", Response(text="é"), "2", "é".encode(), id="length in bytes"),
            pytest.param("HEAD", Response(json={"a": 1}), "8", b"", id="HEAD"),
            pytest.param("HEAD", Response(headers={"content-length": "99"}), "99", b"", id="HEAD with a length given"),
            pytest.param("GET", Response(204, text="no"), None, b"", id="204"),
            pytest.param("GET", Response(304, text="no", headers={"etag": '"1"'}), None, b"", id="304"),
            pytest.param("GET", Response(205, text="no"), "0", b"", id="205"),
            pytest.param("GET", Response(), "0", b"", id="empty"),
            pytest.param("GET", Response(text="abc", headers={"content-length": "7"}), "3", b"abc", id="wrong length"),
            pytest.param("GET", Response(text="abc", headers={"Transfer-Encoding": "chunked"}), "3", b"abc", id="te"),
            pytest.param("GET", Response(599, text="odd"), "3", b"odd", id="status without a name"),
        ],
    )
    def test_framing(self, proxy, method, response, length, body):
        running = proxy(lambda asked: response)
        answer = running.ask(request(method, "/v1/x", CLOSE))
        assert fields_of(answer).get("content-length") == length
        assert body_of(answer) == body
        assert "transfer-encoding" not in fields_of(answer)
        call = running.call()
        assert (call.status, call.response_bytes, call.response_body) == (response.status, len(body), body)

    @pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
    def test_nothing_of_a_body_disturbs_the_next_answer(self, proxy, method, status):
        running = proxy(lambda asked: Response(status, json={"a": 1}) if asked.path == "/v1/first" else {"b": 2})
        answers = running.ask(request(method, "/v1/first") + request("GET", "/v1/second", CLOSE))
        assert answers.count(b"HTTP/1.1 ") == 2
        assert answers.endswith(b'{"b": 2}')
        assert b'{"a": 1}' not in answers

    def test_accept_encoding_is_answered_plainly(self, proxy):
        answer = proxy(lambda asked: {"a": 1}).ask(request("GET", "/v1/x", "Accept-Encoding: gzip", CLOSE))
        assert body_of(answer) == b'{"a": 1}'
        assert "content-encoding" not in fields_of(answer)

    @pytest.mark.parametrize(
        ("body", "kept"), [(gzip.compress(b"packed"), "gzip"), (b"plain", None)], ids=["packed", "plain"]
    )
    def test_content_encoding_is_sent_only_if_it_is_true(self, proxy, body, kept):
        running = proxy(lambda asked: Response(body=body, headers={"content-encoding": "gzip"}))
        answer = running.ask(request("GET", "/v1/x", CLOSE))
        assert fields_of(answer).get("content-encoding") == kept
        assert body_of(answer) == body

    def test_two_cookies_and_the_case_of_names(self, proxy):
        response = Response(headers=[("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-TraCe", "é")])
        answer = proxy(lambda asked: response).ask(request("GET", "/v1/x", CLOSE))
        assert b"\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-TraCe: \xe9\r\n" in answer

    def test_reason_phrase_and_date(self, proxy):
        answer = proxy(lambda asked: Response(429)).ask(request("GET", "/v1/x", CLOSE))
        assert answer.startswith(b"HTTP/1.1 429 Too Many Requests\r\n")
        assert fields_of(answer)["date"].endswith("GMT")

    def test_a_large_body_to_a_slow_reader(self, proxy):
        body = bytes(range(256)) * (20 << 10)
        running = proxy(lambda asked: Response(body=body))
        with running.secure() as client:
            client.sendall(request("GET", "/v1/x", CLOSE))
            assert body_of(read_head(client)) == b""
            assert read_all(client) == body

    def test_a_large_body_is_not_held_in_buffers(self, proxy):
        body = bytes(64 << 20)
        running = proxy(lambda asked: Response(body=body))
        with running.secure() as client:
            client.sendall(request("GET", "/v1/x", CLOSE))
            read_head(client)
            client.recv(1)
            (accepted,) = running.listener._transports  # noqa: SLF001 - memory is not to be seen by a client
            assert accepted.get_write_buffer_size() < 1 << 20
        call = running.call()
        assert (call.cancelled, call.status) == (True, 200)
        assert 0 < call.response_bytes < len(body)

    def test_a_delay(self, proxy):
        running = proxy(lambda asked: Response(text="late", delay="150ms"))
        began = time.monotonic()
        assert running.ask(request("GET", "/v1/x", CLOSE)).endswith(b"late")
        assert time.monotonic() - began >= 0.15
        assert running.call().duration_ms >= 150

    def test_a_redirect_to_another_mock(self, proxy):
        first = FunctionMock(URL, lambda asked: Response(307, headers={"location": "https://two.test/next"}))
        running = proxy([first, FunctionMock("https://two.test/", echo, name="two")])
        with httpx.Client(proxy=running.url, verify=running.context(), follow_redirects=True) as client:
            assert client.post(f"{URL}/x", content=b"kept").json()["body"] == "kept"
        assert [call.target for call in running.recorded(2)] == ["pay", "two"]


class TestEvents:
    EVENTS = ({"data": "one"}, {"data": {"n": 2}, "event": "named", "delay": 0.2}, {"data": "3", "delay": 0.2})

    def test_each_is_sent_when_it_is_due(self, proxy):
        running = proxy(lambda asked: Response(events=self.EVENTS))
        arrived = []
        with (
            httpx.Client(proxy=running.url, verify=running.context()) as client,
            client.stream("GET", f"{URL}/events") as answer,
        ):
            assert answer.headers["content-type"] == "text/event-stream"
            assert "content-length" not in answer.headers
            began = time.monotonic()
            arrived = [(time.monotonic() - began, text) for text in answer.iter_text()]
        assert [text for _, text in arrived] == [
            "data: one\n\n",
            'event: named\ndata: {"n": 2}\n\n',
            "data: 3\n\n",
        ]
        assert arrived[0][0] < 0.15 < arrived[1][0] < 0.35 < arrived[2][0]
        assert running.call().response_bytes == sum(len(text) for _, text in arrived)

    def test_to_http_1_0_they_end_with_the_connection(self, proxy):
        running = proxy(lambda asked: Response(events=[{"data": "one"}]))
        answer = running.ask(b"GET /v1/x HTTP/1.0\r\n\r\n")
        assert body_of(answer) == b"data: one\n\n"

    def test_head_gets_the_headers_alone(self, proxy):
        running = proxy(lambda asked: Response(events=[{"data": "one"}, {"data": "two", "delay": 30}]))
        answer = running.ask(request("HEAD", "/v1/x", CLOSE))
        assert fields_of(answer)["content-type"] == "text/event-stream"
        assert body_of(answer) == b""

    def test_the_connection_serves_on(self, proxy):
        running = proxy(lambda asked: Response(events=[{"data": "one"}]) if asked.path == "/v1/e" else {"ok": True})
        assert running.ask(request("GET", "/v1/e") + request("GET", "/v1/x", CLOSE)).endswith(b'{"ok": true}')


class TestFaults:
    def ask(self, running) -> bytes:
        with running.secure() as client:
            client.sendall(request("GET", "/v1/x"))
            return read_all(client)

    def test_reset(self, proxy):
        running = proxy(lambda asked: Response(fault="reset"))
        with pytest.raises(ConnectionResetError):
            self.ask(running)
        assert (running.call().outcome, running.call().status) == ("mocked", None)

    def test_empty(self, proxy):
        assert self.ask(proxy(lambda asked: Response(fault="empty"))) == b""

    def test_truncated(self, proxy):
        running = proxy(lambda asked: Response(text="0123456789", fault="truncated"))
        answer = self.ask(running)
        assert body_of(answer) == b"01234"
        assert int(fields_of(answer)["content-length"]) > 5
        with (
            httpx.Client(proxy=running.url, verify=running.context()) as client,
            pytest.raises(httpx.RemoteProtocolError),
        ):
            client.get(f"{URL}/x")

    def test_malformed(self, proxy):
        running = proxy(lambda asked: Response(fault="malformed"))
        assert not self.ask(running).startswith(b"HTTP/")
        with (
            httpx.Client(proxy=running.url, verify=running.context()) as client,
            pytest.raises(httpx.RemoteProtocolError),
        ):
            client.get(f"{URL}/x")

    def test_timeout_holds_until_the_client_hangs_up(self, proxy):
        running = proxy(lambda asked: Response(fault="timeout"))
        with (
            httpx.Client(proxy=running.url, verify=running.context(), timeout=0.3) as client,
            pytest.raises(httpx.ReadTimeout),
        ):
            client.get(f"{URL}/x")
        assert running.call().cancelled

    def test_timeout_ends_with_the_run(self, proxy):
        running = proxy(lambda asked: Response(fault="timeout"))
        with running.secure() as client:
            client.sendall(request("GET", "/v1/x"))
            client.sendall(request("GET", "/v1/behind"))
            wait_until(lambda: running.listener._tasks)  # noqa: SLF001 - nothing of it is to be seen from outside
            running.stop()
        assert running.call().cancelled


def wait_until(condition) -> None:
    """Wait for something that no event tells."""
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


class TestHangingUp:
    @pytest.mark.parametrize("shut_first", [True, False])
    def test_without_tls(self, proxy, shut_first):
        running = proxy([FunctionMock("http://plain.test/", lambda asked: Response(fault="timeout"))])
        with running.connect() as client:
            client.sendall(request("GET", "http://plain.test/", host="plain.test"))
            wait_until(lambda: running.listener._tasks)  # noqa: SLF001
            if shut_first:
                client.shutdown(socket.SHUT_WR)
        assert running.call().cancelled

    def test_in_a_delay(self, proxy):
        cancelled = threading.Event()

        async def slow(asked):
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                cancelled.set()
                raise

        running = proxy(slow)
        with running.secure() as client:
            client.sendall(request("GET", "/v1/x"))
            wait_until(lambda: running.listener._tasks)  # noqa: SLF001
        assert cancelled.wait(5)
        call = running.call()
        assert (call.cancelled, call.status) == (True, None)
        assert "hung up" in (call.error or "")

    def test_in_mid_stream_and_by_force(self, proxy, needs):
        running = proxy(lambda asked: Response(events=[{"data": "one"}, {"data": "two", "delay": 30}]))
        command = [needs("curl"), "-sSN", "-x", running.url, "--cacert", str(running.ca), f"{URL}/events"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as client:
            assert client.stdout.readline() == b"data: one\n"
            client.kill()
        call = running.call()
        assert (call.cancelled, call.status, call.response_body) == (True, 200, b"data: one\n\n")
        wait_until(lambda: not running.listener._tasks)  # noqa: SLF001

    def test_in_the_middle_of_a_body(self, proxy):
        running = proxy()
        with running.secure() as client:
            client.sendall(b"POST /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nContent-Length: 100\r\n\r\nhalf")
        assert b"200 OK" in running.ask(request("GET", "/v1/y", CLOSE))
        assert [call.url for call in running.recorded()] == [f"{URL}/y"]  # nothing reached a handler


class TestExpect:
    def test_an_error_comes_without_the_body_being_read(self, proxy):
        running = proxy([FunctionMock(URL, lambda asked: Response(401, json={}), body=False)])
        with running.secure() as client:
            client.sendall(request("POST", "/v1/x", "Expect: 100-continue", "Content-Length: 1000000"))
            answer = read_all(client)
        assert answer.startswith(b"HTTP/1.1 401 ")
        assert fields_of(answer)["connection"] == "close"

    def test_an_unclaimed_call_is_blocked_without_the_body(self, proxy):
        running = proxy()
        with running.secure() as client:
            client.sendall(request("PUT", "/elsewhere", "Expect: 100-continue", "Content-Length: 1000000"))
            assert read_all(client).startswith(b"HTTP/1.1 403 ")

    @pytest.mark.parametrize("needs_body", [True, False])
    def test_anything_else_is_continued(self, proxy, needs_body):
        running = proxy([FunctionMock(URL, echo, body=needs_body)])
        with running.secure() as client:
            client.sendall(request("POST", "/v1/x", "Expect: 100-continue", "Content-Length: 5"))
            assert read_head(client) == b"HTTP/1.1 100 \r\n\r\n"
            client.sendall(b"hello" + request("GET", "/v1/y", CLOSE))
            answers = read_all(client)
        assert answers.count(b"HTTP/1.1 200 OK") == 2
        assert running.calls[0].request_body == b"hello"

    def test_a_client_that_does_not_wait(self, proxy):
        raw = request("POST", "/v1/x", "Expect: 100-continue", CLOSE, body=b"hello")
        for needs_body in (True, False):
            running = proxy([FunctionMock(URL, lambda asked: {"ok": True}, body=needs_body)])
            assert running.ask(raw).endswith(b'{"ok": true}')
            assert running.call().request_body == b"hello"

    def test_curl(self, proxy, needs):
        running = proxy([FunctionMock(URL, lambda asked: Response(401, text="no"), body=False)])
        command = [needs("curl"), "-sS", "-x", running.url, "--cacert", str(running.ca), "--data-binary", "@-"]
        command += ["-H", "Expect: 100-continue", "--http1.1", "-w", "%{http_code} %{size_upload}", f"{URL}/x"]
        answer = subprocess.run(command, input=b"x" * 5_000_000, capture_output=True, timeout=10, check=False)
        assert answer.stdout == b"no401 0", answer.stderr


CONFLICTS = {
    "two lengths": b"POST /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "length list": b"POST /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nContent-Length: 3, 4\r\n\r\nabcd",
    "length and chunks": b"POST /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nContent-Length: 3\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "negative length": b"POST /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nContent-Length: -1\r\n\r\n",
    "signed length": b"POST /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nContent-Length: +3\r\n\r\nabc",
    "bad chunk": b"POST /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "chunk without end": b"POST /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
    "bare CR in a value": b"GET /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nX: a\rb\r\n\r\n",
    "bare CR as line end": b"GET /v1/x HTTP/1.1\r\nHost: api.pay.test\rX: y\r\n\r\n",
    "NUL in a value": b"GET /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nX: a\0b\r\n\r\n",
    "space before colon": b"GET /v1/x HTTP/1.1\r\nHost : api.pay.test\r\n\r\n",
    "no colon": b"GET /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nnonsense\r\n\r\n",
    "two hosts": b"GET /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nHost: api.pay.test\r\n\r\n",
    "no host": b"GET /v1/x HTTP/1.1\r\n\r\n",
    "long line": b"GET /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
    "endless line": b"GET /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nX: " + b"y" * 300_000,
    "many fields": b"GET /v1/x HTTP/1.1\r\nHost: api.pay.test\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    "space in target": b"GET /v1/x y HTTP/1.1\r\nHost: api.pay.test\r\n\r\n",
    "target without slash": b"GET v1/x HTTP/1.1\r\nHost: api.pay.test\r\n\r\n",
    "connect inside": b"CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n",
    "fragment": b"GET /v1/x#y HTTP/1.1\r\nHost: api.pay.test\r\n\r\n",
    "chunks in HTTP/1.0": b"POST /v1/x HTTP/1.0\r\nHost: api.pay.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "empty lines": b"\r\n" * 10_000,
    "another version": b"GET /v1/x HTTP/2.0\r\nHost: api.pay.test\r\n\r\n",
}
# RFC 6585, section 5, and RFC 9110, sections 15.5.15 and 15.6.6; 400 for the others.
STATUSES = {"long line": 431, "endless line": 431, "many fields": 431, "long target": 414, "another version": 505}
CONFLICTS["long target"] = b"GET /v1/" + b"y" * 70_000


@pytest.mark.parametrize(
    ("raw", "status"),
    [pytest.param(raw, STATUSES.get(name, 400), id=name.replace(" ", "-")) for name, raw in CONFLICTS.items()],
)
def test_a_message_that_cannot_be_trusted_is_refused_and_the_connection_closed(proxy, raw, status):
    handled = []
    running = proxy(handled.append)
    answer = running.ask(raw + request("GET", "/v1/smuggled"))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert answer.count(b"HTTP/1.1 ") == 1
    assert fields_of(answer)["connection"] == "close"
    assert handled == []
    (call,) = running.recorded()
    assert (call.outcome, call.reason, call.status) == ("blocked", "message", status)


def test_an_unknown_transfer_coding_is_not_implemented(proxy):
    raw = b"POST /v1/x HTTP/1.1\r\nHost: api.pay.test\r\nTransfer-Encoding: gzip\r\n\r\n"
    assert proxy().ask(raw).startswith(b"HTTP/1.1 501 ")


ABSOLUTE = {
    "another protocol": (b"GET ftp://u:p@files.test/x HTTP/1.1\r\nHost: files.test\r\n\r\n", "ftp://files.test:21/x"),
    "bare CR": (b"GET http://a.test/x HTTP/1.1\r\nHost: a.test\r\nX: a\rb\r\n\r\n", "http://a.test/x"),
    "two lengths": (
        b"POST http://a.test/x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "http://a.test/x",
    ),
    "two hosts": (b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n", "http://a.test/"),
    "large head": (b"GET http://a.test/x HTTP/1.1\r\nX: " + b"y" * 70_000, "http://a.test/x"),
    "no port": (b"CONNECT db.test HTTP/1.1\r\nHost: db.test\r\n\r\n", "https://db.test/"),
    "user in CONNECT": (b"CONNECT u:p@db.test:443 HTTP/1.1\r\nHost: db.test\r\n\r\n", "https://db.test/"),
    "any host": (b"CONNECT *:443 HTTP/1.1\r\nHost: *\r\n\r\n", "https://*/"),
    "empty label": (b"CONNECT a..b:443 HTTP/1.1\r\nHost: a..b\r\n\r\n", "https://a..b/"),
    "long host": (b"CONNECT " + b"a" * 300 + b":443 HTTP/1.1\r\nHost: x\r\n\r\n", f"https://{'a' * 300}/"),
}


@pytest.mark.parametrize(("raw", "url"), ABSOLUTE.values(), ids=[name.replace(" ", "-") for name in ABSOLUTE])
def test_what_is_refused_of_a_request_through_the_proxy_is_recorded(proxy, raw, url):
    running = proxy()
    with running.connect() as client:
        client.sendall(raw)
        answer = read_all(client)
    assert re.match(rb"HTTP/1.1 4(00|31) ", answer)
    call = running.call()
    assert (call.outcome, call.reason, call.url) == ("blocked", "message", url)
    assert "p@" not in (call.error or "")


def test_a_request_for_the_proxy_itself_is_refused_and_not_recorded(proxy):
    running = proxy()
    with running.connect() as client:
        client.sendall(request("GET", "/"))
        assert read_all(client).startswith(b"HTTP/1.1 400 ")
    assert running.calls == []


@pytest.mark.parametrize("forged", ["wrong", ""], ids=["wrong-token", "empty-token"])
def test_headers_between_the_lanes_count_for_nothing_without_the_token(proxy, forged):
    running = proxy()
    with running.connect() as client:
        fields = (f"x-eve-mocks-internal-token: {forged}", f"x-eve-mocks-internal-host: {HOST}")
        client.sendall(request("GET", "/v1/x", *fields, "x-eve-mocks-internal-scheme: https"))
        assert read_all(client).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("fields", "session", "status"),
    [
        pytest.param((), "run", 200, id="none"),
        pytest.param(("Proxy-Authorization: Basic ZXZhbC0xOnRva2Vu",), "eval-1", 200, id="proxy user"),
        pytest.param(("Proxy-Authorization: Basic OnRva2Vu",), "run", 200, id="no name"),
        pytest.param(("Proxy-Authorization: Basic Li4vLi46eA==",), "run", 400, id="a path"),
        pytest.param(("Proxy-Authorization: Basic !!!",), "run", 200, id="not base64"),
        pytest.param(("Proxy-Authorization: Bearer hunter2",), "run", 200, id="not Basic"),
        pytest.param(("Proxy-Authorization: hunter2",), "run", 200, id="opaque"),
    ],
)
def test_sessions_by_the_proxy_user(proxy, fields, session, status):
    running = proxy([FunctionMock(URL, echo), FunctionMock("http://plain.test/", echo, name="plain")])
    with running.secure(f"{HOST}:443", *fields) as client:
        client.sendall(request("GET", "/v1/x", CLOSE))
        inside = read_all(client)
    with running.connect() as client:
        client.sendall(request("GET", "http://plain.test/", *fields, CLOSE, host="plain.test"))
        absolute = read_all(client)
    for answer, call in zip((inside, absolute), running.recorded(2), strict=True):
        assert int(answer.split()[1]) == status
        assert call.session == session
        assert b"Proxy-Authorization" not in answer


def test_an_exception_in_the_connection_layer_lets_nothing_through(proxy, caplog):
    def broken(listener):
        def resolve(url):
            raise RuntimeError("unforeseen")

        listener.dispatcher.resolve = resolve
        return listener

    running = proxy(wrap=broken)
    with running.secure() as client:
        client.sendall(request("GET", "/v1/x"))
        assert client.recv(1) == b""
    assert "unforeseen" in caplog.text
