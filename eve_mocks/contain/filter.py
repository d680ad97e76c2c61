"""The seccomp filter: which system calls run as they are, which fail, which the supervisor is asked about.

A classic BPF program over ``struct seccomp_data``, written as data and assembled by :func:`assemble`. Both
functions are pure. The filter sees numbers, never what a pointer points at: every call whose meaning hides behind
a pointer (``connect``, ``sendmsg``) has to be asked about, and calls that no program needs simply fail.
"""

from __future__ import annotations

import enum
import errno
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eve_mocks.contain.machine import Machine

# seccomp(2), "SECCOMP_RET_*".
ALLOW = 0x7FFF0000
ASK = 0x7FC00000
FAIL = 0x00050000

# Offsets in struct seccomp_data.
NUMBER, ARCH = 0, 4

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_ALG = 1, 2, 10, 16, 38
SOCK_TYPE_MASK, SOCK_STREAM = 0xF, 1
IPPROTO_IP, IPPROTO_TCP, IPPROTO_IPV6, IPPROTO_MPTCP = 0, 6, 41, 262
X32_SYSCALL_BIT = 0x40000000

FORBIDDEN_OPTIONS = {
    1: (25, 62),  # SOL_SOCKET: SO_BINDTODEVICE, SO_BINDTOIFINDEX
    IPPROTO_IP: (4, 50),  # IP_OPTIONS (source routes), IP_UNICAST_IF
    # IPV6_2292PKTOPTIONS, PKTINFO, HOPOPTS, RTHDRDSTOPTS, RTHDR, DSTOPTS (RFC 3542), IPV6_UNICAST_IF
    IPPROTO_IPV6: (6, 50, 54, 55, 57, 59, 76),
    IPPROTO_TCP: (19, 30),  # TCP_REPAIR; TCP_FASTOPEN_CONNECT: the address would travel with the first write
}
"""Options, by level, that choose the way of a packet, or the moment at which a connection is made."""

JOINING_OPTIONS = {
    IPPROTO_IP: (35, 39, 42, 46),  # IP_ADD_MEMBERSHIP, IP_ADD_SOURCE_MEMBERSHIP, MCAST_JOIN_GROUP and _SOURCE_GROUP
    IPPROTO_IPV6: (20, 27, 42, 46),  # IPV6_JOIN_GROUP, IPV6_JOIN_ANYCAST, and the same
}
"""Options, by level, that the kernel itself announces to the network (RFC 3376, RFC 3810)."""


class Mode(enum.Enum):
    """How the supervisor gets hold of a program's socket."""

    FETCH = "fetch"
    """It copies the descriptor out of the program (pidfd_getfd)."""
    GIVE = "give"
    """It makes every socket itself, keeps a copy and gives the program the other: where pidfd_getfd is denied."""


class Test(enum.IntEnum):
    """Opcodes of the conditional jumps (linux/bpf_common.h)."""

    EQUAL = 0x15
    AT_LEAST = 0x35
    ANY_BIT = 0x45


class Load(NamedTuple):
    """Load the 32-bit word at an offset of struct seccomp_data."""

    offset: int


class Mask(NamedTuple):
    """Keep only these bits of what is loaded."""

    bits: int


class Jump(NamedTuple):
    """Go on at a label if the test holds, at another if not; None is the next step."""

    test: Test
    value: int
    then: str | None = None
    otherwise: str | None = None


class Return(NamedTuple):
    """End with this verdict."""

    verdict: int


class Label(NamedTuple):
    """A place to jump to."""

    name: str


Step = Load | Mask | Jump | Return | Label


def argument(index: int, *, high: bool = False) -> Load:
    """Load the low (or high) half of an argument; both architectures are little-endian."""
    return Load(16 + 8 * index + (4 if high else 0))


def _equal(value: int, then: str | None = None, otherwise: str | None = None) -> Jump:
    return Jump(Test.EQUAL, value, then, otherwise)


def program(machine: Machine, mode: Mode) -> list[Step]:
    """The filter of contained programs."""
    gives = mode is Mode.GIVE
    calls = {
        machine.connect: "ask",
        machine.socket: "socket",
        machine.sendto: "addressed",
        machine.sendmsg: "ask",
        machine.sendmmsg: "ask",
        machine.recvfrom: "addressed",
        machine.recvmsg: "ask",
        machine.setsockopt: "setsockopt",
        machine.io_uring_setup: "missing",
        machine.io_uring_enter: "missing",
        machine.io_uring_register: "missing",
        # What is known of a given socket ends when it becomes a server's.
        **({machine.bind: "ask", machine.listen: "ask"} if gives else {}),
    }
    return [
        Load(ARCH),
        _equal(machine.audit, otherwise="32-bit"),
        Load(NUMBER),
        *([Jump(Test.AT_LEAST, X32_SYSCALL_BIT, "missing")] if machine.has_x32 else []),
        *(_equal(number, label) for number, label in calls.items()),
        Return(ALLOW),
        *_socket(gives=gives),
        *_addressed(),
        *_setsockopt(),
        *_narrow(machine),
        Label("ask"),
        Return(ASK),
        Label("allow"),
        Return(ALLOW),
        Label("missing"),
        Return(FAIL | errno.ENOSYS),
        Label("forbidden"),
        Return(FAIL | errno.EPERM),
    ]


def asking_at_exit(machine: Machine) -> list[Step]:
    """The filter of the probe: it asks once, at the call that every process makes."""
    return [
        Load(ARCH),
        _equal(machine.audit, otherwise="allow"),
        Load(NUMBER),
        _equal(machine.exit_group, otherwise="allow"),
        Return(ASK),
        Label("allow"),
        Return(ALLOW),
    ]


def _socket(*, gives: bool) -> list[Step]:
    """socket(domain, type, protocol): TCP is judged at connect; what can only be refused is asked about, to be told."""
    return [
        Label("socket"),
        argument(0),
        _equal(AF_UNIX, "allow"),
        _equal(AF_NETLINK, "allow"),
        _equal(AF_ALG, "allow"),
        _equal(AF_INET, "internet"),
        _equal(AF_INET6, "internet", "ask"),
        Label("internet"),
        argument(1),
        Mask(SOCK_TYPE_MASK),
        _equal(SOCK_STREAM, otherwise="ask"),
        argument(2),
        _equal(0, "stream"),
        _equal(IPPROTO_TCP, "stream"),
        _equal(IPPROTO_MPTCP, "stream", "ask"),
        Label("stream"),
        Return(ASK if gives else ALLOW),
    ]


def _addressed() -> list[Step]:
    """Sendto and recvfrom matter only where they name an address, their fifth argument."""
    return [
        Label("addressed"),
        argument(4),
        _equal(0, otherwise="ask"),
        argument(4, high=True),
        _equal(0, "allow", "ask"),
    ]


def _setsockopt() -> list[Step]:
    steps: list[Step] = [Label("setsockopt"), argument(1)]
    steps += [_equal(level, f"level {level}") for level in FORBIDDEN_OPTIONS]
    steps.append(Return(ALLOW))
    for level, options in FORBIDDEN_OPTIONS.items():
        steps += [Label(f"level {level}"), argument(2), *(_equal(option, "forbidden") for option in options)]
        steps += [_equal(option, "ask") for option in JOINING_OPTIONS.get(level, ())]
        steps.append(Return(ALLOW))
    return steps


def _narrow(machine: Machine) -> list[Step]:
    """A 32-bit program runs, without the calls that make sockets or use those that it was given."""
    return [
        Label("32-bit"),
        _equal(machine.narrow_audit, otherwise="missing"),
        Load(NUMBER),
        *(_equal(number, "missing") for number in machine.narrow_network),
        Return(ALLOW),
    ]


def assemble(steps: Sequence[Step]) -> bytes:
    """The program as an array of ``struct sock_filter``."""
    places: dict[str, int] = {}
    instructions: list[Load | Mask | Jump | Return] = []
    for step in steps:
        if isinstance(step, Label):
            places[step.name] = len(instructions)
        else:
            instructions.append(step)

    def encode(here: int, step: Load | Mask | Jump | Return) -> bytes:
        def distance(label: str | None) -> int:
            return 0 if label is None else places[label] - here - 1

        match step:
            case Load(offset):
                return struct.pack("=HBBI", 0x20, 0, 0, offset)  # BPF_LD | BPF_W | BPF_ABS
            case Mask(bits):
                return struct.pack("=HBBI", 0x54, 0, 0, bits)  # BPF_ALU | BPF_AND | BPF_K
            case Return(verdict):
                return struct.pack("=HBBI", 0x06, 0, 0, verdict)  # BPF_RET | BPF_K
            case Jump(test, value, then, otherwise):
                return struct.pack("=HBBI", test, distance(then), distance(otherwise), value)

    return b"".join(encode(here, step) for here, step in enumerate(instructions))
