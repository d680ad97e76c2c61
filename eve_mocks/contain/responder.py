"""The local name server: a loopback socket for each of UDP and TCP, IPv4 and IPv6, served by one thread."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from pathlib import Path

from eve_mocks.contain import dns

MOST_CONNECTIONS = 256
LONGEST_MESSAGE = 65535


class Responder:
    """Answers DNS questions. Bounded: so many connections, the oldest closed; half a question at most kept of each."""

    def __init__(self) -> None:
        self.names = dns.Names()
        try:
            self._suffixes = dns.search_suffixes(Path("/etc/resolv.conf").read_text(errors="replace"))
        except OSError:
            self._suffixes = ()
        self._datagrams = _bound(socket.SOCK_DGRAM)
        self._streams = _bound(socket.SOCK_STREAM)
        self._connections: dict[socket.socket, bytearray] = {}
        self._selector = selectors.DefaultSelector()
        for sock in self._datagrams.values():
            self._selector.register(sock, selectors.EVENT_READ, self._reply)
        for sock in self._streams.values():
            self._selector.register(sock, selectors.EVENT_READ, self._accept)
        self._closing, self._closer = socket.socketpair()
        self._selector.register(self._closing, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name="dns", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closer.close()
        self._thread.join()

    def address(self, kind: socket.SocketKind, *, only_v6: bool) -> tuple[str, int] | None:
        """Where it listens; None if an IPv6-only socket asks and the machine has no IPv6."""
        sockets = self._datagrams if kind is socket.SOCK_DGRAM else self._streams
        sock = sockets.get(socket.AF_INET6 if only_v6 else socket.AF_INET)
        return None if sock is None else sock.getsockname()[:2]

    def is_source(self, host: str, port: int) -> bool:
        """Whether a datagram from there is an answer of ours."""
        host = host.removeprefix("::ffff:")
        return any(sock.getsockname()[:2] == (host, port) for sock in self._datagrams.values())

    def answer(self, query: bytes) -> bytes | None:
        return dns.answer(query, self.names, self._suffixes)

    def deliver(self, query: bytes, client: tuple[str, int], *, only_v6: bool) -> None:
        """Answer a question that did not come through a socket of ours."""
        reply = self.answer(query)
        sock = self._datagrams.get(socket.AF_INET6 if only_v6 else socket.AF_INET)
        if reply is not None and sock is not None:
            with contextlib.suppress(OSError):
                sock.sendto(reply, client)

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return self._end()
                if isinstance(key.fileobj, socket.socket) and key.fileobj.fileno() >= 0:  # not dropped since
                    key.data(key.fileobj)

    def _reply(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            query, client = sock.recvfrom(LONGEST_MESSAGE)
            reply = self.answer(query)
            if reply is not None:
                sock.sendto(reply, client)

    def _accept(self, sock: socket.socket) -> None:
        if len(self._connections) == MOST_CONNECTIONS:
            self._drop(next(iter(self._connections)))
        try:
            connection, _ = sock.accept()
        except OSError:
            return
        connection.setblocking(False)
        self._connections[connection] = bytearray()
        self._selector.register(connection, selectors.EVENT_READ, self._read)

    def _read(self, connection: socket.socket) -> None:
        """RFC 7766, 8: each message has its length in two bytes before it."""
        pending = self._connections[connection]
        try:
            received = connection.recv(LONGEST_MESSAGE)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        pending += received
        is_open = bool(received)
        while is_open and len(pending) >= 2 and len(pending) >= (end := 2 + int.from_bytes(pending[:2])):
            is_open = _send(connection, self.answer(bytes(pending[2:end])))
            del pending[:end]
        if not is_open:
            self._drop(connection)

    def _drop(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        del self._connections[connection]
        connection.close()

    def _end(self) -> None:
        self._selector.close()
        for sock in (*self._connections, *self._datagrams.values(), *self._streams.values(), self._closing):
            sock.close()


def _send(connection: socket.socket, reply: bytes | None) -> bool:
    """Whether it went out whole. A client that does not read what it asked for asks again on a new connection."""
    if reply is None:
        return False
    try:
        return connection.send(len(reply).to_bytes(2) + reply) == 2 + len(reply)
    except OSError:
        return False


def _bound(kind: socket.SocketKind) -> dict[int, socket.socket]:
    sockets: dict[int, socket.socket] = {}
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        sock = socket.socket(family, kind)
        try:
            sock.bind((host, 0))
            if kind is socket.SOCK_STREAM:
                sock.listen(512)
        except OSError:
            sock.close()
            if family == socket.AF_INET:
                raise
            continue
        sock.setblocking(False)
        sockets[family] = sock
    return sockets
