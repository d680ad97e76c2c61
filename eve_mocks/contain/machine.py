"""What differs between the processor architectures, as data: audit names and system call numbers.

The numbers are part of the kernel's stable interface (``asm/unistd_64.h`` and ``asm-generic/unistd.h``).
"""

from __future__ import annotations

import dataclasses
import os
import sys


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """One architecture: its AUDIT_ARCH value, and the calls that the filter or the supervisor name."""

    audit: int
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
    # Numbers since 5.1 are the same everywhere.
    io_uring_setup: int = 425
    io_uring_enter: int = 426
    io_uring_register: int = 427
    pidfd_getfd: int = 438


MACHINES = {
    "x86_64": Machine(
        audit=0xC000003E,
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
