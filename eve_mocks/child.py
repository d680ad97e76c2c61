"""The command as a process: started in the caller's terminal and process group, waited for, signalled.

The command is to notice as little as possible of the process between it and its caller: what the terminal sends
reaches both by itself, what is sent to this process alone is passed on, and when the command has stopped, this one
does.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from eve_mocks.program import CannotStart, as_script, cannot_start

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    type Spawn = Callable[[], int]

# The terminal sends these to its whole foreground group: from there the command has them already.
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT)
# Python ignores these at its start, and what is ignored is inherited.
_IGNORED_BY_PYTHON = [signal.SIGPIPE, signal.SIGXFSZ]


class Command:
    """A command that was started."""

    def __init__(self, pid: int, signals: Collection[int]) -> None:
        self._pid = pid
        self._signals = signals

    def wait(self) -> int:
        """Wait until the command ends, and return its exit code: 128 + N for a signal."""
        while True:
            number, is_sent = _next(self._signals)
            if number == signal.SIGCHLD:
                pid, status = os.waitpid(self._pid, os.WNOHANG | os.WUNTRACED)
                if pid and os.WIFSTOPPED(status):
                    _stop(os.WSTOPSIG(status))
                elif pid:
                    code = os.waitstatus_to_exitcode(status)
                    return code if code >= 0 else 128 - code
            elif is_sent or number in _FORWARDED:
                os.kill(self._pid, number)


def _next(signals: Collection[int]) -> tuple[int, bool]:
    """Wait for a signal; tell also whether a process has sent it, and not the terminal, where the system tells that."""
    if sys.platform != "linux":
        return signal.sigwait(signals), False
    found = signal.sigwaitinfo(signals)
    return found.si_signo, found.si_code <= 0  # SI_USER, SI_QUEUE, SI_TKILL


def _stop(number: int) -> None:
    """Stop as the command did, for the shell that waits for this process.

    Not before the command has: the shell would take the terminal while the command still puts it in order.
    """
    if signal.SIGCONT in signal.sigpending():  # a SIGSTOP to both of them is over: so is the command's
        return
    os.kill(os.getpid(), number)  # while it is blocked, and so one with what the terminal may have sent
    mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _launch(spawn: Spawn) -> int:
    return spawn()


@contextlib.contextmanager
def started(
    argv: Sequence[str], environment: Mapping[bytes, bytes], launch: Callable[[Spawn], int] = _launch
) -> Iterator[Command]:
    """Start a command; while the block runs, signals are its. Raises ``CannotStart``.

    ``launch`` is given what starts it and returns its process id, where something has to be done around that.

    The signals are blocked and waited for (POSIX: sigwait), since a handler may run a moment before the wait that it
    is to interrupt. No other thread may let them through.
    """
    # What the caller ignores, as nohup does, is ignored by all of us.
    handled = {number for number in (*_FROM_TERMINAL, *_FORWARDED) if signal.getsignal(number) is not signal.SIG_IGN}
    handled.add(signal.SIGCHLD)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, handled)
    before = signal.signal(signal.SIGCHLD, lambda *_: None)  # ignored, it would not be waited for
    try:
        yield Command(launch(lambda: _spawn(argv, environment, mask)), handled)
    finally:
        while pending := signal.sigpending() & handled:  # too late for the command
            signal.sigwait(pending)
        signal.signal(signal.SIGCHLD, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _spawn(argv: Sequence[str], environment: Mapping[bytes, bytes], mask: Collection[int]) -> int:
    def spawn(program: str, *arguments: str) -> int:
        return os.posix_spawnp(
            program, [program, *arguments], environment, setsigmask=mask, setsigdef=_IGNORED_BY_PYTHON
        )

    try:
        return spawn(*argv)
    except OSError as error:
        if error.errno == errno.ENOEXEC and (script := as_script(argv)):
            return spawn(*script)
        raise cannot_start(argv[0], error) from error
    except ValueError as error:
        raise _not_a_command(argv[0], error) from error


def replace(argv: Sequence[str], environment: Mapping[bytes, bytes]) -> NoReturn:
    """Become the command, untouched. Raises ``CannotStart``."""
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(argv[0], list(argv), environment)  # noqa: S606 - running the user's command is what this is for
    except OSError as error:
        if error.errno == errno.ENOEXEC and (script := as_script(argv)):
            os.execve(script[0], script, environment)  # noqa: S606
        raise cannot_start(argv[0], error) from error
    except ValueError as error:
        raise _not_a_command(argv[0], error) from error


def _not_a_command(program: str, error: ValueError) -> CannotStart:
    message = f"the command {program!r} cannot be started"
    return CannotStart(message, why=str(error), fix="Correct the command.", exit_code=126)
