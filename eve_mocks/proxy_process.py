"""The proxy as the wrapper sees it: listening sockets, a process, and a line of JSON each way.

The sockets exist before the process does, so the command need not wait for it. Once the process has them, it is the
only one: whatever becomes of the process, a connection is answered or refused, and never left waiting.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

from eve_mocks.errors import MockError, Problem
from eve_mocks.outbox import Outbox
from eve_mocks.threads import signals_for_the_main_thread

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# The path of this process, and not what PYTHONPATH would make of it: modules of the project are not ours. Nor is its
# sitecustomize to run there.
_START = "import sys; sys.path[:] = sys.argv[4:]; from eve_mocks.proxy.__main__ import main; sys.exit(main())"
_BACKLOG = 4096  # connections of the command that may come before the proxy listens
_START_LIMIT = 60.0
_FINISH_LIMIT = 15.0
_SHOWN_OUTPUT = 4096


class ProxyProcess:
    """Starts, asks for the result, and ends the process with the block it is used in.

    ``redirects`` is whether connections are sent to it that were meant for others; ``tell`` then tells of each.
    """

    def __init__(self, *, redirects: bool = False) -> None:
        self._contained: list[socket.socket] = []
        try:
            self._listener = _listening("127.0.0.1")
            if redirects:
                self._contained.append(_listening("127.0.0.1"))
        except OSError as error:
            raise MockError(
                f"no port of 127.0.0.1 can be listened on: {os.strerror(error.errno or 0)}",
                why="the command reaches eve-mocks through a port of this machine",
                fix="Allow listening on loopback, or make room: there may be too many open files or sockets.",
            ) from error
        self.address: tuple[str, int] = self._listener.getsockname()
        self.redirected: dict[int, tuple[str, int]] = {}
        """By address family, where connections are sent that were meant for others."""
        self._records: socket.socket | None = None
        self._outbox: Outbox | None = None
        self._has_told = False
        if redirects:
            with contextlib.suppress(OSError):  # a machine may have no IPv6
                self._contained.append(_listening("::1"))
            self._records, its_records = map(_above_standard, socket.socketpair(type=socket.SOCK_SEQPACKET))
            self._outbox = Outbox(self._records)
            self.redirected = {sock.family: sock.getsockname()[:2] for sock in self._contained}
            self._contained.insert(0, its_records)
        ours, theirs = socket.socketpair()
        self._control, self._its_control = _above_standard(ours), _above_standard(theirs)
        self.pid: int | None = None
        self._output: Path | None = None
        self._heard: dict[str, Any] = {}
        self._started = threading.Event()  # it serves, or has ended
        self._done = threading.Event()  # it has given its result, or has ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        self._close_listeners()
        self._its_control.close()
        self._control.close()
        if self._records is not None:
            self._records.close()

    def _close_listeners(self) -> None:
        for sock in (self._listener, *self._contained):
            sock.close()

    def tell(self, record: bytes) -> None:
        """Tell of a connection that was redirected, or of an attempt that was refused. Does not wait."""
        assert self._outbox is not None  # noqa: S101 - what redirects has it
        self._has_told = True
        self._outbox.put(record)

    def start(self, settings: Mapping[str, Any], output: Path) -> None:
        """Start the process; what it and the mocks write goes to a file, never to the command's output."""
        self._output = output
        listener, control = self._listener.fileno(), self._its_control.fileno()
        contained = [sock.fileno() for sock in self._contained]
        inherited = [listener, control, *contained]
        for file in inherited:
            os.set_inheritable(file, True)
        written = _open_output(output)
        self.pid = os.posix_spawn(
            sys.executable,
            [
                *(sys.executable, "-P", "-c", _START),
                *(str(listener), str(control), ",".join(map(str, contained)), *sys.path),
            ],
            {name: value for name, value in os.environb.items() if name != b"PYTHONPATH"},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, written, 1),
                (os.POSIX_SPAWN_DUP2, written, 2),
            ],
            setsid=True,  # Ctrl-C is for the command; the proxy ends when it is told to
        )
        os.close(written)
        for file in inherited:
            os.set_inheritable(file, False)
        self._its_control.close()
        with signals_for_the_main_thread():
            threading.Thread(target=self._listen, daemon=True).start()
            if self._outbox is not None:
                self._outbox.open()
        settings = {**settings, "pythonPath": os.environ.get("PYTHONPATH")}
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(settings).encode() + b"\n")

    def _listen(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._control.makefile("rb") as lines:
            for line in lines:
                self._heard |= json.loads(line)
                if "ready" in self._heard:
                    self._close_listeners()
                    self._started.set()
                if "report" in self._heard:
                    self._done.set()
        self._close_listeners()
        self._started.set()
        self._done.set()

    @property
    def server_first(self) -> list[str] | None:
        """URLs on ports of ``SERVER_FIRST`` that mocks are about, as the proxy has them; None before it has."""
        return self._heard.get("serverFirst")

    def finish(self) -> tuple[dict[str, Any] | None, Problem | None]:
        """Ask for the result of the run, once the command has ended: the calls, and what went wrong if it did.

        The calls are None where nothing was asked before the proxy served, or where it gave no result.
        """
        if not self._started.is_set() and not self._somebody_waits():
            return None, None
        if self._started.wait(_START_LIMIT):
            if self._outbox is not None:
                self._outbox.flush(_FINISH_LIMIT)
            with contextlib.suppress(OSError):
                self._control.sendall(b'{"finish": true}\n')
            self._done.wait(_FINISH_LIMIT)
        report = self._heard.get("report")
        return report, None if report is not None else self._failure()

    def _somebody_waits(self) -> bool:
        if self._has_told:
            return True
        try:
            # On the control socket there is something where the process serves, or has ended, and it is not heard yet.
            return bool(select.select([self._listener, self._control], [], [], 0)[0])
        except (OSError, ValueError):  # closed meanwhile: it serves
            return True

    def _failure(self) -> Problem:
        said = ""
        with contextlib.suppress(OSError):
            if self._output is not None:
                said = self._output.read_text(errors="replace")[-_SHOWN_OUTPUT:].strip().rpartition("\n")[2]
        error = self._heard.get("error", {})
        if self._done.is_set():
            message = f"the proxy ended before the command did{self._how_it_ended()}, so calls were refused"
        else:
            message = "the proxy gave no result in time, so calls may be missing here"
            error = error or self._heard.get("busy", {})
        return Problem(
            message=message,
            why=". ".join(filter(None, (error.get("message"), error.get("why")))) or said or "it said nothing",
            fix=error.get("fix") or "Run it again; if it stays so, report it with the run's output.log.",
            fails=True,
        )

    def _how_it_ended(self) -> str:
        if self.pid is None:
            return ""
        _await_end(self.pid)
        status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if status is None or status.si_status == 0:
            return ""
        if status.si_code == os.CLD_EXITED:
            return f" (exit code {status.si_status})"
        return f" ({signal.Signals(status.si_status).name})"

    def _kill(self) -> None:
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = None


def _await_end(pid: int) -> None:
    """A process that ends closes its files a moment before it has a status."""
    if sys.platform == "linux":
        with contextlib.closing(os.fdopen(os.pidfd_open(pid))) as process:
            select.select([process], [], [], 1.0)


def _open_output(path: Path) -> int:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError:  # a full disk does not keep the proxy from starting
        file = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    return _above(file)


def _listening(host: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return _above_standard(socket.create_server((host, 0), family=family, backlog=_BACKLOG))


def _above_standard(sock: socket.socket) -> socket.socket:
    """The socket on a descriptor that stdin, stdout or stderr, closed by the caller, did not leave free."""
    return socket.socket(fileno=_above(sock.detach()))


def _above(file: int) -> int:
    if file > 2:
        return file
    moved = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(file)
    return moved
