"""What differs between the processor architectures, as data: audit names and system call numbers.

The numbers are part of the kernel's stable interface (``asm/unistd_64.h`` and ``asm-generic/unistd.h``).
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

SINCE_5_1 = (425, 426, 427, 438)
"""io_uring_setup, io_uring_enter, io_uring_register, pidfd_getfd: numbers since Linux 5.1 are the same everywhere."""


class Machine(NamedTuple):
    """One architecture: its AUDIT_ARCH value, and the calls that the filter or the supervisor name."""

    audit: int
    narrow_audit: int
    """AUDIT_ARCH of the 32-bit programs that it runs."""
    narrow_network: tuple[int, ...]
    """Their calls that reach a network: socketcall, socket, connect, sendto, sendmsg, sendmmsg, and the four below."""
    has_x32: bool
    """Whether a second ABI hides in the same AUDIT_ARCH, told apart by bit 30 of the number."""
    connect: int
    socket: int
    sendto: int
    sendmsg: int
    sendmmsg: int
    recvfrom: int
    recvmsg: int
    bind: int
    listen: int
    setsockopt: int
    exit_group: int
    seccomp: int
    io_uring_setup: int = SINCE_5_1[0]
    io_uring_enter: int = SINCE_5_1[1]
    io_uring_register: int = SINCE_5_1[2]
    pidfd_getfd: int = SINCE_5_1[3]


MACHINES = {
    "x86_64": Machine(
        audit=0xC000003E,
        narrow_audit=0x40000003,
        narrow_network=(102, 359, 362, 369, 370, 345, *SINCE_5_1),
        has_x32=True,
        connect=42,
        socket=41,
        sendto=44,
        sendmsg=46,
        sendmmsg=307,
        recvfrom=45,
        recvmsg=47,
        bind=49,
        listen=50,
        setsockopt=54,
        exit_group=231,
        seccomp=317,
    ),
    "aarch64": Machine(
        audit=0xC00000B7,
        narrow_audit=0x40000028,
        narrow_network=(102, 281, 283, 290, 296, 374, *SINCE_5_1),
        has_x32=False,
        connect=203,
        socket=198,
        sendto=206,
        sendmsg=211,
        sendmmsg=269,
        recvfrom=207,
        recvmsg=212,
        bind=200,
        listen=201,
        setsockopt=208,
        exit_group=94,
        seccomp=277,
    ),
}


def this_machine() -> Machine | None:
    """The machine this interpreter runs on; None for one without a table, and for a 32-bit interpreter."""
    return MACHINES.get(os.uname().machine) if sys.maxsize > 2**32 else None
