"""``struct msghdr`` of another process, as sendmsg(2), sendmmsg(2) and recvmsg(2) take it (64-bit layout)."""

from __future__ import annotations

import errno
import socket
import struct
from typing import TYPE_CHECKING, NamedTuple, Self

from eve_mocks.contain.seccomp import read_memory, write_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 56
STRIDE = 64
"""The distance of two in a ``struct mmsghdr`` array; the length of what was sent stands after each."""

_LAYOUT = struct.Struct("=QI4xQQQQi4x")
_NAME_LENGTH_AT, _CONTROL_LENGTH_AT = 8, 40
_SPAN = struct.Struct("=QQ")
_CONTROL = struct.Struct("=Qii")
_MOST_SPANS = 1024  # UIO_MAXIOV
_MOST_CONTROL = 4096
_LONGEST_DATAGRAM = 65535

IPPROTO_IP, IPPROTO_IPV6 = 0, 41
# By level and type, where the index of a device stands: IP_PKTINFO, IPV6_PKTINFO, IPV6_2292PKTINFO.
_DEVICE_AT = {(IPPROTO_IP, 8): 0, (IPPROTO_IPV6, 50): 16, (IPPROTO_IPV6, 2): 16}
_HARMLESS = {
    IPPROTO_IP: (1, 2, 52),  # IP_TOS, IP_TTL, IP_PROTOCOL
    IPPROTO_IPV6: (8, 11, 52, 62, 67),  # 2292HOPLIMIT, FLOWINFO, HOPLIMIT, DONTFRAG, TCLASS
}
"""By level, the types that say nothing of the way. The others may: routing headers, source routes."""


class Message(NamedTuple):
    """Where the parts of a message lie in the memory of ``thread``."""

    thread: int
    address: int
    name: int
    name_length: int
    spans: int
    span_count: int
    control: int
    control_length: int

    @classmethod
    def read(cls, thread: int, address: int) -> Self:
        return cls.unpack(thread, address, read_memory(thread, address, SIZE))

    @classmethod
    def unpack(cls, thread: int, address: int, header: bytes) -> Self:
        *fields, _flags = _LAYOUT.unpack(header)
        return cls(thread, address, *fields)

    def sockaddr(self) -> bytes:
        """The destination; empty if the socket's own is meant."""
        return read_memory(self.thread, self.name, min(self.name_length, 128)) if self.name else b""

    def data(self) -> bytes:
        """What is to be sent."""
        found = b""
        for base, length in self._spans():
            found += read_memory(self.thread, base, min(length, _LONGEST_DATAGRAM - len(found)))
        return found

    def chooses_its_way(self, loopback: int) -> bool:
        """Whether the message itself asks for a device other than ``loopback`` (its index), or for a route.

        Raises ``OSError`` for more control data than any program sends: what is not read is not sent.
        """
        if not (self.control and self.control_length):
            return False
        if self.control_length > _MOST_CONTROL:
            raise OSError(errno.ENOBUFS, "too much control data")
        control = read_memory(self.thread, self.control, self.control_length)
        place = 0
        while place + _CONTROL.size <= len(control):
            length, level, kind = _CONTROL.unpack_from(control, place)
            content = control[place + _CONTROL.size : place + length]
            if (level, kind) in _DEVICE_AT:
                at = _DEVICE_AT[level, kind]
                if int.from_bytes(content[at : at + 4], "little") not in (0, loopback):
                    return True
            elif level in _HARMLESS and kind not in _HARMLESS[level]:
                return True
            if length < _CONTROL.size:
                break
            place += (length + 7) & ~7
        return False

    def fill(self, data: bytes, source: bytes) -> int:
        """Write a received message; returns how much of it fitted."""
        rest = data
        for base, length in self._spans():
            part, rest = rest[:length], rest[length:]
            write_memory(self.thread, base, part)
        if self.name:
            write_memory(self.thread, self.name, source[: self.name_length])
            write_memory(self.thread, self.address + _NAME_LENGTH_AT, len(source).to_bytes(4, "little"))
        flags = socket.MSG_TRUNC if rest else 0
        write_memory(self.thread, self.address + _CONTROL_LENGTH_AT, struct.pack("=Qi", 0, flags))
        return len(data) - len(rest)

    def _spans(self) -> Iterator[tuple[int, int]]:
        count = min(self.span_count, _MOST_SPANS)
        return _SPAN.iter_unpack(read_memory(self.thread, self.spans, _SPAN.size * count))
