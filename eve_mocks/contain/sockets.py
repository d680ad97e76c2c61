"""The sockets of contained programs: made for them, and got hold of when they are to be connected.

Two ways, by :class:`~eve_mocks.contain.filter.Mode`, behind one interface.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from eve_mocks.contain import seccomp
from eve_mocks.contain.filter import Mode
from eve_mocks.contain.recent import Recent

if TYPE_CHECKING:
    from eve_mocks.contain.question import Question
    from eve_mocks.contain.seccomp import Listener


class Sockets(Protocol):
    """What the supervisor needs of a program's sockets."""

    def borrow(self, question: Question) -> socket.socket | None:
        """The open socket behind the question's descriptor, to be closed by the caller; None if out of reach."""

    def release(self, question: Question) -> None:
        """The question's socket goes its own way from here: hold nothing that would keep it open."""

    def forget(self, number: int) -> None:
        """As :meth:`release`, by inode: a descriptor may be another socket's once the question is answered."""

    def vacate(self, port: int) -> None:
        """A program wants this port: hold nothing that takes it."""

    def make(self, question: Question, family: int, kind: int, protocol: int) -> int:
        """A new socket; returns its descriptor in the asking process."""


def sockets(mode: Mode, listener: Listener) -> Sockets:
    return Fetched(listener) if mode is Mode.FETCH else Given(listener)


class Fetched:
    """Copies of the program's own descriptors."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def borrow(self, question: Question) -> socket.socket | None:
        fd = seccomp.fetch_file(question.thread, question.fd)
        if not self._listener.is_waiting(question.id):
            os.close(fd)
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        try:
            return socket.socket(fileno=fd)
        except OSError:  # not a socket; the kernel says so better
            os.close(fd)
            return None

    def release(self, question: Question) -> None:
        pass

    def forget(self, number: int) -> None:
        pass

    def vacate(self, port: int) -> None:
        pass

    def make(self, question: Question, family: int, kind: int, protocol: int) -> int:
        # Closed before the answer: the program may close its own at once and want the port again.
        with _socket(family, kind, protocol) as sock:
            return self._listener.put(question.id, sock.fileno(), close_on_exec=bool(kind & socket.SOCK_CLOEXEC))


class Given:
    """Sockets that the supervisor made, with a copy of each, found again by inode.

    A copy keeps a socket open and its port taken, so it is dropped as soon as it cannot be needed any more. Nobody
    tells when the program closes its own, so the number of copies is bounded, the oldest dropped. A socket without
    a copy cannot be redirected: it reaches nothing but loopback.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._copies: Recent[int, socket.socket] = Recent(min(2048, soft // 2), dropped=socket.socket.close)

    def borrow(self, question: Question) -> socket.socket | None:
        found = inode(question)
        fd = None if found is None else self._copies.use(found, lambda copy: os.dup(copy.fileno()))
        if not self._listener.is_waiting(question.id):
            if fd is not None:
                os.close(fd)
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        # Not copy.dup(): it would set the blocking mode, which the program's descriptor shares.
        return None if fd is None else socket.socket(fileno=fd)

    def release(self, question: Question) -> None:
        found = inode(question)
        if found is not None and self._listener.is_waiting(question.id):
            self.forget(found)

    def forget(self, number: int) -> None:
        copy = self._copies.pop(number)
        if copy is not None:
            copy.close()

    def vacate(self, port: int) -> None:
        # Such as the one a program bound, closed and hands on, to have found a free port.
        for copy in self._copies.take(lambda copy: copy.getsockname()[1] == port):
            copy.close()

    def make(self, question: Question, family: int, kind: int, protocol: int) -> int:
        sock = _socket(family, kind, protocol)
        number = os.fstat(sock.fileno()).st_ino
        self._copies.put(number, sock)
        try:
            return self._listener.put(question.id, sock.fileno(), close_on_exec=bool(kind & socket.SOCK_CLOEXEC))
        except OSError:
            self.forget(number)
            raise


def inode(question: Question) -> int | None:
    """The inode of the socket behind the question's descriptor; None if it is not a socket."""
    with contextlib.suppress(OSError):
        target = os.readlink(f"/proc/{question.thread}/fd/{question.fd}")  # noqa: PTH115 - on the path of every call
        if target.startswith("socket:["):
            return int(target[8:-1])
    return None


def is_in_our_network(question: Question) -> bool:
    """Whether the program sees the network that this process does (network_namespaces(7))."""
    try:
        return Path("/proc/self/ns/net").samefile(f"/proc/{question.thread}/ns/net")
    except OSError:  # one that cannot be looked into
        return True


def _socket(family: int, kind: int, protocol: int) -> socket.socket:
    sock = socket.socket(family, kind & ~socket.SOCK_CLOEXEC, protocol)
    if sock.type is socket.SOCK_DGRAM:
        # Whatever is sent through it later, it stays on this machine. Allowed to anyone since 5.7.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
    return sock


def only_v6(sock: socket.socket) -> bool:
    """Whether a socket can reach nothing but IPv6."""
    return sock.family == socket.AF_INET6 and bool(sock.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY))


def connect(sock: socket.socket, target: tuple[str, int]) -> int:
    """Connect to a loopback address; 0 or an errno. An IPv6 socket reaches IPv4 by the mapped address."""
    host, port = target
    mapped = sock.family == socket.AF_INET6 and ":" not in host
    return sock.connect_ex((f"::ffff:{host}" if mapped else host, port))
