"""Datagrams with an address: to loopback they go, questions of DNS are answered on the spot, the rest is refused.

A resolver that does not connect its socket (musl, c-ares) compares the answer's source with the server it asked.
So that server's address is remembered by socket and written in place of ours as the answer is received. Answers are
delivered before sendto(2) returns: a receiver that has to wait is not waiting for one of them.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING

from eve_mocks.contain import message
from eve_mocks.contain.address import DNS_PORT, Internet, internet
from eve_mocks.contain.message import Message
from eve_mocks.contain.question import Answer, Verdict
from eve_mocks.contain.recent import Recent
from eve_mocks.contain.seccomp import read_memory, write_memory
from eve_mocks.contain.sockets import connect, inode, only_v6

if TYPE_CHECKING:
    from collections.abc import Callable

    from eve_mocks.contain.question import Question
    from eve_mocks.contain.responder import Responder
    from eve_mocks.contain.sockets import Sockets

    type Refuse = Callable[[Question, str, Internet, str], None]

MSG_FASTOPEN = 0x20000000
_MOST_MESSAGES = 1024  # UIO_MAXIOV
_LONGEST = 65535
REASON = "no datagram leaves this machine"


class Datagrams:
    """Answers the calls that send and receive datagrams with addresses."""

    def __init__(self, sockets: Sockets, responder: Responder, refuse: Refuse) -> None:
        self._sockets = sockets
        self._responder = responder
        self._refuse = refuse
        self._servers: Recent[int, bytes] = Recent(4096)
        """By socket, the name server that the program believes it talks to."""
        self._loopback_device = socket.if_nametoindex("lo")

    def connect(self, question: Question, sock: socket.socket, sockaddr: bytes, destination: Internet) -> Answer:
        """A connected datagram socket has a name server at its other end, or loopback.

        Nothing can be sent to port 0: a connect to it asks for the route to an address, as resolvers do to put several
        in order (RFC 6724, section 2).
        """
        if destination.port == 0:
            return -errno.ENETUNREACH
        target = self._responder.address(socket.SOCK_DGRAM, only_v6=only_v6(sock))
        if destination.port != DNS_PORT or target is None:
            return self._refused(question, destination)
        self._servers.put(os.fstat(sock.fileno()).st_ino, sockaddr)
        return -connect(sock, target)

    def sendto(self, question: Question) -> Answer:
        _, buffer, size, flags, name, name_length = question.arguments
        sockaddr = read_memory(question.thread, name, min(name_length & 0xFFFFFFFF, 128))
        if flags & MSG_FASTOPEN:
            return self._fast_open(question, sockaddr)
        return self._send(question, sockaddr, lambda: read_memory(question.thread, buffer, min(size, _LONGEST)))

    def sendmsg(self, question: Question) -> Answer:
        _, header, flags, *_ = question.arguments
        wanted = Message.read(question.thread, header)
        return (
            self._fast_open(question, wanted.sockaddr())
            if flags & MSG_FASTOPEN
            else self._send_message(question, wanted)
        )

    def sendmmsg(self, question: Question) -> Answer:
        _, vector, count, flags, *_ = question.arguments
        if flags & MSG_FASTOPEN:
            return self._fast_open(question, Message.read(question.thread, vector).sockaddr())
        count = min(count & 0xFFFFFFFF, _MOST_MESSAGES)
        headers = read_memory(question.thread, vector, count * message.STRIDE)
        sent = 0
        for place in range(0, len(headers), message.STRIDE):
            header = headers[place : place + message.SIZE]
            answer = self._send_message(question, Message.unpack(question.thread, vector + place, header))
            if answer is Verdict.PROCEED and not sent:  # the kernel takes all of them, or none
                foreign = self._foreign(question, vector, headers)
                return Verdict.PROCEED if foreign is None else self._refused(question, foreign)
            if not isinstance(answer, int) or answer < 0:
                return sent or answer  # the program comes again for the rest
            length_at = vector + place + message.SIZE
            write_memory(question.thread, length_at, answer.to_bytes(4, "little"))
            sent += 1
        return sent

    def recvfrom(self, question: Question) -> Answer:
        _, buffer, size, flags, name, length_at = question.arguments

        def fill(data: bytes, server: bytes) -> int:
            write_memory(question.thread, buffer, data[:size])
            capacity = int.from_bytes(read_memory(question.thread, length_at, 4), "little")
            write_memory(question.thread, name, server[:capacity])
            write_memory(question.thread, length_at, len(server).to_bytes(4, "little"))
            return min(len(data), size)

        return self._receive(question, flags, fill)

    def recvmsg(self, question: Question) -> Answer:
        if not self._servers:
            return Verdict.PROCEED
        wanted = Message.read(question.thread, question.arguments[1])
        return self._receive(question, question.arguments[2], wanted.fill) if wanted.name else Verdict.PROCEED

    def _send_message(self, question: Question, wanted: Message) -> Answer:
        sockaddr = wanted.sockaddr()
        # IP_PKTINFO beats the device that the socket is tied to.
        if wanted.chooses_its_way(self._loopback_device):
            return self._refused(question, internet(sockaddr, sending=True) or Internet("", 0))
        return self._send(question, sockaddr, wanted.data)

    def _foreign(self, question: Question, vector: int, headers: bytes) -> Internet | None:
        """The first destination that is not for the kernel to send to."""
        for place in range(0, len(headers), message.STRIDE):
            wanted = Message.unpack(question.thread, vector + place, headers[place : place + message.SIZE])
            destination = internet(wanted.sockaddr(), sending=True) or Internet("127.0.0.1", 0)
            if not destination.is_native or wanted.chooses_its_way(self._loopback_device):
                return destination
        return None

    def _send(self, question: Question, sockaddr: bytes, data: Callable[[], bytes]) -> Answer:
        destination = internet(sockaddr, sending=True)
        if destination is None or destination.is_native:
            return Verdict.PROCEED
        sock = self._sockets.borrow(question)
        if sock is None:
            return self._refused(question, destination)
        with sock:
            if sock.type is not socket.SOCK_DGRAM:
                return Verdict.PROCEED  # a connected stream ignores the address
            if destination.port != DNS_PORT:
                return self._refused(question, destination)
            query = data()
            self._servers.put(os.fstat(sock.fileno()).st_ino, sockaddr)
            self._ask(sock, query)
            return len(query)

    def _ask(self, sock: socket.socket, query: bytes) -> None:
        """Put the answer to a question into the receive queue of the socket that asks."""
        if sock.getsockname()[1] == 0:
            sock.bind(("", 0))  # as sending would have
        host, port, *_ = sock.getsockname()
        host = host.removeprefix("::ffff:")
        is_v6 = only_v6(sock) or (":" in host and host != "::")
        if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound to
            host = "::1" if is_v6 else "127.0.0.1"
        self._responder.deliver(query, (host, port), only_v6=is_v6)

    def _receive(self, question: Question, flags: int, fill: Callable[[bytes, bytes], int]) -> Answer:
        number = inode(question) if self._servers and not flags & socket.MSG_ERRQUEUE else None
        server = None if number is None else self._servers.get(number)
        sock = None if server is None else self._sockets.borrow(question)
        if sock is None or server is None:
            return Verdict.PROCEED
        with sock:
            try:
                data, source = sock.recvfrom(_LONGEST, socket.MSG_DONTWAIT | socket.MSG_PEEK)
                if not self._responder.is_source(*source[:2]):
                    return Verdict.PROCEED
                if not flags & socket.MSG_PEEK:
                    data = sock.recv(_LONGEST, socket.MSG_DONTWAIT)
            except OSError:  # nothing there, or an error that waits to be told
                return Verdict.PROCEED
        fitted = fill(data, server)
        return len(data) if flags & socket.MSG_TRUNC else fitted

    def _fast_open(self, question: Question, sockaddr: bytes) -> int:
        """A connect in disguise, and its first bytes at once: a program that cannot have it connects as any other."""
        destination = internet(sockaddr)
        if destination is not None and not destination.is_native:
            self._refuse(question, "tcp-fast-open", destination, "nothing is sent before it is known to whom")
        return -errno.EOPNOTSUPP

    def _refused(self, question: Question, destination: Internet) -> int:
        self._refuse(question, "udp", destination, REASON)
        self._sockets.release(question)
        return -errno.ENETUNREACH
