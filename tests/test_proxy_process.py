"""The proxy as the wrapper starts it: a process, two file descriptors, and JSON by line."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from running_proxy import read_head, request

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 20
MOCK = """
kind: http
url: http://api.pay.test/v1
routes:
  /charges: {GET: {response: {ok: true}}}
  /slow: {GET: {response: {ok: true}, delay: 30s}}
"""


class Proxy:
    """The wrapper's side of a proxy process."""

    def __init__(self, folder: Path, ca: Path) -> None:
        self.mocks = folder / "mocks"
        self.mocks.mkdir()
        self.log = folder / "calls.jsonl"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self._ca = ca
        self.process: subprocess.Popen[bytes]
        self.address: tuple[str, int]

    def start(self) -> dict[str, object]:
        """Start it, and give its first line."""
        self.control, theirs = socket.socketpair()
        self.control.settimeout(PATIENCE)
        self._lines = self.control.makefile()
        with theirs, socket.create_server(("127.0.0.1", 0), backlog=4096) as sock:
            self.address = sock.getsockname()
            fds = (sock.fileno(), theirs.fileno())
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "eve_mocks.proxy", *map(str, fds)],
                pass_fds=fds,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "TMPDIR": str(self.temporary)},
                cwd=self.mocks.parent,
                start_new_session=True,
            )
        settings = {
            "folder": str(self.mocks),
            "folderName": "mocks",
            "log": str(self.log),
            "session": "run",
            "stubs": [],
            "seeds": [],
            "controlToken": "t",
            "eveDev": False,
            "ca": str(self._ca),
            "upstreamProxies": {"http": None, "https": None, "no": ""},
            "upstreamCa": None,
        }
        return self.say(settings)

    def say(self, message: dict[str, object]) -> dict[str, object]:
        self.control.sendall(json.dumps(message).encode() + b"\n")
        answer: dict[str, object] = json.loads(self._lines.readline())
        return answer

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=PATIENCE)

    def get(self, path: str) -> bytes:
        with self.connect() as client:
            client.sendall(request("GET", f"http://api.pay.test{path}", host="api.pay.test"))
            return read_head(client)

    def end(self) -> None:
        self.control.close()
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.communicate(timeout=PATIENCE)


@pytest.fixture
def process(tmp_path, ca):
    made = Proxy(tmp_path, ca)
    yield made
    made.end()


def test_from_settings_to_report(process):
    (process.mocks / "pay.yaml").write_text(MOCK)
    assert process.start() == {"ready": True}
    assert process.get("/v1/charges").startswith(b"HTTP/1.1 200 ")
    assert process.get("/elsewhere").startswith(b"HTTP/1.1 403 ")
    report = process.say({"finish": True})["report"]
    assert report["counts"] == {"mocked": 1, "allowed": 0, "blocked": 1, "error": 0}
    assert process.process.wait(PATIENCE) == 0
    assert [json.loads(line)["outcome"] for line in process.log.read_text().splitlines()] == ["mocked", "blocked"]


def test_what_waits_at_the_end_is_recorded_as_cancelled(process):
    (process.mocks / "pay.yaml").write_text(MOCK)
    process.start()
    with process.connect() as client:
        client.sendall(request("GET", "http://api.pay.test/v1/slow", host="api.pay.test"))
        process.get("/v1/charges")  # the slow one has been read by now
        process.say({"finish": True})
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(1) == b""
    assert process.process.wait(PATIENCE) == 0
    lines = {line["operation"]: line for line in map(json.loads, process.log.read_text().splitlines())}
    assert lines["GET /slow"]["cancelled"] is True
    with pytest.raises(ConnectionRefusedError):
        process.connect()


def test_a_mistake_in_a_mock_ends_it(process):
    (process.mocks / "pay.yaml").write_text("kind: htp\nurl: https://api.pay.test/\n")
    error = process.start()["error"]
    assert (error["file"], error["line"]) == ("mocks/pay.yaml", 1)
    assert "http" in error["fix"]
    assert process.process.wait(PATIENCE) == 2


class TestEdits:
    """Mock files are loaded again while the command runs."""

    def until(self, process: Proxy, path: str, status: int) -> None:
        end = time.monotonic() + PATIENCE
        while not process.get(path).startswith(f"HTTP/1.1 {status} ".encode()):
            assert time.monotonic() < end, f"{path} is never answered with {status}"

    def test_an_edit_counts_for_calls_to_come(self, process):
        (process.mocks / "pay.yaml").write_text(MOCK)
        process.start()
        self.until(process, "/v1/charges", 200)
        (process.mocks / "pay.yaml").write_text(MOCK.replace("ok: true}", "ok: true}, status: 201"))
        self.until(process, "/v1/charges", 201)
        (process.mocks / "pay.yaml").unlink()
        self.until(process, "/v1/charges", 403)
        assert process.say({"finish": True})["report"]["problems"] == []

    def test_a_broken_edit_counts_for_none_and_is_told(self, process):
        (process.mocks / "pay.yaml").write_text(MOCK)
        process.start()
        (process.mocks / "broken.yaml").write_text("kind: htp\nurl: https://broken.test/\n")
        (process.mocks / "pay.yaml").write_text(MOCK.replace("ok: true}", "ok: true}, status: 201"))
        began = time.monotonic()
        while time.monotonic() - began < 1.5:  # several times as long as it takes to see an edit
            assert process.get("/v1/charges").startswith(b"HTTP/1.1 200 ")
        (process.mocks / "broken.yaml").unlink()
        self.until(process, "/v1/charges", 201)
        (problem,) = process.say({"finish": True})["report"]["problems"]
        assert "mocks/broken.yaml:1" in problem["message"]
        assert "as before the edit" in problem["fix"]

    def test_a_folder_that_goes_away_is_no_edit(self, process):
        (process.mocks / "pay.yaml").write_text(MOCK)
        process.start()
        process.mocks.rename(process.mocks.with_name("elsewhere"))
        began = time.monotonic()
        while time.monotonic() - began < 1:
            assert process.get("/v1/charges").startswith(b"HTTP/1.1 200 ")


def test_what_a_mock_prints_does_not_reach_stdout(process):
    (process.mocks / "loud.py").write_text(
        "import os\nfrom eve_mocks import http_mock\nprint('printed')\nos.write(1, b'written')\n"
        "loud = http_mock('https://loud.test/', routes={'/': {'GET': {'response': 1}}})\n"
    )
    assert process.start() == {"ready": True}
    process.say({"finish": True})
    out, err = process.process.communicate(timeout=PATIENCE)
    assert out == b""
    assert b"printed" in err
    assert b"written" in err


@pytest.mark.parametrize("when", ["before the settings", "while it serves"])
def test_it_does_not_outlive_the_wrapper(process, when):
    if when == "while it serves":
        process.start()
        with process.connect():
            process.control.shutdown(socket.SHUT_RDWR)
            assert process.process.wait(PATIENCE) == 1
    else:
        ours, theirs = socket.socketpair()
        with theirs, socket.create_server(("127.0.0.1", 0)) as sock:
            fds = (sock.fileno(), theirs.fileno())
            process.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "eve_mocks.proxy", *map(str, fds)], pass_fds=fds
            )
        process.control = ours
        ours.shutdown(socket.SHUT_RDWR)
        assert process.process.wait(PATIENCE) == 1


def test_killed_it_leaves_a_log_that_can_be_read_and_no_keys(process):
    (process.mocks / "pay.yaml").write_text(MOCK)
    process.start()
    for _ in range(2):  # the first has been recorded once the second is answered
        process.get("/v1/charges")
    process.process.send_signal(signal.SIGKILL)
    process.process.wait(PATIENCE)
    lines = [json.loads(line)["operation"] for line in process.log.read_text().splitlines()]
    assert lines[0] == "GET /charges"
    assert list(process.temporary.iterdir()) == []
