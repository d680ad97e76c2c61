"""Who is asked, in which protocol, under which name: everything before the first request."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import warnings

import pytest
from running_proxy import HOST, URL, FunctionMock, echo, read_all, read_head, request

from eve_mocks.ca import ensure_ca
from eve_mocks.model import Passage, Peer
from eve_mocks.proxy import tls
from eve_mocks.proxy.speech import speech

CLOSE = "Connection: close"
CLIENT_HELLO = bytes.fromhex("16030100")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x16", None),
        (CLIENT_HELLO, "tls"),
        (b"\x16\x01", "unknown"),
        (b"GET / HTTP/1.1\r\n", "http/1.1"),
        (b"get /x HTTP/1.0\n", "http/1.1"),
        (b"\r\nGET / HTTP/1.1\r\n", "http/1.1"),
        (b"M-SEARCH * HTTP/1.1\r\n", "http/1.1"),
        (b"GET /\xc3\xa9 HTTP/1.1\r\n", "http/1.1"),
        (b"GE", None),
        (b"GET /half", None),
        (b"GET / HTTP/1.1\r", None),
        (b"GET /\r\n", "unknown"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0", "h2"),
        (b"PRI * HTTP/2", None),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "unknown"),
        (b"\0\0\0\x08\x04\xd2\x16\x2f", "unknown"),
        (b"*1\r\n$4\r\nPING\r\n", "unknown"),
        (b"EHLO localhost\r\n", "unknown"),
        (b"{}", "unknown"),
        (b"x" * 41, "unknown"),
        (b"GET /" + b"x" * 60_000, None),
        (b"GET /" + b"x" * 70_000, "http/1.1"),
        (b"\r\n" * 40_000, "http/1.1"),
    ],
)
def test_what_the_first_bytes_tell(data, expected):
    assert speech(data) == expected


class TestAuthority:
    """The names of one request must agree."""

    @pytest.mark.parametrize(
        ("connect", "sni", "host", "target"),
        [
            pytest.param("API.pay.test.:443", HOST, "api.PAY.test", "/v1/x", id="case and dot"),
            pytest.param(f"{HOST}:443", HOST, f"{HOST}:443", "/v1/x", id="default port"),
            pytest.param(f"{HOST}:443", HOST, HOST, f"{URL}/x", id="absolute form inside"),
        ],
    )
    def test_names_that_agree(self, proxy, connect, sni, host, target):
        running = proxy()
        with running.secure(connect, sni=sni) as client:
            client.sendall(request("GET", target, CLOSE, host=host))
            assert b"200 OK" in read_all(client)
        assert running.call().outcome == "mocked"

    @pytest.mark.parametrize(
        ("asked", "names"),
        [
            pytest.param(("evil.test:443", HOST, HOST, "/v1/x"), ["evil.test", HOST], id="CONNECT"),
            pytest.param((f"{HOST}:443", "evil.test", HOST, "/v1/x"), ["evil.test"], id="SNI"),
            pytest.param((f"{HOST}:443", HOST, "evil.test", "/v1/x"), ["evil.test"], id="Host"),
            pytest.param((f"{HOST}:443", HOST, f"{HOST}:8443", "/v1/x"), [f"{HOST}:8443"], id="port of Host"),
            pytest.param((f"{HOST}:443", HOST, f"{HOST}@evil.test", "/v1/x"), ["evil.test"], id="user in Host"),
            pytest.param((f"{HOST}:443", HOST, HOST, "https://evil.test/v1/x"), ["evil.test"], id="target"),
            pytest.param((f"{HOST}:443", HOST, HOST, f"http://{HOST}/v1/x"), [f"http://{HOST}"], id="scheme of target"),
            pytest.param(("192.0.2.1:443", HOST, HOST, "/v1/x"), ["192.0.2.1", HOST], id="address and name"),
        ],
    )
    def test_names_that_disagree(self, proxy, asked, names):
        connect, sni, host, target = asked
        running = proxy()
        context = running.context()
        context.check_hostname = False
        with context.wrap_socket(running.tunnel(connect), server_hostname=sni) as client:
            client.sendall(request("GET", target, CLOSE, host=host))
            assert read_all(client).startswith(b"HTTP/1.1 403 ")
        call = running.call()
        assert (call.outcome, call.reason) == ("blocked", "authority")
        assert all(name in (call.error or "") for name in names), call.error

    @pytest.mark.parametrize(("host", "status"), [("plain.test", 200), ("PLAIN.test:80", 200), ("evil.test", 403)])
    def test_absolute_form_and_host(self, proxy, host, status):
        running = proxy([FunctionMock("http://plain.test/", echo)])
        with running.connect() as client:
            client.sendall(request("GET", "http://plain.test/x", CLOSE, host=host))
            assert read_all(client).startswith(f"HTTP/1.1 {status} ".encode())
        assert (running.call().reason == "authority") == (status == 403)

    @pytest.mark.parametrize("address", ["192.0.2.7", "[2001:db8::7]"])
    def test_an_address_needs_no_sni(self, proxy, address):
        running = proxy([FunctionMock(f"https://{address}/", echo)])
        context = running.context()
        with context.wrap_socket(running.tunnel(f"{address}:443"), server_hostname=address.strip("[]")) as client:
            client.sendall(request("GET", "/x", CLOSE, host=address))
            assert b"200 OK" in read_all(client)

    def test_a_wildcard_mock_has_a_certificate_for_each_name(self, proxy):
        running = proxy([FunctionMock("https://*.many.test/", echo)])
        for host in ("a.many.test", "b.c.many.test"):
            with running.secure(f"{host}:443", sni=host) as client:
                client.sendall(request("GET", "/x", CLOSE, host=host))
                assert b"200 OK" in read_all(client)

    @pytest.mark.parametrize("authority", ["no-port", "h:", "h:0", "h:99999", "a@b:443", "[::1:443", "a b:443", "/x"])
    def test_a_connect_to_nowhere(self, proxy, authority):
        with proxy().connect() as client:
            client.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert read_all(client).startswith(b"HTTP/1.1 400 ")


class TestOtherProtocols:
    @pytest.mark.parametrize(
        "greeting",
        [
            pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", id="ssh"),
            pytest.param(b"\0\0\0\x08\x04\xd2\x16\x2f", id="postgres"),
            pytest.param(b"*1\r\n$4\r\nPING\r\n", id="redis"),
            pytest.param(b"get key\r\n", id="memcached"),
        ],
    )
    def test_are_reset_and_recorded(self, proxy, greeting):
        running = proxy()
        with running.tunnel("db.test:5432") as client:
            client.sendall(greeting)
            with pytest.raises(ConnectionResetError):
                client.recv(1)
        call = running.call()
        assert (call.outcome, call.reason, call.target) == ("blocked", "protocol", "db.test")
        assert "neither HTTP nor TLS" in (call.error or "")

    @pytest.mark.parametrize("said", [b"", b"G", b"\x16"])
    def test_a_client_that_falls_silent(self, proxy, said):
        running = proxy()
        with running.tunnel("odd.test:9000") as client:
            client.sendall(said)
            began = time.monotonic()
            with pytest.raises(ConnectionResetError):
                client.recv(1)
            assert 0.9 < time.monotonic() - began < 3
        call = running.call()
        assert (call.reason, call.url) == ("protocol", "tcp://odd.test:9000/")

    @pytest.mark.parametrize("port", [21, 22, 25, 110, 143, 587, 3306])
    def test_where_the_server_speaks_first(self, proxy, port):
        running = proxy()
        with running.connect() as client:
            client.sendall(f"CONNECT mail.test:{port} HTTP/1.1\r\nHost: mail.test:{port}\r\n\r\n".encode())
            assert read_all(client).startswith(b"HTTP/1.1 403 ")
        call = running.call()
        assert (call.reason, call.url) == ("protocol", f"tcp://mail.test:{port}/")

    def test_a_mock_may_have_such_a_port(self, proxy):
        running = proxy([FunctionMock("http://odd.test:25/", echo)])
        with running.tunnel("odd.test:25") as client:
            client.sendall(request("GET", "/x", CLOSE, host="odd.test:25"))
            assert b"200 OK" in read_all(client)

    @pytest.mark.parametrize("said", [b"", b"G"])
    def test_a_client_that_asks_for_nothing(self, proxy, said):
        """To a host that is known it may, as one does that keeps connections ready."""
        running = proxy()
        for authority in (f"{HOST}:443", "db.test:5432"):
            with running.tunnel(authority) as client:
                client.sendall(said)
        call = running.call()
        assert (call.reason, call.url) == ("protocol", "tcp://db.test:5432/")
        assert "hung up" in (call.error or "")

    def test_inside_tls(self, proxy):
        running = proxy()
        with running.secure() as client:
            client.sendall(b"\0\x01\x02")
            with pytest.raises(ConnectionResetError):
                client.recv(1)
        assert running.call().reason == "protocol"

    @pytest.mark.parametrize("greeting", [b"\0\x01\x02", CLIENT_HELLO, b"\x05\x01\0"], ids=["?", "tls", "socks"])
    def test_without_a_connect(self, proxy, greeting):
        running = proxy()
        with running.connect() as client:
            client.sendall(greeting)
            with pytest.raises(ConnectionResetError):
                client.recv(1)
        call = running.call()
        assert (call.reason, call.url) == ("protocol", f"tcp://127.0.0.1:{running.port}/")


class TestDistrust:
    def test_an_alert(self, proxy):
        running = proxy()
        with pytest.raises(ssl.SSLCertVerificationError):
            ssl.create_default_context().wrap_socket(running.tunnel(), server_hostname=HOST)
        call = running.call()
        assert (call.outcome, call.reason, call.url, call.status) == ("blocked", "tls", f"https://{HOST}/", None)
        assert (call.operation, call.target, call.expected) == (f"CONNECT {HOST}:443", "pay", False)
        assert "does not trust" in (call.error or "")
        assert "SSL_CERT_FILE" in (call.fix or "")

    def test_a_host_that_is_known_to_fail(self, proxy):
        known = Passage(kind="block", name="noise", url="https://noise.test/", why="it is noise")
        running = proxy(passages=[known])
        with pytest.raises(ssl.SSLCertVerificationError):
            ssl.create_default_context().wrap_socket(running.tunnel("noise.test:443"), server_hostname="noise.test")
        call = running.call()
        assert (call.reason, call.expected, call.target) == ("tls", True, "noise")

    def test_curl_is_named_though_it_is_gone_at_once(self, proxy, needs, tmp_path):
        running = proxy()
        other = ensure_ca(tmp_path).path
        command = [needs("curl"), "-sS", "-x", running.url, "--cacert", str(other), f"{URL}/x"]
        for _ in range(5):
            assert subprocess.run(command, capture_output=True, timeout=10, check=False).returncode != 0
        assert [(call.reason, call.program) for call in running.recorded(5)] == [("tls", "curl")] * 5
        assert "CURL_CA_BUNDLE" in (running.calls[0].fix or "")

    NODE = """
        const [port, host, ca, then] = process.argv.slice(1);
        const open = (options, ready) => {
            const socket = require('net').connect(port, '127.0.0.1');
            socket.write(`CONNECT ${host}:443 HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n`);
            socket.once('data', () => {
                const secure = require('tls').connect({socket, servername: host, ...options}, () => ready(secure));
                secure.on('error', error => { console.log(error.code); process.exit(); });
            });
        };
    """

    def node(self, running, needs, script: str) -> subprocess.CompletedProcess[str]:
        command = [needs("node"), "-e", self.NODE + script, str(running.port), HOST, running.ca.read_text()]
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)

    def test_node_hangs_up_without_a_word(self, proxy, needs):
        running = proxy()
        found = self.node(running, needs, "open({}, () => {});")
        assert "UNABLE" in found.stdout, found.stderr
        call = running.call()
        assert (call.outcome, call.reason, call.program) == ("blocked", "tls", "node")
        assert "certificate" in (call.error or "")

    def test_node_that_has_proved_its_trust_may_hang_up(self, proxy, needs):
        running = proxy()
        script = """
            open({ca}, used => {
                used.write(`GET /v1/x HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n`);
                used.once('data', () => open({ca}, unused => {
                    unused.destroy();
                    used.destroy();
                    console.log('done');
                }));
            });
        """
        found = self.node(running, needs, script)
        assert found.stdout == "done\n", found.stderr
        assert running.ask(request("GET", "/v1/y", CLOSE))
        assert [call.outcome for call in running.recorded(2)] == ["mocked", "mocked"]

    @pytest.mark.parametrize("says_so", [True, False])
    def test_a_connection_that_was_not_needed_fails_nothing(self, proxy, says_so):
        running = proxy()
        client = running.secure()
        if says_so:
            with contextlib.suppress(ssl.SSLError, ConnectionError):
                client.unwrap()
        client.close()
        assert running.ask(request("GET", "/v1/x", CLOSE))
        assert running.call().outcome == "mocked"
        noted = [problem["message"] for problem in running.listener.trust.problems]
        assert [f"opened a connection to https://{HOST} and did not use it" in message for message in noted] == (
            [] if says_so else [True]
        )

    def test_a_connection_that_is_used_is_not_taken_for_it(self, proxy):
        running = proxy()
        with running.secure() as client:
            client.sendall(request("GET", "/v1/x"))
            read_head(client)
        with running.tunnel():  # gone before our certificate was seen
            pass
        assert b"200 OK" in running.ask(request("GET", "/v1/y", CLOSE))
        assert [call.outcome for call in running.recorded(2)] == ["mocked", "mocked"]

    def test_no_protocol_version_in_common(self, proxy):
        running = proxy()
        context = running.context()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.raises(ssl.SSLError):
            context.wrap_socket(running.tunnel(), server_hostname=HOST)
        call = running.call()
        assert call.reason == "tls"
        assert "could not agree on TLS" in (call.error or "")


class TestTls:
    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    def test_versions(self, proxy, version):
        running = proxy()
        context = running.context()
        context.minimum_version = context.maximum_version = version
        with context.wrap_socket(running.tunnel(), server_hostname=HOST) as client:
            client.sendall(request("GET", "/v1/x", CLOSE))
            assert b"200 OK" in read_all(client)

    def test_a_client_hello_in_pieces(self, proxy):
        running = proxy()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = running.context().wrap_bio(incoming, outgoing, server_hostname=HOST)
        with pytest.raises(ssl.SSLWantReadError):
            tls.do_handshake()
        hello = outgoing.read()
        # The record itself split in two (RFC 8446, section 5.1), and every byte in a packet of its own.
        header, content = hello[:3], hello[5:]
        half = len(content) // 2
        records = b"".join(header + len(part).to_bytes(2) + part for part in (content[:half], content[half:]))
        with running.tunnel() as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in records:
                client.sendall(bytes([byte]))
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    client.sendall(outgoing.read())
                    incoming.write(client.recv(65536))
            tls.write(request("GET", "/v1/x", CLOSE))
            client.sendall(outgoing.read())
            incoming.write(read_all(client))
            assert tls.read(65536).startswith(b"HTTP/1.1 200 OK")

    def test_a_session_is_resumed(self, proxy):
        running = proxy()
        context = running.context()
        session = None
        for reused in (False, True):
            client = context.wrap_socket(running.tunnel(), server_hostname=HOST, session=session)
            with client:
                client.sendall(request("GET", "/v1/x", CLOSE))
                assert b"200 OK" in read_all(client)
                session = client.session
                assert client.session_reused == reused

    @pytest.mark.parametrize(
        ("offers", "chosen"),
        [
            (("h2", "http/1.1"), "http/1.1"),
            (("http/1.1",), "http/1.1"),
            (("h2",), "h2"),
            (("other",), None),
            ((), None),
        ],
    )
    def test_http_1_1_is_preferred(self, proxy, offers, chosen):
        with proxy().secure(alpn=offers) as client:
            assert client.selected_alpn_protocol() == chosen
            if chosen != "h2":
                client.sendall(request("GET", "/v1/x", CLOSE))
                assert b"200 OK" in read_all(client)

    def test_silence_in_the_handshake(self, proxy, monkeypatch):
        monkeypatch.setattr(tls, "_PATIENCE", 0.2)
        running = proxy()
        with running.tunnel() as client:
            client.sendall(CLIENT_HELLO)
            assert_ended(client)
        call = running.call()
        assert call.reason == "tls"
        assert "went silent" in (call.error or "")

    def test_garbage_in_the_handshake(self, proxy):
        running = proxy()
        with running.tunnel() as client:
            client.sendall(CLIENT_HELLO + b"\x04abcd")
            assert read_all(client)[:1] in (b"\x15", b"")  # an alert
        assert running.call().reason == "tls"

    def test_garbage_after_the_handshake(self, proxy):
        running = proxy()
        client = running.secure()
        with socket.socket(fileno=client.detach()) as plain:
            plain.settimeout(10)
            plain.sendall(b"\x17\x03\x03\0\x05abcde")
            assert_ended(plain)
        assert b"200 OK" in running.ask(request("GET", "/v1/x", CLOSE))


def assert_ended(client: socket.socket) -> None:
    """The other side has closed or reset the connection."""
    with contextlib.suppress(ConnectionResetError):
        while client.recv(65536):
            pass


class TestLoopback:
    """It passes natively, and is not recorded."""

    @pytest.fixture
    def server(self):
        sock = socket.create_server(("127.0.0.1", 0))
        seen: list[bytes] = []

        def serve() -> None:
            while True:
                try:
                    client, _ = sock.accept()
                except OSError:
                    return
                with client:
                    seen.append(read_head(client))
                    client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nlocal")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield sock.getsockname()[1], seen
        sock.shutdown(socket.SHUT_RDWR)
        sock.close()

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "app.localhost"])
    def test_by_connect(self, proxy, server, host):
        port, seen = server
        running = proxy()
        with running.tunnel(f"{host}:{port}") as client:
            client.sendall(b"NOT quite HTTP\r\n\r\n")
            assert read_all(client).endswith(b"local")
        assert seen == [b"NOT quite HTTP\r\n\r\n"]
        assert running.calls == []

    def test_by_absolute_form(self, proxy, server):
        port, seen = server
        running = proxy()
        with running.connect() as client:
            url = f"http://localhost:{port}/a%2Fb?c=d"
            client.sendall(
                request("GET", url, "Proxy-Authorization: Basic eDp5", "X-Case: 1", host=f"localhost:{port}")
            )
            client.sendall(request("GET", f"{URL}/x"))  # is not taken to the server of this machine
            assert read_all(client).endswith(b"local")
        (head,) = seen
        assert head.startswith(b"GET /a%2Fb?c=d HTTP/1.1\r\n")
        assert b"\r\nX-Case: 1\r\n" in head
        assert b"Proxy-Authorization" not in head
        assert b"Connection: close" in head
        assert running.calls == []

    def test_a_server_that_is_not_there(self, proxy):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        with proxy().connect() as client:
            client.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert read_all(client).startswith(b"HTTP/1.1 502 ")

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"])
    def test_never_back_into_the_proxy(self, proxy, host):
        running = proxy()
        with running.connect() as client:
            client.sendall(f"CONNECT {host}:{running.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert read_all(client).startswith(b"HTTP/1.1 403 ")


class TestKnownDestination:
    """The entry for connections that did not come to a proxy knowingly."""

    def redirected(self, running, destination, **known):
        sock = socket.create_server(("127.0.0.1", 0))

        class Redirected(asyncio.Protocol):
            def connection_made(self, transport):
                running.listener.accept(transport, destination, **known)

        async def serve():
            await running.listener.loop.create_server(Redirected, sock=sock)

        running.run(serve())
        return socket.create_connection(sock.getsockname(), timeout=10)

    def test_tls(self, proxy):
        running = proxy()
        with running.context().wrap_socket(self.redirected(running, (HOST, 443)), server_hostname=HOST) as client:
            client.sendall(request("GET", "/v1/x", CLOSE))
            assert b"200 OK" in read_all(client)

    def test_http(self, proxy):
        running = proxy([FunctionMock("http://plain.test/", echo)])
        with self.redirected(running, ("plain.test", 80)) as client:
            client.sendall(request("GET", "/x", CLOSE, host="plain.test"))
            assert b'"http://plain.test/x"' in read_all(client)

    WHO = Peer(pid=7, program="agent", session="alice")

    @pytest.mark.parametrize("path", ["/v1/x", "/v2/blocked"])
    @pytest.mark.parametrize("allows", [False, True], ids=["answering lane", "passing lane"])
    def test_who_asks_is_known_without_a_look_up(self, proxy, path, allows):
        """Also where the connection is one to an allowed upstream, and its request is sent back."""
        allowed = [Passage(kind="allow", name="files", url=f"https://{HOST}/files", why="a test")] if allows else []
        running = proxy(passages=allowed)
        redirected = self.redirected(running, (HOST, 443), peer=self.WHO)
        context = running.context()
        if allows:
            context.set_alpn_protocols(["http/1.1"])
        with context.wrap_socket(redirected, server_hostname=HOST) as client:
            client.sendall(request("GET", path, CLOSE))
            read_all(client)
        call = running.call()
        assert (call.pid, call.program, call.session) == (7, "agent", "alice")

    @pytest.mark.parametrize("scheme", ["http", "https"])
    @pytest.mark.parametrize(
        ("asked", "url"),
        [
            ("api.pay.test", "//api.pay.test/v1/x"),
            ("API.pay.test.", "//api.pay.test/v1/x"),
            ("192.0.2.1", "//192.0.2.1/v1/x"),
            ("other.test", None),
        ],
    )
    def test_a_name_that_the_client_looked_up_by_itself(self, proxy, scheme, asked, url):
        running = proxy([FunctionMock(f"{scheme}://{HOST}/v1", echo)])
        port = {"http": 80, "https": 443}[scheme]
        client = self.redirected(running, ("192.0.2.1", port), names=("pay.test", HOST))
        if scheme == "https":
            context = running.context()
            context.check_hostname = False
            client = context.wrap_socket(client, server_hostname=None if asked[0] == "1" else asked.rstrip("."))
        with client:
            client.sendall(request("GET", "/v1/x", CLOSE, host=asked))
            read_all(client)
        call = running.call()
        if url is None:
            assert call.reason == "authority"
        else:
            assert (call.url, call.outcome) == (f"{scheme}:{url}", "mocked" if HOST in url else "blocked")

    def test_silence(self, proxy):
        running = proxy()
        with self.redirected(running, ("mail.test", 25)) as client, pytest.raises(ConnectionResetError):
            client.recv(1)
        assert running.call().reason == "protocol"

    def test_a_connection_ahead_of_its_request(self, proxy, monkeypatch):
        monkeypatch.setattr("eve_mocks.proxy.speech._SILENCE", 0.0)
        running = proxy()
        with self.redirected(running, (HOST, 443)) as client, self.redirected(running, ("mail.test", 25)) as other:
            with pytest.raises(ConnectionResetError):
                other.recv(1)  # whoever is not known has had its time
            with running.context().wrap_socket(client, server_hostname=HOST) as secure:
                secure.sendall(request("GET", "/v1/x", CLOSE))
                assert b"200 OK" in read_all(secure)


class TestNothingLeaves:
    """Neither a connection nor a look-up: seen by the interpreter's own audit events."""

    @pytest.fixture
    def watch(self):
        events: list[str] = []
        watching = True

        def audit(event: str, args: tuple[object, ...]) -> None:
            if not watching or threading.current_thread() is threading.main_thread():  # that is the client's
                return
            if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.connect"):
                events.append(event)

        sys.addaudithook(audit)  # for good: a hook cannot be taken out
        yield events
        watching = False

    def test_mocked_and_blocked(self, proxy, watch):
        running = proxy(passages=[Passage(kind="allow", name="ok", url="https://ok.test/free/", why="a test")])
        for path, host in (("/v1/x", HOST), ("/x", HOST), ("/x", "nowhere.test"), ("/taken", "ok.test")):
            with running.secure(f"{host}:443", sni=host) as client:
                client.sendall(request("GET", path, CLOSE, host=host))
                read_all(client)
        assert [call.outcome for call in running.recorded(4)] == ["mocked", "blocked", "blocked", "blocked"]
        assert watch == []

    def test_the_watch_sees_what_would_leave(self, watch):
        with socket.create_server(("127.0.0.1", 0)) as server:
            dial = threading.Thread(target=socket.create_connection, args=(("localhost", server.getsockname()[1]),))
            dial.start()
            dial.join()
        assert watch[:2] == ["socket.getaddrinfo", "socket.connect"]


def test_the_program_of_a_blocked_call(proxy, needs):
    running = proxy()
    command = [needs("curl"), "-sS", "-x", running.url, "http://nowhere.test/"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as client:
        answer = json.loads(client.communicate(timeout=10)[0])
    call = running.call()
    assert (call.pid, call.program) == (client.pid, "curl")
    assert "eve-mocks add nowhere" in answer["fix"]


def test_the_program_is_looked_up_anew_for_each_connection(proxy, needs):
    running = proxy()
    command = [needs("curl"), "-sS", "-x", running.url, "http://nowhere.test/"]
    pids = []
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as client:
            client.wait(10)
        pids.append(client.pid)
    with running.connect() as own:
        own.sendall(request("GET", "http://nowhere.test/", CLOSE, host="nowhere.test"))
        read_all(own)
    assert [call.pid for call in running.recorded(4)] == [*pids, os.getpid()]


def test_answers_do_not_wait_for_acknowledgements(proxy):
    running = proxy()
    with running.secure():
        (accepted,) = running.listener._transports  # noqa: SLF001 - to a client it is a matter of 40 ms
        assert accepted.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_stopping_ends_every_connection(proxy):
    running = proxy()
    idle, secure = running.connect(), running.secure()
    running.stop()
    for client in (idle, secure):
        with client:
            assert_ended(client)
    with pytest.raises(ConnectionRefusedError):
        running.connect()
