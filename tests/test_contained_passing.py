"""What is allowed passes whole: real clients, real servers, by redirection and by proxy.

The programs in passing/ are servers and clients; each client prints what it was told, and the proxy is in between.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import island as islands
import machine
import pytest
import upstream

from eve_mocks import contain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Project
    from island import Island

    type Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or isinstance(contain.probe(), contain.Reason), reason="this machine cannot contain"
)
HERE = Path(__file__).parent / "passing"
HTTP1, HTTP2, GRPC, WEBSOCKET, SERVER_FIRST, CLIENT_FIRST = 443, 7443, 8443, 9443, 25, 7000
SERVERS = {
    HTTP1: "serve_http1.py",
    HTTP2: "serve_http2.mjs",
    GRPC: "serve_grpc.py",
    WEBSOCKET: "serve_websocket.py",
    SERVER_FIRST: "serve_raw.py",
    CLIENT_FIRST: "serve_raw.py",
}
NAME = upstream.NAME
URL = f"https://{NAME}"
# In the environment of a run, what a program knows of proxies by.
PROXIES = [f"{word}_proxy" for word in ("http", "https", "all", "grpc")]
PROXIES += [*map(str.upper, PROXIES), "NODE_OPTIONS", "NODE_USE_ENV_PROXY", "PYTHONPATH"]
WAYS = {
    "redirected": ("require", ["env", *(word for name in PROXIES for word in ("-u", name))]),
    "by proxy": ("off", []),
}
BODY = bytes(range(256)) * 256 * 1600
SHA256 = hashlib.sha256(BODY).hexdigest()
MOST_MEMORY = 150  # MiB: the proxy, with all that it has loaded, and a small part of a body
CURL = ["curl", "-sS", "--max-time", "60", "--expect100-timeout", "50"]


class Servers(contextlib.ExitStack):
    """The real servers on the island, each from when it is first needed."""

    def __init__(self, island: Island, folder: Path) -> None:
        super().__init__()
        self.authority = upstream.certify(folder)
        self._prefix = [*island.prefix(folder), "env", f"PYTHONPATH={HERE.parent}"]
        self._certificate = folder / "server.pem"
        self._running: set[int] = set()

    def start(self, port: int) -> None:
        if port in self._running:
            return
        program = HERE / SERVERS[port]
        interpreter = machine.find("node") if program.suffix == ".mjs" else sys.executable
        command = [*self._prefix, interpreter, program, islands.UPSTREAM, str(port), self._certificate]
        server = self.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
        self.callback(server.terminate)
        assert server.stdout.readline() == b"listening\n"
        self._running.add(port)


@pytest.fixture(scope="module")
def servers(island: Island, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with Servers(island, tmp_path_factory.mktemp("servers")) as made:
        yield made


@pytest.fixture(params=WAYS)
def run(
    request: pytest.FixtureRequest, project: Project, island: Island, servers: Servers, needs: Callable[..., str]
) -> Run:
    """``run(port, *command)`` asks the server on this port; all of it is allowed, and nothing goes elsewhere."""
    mode, prefix = WAYS[request.param]
    folder = os.path.dirname(needs("node", "curl"))  # noqa: PTH120
    environment = {"SSL_CERT_FILE": str(servers.authority), "PATH": f"{folder}:{project.environment['PATH']}"}

    def run(port: int, *command: str) -> subprocess.CompletedProcess[str]:
        servers.start(port)
        scheme = "tcp" if SERVERS[port] == "serve_raw.py" else "https"
        project.file("mocks/up.yaml", f"{{kind: allow, url: '{scheme}://{NAME}:{port}', why: a test}}")
        arguments = ("run", "--contain", mode, "--", *prefix, *command)
        island.sent()
        done = project.eve_mocks(*arguments, prefix=island.prefix(project.root), env=environment, timeout=120)
        assert island.sent() == []
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert {call["outcome"] for call in project.calls() if not call.get("expected")} == {"allowed"}
        return done

    return run


def told(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    """What a client of many calls was told by each."""
    return {name: value for line in done.stdout.splitlines() for name, value in json.loads(line).items()}


def test_grpc(run: Run, needs: Callable[..., str]) -> None:
    """Messages and statuses of every kind of call. None of a client's questions about routes is held against it."""
    needs("pypi:grpcio")
    assert told(run(GRPC, sys.executable, str(HERE / "use_grpc.py"), f"{NAME}:{GRPC}")) == {
        "unary": ["HELLO", "OK", str({"asked-with": "me", "end-bin": b"\0\1"})],
        "in_turn": [["ready", "ONE", "TWO", "THREE"], [], "OK"],
        "failing": ["ONE", "FAILED_PRECONDITION", "not yet: 100 % ü", "later"],
        "cancelled": ["waiting", "True"],
        "unknown": "UNIMPLEMENTED",
        "large": [100 * 2**20, 100 * 2**20],
    }


class TestHttp2:
    def test_curl(self, run: Run) -> None:
        assert run(HTTP2, *CURL, "--http2", "-w", " %{http_version}", f"{URL}:{HTTP2}/").stdout == "2.0 2"

    def test_node(self, run: Run) -> None:
        """Streams beside each other, a slow reader, and either side leaving (GOAWAY) with a request on its way."""
        assert told(run(HTTP2, "node", str(HERE / "use_http2.mjs"), f"{NAME}:{HTTP2}")) == {
            "together": [75, True],
            "slowly": "in step",
            "leaving": 100 * 2**20,
            "left": [[200, "before after"], "2.0"],
        }


class TestWebSocket:
    def test_websockets(self, run: Run, needs: Callable[..., str]) -> None:
        needs("pypi:websockets")
        assert told(run(WEBSOCKET, sys.executable, str(HERE / "use_websocket.py"), f"{NAME}:{WEBSOCKET}")) == {
            "client_first": ["a", True, True, True, True, "in three pieces", True, 4000],
            "server_first": "welcome",
            "pinged": "pong",
            "left": [4001, "out of here"],
        }

    def test_node(self, run: Run, needs: Callable[..., str]) -> None:
        needs("pypi:websockets")
        assert told(run(WEBSOCKET, "node", str(HERE / "use_websocket.mjs"), f"{NAME}:{WEBSOCKET}")) == {
            "client_first": ["word ü", [0, 255], 4000, "enough", True],
            "server_first": ["welcome", 1005, "", True],
            "left": [4001, "out of here", True],
        }


class TestBodies:
    @pytest.mark.parametrize(
        ("port", "version"), [(HTTP1, "http1.1"), (HTTP1, "http2"), (HTTP2, "http2")], ids=["1", "2 to 1", "2"]
    )
    def test_a_hundred_megabytes_each_way_in_bounded_memory(
        self, run: Run, tmp_path: Path, port: int, version: str
    ) -> None:
        """Also where the client takes its time."""
        (tmp_path / "body").write_bytes(BODY)
        curl = f"{' '.join(CURL)} --{version} {URL}:{port}"
        script = f"""
            {curl}/large | sha256sum
            {curl}/up -T body -H Expect:
            {curl}/large --limit-rate 80M | sha256sum
            {sys.executable} {HERE}/peak.py
        """
        fast, up, slow, peak = run(port, "bash", "-c", script).stdout.replace("}", "}\n").split("\n", 3)
        assert [fast.split()[0], json.loads(up)["sha256"], slow.split()[0]] == [SHA256] * 3
        assert int(peak) < MOST_MEMORY

    @pytest.mark.parametrize("status", [417, 413])
    def test_an_upload_that_is_refused_by_its_head_is_not_sent(self, run: Run, tmp_path: Path, status: int) -> None:
        (tmp_path / "body").write_bytes(BODY)
        curl = [*CURL, "--http1.1", "-T", "body", "-H", "Expect: 100-continue", "-w", " %{http_code} %{size_upload}\n"]
        done = run(HTTP1, *curl, f"{URL}/refuse/{status}", "--next", "-sS", f"{URL}/ended")
        refused, ended = done.stdout.splitlines()
        assert refused == f"refused {status} 0"
        assert json.loads(ended) == {"ended": True, "arrived": 0}

    @pytest.mark.parametrize("version", ["http1.1", "http2"])
    def test_an_upload_that_is_refused_while_it_is_sent(self, run: Run, tmp_path: Path, version: str) -> None:
        (tmp_path / "body").write_bytes(BODY)
        curl = [*CURL, f"--{version}", "-T", "body", "-H", "Expect:", "-w", " %{http_code}\n"]
        done = run(HTTP1, *curl, f"{URL}/refuse/413", "--next", "-sS", f"{URL}/ended")
        refused, ended = done.stdout.splitlines()
        assert refused == "refused 413"
        assert json.loads(ended)["arrived"] < len(BODY)

    def test_an_upload_that_may_come(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "body").write_bytes(BODY)
        done = run(HTTP1, *CURL, "--http1.1", "-T", "body", "-H", "Expect: 100-continue", f"{URL}/up")
        assert json.loads(done.stdout) == {"sha256": SHA256, "expect": "100-continue"}

    @pytest.mark.parametrize("version", ["http1.1", "http2"])
    def test_a_client_that_hangs_up_ends_it_upstream(self, run: Run, version: str) -> None:
        curl = f"{' '.join(CURL)} --{version}"
        script = f"{curl} {URL}/endless 2>&- | head -c 1000000 | wc -c; {curl} {URL}/ended"
        taken, ended = run(HTTP1, "bash", "-c", script).stdout.splitlines()
        assert int(taken) == 1000000
        assert json.loads(ended)["ended"]

    def test_events_come_one_by_one(self, run: Run) -> None:
        done = run(HTTP1, sys.executable, str(HERE / "use_events.py"), NAME)
        assert done.stdout.splitlines() == [f"data: {number}" for number in range(upstream.EVENTS)]


class TestHeads:
    """Each on a connection that is used for another request after it."""

    @pytest.mark.parametrize("version", ["http1.1", "http2"])
    @pytest.mark.parametrize(
        ("path", "told"),
        [
            ("/204", "204 0"),
            ("/304", "304 0"),
            ("/304-chunked", "304 0"),
            ("/trailers", "200 4"),
            ("/until-close", "200 13"),
            ("/hints", "200 16"),
        ],
    )
    def test_get(self, run: Run, path: str, told: str, version: str) -> None:
        first, second = (ask(f"--{version}", f"{URL}{name}") for name in (path, "/next"))
        shown = run(HTTP1, "curl", *first, "--next", *second).stdout.splitlines()
        assert shown[0] == told
        assert shown[1].startswith("200 ")

    @pytest.mark.parametrize("version", ["http1.1", "http2"])
    def test_head(self, run: Run, version: str) -> None:
        done = run(HTTP1, *CURL, f"--{version}", "-I", f"{URL}/", "--next", "-sS", f"{URL}/next")
        assert f"content-length: {len(BODY)}" in done.stdout.lower()
        assert json.loads(done.stdout.splitlines()[-1])["path"] == "/next"

    @pytest.mark.parametrize("version", ["http1.1", "http2"])
    def test_what_comes_before_and_after(self, run: Run, version: str) -> None:
        """An interim answer, and trailers: curl shows both among the heads."""
        script = " ".join([*CURL, f"--{version}", "-o", "body", "-D", "-", f"{URL}/hints", f"{URL}/trailers"])
        heads = run(HTTP1, "bash", "-c", script).stdout.lower()
        assert "link: </style.css>; rel=preload" in heads
        assert "x-checksum: 7\nx-second: two\n" in heads


def ask(*how: str) -> list[str]:
    """Arguments of curl for a request of which status and size are shown."""
    return [*CURL[1:], *how, "-o", "body", "-w", "%{http_code} %{size_download}\n"]


@pytest.mark.parametrize(
    ("port", "greeting"), [(SERVER_FIRST, ["hello"]), (CLIENT_FIRST, [])], ids=["server", "client"]
)
def test_another_protocol_whoever_speaks_first(run: Run, port: int, greeting: list[str]) -> None:
    """What a client says before its server is reached is said all the same."""
    done = run(port, sys.executable, str(HERE / "use_raw.py"), NAME, str(port))
    assert done.stdout.splitlines() == [str([*greeting, "ONE", "QUIT"])] * 20
