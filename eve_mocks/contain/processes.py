"""Who is behind a thread id: process, program and session, read from /proc once per program start."""

from __future__ import annotations

import os
from pathlib import Path

from eve_mocks.contain.recent import Recent
from eve_mocks.contain.records import Process
from eve_mocks.contain.seccomp import thread_group

SESSION_VARIABLE = b"EVE_MOCKS_SESSION="

type _Life = tuple[int, bytes, bytes, bytes]


class Processes:
    """The processes seen of late.

    A thread id alone is not an identity: ids are reused, and exec changes the program and its environment. So the
    key has the thread's start time, its name and where its code begins, which exec moves.
    """

    def __init__(self) -> None:
        self._known: Recent[_Life, Process] = Recent(4096)

    def of(self, thread: int) -> Process:
        """The process of a thread; what cannot be read of it is left blank."""
        try:
            life = _life(thread)
        except (OSError, IndexError):
            return Process(thread, "?")
        known = self._known.get(life)
        if known is None:
            known = _read(thread, life[1])
            self._known.put(life, known)
        return known


def _life(thread: int) -> _Life:
    # Under task/, the kernel need not add up the times of all threads. Fields: proc_pid_stat(5).
    fd = os.open(f"/proc/{thread}/task/{thread}/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        head, _, tail = os.read(fd, 1024).rpartition(b")")
    finally:
        os.close(fd)
    fields = tail.split()
    return thread, head.partition(b"(")[2], fields[19], fields[23]


def _read(thread: int, name: bytes) -> Process:
    pid = thread_group(thread)
    folder = Path(f"/proc/{pid}")
    try:
        program = (folder / "exe").readlink().name.removesuffix(" (deleted)")
    except OSError:
        program = name.decode(errors="replace")
    try:
        variables = (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        variables = []
    sessions = (v.removeprefix(SESSION_VARIABLE) for v in variables if v.startswith(SESSION_VARIABLE))
    session = next(sessions, b"").decode(errors="replace")
    return Process(pid, program, session or None)
