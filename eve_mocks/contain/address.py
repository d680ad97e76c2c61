"""Socket addresses as they lie in a program's memory: read, judged. Pure."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

DNS_PORT = 53
_MAPPED = bytes(10) + b"\xff\xff"
"""How the IPv6 address of an IPv4 one begins (RFC 4291, 2.5.5.2)."""

_NAME_SERVICES = ("/nscd/socket", "/io.systemd.Resolve", "/avahi-daemon/socket")
"""Sockets of daemons that look names up outside: nscd, systemd-resolved, Avahi."""


class Internet(NamedTuple):
    """An internet address and port; an IPv4 address mapped into IPv6 counts as what it is."""

    host: str
    port: int

    @property
    def is_native(self) -> bool:
        """Whether the kernel may go there by itself: this machine, but not a name server on it."""
        return is_loopback(self.host) and self.port != DNS_PORT


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's alone; the unspecified one means loopback to connect(2)."""
    if host.startswith("127."):
        return True
    return host in ("::1", "0.0.0.0", "::")  # noqa: S104 - compared, not bound to


def internet(sockaddr: bytes, *, sending: bool = False) -> Internet | None:
    """The internet address of a ``struct sockaddr``; None for another family, and for what the kernel rejects.

    ``sending``: a datagram's AF_UNSPEC is AF_INET to the kernel (net/ipv4/udp.c), where connect(2) takes it as the
    wish to disconnect.
    """
    if len(sockaddr) < 16:
        return None
    (family,) = struct.unpack_from("=H", sockaddr)
    if family == socket.AF_INET or (sending and family == socket.AF_UNSPEC):
        return Internet(socket.inet_ntoa(sockaddr[4:8]), int.from_bytes(sockaddr[2:4]))
    if family == socket.AF_INET6 and len(sockaddr) >= 24:  # SIN6_LEN_RFC2133
        address = sockaddr[8:24]
        is_mapped = address.startswith(_MAPPED)
        host = socket.inet_ntoa(address[12:]) if is_mapped else socket.inet_ntop(socket.AF_INET6, address)
        return Internet(host, int.from_bytes(sockaddr[2:4]))
    return None


def is_name_service(sockaddr: bytes) -> bool:
    """Whether this is the Unix socket of a daemon that would look names up for the program."""
    (family,) = struct.unpack_from("=H", sockaddr.ljust(2, b"\0"))
    if family != socket.AF_UNIX:
        return False
    path = sockaddr[2:].split(b"\0", 1)[0].decode(errors="replace")
    return path.endswith(_NAME_SERVICES)
