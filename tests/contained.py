"""A wrapper for tests: runs a command contained, with a recording listener in place of the proxy.

    contained.py REPORT [--mode fetch|give] [--deny NUMBER] [--interruptible] [--held SECONDS] -- COMMAND...

Writes what it saw to REPORT as JSON lines and ends as the command did. ``--deny`` first puts the whole process under
a filter that fails one system call with EPERM, as a container engine does.
"""

import argparse
import contextlib
import ctypes
import errno
import json
import os
import socket
import sys
import threading

from eve_mocks import contain
from eve_mocks.contain import filter as bpf
from eve_mocks.contain import launch, seccomp
from eve_mocks.ports import SERVER_FIRST

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nredirect\n"


def deny(number: int, error: int = errno.EPERM) -> None:
    """An outer filter without a listener, by prctl(2)."""
    steps = [
        bpf.Load(bpf.NUMBER),
        bpf.Jump(bpf.Test.EQUAL, number, None, "allow"),
        bpf.Return(bpf.FAIL | error),
        bpf.Label("allow"),
        bpf.Return(bpf.ALLOW),
    ]
    code = bpf.assemble(steps)
    text = ctypes.create_string_buffer(code, len(code))
    program = (ctypes.c_uint64 * 2)(len(code) // 8, ctypes.addressof(text))  # struct sock_fprog
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0, os.strerror(ctypes.get_errno())


class Report:
    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def __call__(self, record) -> None:
        if isinstance(record, contain.Redirect) and record.host == "broken.example":
            raise RuntimeError("a mistake")
        line = contain.encode(record) if not isinstance(record, dict) else json.dumps(record).encode() + b"\n"
        os.write(self.fd, line)


def serve(listener: socket.socket, report: Report) -> None:
    def answer(connection: socket.socket, source) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(2)
            report({"accepted": [source[0], source[1]]})
            if connection.recv(65536):
                connection.sendall(ANSWER)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(65536)

    while True:
        connection, source = listener.accept()
        threading.Thread(target=answer, args=(connection, source), daemon=True).start()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("report")
    parser.add_argument("--mode", type=contain.Mode)
    parser.add_argument("--deny", type=int)
    parser.add_argument("--interruptible", action="store_true")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    if options.deny:
        deny(options.deny)
    report = Report(options.report)
    verdict = contain.probe()
    if isinstance(verdict, contain.Reason):
        report({"reason": verdict.text, "fix": verdict.fix})
        return 125
    mode = options.mode or verdict
    report({"mode": mode.value})
    if options.interruptible:  # as on a kernel older than 5.19
        install = seccomp.install
        launch.seccomp.install = lambda code: install(code, wait_killable=False)
    listeners = [
        socket.create_server(("127.0.0.1", 0), backlog=4096),
        socket.create_server(("::1", 0), family=socket.AF_INET6, backlog=4096),
    ]
    for listener in listeners:
        threading.Thread(target=serve, args=(listener, report), daemon=True).start()
    policy = contain.Policy(
        proxy4=listeners[0].getsockname()[:2],
        proxy6=listeners[1].getsockname()[:2],
        on_redirect=report,
        on_refused=report,
        known=listeners[0].getsockname()[:2],
        refuses=lambda _host, port: port in SERVER_FIRST,
    )

    def spawn() -> int:
        known = f"{listeners[0].getsockname()[1]}"
        return os.posix_spawnp(options.command[0], options.command, os.environ | {"KNOWN_PORT": known})

    started = contain.start(spawn, mode=mode, policy=policy)
    code = os.waitstatus_to_exitcode(os.waitpid(started.pid, 0)[1])
    started.close()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
