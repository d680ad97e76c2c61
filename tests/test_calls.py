"""The log of calls: whole lines, in the order they came, whatever happens."""

from __future__ import annotations

import json
import resource
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

from eve_mocks import calls
from eve_mocks.model import Call
from eve_mocks.report import Tally

if TYPE_CHECKING:
    from pathlib import Path


def call(**changes: Any) -> Call:
    given: dict[str, Any] = {
        "at": "2026-01-01T00:00:00.000Z",
        "session": "run",
        "outcome": "mocked",
        "target": "pay",
        "kind": "http",
        "operation": "GET /charges",
        "method": "GET",
        "url": "https://api.pay.test/v1/charges",
        "status": 200,
        "duration_ms": 1.5,
        "request_bytes": 0,
        "response_bytes": 0,
    }
    return Call(**(given | changes))


def test_a_line_has_what_is_known() -> None:
    assert calls.as_line(call()) == {
        "at": "2026-01-01T00:00:00.000Z",
        "session": "run",
        "outcome": "mocked",
        "target": "pay",
        "kind": "http",
        "operation": "GET /charges",
        "method": "GET",
        "url": "https://api.pay.test/v1/charges",
        "status": 200,
        "durationMs": 1.5,
        "requestBytes": 0,
        "responseBytes": 0,
        "requestHeaders": {},
        "responseHeaders": {},
    }
    assert calls.as_line(call(status=None))["status"] is None


def test_texts_hold_no_credential_in_the_log_nor_in_what_is_counted(tmp_path: Path) -> None:
    texts = ("session", "agent", "operation", "nearest", "unanswered", "error", "fix")
    given = {name: f"{name}: GET /x?api_key=hunter2 with password=hunter2" for name in texts}
    tally = Tally()
    log = calls.CallLog(tmp_path / "calls.jsonl", tally)
    log(call(outcome="blocked", url="https://me:hunter2@a.test/?token=hunter2", **given))
    log.close()
    for text in ((tmp_path / "calls.jsonl").read_text(), json.dumps(tally.as_json())):
        assert "hunter2" not in text
        assert "GET /x?api_key=[redacted] with password=[redacted]" in text
    assert Tally.from_log(tmp_path / "calls.jsonl").as_json() == tally.as_json()


@pytest.mark.parametrize("body", [b'{"a":NaN}', b"[1e999]", b"-Infinity", b"[" * 900 + b"]" * 900, b"[" * 20_000])
def test_a_line_is_strict_json_whatever_a_body_is(tmp_path: Path, body: bytes) -> None:
    log = calls.CallLog(tmp_path / "calls.jsonl", Tally())
    log(call(request_body=body, request_headers=(("content-type", "application/json"),)))
    log.close()

    def refuse(word: str) -> None:
        raise AssertionError(word)

    (text,) = (tmp_path / "calls.jsonl").read_text().splitlines()
    shown = json.loads(text, parse_constant=refuse)["requestBody"]
    assert shown == body.decode() or (isinstance(shown, list) and json.dumps(shown).encode() == body)


def test_bodies() -> None:
    line = calls.as_line(
        call(
            request_headers=(("Content-Type", "text/plain"),),
            request_body=b"x" * 70_000,
            request_bytes=70_000,
            response_headers=(("content-type", "application/json"), ("content-encoding", "gzip")),
            response_body=b'{"a": 1}',
            response_bytes=5,
        )
    )
    assert (line["requestBody"], line["requestTruncated"]) == ("x" * 65536, True)
    assert (line["responseBody"], "responseTruncated" in line) == ({"a": 1}, False)


def test_a_body_of_which_only_the_beginning_was_kept() -> None:
    assert calls.as_line(call(response_body=b"abc", response_bytes=10))["responseTruncated"] is True


def test_lines_are_read_back_and_half_of_one_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    log = calls.CallLog(path, Tally())
    log(call(operation="first"))
    log(call(operation="lone surrogate \ud800", error="line\nbreak"))
    log.close()
    with path.open("ab") as file:
        file.write(b'{"at": "2026')
    lines = list(calls.read(path))
    assert [line["operation"] for line in lines] == ["first", "lone surrogate ?"]
    assert calls.as_call(lines[0]) == call(operation="first")
    assert path.stat().st_mode & 0o777 == 0o600


def test_writers_side_by_side(tmp_path: Path) -> None:
    """Each on a descriptor of its own, as two processes would have."""
    path = tmp_path / "calls.jsonl"

    def write(name: str) -> None:
        log = calls.CallLog(path, Tally())
        for _ in range(200):
            log(call(session=name, response_body=name.encode() * 20_000))
        log.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = list(calls.read(path))
    assert len(lines) == len(path.read_text().splitlines()) == 800
    assert all(set(line["responseBody"]) == {line["session"]} for line in lines)


@pytest.mark.parametrize("name", ["no/such/folder/calls.jsonl", "."], ids=["no folder", "a folder"])
def test_a_log_that_cannot_be_opened(tmp_path: Path, name: str) -> None:
    tally = Tally()
    log = calls.CallLog(tmp_path / name, tally)
    log(call())
    log.close()
    assert (tally.counts["mocked"], tally.lost) == (1, 1)
    assert tally.lost_why in ("No such file or directory", "Is a directory")


def test_no_log_is_wanted() -> None:
    tally = Tally()
    calls.CallLog(None, tally)(call())
    assert (tally.counts["mocked"], tally.lost) == (1, 0)


def test_a_full_disk_leaves_no_half_of_a_line(tmp_path: Path) -> None:
    """A limit on the size of files stands for it."""
    path = tmp_path / "calls.jsonl"
    tally = Tally()
    log = calls.CallLog(path, tally)
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        for _ in range(10):
            log(call())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    log(call(operation="room again"))
    log.close()
    kept = [json.loads(line)["operation"] for line in path.read_text().splitlines()]
    assert kept[-1] == "room again"
    assert len(kept) + tally.lost == 11
    assert tally.lost > 0
