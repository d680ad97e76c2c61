"""Whole runs, contained: programs that never heard of a proxy, on a machine where whatever leaves is seen."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import urllib.parse
from typing import TYPE_CHECKING, NamedTuple

import containment
import island as islands
import pytest
import upstream
from conftest import EVE_MOCKS

from eve_mocks import contain
from eve_mocks.contain import machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from conftest import Project
    from island import Island

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or isinstance(contain.probe(), contain.Reason), reason="this machine cannot contain"
)
MOCKED = "https://api.pay.test/v1/charges"
BLOCKED = "https://logs.example.com/v1/tail"
ALLOWED = f"https://{upstream.NAME}/hello"
ANSWER = '{"ok": true}'
MOCK = "{{kind: http, url: '{}', routes: {{/: {{GET: {{response: 1}}}}}}}}"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code)]


# Each gets the URL as its last argument, prints what it was answered, and asks no environment for a proxy.
CLIENTS = {
    "curl": ["curl", "--noproxy", "*", "-sS"],
    "requests": python("""
        import os, requests, sys
        session = requests.Session()
        session.trust_env = False
        print(session.get(sys.argv[1], verify=os.environ["SSL_CERT_FILE"]).text)
    """),
    "aiohttp": python("""
        import aiohttp, asyncio, sys
        async def main():
            async with aiohttp.ClientSession() as session, session.get(sys.argv[1]) as response:
                print(await response.text())
        asyncio.run(main())
    """),
    "urllib": python("""
        import sys, urllib.error, urllib.request
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            print(direct.open(sys.argv[1]).read().decode())
        except urllib.error.HTTPError as error:
            print(error.read().decode())
    """),
    "fetch": [
        *("env", "-u", "NODE_OPTIONS", "-u", "NODE_USE_ENV_PROXY", "node", "-e"),
        "fetch(process.argv[1]).then(answer => answer.text()).then(console.log)",
    ],
}
EACH = pytest.mark.parametrize("client", CLIENTS)


@pytest.fixture
def pay(project: Project, needs: Callable[..., str]) -> Project:
    project.environment["PATH"] = f"{os.path.dirname(needs('node'))}:{project.environment['PATH']}"  # noqa: PTH120
    project.file(
        "mocks/pay.yaml",
        """
        kind: http
        url: https://api.pay.test/v1
        routes:
          /charges:
            GET: {response: {ok: true}}
        """,
    )
    return project


@pytest.fixture(scope="module")
def real(island: Island, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A real HTTPS server on the island, for as long as the context lasts; the value is its CA."""
    folder = tmp_path_factory.mktemp("upstream")
    authority = upstream.certify(folder)
    command = [sys.executable, upstream.__file__, islands.UPSTREAM, "443", str(folder / "server.pem")]
    with subprocess.Popen([*island.prefix(folder), *command], stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"listening\n"
        yield authority
        server.terminate()


def on(island: Island, project: Project, *command: str, **given: object) -> subprocess.CompletedProcess[str]:
    """A contained run on the island, out of which nothing went."""
    island.sent()
    done = project.eve_mocks("run", "--contain", "require", "--", *command, prefix=island.prefix(project.root), **given)
    assert island.sent() == [], done.stderr
    return done


class TestClients:
    @EACH
    def test_mocked(self, pay: Project, island: Island, client: str) -> None:
        done = on(island, pay, *CLIENTS[client], MOCKED)
        assert (done.returncode, done.stdout.strip()) == (0, ANSWER), done.stderr
        assert re.match(r"eve-mocks  1 call +contained\n", done.stderr)
        assert pay.report()["contained"] is True
        assert "notContained" not in pay.report()
        (call,) = pay.calls()
        assert call["pid"] > 0
        assert call["program"] in (CLIENTS[client][0], os.path.basename(os.path.realpath(sys.executable)), "node")  # noqa: PTH119

    @EACH
    def test_blocked(self, pay: Project, island: Island, client: str) -> None:
        done = on(island, pay, *CLIENTS[client], BLOCKED)
        assert done.returncode == 1
        assert json.loads(done.stdout)["title"] == "blocked by eve-mocks"
        assert "eve-mocks add logs --url https://logs.example.com/" in done.stderr

    @EACH
    def test_allowed(self, pay: Project, island: Island, real: Path, client: str) -> None:
        """The name stands in a file that programs read themselves, so that their connection is to an address."""
        pay.file("mocks/upstream.yaml", f"{{kind: allow, url: 'https://{upstream.NAME}/', why: a test}}")
        done = on(island, pay, *CLIENTS[client], ALLOWED, env={"SSL_CERT_FILE": str(real)})
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["path"] == "/hello"
        (call,) = pay.calls()
        assert (call["outcome"], call["url"]) == ("allowed", ALLOWED)
        assert call["pid"] > 0

    def test_without_containment_they_leave(self, pay: Project, island: Island) -> None:
        """The eye that these tests rely on is not blind."""
        island.sent()
        pay.eve_mocks("run", "--contain", "off", "--", *CLIENTS["curl"], MOCKED, prefix=island.prefix(pay.root))
        assert f"udp {islands.NAME_SERVER}:53" in island.sent()

    @pytest.mark.parametrize("url", [MOCKED, ALLOWED], ids=["looked up", "in /etc/hosts"])
    def test_no_trust_is_told_with_its_fix(self, pay: Project, island: Island, url: str) -> None:
        done = on(island, pay, "env", "-i", shutil.which("curl") or "curl", "-sS", url)
        assert done.returncode == 60
        (call,) = pay.calls()
        assert call["url"] == urllib.parse.urljoin(url, "/")
        assert (call["outcome"], call["reason"], call["program"]) == ("blocked", "tls", "curl")
        assert "CURL_CA_BUNDLE" in done.stderr

    @pytest.mark.parametrize("contain", ["require", "off"])
    @pytest.mark.parametrize(
        "inherited",
        [
            {"no_proxy": "*"},
            {"NO_PROXY": "*"},
            {"no_proxy": "*", "NO_PROXY": "api.pay.test,.test"},
            {"ALL_PROXY": "http://198.51.100.7:3128"},
            {"all_proxy": "socks5://198.51.100.7:1080", "no_proxy": "*"},
        ],
        ids=lambda given: " ".join(f"{name}={value}" for name, value in given.items()),
    )
    def test_what_the_caller_says_of_proxies_changes_nothing(
        self, pay: Project, island: Island, inherited: dict[str, str], contain: str
    ) -> None:
        clients = [
            shlex.join([*command, MOCKED])
            for command in (
                ["curl", "-sS", "-w", "\\n"],
                python("import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())"),
                python("import requests, sys; print(requests.get(sys.argv[1]).text)"),
                ["node", "-e", "fetch(process.argv[1]).then(answer => answer.text()).then(console.log)"],
            )
        ]
        island.sent()
        done = pay.eve_mocks(
            *("run", "--contain", contain, "--", "sh", "-c", "\n".join(clients)),
            prefix=island.prefix(pay.root),
            env=inherited,
        )
        assert done.stdout == f"{ANSWER}\n" * len(clients), done.stderr
        assert island.sent() == []

    def test_what_the_command_says_of_proxies_changes_nothing(self, pay: Project, island: Island) -> None:
        done = on(island, pay, "env", "no_proxy=*", "NO_PROXY=*", "ALL_PROXY=", "curl", "-sS", MOCKED)
        assert done.stdout == ANSWER, done.stderr


class TestNames:
    def test_an_address_with_a_name_in_tls_is_blocked_under_both(self, pay: Project, island: Island) -> None:
        done = on(island, pay, "curl", "--noproxy", "*", "-sS", "--resolve", "api.pay.test:443:198.51.100.7", MOCKED)
        assert done.returncode == 1
        (call,) = pay.calls()
        assert call["reason"] == "authority"
        assert "198.51.100.7" in call["error"]
        assert "api.pay.test" in call["error"]

    def test_an_address_is_itself(self, pay: Project, island: Island) -> None:
        on(island, pay, "curl", "--noproxy", "*", "-sS", f"http://{islands.UPSTREAM}:8080/x")
        (call,) = pay.calls()
        assert (call["reason"], call["url"]) == ("unclaimed", f"http://{islands.UPSTREAM}:8080/x")

    def test_a_name_of_the_hosts_file_in_the_clear(self, pay: Project, island: Island) -> None:
        pay.file("mocks/up.yaml", MOCK.format(f"http://{upstream.NAME}/"))
        assert on(island, pay, "curl", "--noproxy", "*", "-sS", f"http://{upstream.NAME}/").stdout == "1"


class TestRaw:
    def test_what_is_not_http_is_refused_and_told(self, pay: Project, island: Island) -> None:
        done = on(
            island,
            pay,
            *python("""
                import socket
                for say in (b"\\x00\\x01\\x02\\x03", b""):
                    with socket.create_connection(("198.51.100.7", 7000)) as s:
                        s.sendall(say)
                        try:
                            print(s.recv(1))
                        except ConnectionResetError:
                            print("reset")
            """),
        )
        assert done.stdout == "reset\nreset\n"
        assert done.returncode == 1
        for call, why in zip(pay.calls(), ("neither HTTP nor TLS", "sent nothing"), strict=True):
            assert (call["outcome"], call["reason"], call["operation"]) == (
                "blocked",
                "protocol",
                "CONNECT 198.51.100.7:7000",
            )
            assert why in call["error"]
            assert call["pid"] > 0
        assert 'mocks/ip-198-51-100-7.yaml: {kind: allow, url: "tcp://198.51.100.7:7000"' in done.stderr

    def test_a_server_that_speaks_first_is_refused_at_connect(self, pay: Project, island: Island) -> None:
        done = on(island, pay, *python("import socket; print(socket.socket().connect_ex(('db.example', 3306)))"))
        assert done.stdout == "111\n"
        (call,) = pay.calls()
        assert (call["url"], call["reason"]) == ("tcp://db.example:3306/", "protocol")

    def test_an_edit_counts_for_such_a_server_too(self, pay: Project, island: Island) -> None:
        """Both ways, and nothing but what is there: the connection is carried to a machine that refuses it."""
        entry = f"{{kind: allow, url: 'tcp://{islands.UPSTREAM}:3306', why: a test}}"
        done = on(
            island,
            pay,
            *python(f"""
                import contextlib, pathlib, socket, time
                def until(wanted):
                    end = time.monotonic() + 20
                    while (got := (asking := socket.socket()).connect_ex(("{islands.UPSTREAM}", 3306))) != wanted:
                        assert time.monotonic() < end, got
                    if got == 0:  # whoever hangs up at once is not carried
                        with contextlib.suppress(ConnectionResetError):
                            assert asking.recv(1) == b""
                    print(got)
                until(111)
                edited = pathlib.Path("mocks/database.yaml")
                edited.write_text({entry!r})
                until(0)
                edited.unlink()
                until(111)
            """),
        )
        assert done.stdout == "111\n0\n111\n", done.stderr
        assert {call["outcome"] for call in pay.calls()} == {"blocked", "allowed"}

    @pytest.mark.parametrize("kind", ["tcp", "udp"])
    def test_what_is_expected_fails_nothing(self, pay: Project, island: Island, kind: str) -> None:
        pay.file("mocks/noise.yaml", f"{{kind: block, url: '{kind}://noise.example:9999', why: it is noise}}")
        done = on(
            island,
            pay,
            *python(f"""
                import socket
                s = socket.socket(type=socket.SOCK_{"STREAM" if kind == "tcp" else "DGRAM"})
                try:
                    s.connect(("noise.example", 9999))
                    s.send(b"\\0")
                    s.recv(1)
                except OSError as error:
                    print(error.errno)
            """),
        )
        assert done.returncode == 0, done.stderr
        (call,) = pay.calls()
        assert (call["target"], call["expected"]) == ("noise", True)

    def test_datagrams_and_sockets_are_told_once_for_a_program(self, pay: Project, island: Island) -> None:
        code = """
            import socket
            for _ in range(3):
                try:
                    socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("198.51.100.7", 9))
                except OSError as error:
                    print(error.errno)
                for protocol in (1, 255):
                    try:
                        socket.socket(type=socket.SOCK_RAW, proto=protocol)
                    except OSError as error:
                        print(error.errno)
        """
        other = """
            const s = require('dgram').createSocket('udp4');
            const send = n => n ? s.send('x', 9, '198.51.100.7', () => send(n - 1)) : s.close();
            send(3);
        """
        twice = shlex.join(python(code))
        done = on(island, pay, "sh", "-c", f"{twice}; {twice}; {shlex.join(['node', '-e', other])}; exit 0")
        assert done.stdout == "101\n1\n1\n" * 6
        told = [(call["program"], call["url"], call["operation"]) for call in pay.calls()]
        interpreter = os.path.basename(os.path.realpath(sys.executable))  # noqa: PTH119
        assert told == [
            (interpreter, "udp://198.51.100.7:9/", "UDP 198.51.100.7:9"),
            (interpreter, "socket://icmp/", "SOCKET icmp"),
            (interpreter, "socket://raw/", "SOCKET raw"),
            ("node", "udp://198.51.100.7:9/", "UDP 198.51.100.7:9"),
        ]
        assert done.returncode == 1

    def test_quic_to_what_is_mocked_fails_nothing(self, pay: Project, island: Island) -> None:
        code = "import socket; print(socket.socket(type=socket.SOCK_DGRAM).connect_ex(('api.pay.test', 443)))"
        done = on(island, pay, *python(code))
        assert (done.stdout, done.returncode) == ("101\n", 0), done.stderr

    @pytest.mark.parametrize("is_knowing", [False, True], ids=["redirected", "by CONNECT"])
    @pytest.mark.parametrize("host", [upstream.NAME, islands.UPSTREAM])
    def test_allowed_bytes_pass_both_ways(self, pay: Project, island: Island, host: str, *, is_knowing: bool) -> None:
        """A server that speaks first, on a port that would be refused at connect."""
        pay.file("mocks/mail.yaml", f"{{kind: allow, url: 'tcp://{upstream.NAME}:25', why: a test}}")
        pay.file("mocks/mail2.yaml", f"{{kind: allow, url: 'tcp://{islands.UPSTREAM}:25', why: a test}}")
        server = [*island.prefix(pay.root), *python(f"""
            import socket
            with socket.create_server(("{islands.UPSTREAM}", 25)) as server:
                print("listening", flush=True)
                with server.accept()[0] as client:
                    client.sendall(b"220 hello\\r\\n")
                    while data := client.recv(65536):
                        client.sendall(data)
        """)]  # fmt: skip
        with subprocess.Popen(server, stdout=subprocess.PIPE) as running:
            assert running.stdout.readline() == b"listening\n"
            done = on(
                island,
                pay,
                *python(f"""
                    import os, socket, urllib.parse
                    proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
                    near = (proxy.hostname, proxy.port) if {is_knowing} else ("{host}", 25)
                    with socket.create_connection(near) as s:
                        if {is_knowing}:
                            s.sendall(b"CONNECT {host}:25 HTTP/1.1\\r\\nHost: {host}:25\\r\\n\\r\\n")
                            assert b" 200 " in s.recv(39)
                        assert s.recv(100) == b"220 hello\\r\\n"
                        s.sendall(b"x" * 1000000)
                        s.shutdown(socket.SHUT_WR)
                        print(sum(len(data) for data in iter(lambda: s.recv(65536), b"")))
                """),
            )
        assert done.stdout == "1000000\n", done.stderr
        (call,) = pay.calls()
        known = host if is_knowing else islands.UPSTREAM
        assert (call["outcome"], call["operation"]) == ("allowed", f"CONNECT {known}:25")
        assert call["pid"] > 0
        assert (call["requestBytes"], call["responseBytes"]) == (1000000, 1000011)
        assert pay.report()["counts"]["allowed"] == 1

    def test_an_allowed_server_that_is_not_there(self, pay: Project, island: Island) -> None:
        pay.file("mocks/mail.yaml", f"{{kind: allow, url: 'tcp://{islands.UPSTREAM}:25', why: a test}}")
        code = f"import socket; s = socket.create_connection(('{islands.UPSTREAM}', 25)); print(s.recv(1))"
        done = on(island, pay, *python(code))
        assert done.stdout == "b''\n"
        (call,) = pay.calls()
        assert "cannot be reached" in call["error"]


class TestIdentity:
    def test_the_environment_of_the_caller_names_its_session(self, pay: Project, island: Island) -> None:
        """By either way in; what is nearer to the request goes first."""
        script = f"""
            curl -sS {MOCKED}
            export EVE_MOCKS_SESSION=alice
            curl -sS {MOCKED}
            curl --noproxy '*' -sS {MOCKED}
            curl -sS -H 'x-eve-mocks-session: header' {MOCKED}
            curl -sS -x "${{HTTPS_PROXY/127/bob:@127}}" {MOCKED}
        """
        done = on(island, pay, "bash", "-c", script)
        assert done.stdout == ANSWER * 5, done.stderr
        assert [call["session"] for call in pay.calls()] == ["run", "alice", "alice", "header", "bob"]

    def test_an_impossible_session_is_refused(self, pay: Project, island: Island) -> None:
        done = on(island, pay, "env", "EVE_MOCKS_SESSION=../x", "curl", "--noproxy", "*", "-sS", MOCKED)
        assert done.returncode == 1
        assert pay.calls()[0]["reason"] == "session"


class TestThisMachine:
    def test_a_server_on_loopback_is_native(self, pay: Project) -> None:
        """Like a database that the caller has started: neither recorded nor judged, whoever speaks first."""
        with socket.create_server(("127.0.0.1", 0)) as server:

            def greet() -> None:
                connection, source = server.accept()
                with connection:
                    connection.sendall(f"hello {source[1]}".encode())

            threading.Thread(target=greet, daemon=True).start()
            code = f"""
                import socket
                s = socket.create_connection(("127.0.0.1", {server.getsockname()[1]}))
                assert s.getpeername()[1] == {server.getsockname()[1]}
                assert s.recv(100) == f"hello {{s.getsockname()[1]}}".encode()
            """
            done = pay.eve_mocks("run", "--", *python(code))
        assert done.returncode == 0, done.stderr
        assert "0 calls" in done.stderr

    def test_two_hundred_at_once(self, pay: Project) -> None:
        done = pay.eve_mocks(
            "run",
            "--",
            *python("""
                import os, ssl, threading, http.client
                context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
                together, answers = threading.Barrier(200), []
                def ask():
                    connection = http.client.HTTPSConnection("api.pay.test", context=context, timeout=60)
                    together.wait()
                    connection.request("GET", "/v1/charges")
                    answers.append(connection.getresponse().read())
                threads = [threading.Thread(target=ask) for _ in range(200)]
                for thread in threads: thread.start()
                for thread in threads: thread.join()
                print(len(answers), set(answers))
            """),
            timeout=120,
        )
        assert done.stdout == f"200 {{b'{ANSWER}'}}\n", done.stderr
        assert pay.report()["counts"]["mocked"] == 200

    def test_what_is_refused_before_the_proxy_serves_is_told(self, pay: Project) -> None:
        """A command so short that nobody waits for the proxy."""
        code = "import socket; print(socket.socket(type=socket.SOCK_DGRAM).connect_ex(('198.51.100.7', 9)))"
        done = pay.eve_mocks("run", "--", *python(code))
        assert (done.stdout, done.returncode) == ("101\n", 1), done.stderr
        assert pay.report()["counts"]["blocked"] == 1

    @pytest.mark.skipif(os.geteuid() != 0, reason="takes root to become another")
    def test_an_ordinary_user(self, pay: Project) -> None:
        """With no capability but to read the interpreter, which may be in a folder of root's."""
        capability = "-all,+dac_read_search"
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={capability}"]
        user += [f"--ambient-caps={capability}", f"--bounding-set={capability}"]
        for folder in (pay.root, *pay.root.rglob("*")):
            os.chown(folder, 65534, 65534)
        done = pay.eve_mocks(
            *("run", "--contain", "require", "--", "sh", "-c", f"id -u; curl --noproxy '*' -sS {MOCKED}"),
            prefix=user,
            env={"HOME": str(pay.root), "XDG_DATA_HOME": str(pay.root / "data")},
        )
        assert done.stdout == f"65534\n{ANSWER}", done.stderr

    def test_under_a_filter_like_docker_s(self, pay: Project) -> None:
        """Its default profile denies pidfd_getfd."""
        code = "import contained, os, sys; contained.deny(438); os.execvp(sys.argv[1], sys.argv[1:])"
        done = pay.eve_mocks(
            *("run", "--contain", "require", "--", "curl", "--noproxy", "*", "-sS", MOCKED),
            prefix=[sys.executable, "-c", code],
            env={"PYTHONPATH": f"{containment.WRAPPER.parent}:{containment.ROOT}"},
        )
        assert done.stdout == ANSWER, done.stderr
        assert pay.calls()[0]["program"] == "curl"

    def test_a_killed_wrapper_leaves_nothing_open(self, pay: Project) -> None:
        code = """
            import socket, sys
            socket.create_connection(("api.pay.test", 443)).close()
            print("ready", flush=True)
            sys.stdin.readline()
            for host in ("198.51.100.7", "127.0.0.1"):
                print(socket.socket().connect_ex((host, 9)))
        """
        with subprocess.Popen(
            [EVE_MOCKS, "run", "--", *python(code)],
            cwd=pay.root,
            env=pay.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdin.write("\n")
            process.stdin.close()
            assert process.stdout.read() == "38\n38\n"  # ENOSYS

    def test_a_daemon_that_is_left_behind_has_no_network(self, pay: Project, tmp_path: Path) -> None:
        """The run does not wait for it: it ends with the command."""
        out = tmp_path / "out"
        os.mkfifo(out)
        code = """
            import os, socket, sys
            reader, writer = os.pipe()
            if os.fork():
                os.read(reader, 1)
                sys.exit(3)
            os.setsid()
            socket.create_connection(("api.pay.test", 443)).close()
            os.write(writer, b"x")
            os.dup2(os.open(os.devnull, os.O_RDWR), 2)
            ready = os.open(sys.argv[1], os.O_WRONLY)
            os.dup2(ready, 1)
            sys.stdin.readline()
            for host in ("198.51.100.7", "127.0.0.1"):
                print(socket.socket().connect_ex((host, 9)))
        """
        command = [EVE_MOCKS, "run", "--contain", "require", "--", *python(code), str(out)]
        with (
            subprocess.Popen(
                command, cwd=pay.root, env=pay.environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ) as run,
            out.open() as results,
        ):
            assert run.stdin is not None
            assert run.stderr is not None
            assert run.wait(30) == 3
            assert re.search(" contained$", run.stderr.readline().strip())
            run.stdin.write("\n")
            run.stdin.flush()
            assert results.read() == "38\n38\n"  # ENOSYS


class Cannot(NamedTuple):
    """A machine that cannot contain: what stands before the command line, or changes what it finds as it starts."""

    reason: str
    prefix: Sequence[str] = ()
    start: str = ""


def under_a_filter(number: int, error: int = errno.EPERM) -> list[str]:
    code = f"import contained, os, sys; contained.deny({number}, {error}); os.execvp(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", code]


THIS = machine.this_machine() or machine.MACHINES["x86_64"]
PROCESS_VM_READV = {"x86_64": 310, "aarch64": 270}.get(os.uname().machine, 0)
YAMA = """
import pathlib, sys, eve_mocks.contain
scope = sys.modules["eve_mocks.contain.probe"]._YAMA = pathlib.Path("scope")
scope.write_text("{}")
"""
CANNOT = {
    "told of an outer run": Cannot("inside another run", ["env", "EVE_MOCKS_RUN=outer"]),
    "another listener": Cannot(
        "inside another run, or another seccomp supervisor",
        [sys.executable, str(containment.WRAPPER), "/dev/null", "--"],
    ),
    "a filter that forbids filters": Cannot(
        "a seccomp filter is not allowed here (Operation not permitted)", under_a_filter(THIS.seccomp)
    ),
    "a filter that forbids to look into programs": Cannot(
        "a program's memory may not be read (Operation not permitted)", under_a_filter(PROCESS_VM_READV)
    ),
    "a kernel without it": Cannot(
        f"Linux {os.uname().release} is too old, or has no seccomp listener",
        under_a_filter(THIS.seccomp, errno.ENOSYS),
    ),
    "Yama, 2": Cannot(
        "Yama leaves ptrace to administrators (kernel.yama.ptrace_scope = 2)",
        ["setpriv", "--inh-caps=-sys_ptrace", "--bounding-set=-sys_ptrace"] if os.geteuid() == 0 else [],
        YAMA.format(2),
    ),
    "Yama, 3": Cannot("Yama forbids ptrace (kernel.yama.ptrace_scope = 3)", start=YAMA.format(3)),
    "macOS": Cannot("darwin has no seccomp", start="import sys; sys.platform = 'darwin'"),
    "a processor without a table": Cannot(
        "no system call table for riscv64",
        start="import os; u = os.uname(); os.uname = lambda: os.uname_result((*u[:4], 'riscv64'))",
    ),
}


class TestHonesty:
    def test_off(self, pay: Project) -> None:
        done = pay.eve_mocks("run", "--contain", "off", "--", "curl", "-sS", MOCKED)
        assert "not contained: --contain off" in done.stderr
        assert (pay.report()["contained"], pay.report()["notContained"]) == (False, "--contain off")

    @pytest.mark.parametrize("contain", ["auto", "require"])
    @pytest.mark.parametrize("cannot", CANNOT.values(), ids=CANNOT)
    def test_what_cannot_be_contained_is_not_called_so(self, pay: Project, cannot: Cannot, contain: str) -> None:
        pay.file("start/sitecustomize.py", cannot.start)
        path = [str(pay.root / "start"), str(containment.ROOT), str(containment.WRAPPER.parent)]
        done = pay.eve_mocks(
            *("run", "--contain", contain, "--", "touch", "started"),
            prefix=list(cannot.prefix),
            env={"PYTHONPATH": os.pathsep.join(path)},
        )
        assert not re.search(r"(?<!not )contained$", done.stderr, re.MULTILINE)
        if contain == "require":
            assert done.returncode == 2
            assert done.stderr.startswith(f"eve-mocks: the command cannot be contained: {cannot.reason}\n")
            assert re.search("fix: .", done.stderr)
            assert list(pay.root.glob(".eve-mocks/runs/*")) == []
        else:
            assert done.returncode == 0, done.stderr
            assert re.search(rf" not contained: {re.escape(cannot.reason)}\n", done.stderr)
            assert (pay.report()["contained"], pay.report()["notContained"]) == (False, cannot.reason)
        assert (pay.root / "started").exists() == (contain == "auto")

    def test_what_failed_to_be_contained_is_not_started(self, pay: Project) -> None:
        """The machine said that it could."""
        pay.file(
            "start/sitecustomize.py",
            """
            import errno, os
            from eve_mocks.contain import seccomp
            def fail(): raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            seccomp.become_subreaper = fail
            """,
        )
        done = pay.eve_mocks("run", "--", "touch", "started", env={"PYTHONPATH": str(pay.root / "start")})
        assert done.returncode == 2
        assert "the command cannot be contained: [Errno 11]" in done.stderr
        assert not (pay.root / "started").exists()

    def test_what_escapes_an_inner_run_reaches_the_outer_one(self, pay: Project, island: Island) -> None:
        pay.file("inner/mocks/inner.yaml", MOCK.format("https://inner.test/"))
        asks = f'curl -sS https://inner.test/; curl --noproxy "*" -sS {MOCKED}'
        done = on(island, pay, "sh", "-c", f"cd inner && {EVE_MOCKS} run -- sh -c '{asks}'")
        assert done.stdout == "1" + ANSWER, done.stderr
        inner, outer = re.findall(r"eve-mocks .*", done.stderr)
        assert inner.endswith("not contained: inside another run")
        assert re.search(r"1 call +contained$", outer)

    def test_orphans_do_not_take_the_place_of_the_command(self, pay: Project) -> None:
        script = "(sleep 0.1; exit 9) & (setsid sh -c 'sleep 0.05' &) ; sleep 0.3; exit 3"
        assert pay.eve_mocks("run", "--", "sh", "-c", script).returncode == 3


class TestManyAtOnce:
    def test_a_mock_that_is_busy_holds_up_no_connect(self, pay: Project) -> None:
        """More of them than the records of connections that fit into a socket."""
        pay.file(
            "mocks/slow.py",
            """
            import pathlib, time
            from eve_mocks import http_mock
            slow = http_mock("http://slow.test")

            @slow.get("/")
            def wait():
                pathlib.Path("busy").touch()
                until = time.monotonic() + 10
                while not pathlib.Path("go-on").exists() and time.monotonic() < until:
                    pass
                return pathlib.Path("go-on").exists()
            """,
        )
        done = pay.eve_mocks(
            *(
                "run",
                "--",
                *python("""
                import pathlib, socket, subprocess, time
                slow = subprocess.Popen(["curl", "-sS", "http://slow.test/"])
                while not pathlib.Path("busy").exists():
                    assert slow.poll() is None
                waiting = [socket.socket() for _ in range(900)]
                for each in waiting:
                    each.setblocking(False)
                    each.connect_ex(("203.0.113.5", 81))
                server = socket.create_server(("127.0.0.1", 0))
                socket.create_connection(server.getsockname())
                pathlib.Path("go-on").touch()
                slow.wait()
            """),
            ),
            timeout=60,
        )
        assert done.stdout == "true", done.stderr
        assert pay.report()["counts"]["blocked"] == 900

    def test_connections_ahead_of_their_requests(self, pay: Project) -> None:
        done = pay.eve_mocks(
            "run",
            "--",
            *python(f"""
            import http.client, os, select, socket, ssl
            context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
            early = http.client.HTTPSConnection("api.pay.test", context=context)
            early.sock = socket.create_connection(("api.pay.test", 443))
            unknown = socket.create_connection(("203.0.113.5", 443))
            select.select([unknown], [], [], 10)  # its time is over
            early.sock = context.wrap_socket(early.sock, server_hostname="api.pay.test")
            early.request("GET", "{urllib.parse.urlsplit(MOCKED).path}")
            print(early.getresponse().read().decode(), end="")
        """),
        )
        assert done.stdout == ANSWER, done.stderr


class TestOtherNetworks:
    @pytest.fixture(autouse=True)
    def root(self) -> None:
        if os.geteuid() != 0 or shutil.which("unshare") is None:
            pytest.skip("a network namespace takes root, and unshare")

    def test_who_has_a_network_of_its_own_is_told_of(self, pay: Project) -> None:
        asks = "ip link set lo up; curl -sS --noproxy '*' http://203.0.113.5/"
        done = pay.eve_mocks("run", "--", "unshare", "--net", "sh", "-c", asks)
        assert done.returncode != 0
        (call,) = pay.calls()
        assert (call["url"], call["outcome"], call["program"]) == ("tcp://203.0.113.5:80/", "blocked", "curl")

    def test_its_loopback_is_not_ours(self, pay: Project) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
            ours.bind(("127.0.0.1", 0))
            ours.settimeout(0)
            send = f"""
                import socket
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                s.sendto(b"x", ("127.0.0.1", {ours.getsockname()[1]}))
            """
            asks = f"ip link set lo up; {shlex.join(python(send))}"
            done = pay.eve_mocks("run", "--", "unshare", "--net", "sh", "-c", asks)
            assert done.returncode == 0, done.stderr
            with pytest.raises(BlockingIOError):
                ours.recv(1)
