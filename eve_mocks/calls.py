"""``calls.jsonl``: one line a call, written whole and at once, and read back (contract, section 8)."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from array import array
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from eve_mocks import redact
from eve_mocks.errors import MockError
from eve_mocks.model import Call
from eve_mocks.secret_urls import url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from eve_mocks.response import HeaderPairs

# The fields of a Call that are plain values, in the order of a line; None is left out but for the status.
_PLAIN = {
    "at": "at",
    "session": "session",
    "agent": "agent",
    "outcome": "outcome",
    "expected": "expected",
    "reason": "reason",
    "target": "target",
    "targetUrl": "target_url",
    "kind": "kind",
    "operation": "operation",
    "method": "method",
    "url": "url",
    "status": "status",
    "durationMs": "duration_ms",
    "requestBytes": "request_bytes",
    "responseBytes": "response_bytes",
    "stub": "stub",
    "position": "position",
    "nearest": "nearest",
    "unanswered": "unanswered",
    "doubt": "doubt",
    "usage": "usage",
    "pid": "pid",
    "program": "program",
    "error": "error",
    "suggestion": "suggestion",
    "fix": "fix",
    "cancelled": "cancelled",
}


# Of these, those that are text made from what was asked.
_TEXTS = ("session", "agent", "target", "operation", "nearest", "unanswered", "doubt", "error", "fix")


class Counter(Protocol):
    """What counts the calls that the log writes: a ``report.Tally``."""

    lost: int
    lost_why: str | None

    def add(self, call: Call) -> None: ...


class CallLog:
    """Counts every call and appends it to the log; a call that cannot be written is counted as lost."""

    def __init__(self, path: Path | None, tally: Counter) -> None:
        self._tally = tally
        self._file: int | None = None
        self._open_error: OSError | None = None
        self._path = path
        self._lines: dict[str, array[int]] = {}  # by session, where the lines of its calls begin
        if path is not None:
            try:
                self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                self._open_error = error

    def __call__(self, call: Call) -> None:
        session, call = call.session, without_secrets(call)
        self._tally.add(call)
        try:
            if self._open_error is not None:
                raise self._open_error
            if self._file is not None:
                line = (json.dumps(as_line(call), ensure_ascii=False) + "\n").encode("utf-8", "replace")
                begin = _append(self._file, line)
                self._lines.setdefault(session, array("Q")).append(begin)
        except OSError as error:
            self._tally.lost += 1
            self._tally.lost_why = error.strerror or str(error)

    def of(self, session: str) -> list[dict[str, Any]]:
        """The lines of a session's calls so far. Raises ``MockError`` where not all calls are in the log."""
        if self._tally.lost or self._path is None:
            raise MockError(
                f"the log lacks {self._tally.lost} of the calls",
                why=self._tally.lost_why or "nothing is logged",
                fix="Make room on the disk, or set the permissions.",
            )
        if session not in self._lines:
            return []
        with self._path.open("rb") as file:
            return [json.loads(_line_at(file, begin)) for begin in self._lines[session]]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _line_at(file: BinaryIO, begin: int) -> bytes:
    file.seek(begin)
    return file.readline()


def _append(file: int, line: bytes) -> int:
    """Write a line whole, and return where it begins."""
    written = os.write(file, line)
    if written < len(line):  # the disk is full: no half of a line stays behind
        os.ftruncate(file, os.fstat(file).st_size - written)
        raise OSError(0, "only a part of a line could be written: the disk may be full")
    return os.lseek(file, 0, os.SEEK_CUR) - len(line)


def without_secrets(call: Call) -> Call:
    """A call whose texts hold no credential; headers and bodies stay as they are."""
    changes: dict[str, Any] = {}
    for name in _TEXTS:
        given = getattr(call, name)
        if given is not None and (shown := _shown(given)) != given:
            changes[name] = shown
    if (shown := url(call.url)) != call.url:
        changes["url"] = shown
    if call.suggestion is not None:
        changes["suggestion"] = {key: _shown(text) for key, text in call.suggestion.items()}
    return dataclasses.replace(call, **changes) if changes else call


_shown = functools.lru_cache(maxsize=4096)(redact.text)


def as_line(call: Call) -> dict[str, Any]:
    """The JSON object of a call, without credentials."""
    call = without_secrets(call)
    line = {key: getattr(call, name) for key, name in _PLAIN.items()}
    line = {key: value for key, value in line.items() if value is not None or key == "status"}
    for side, pairs, content, size in (
        ("request", call.request_headers, call.request_body, call.request_bytes),
        ("response", call.response_headers, call.response_body, call.response_bytes),
    ):
        line[f"{side}Headers"] = redact.headers(pairs)
        if content:
            encoding = _field(pairs, "content-encoding")
            line[f"{side}Body"], cut = redact.body(content, _field(pairs, "content-type"), encoding)
            # A recorder may keep the beginning alone; bytes on the wire say less than that where they are packed.
            if cut or (size > len(content) and not encoding):
                line[f"{side}Truncated"] = True
    return line


def _field(pairs: HeaderPairs, wanted: str) -> str:
    return next((value for name, value in pairs if name.lower() == wanted), "")


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log. One that a killed process did not finish is passed over. Raises ``OSError``."""
    with path.open("rb") as file:
        for text in file:
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict):
                yield line


def as_call(line: Mapping[str, Any]) -> Call:
    """The call of a line, without its headers and bodies. Raises ``TypeError`` where a part is missing."""
    return Call(**{name: line[key] for key, name in _PLAIN.items() if key in line})
