"""Who is behind a thread id: process, program and session, read from /proc."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from eve_mocks.contain.recent import Recent
from eve_mocks.contain.seccomp import thread_group
from eve_mocks.records import Process

if TYPE_CHECKING:
    from eve_mocks.contain.question import Question

SESSION_VARIABLE = b"EVE_MOCKS_SESSION="
_FRESH_SECONDS = 2.0
_LONGEST_SESSION = 1024


class Processes:
    """The processes seen of late.

    A thread id alone is not an identity: exec changes the program and its environment, and ids are used again. So
    the key has the place in the code that the call was made from, which exec moves (the kernel places code at
    random), and what was read is trusted for less time than the ids take to come round. Reading it each time, or
    only the thread's start time, would be a fifth of the cost of a connection.
    """

    def __init__(self) -> None:
        self._known: Recent[tuple[int, int], tuple[float, Process]] = Recent(4096)

    def of(self, question: Question) -> Process:
        """The process that asks; what cannot be read of it is left blank."""
        key = (question.thread, question.place)
        known = self._known.get(key)
        now = time.monotonic()
        if known is not None and now - known[0] < _FRESH_SECONDS:
            return known[1]
        process = _read(question.thread)
        self._known.put(key, (now, process))
        return process


def _read(thread: int) -> Process:
    try:
        pid = thread_group(thread)
    except OSError:
        return Process(thread, "?")
    folder = Path(f"/proc/{pid}")
    try:
        program = (folder / "exe").readlink().name.removesuffix(" (deleted)")
    except OSError:
        program = _name(folder)
    try:
        variables = (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        variables = []
    sessions = (v.removeprefix(SESSION_VARIABLE) for v in variables if v.startswith(SESSION_VARIABLE))
    session = next(sessions, b"")[:_LONGEST_SESSION].decode(errors="replace")
    return Process(pid, program, session or None)


def _name(folder: Path) -> str:
    """What the kernel calls a process whose program file is not ours to see."""
    try:
        return (folder / "comm").read_text(errors="replace").strip()
    except OSError:
        return "?"
