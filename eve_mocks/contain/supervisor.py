"""Decides what becomes of each call that the filter asks about.

Connections to loopback and Unix sockets run as they are. Any other TCP connection is made toward the proxy, on the
program's own open socket, and announced before the program learns of it. Everything else that could leave is
refused. Where anything goes wrong here, the call fails: there is no way from a mistake to the network.

A program that changes the memory behind a pointer while its call is judged can slip through (seccomp_unotify(2)).
This guards against mistakes, not against attackers.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
from typing import TYPE_CHECKING

from eve_mocks.contain import filter as bpf
from eve_mocks.contain.address import DNS_PORT, Internet, internet, is_name_service
from eve_mocks.contain.datagrams import Datagrams
from eve_mocks.contain.processes import Processes
from eve_mocks.contain.question import Answer, Question, Verdict
from eve_mocks.contain.recent import Recent
from eve_mocks.contain.seccomp import Notification, read_memory
from eve_mocks.contain.sockets import connect, inode, is_in_our_network, only_v6, sockets
from eve_mocks.records import Redirect, Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from eve_mocks.contain.machine import Machine
    from eve_mocks.contain.policy import Policy
    from eve_mocks.contain.responder import Responder
    from eve_mocks.contain.seccomp import Listener

THREADS = 4

_ICMP = (1, 58)
_LARGEST_ERRNO = 4096
_NOWHERE = Internet("", 0)
_FAMILIES = {17: "packet", 31: "bluetooth", 40: "vsock"}


class Supervisor:
    """Answers the questions of one listener."""

    def __init__(
        self, listener: Listener, machine: Machine, mode: bpf.Mode, policy: Policy, responder: Responder
    ) -> None:
        self._listener = listener
        self._policy = policy
        self._known = Internet(*policy.known)
        self._responder = responder
        self._sockets = sockets(mode, listener)
        self._processes = Processes()
        self._told: Recent[tuple[str, str, Internet], bool] = Recent(4096)
        self._announced: Recent[int, tuple[tuple[str, int], Internet]] = Recent(65536)
        datagrams = Datagrams(self._sockets, responder, self._refuse_once)
        self._datagrams = datagrams
        self._calls: dict[int, Callable[[Question], Answer]] = {
            machine.connect: self._connect,
            machine.socket: self._socket,
            machine.setsockopt: self._join,
            machine.sendto: datagrams.sendto,
            machine.sendmsg: datagrams.sendmsg,
            machine.sendmmsg: datagrams.sendmmsg,
            machine.recvfrom: datagrams.recvfrom,
            machine.recvmsg: datagrams.recvmsg,
            machine.bind: self._bind,
            machine.listen: self._listen,
        }

    def start(self) -> None:
        for number in range(THREADS):
            threading.Thread(target=self._serve, name=f"contain-{number}", daemon=True).start()

    def _serve(self) -> None:
        notification = Notification()
        while True:
            try:
                self._listener.receive(notification)
            except OSError as error:
                # ENOENT: who asked is gone, or (since 6.11) all are.
                if error.errno == errno.EINTR or (error.errno == errno.ENOENT and not self._listener.is_over()):
                    continue
                return
            data = notification.data
            place, arguments = data.instruction_pointer, tuple(data.arguments)
            question = Question(notification.id, notification.thread, data.number, place, arguments)
            answer = self._answer(question)
            if answer is Verdict.PROCEED:
                self._listener.proceed(question.id)
            else:
                self._listener.answer(question.id, answer)

    def _answer(self, question: Question) -> Answer:
        """Any mistake of ours, or of whom we tell, must fail the call, and only this call."""
        try:
            return self._judge(question)
        except OSError as error:
            return -error.errno if error.errno and 0 < error.errno < _LARGEST_ERRNO else -errno.EPERM
        except Exception:  # noqa: BLE001 - see above
            return -errno.EPERM

    def _judge(self, question: Question) -> Answer:
        try:
            return self._calls[question.number](question)
        except PermissionError:
            self._refuse_once(question, "unknown", _NOWHERE, "the program does not let its memory and files be read")
            raise
        except OSError:  # the program is gone, or gave a bad pointer, or too many files are open
            raise
        except Exception as error:
            self._refuse_once(question, "unknown", _NOWHERE, f"eve-mocks failed: {error!r}")
            raise

    # TCP

    def _connect(self, question: Question) -> Answer:
        _, address, length, *_ = question.arguments
        sockaddr = read_memory(question.thread, address, min(length & 0xFFFFFFFF, 128))
        destination = internet(sockaddr)
        if destination is None:
            return self._connect_elsewhere(question, sockaddr)
        if destination.is_native and destination != self._known:
            self._sockets.release(question)
            return Verdict.PROCEED
        sock = self._sockets.borrow(question)
        if sock is None:
            return Verdict.PROCEED if destination.is_native else self._connect_again(question, destination)
        with sock:
            if sock.type is socket.SOCK_DGRAM:
                if destination.is_native:
                    return Verdict.PROCEED
                return self._datagrams.connect(question, sock, sockaddr, destination)
            answer = self._connect_stream(question, sock, destination)
            self._sockets.forget(os.fstat(sock.fileno()).st_ino)
            return answer

    def _connect_again(self, question: Question, destination: Internet) -> Answer:
        """A socket that is out of reach was connected before, or never was ours to connect."""
        number = inode(question)
        if number is None:
            return -errno.ENOTSOCK
        if self._announced.get(number) is not None:
            return -self._as_if_first(errno.EISCONN)
        self._refuse_once(question, "unknown", destination, "the socket was not made under this run's eyes")
        return -errno.ENETUNREACH

    def _as_if_first(self, error: int) -> int:
        """What connect said; what it said at first, if this may be the repetition of a call that a signal broke."""
        first = {errno.EISCONN: 0, errno.EALREADY: errno.EINPROGRESS} if self._listener.is_interruptible else {}
        return first.get(error, error)

    def _connect_elsewhere(self, question: Question, sockaddr: bytes) -> Answer:
        if is_name_service(sockaddr):
            return -errno.ECONNREFUSED
        if sockaddr[:2] == b"\0\0":  # AF_UNSPEC disconnects; what follows is another connection
            self._announced.pop(inode(question) or 0)
        return Verdict.PROCEED

    def _connect_stream(self, question: Question, sock: socket.socket, destination: Internet) -> Answer:
        v6 = only_v6(sock)
        if destination.port == DNS_PORT:
            server = self._responder.address(socket.SOCK_STREAM, only_v6=v6)
            return -connect(sock, server) if server else -errno.ENETUNREACH
        host = self._responder.names.host(destination.host)
        target = self._policy.proxy6 if v6 else self._policy.proxy4
        if self._policy.refuses(host, destination.port):
            self._refuse(question, "tcp", destination, "the server speaks first on this port")
            return -errno.ECONNREFUSED
        if target is None:
            self._refuse(question, "tcp", destination, "the proxy cannot be reached over IPv6")
            return -errno.ENETUNREACH
        number = os.fstat(sock.fileno()).st_ino
        error = self._as_if_first(connect(sock, target))
        if error in (errno.ECONNREFUSED, errno.ENETUNREACH):
            self._refuse(question, "tcp", destination, "the proxy cannot be reached from there")
        if error in (0, errno.EINPROGRESS):
            source_host, source_port, *_ = sock.getsockname()
            source = (source_host.removeprefix("::ffff:"), source_port)
            # A program may call connect again, to learn what became of a connection.
            if self._announced.put(number, (source, destination)) != (source, destination):
                process = self._processes.of(question)
                self._policy.on_redirect(Redirect(source, host, destination.port, process))
        return -error

    # Sockets

    def _socket(self, question: Question) -> Answer:
        family, kind, protocol = (value & 0xFFFFFFFF for value in question.arguments[:3])
        bare = kind & bpf.SOCK_TYPE_MASK
        if family not in (socket.AF_INET, socket.AF_INET6):
            name = _FAMILIES.get(family, f"address family {family}")
            return self._refuse_socket(question, name, errno.EPERM if family == 17 else errno.EAFNOSUPPORT)
        if bare in (socket.SOCK_STREAM, socket.SOCK_DGRAM) and not is_in_our_network(question):
            return Verdict.PROCEED  # one that is made here would reach this network's loopback
        if bare == socket.SOCK_STREAM and protocol in (0, bpf.IPPROTO_TCP, bpf.IPPROTO_MPTCP):
            return self._sockets.make(question, family, kind, protocol)
        if bare == socket.SOCK_DGRAM and protocol in (0, socket.IPPROTO_UDP):
            return self._sockets.make(question, family, kind, protocol)
        if bare == socket.SOCK_DGRAM and protocol in _ICMP:
            return self._refuse_socket(question, "icmp", errno.EACCES)
        if bare == socket.SOCK_RAW:
            return self._refuse_socket(question, "icmp" if protocol in _ICMP else "raw", errno.EPERM)
        return self._refuse_socket(question, f"IP protocol {protocol}", errno.EPROTONOSUPPORT)

    def _join(self, question: Question) -> Answer:
        return self._refuse_socket(question, "multicast", errno.ENODEV, "the kernel would tell the network who listens")

    def _bind(self, question: Question) -> Answer:
        """A port that a program chose must be free again as soon as its socket is closed."""
        _, address, length, *_ = question.arguments
        wanted = internet(read_memory(question.thread, address, min(length & 0xFFFFFFFF, 128)))
        if wanted is not None and wanted.port:
            self._sockets.release(question)
            self._sockets.vacate(wanted.port)
        return Verdict.PROCEED

    def _listen(self, question: Question) -> Answer:
        self._sockets.release(question)
        return Verdict.PROCEED

    # What is told

    def _refuse(self, question: Question, protocol: str, destination: Internet, reason: str) -> None:
        process = self._processes.of(question)
        host = self._responder.names.host(destination.host)
        self._policy.on_refused(Refused(protocol, host, destination.port, process, reason))

    def _refuse_once(self, question: Question, protocol: str, destination: Internet, reason: str) -> None:
        """As :meth:`_refuse`, once for each program and target."""
        program = self._processes.of(question).program
        if not self._told.put((program, protocol, destination), value=True):
            self._refuse(question, protocol, destination, reason)

    def _refuse_socket(
        self, question: Question, protocol: str, error: int, why: str = "no socket of this kind may be made"
    ) -> int:
        self._refuse_once(question, protocol, _NOWHERE, why)
        return -error
