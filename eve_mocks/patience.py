"""Matches regular expressions in a process of their own, which a limit of processor time ends.

The library holds the interpreter's lock while it searches and knows no limit, and some patterns take ages for a short
text. Meanwhile no other call of a run would be answered.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
import sys
import threading
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

LIMIT = 0.25
"""Seconds of processor time for one text, or for all that is matched ``together``."""

_left: contextvars.ContextVar[list[float]] = contextvars.ContextVar("left")

# ITIMER_PROF counts processor time, so a busy machine makes no match too slow; its signal ends the process.
_WORK = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
import functools, regress, signal
regex = functools.lru_cache(1024)(regress.Regex)
for line in sys.stdin.buffer:
    pattern, flags, text, limit = json.loads(line)
    found = regex(pattern, flags)
    signal.setitimer(signal.ITIMER_PROF, limit)
    found = found.find(text) is not None
    left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
    print(json.dumps([found, left]), flush=True)
"""

_lock = threading.Lock()
_worker: subprocess.Popen[bytes] | None = None


@contextlib.contextmanager
def together() -> Iterator[None]:
    """What is matched here shares one ``LIMIT``: a call may be held against many patterns."""
    token = _left.set([LIMIT])
    try:
        yield
    finally:
        _left.reset(token)


def matches(pattern: str, flags: str, text: str) -> bool | None:
    """Whether a valid pattern is found in a text; None where that takes longer than ``LIMIT``."""
    shared = _left.get([LIMIT])
    if shared[0] <= 0:
        return None
    global _worker  # noqa: PLW0603 - one process for all patterns
    with _lock:
        if _worker is None:
            _worker = _start()
        asked, answers = _pipes(_worker)
        try:
            asked.write(json.dumps([pattern, flags, text, shared[0]]).encode() + b"\n")
            asked.flush()
            answer = answers.readline()
        except BrokenPipeError:
            answer = b""
        if answer:
            found, shared[0] = json.loads(answer)
            return bool(found)
        shared[0] = 0.0
        ended, _worker = _worker, None
        answers.close()
        with_signal = ended.wait()
    if with_signal != -_too_slow():
        raise RuntimeError(f"the process that matches patterns ended with {with_signal}")
    return None


def _start() -> subprocess.Popen[bytes]:
    import subprocess

    command = [sys.executable, "-I", "-S", "-c", _WORK, json.dumps(sys.path)]
    return subprocess.Popen(  # noqa: S603 - our own
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )


def _pipes(worker: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert worker.stdin is not None and worker.stdout is not None  # noqa: S101, PT018 - see _start
    return worker.stdin, worker.stdout


def _too_slow() -> int:
    import signal

    return signal.SIGPROF
