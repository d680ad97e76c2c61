"""The filter, run by an interpreter of classic BPF: numbers and arguments in, verdict out, for both architectures."""

import errno
import re
import struct
from pathlib import Path

import pytest

from eve_mocks.contain import filter as bpf
from eve_mocks.contain.filter import ALLOW, ASK, FAIL, Mode
from eve_mocks.contain.machine import MACHINES

FETCH, GIVE = Mode.FETCH, Mode.GIVE
ARCHITECTURES = pytest.mark.parametrize("name", MACHINES)


def run(code: bytes, data: bytes) -> int:
    """Interpret a program, as net/core/filter.c would."""
    program = list(struct.iter_unpack("=HBBI", code))
    place = accumulator = 0
    while True:
        opcode, yes, no, value = program[place]
        place += 1
        match opcode:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, value)
            case 0x54:
                accumulator &= value
            case 0x06:
                return value
            case 0x15:
                place += yes if accumulator == value else no
            case 0x35:
                place += yes if accumulator >= value else no
            case 0x45:
                place += yes if accumulator & value else no
            case _:
                raise AssertionError(f"opcode {opcode:#x}")


def verdict(machine, mode, number, arguments=(), audit=None):
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number, machine.audit if audit is None else audit, 0, *padded)
    return run(bpf.assemble(bpf.program(machine, mode)), data)


MISSING = FAIL | errno.ENOSYS
FORBIDDEN = FAIL | errno.EPERM
GARBAGE = 0xDEAD_BEEF << 32  # the high half of an int argument is whatever was in the register

CASES = {
    "connect": ("connect", (3, 0x1000, 16), ASK),
    "tcp socket": ("socket", (2, 1, 0), ALLOW),
    "tcp socket, flags": ("socket", (10, 1 | 0o2004000, 6), ALLOW),
    "tcp socket, garbage above": ("socket", (GARBAGE | 2, GARBAGE | 1, GARBAGE), ALLOW),
    "mptcp socket": ("socket", (2, 1, 262), ALLOW),
    "sctp socket": ("socket", (2, 1, 132), ASK),
    "udp socket": ("socket", (2, 2, 0), ASK),
    "raw socket": ("socket", (2, 3, 1), ASK),
    "unix socket": ("socket", (1, 1, 0), ALLOW),
    "unix datagram socket": ("socket", (1, 2, 0), ALLOW),
    "netlink socket": ("socket", (16, 3, 0), ALLOW),
    "packet socket": ("socket", (17, 3, 0), ASK),
    "vsock": ("socket", (40, 1, 0), ASK),
    "send": ("sendto", (3, 0x1000, 5, 0, 0, 0), ALLOW),
    "sendto an address": ("sendto", (3, 0x1000, 5, 0, 0x2000, 16), ASK),
    "sendto an address above 4 GiB": ("sendto", (3, 0x1000, 5, 0, 1 << 32, 16), ASK),
    "fast open": ("sendto", (3, 0x1000, 5, 0x20000000, 0x2000, 16), ASK),
    "fast open by sendmsg": ("sendmsg", (3, 0x1000, 0x20000040), ASK),
    "fast open by sendmmsg": ("sendmmsg", (3, 0x1000, 1, 0x20000000), ASK),
    "sendmsg": ("sendmsg", (3, 0x1000, 0), ASK),
    "sendmmsg": ("sendmmsg", (3, 0x1000, 2, 0), ASK),
    "recv": ("recvfrom", (3, 0x1000, 5, 0x20000000, 0, 0), ALLOW),
    "recvfrom": ("recvfrom", (3, 0x1000, 5, 0, 0x2000, 0x3000), ASK),
    "recvmsg": ("recvmsg", (3, 0x1000, 0), ASK),
    "bind to a device": ("setsockopt", (3, 1, 25), FORBIDDEN),
    "bind to a device by index": ("setsockopt", (3, 1, 62), FORBIDDEN),
    "unicast device": ("setsockopt", (3, 0, 50), FORBIDDEN),
    "unicast device, IPv6": ("setsockopt", (3, 41, 76), FORBIDDEN),
    "fast open at connect": ("setsockopt", (3, 6, 30), FORBIDDEN),
    "a connection made by hand": ("setsockopt", (3, 6, 19), FORBIDDEN),
    "source route": ("setsockopt", (3, 0, 4), FORBIDDEN),
    "routing header": ("setsockopt", (3, 41, 57), FORBIDDEN),
    "packet information for all that is sent": ("setsockopt", (3, 41, 50), FORBIDDEN),
    "old packet options": ("setsockopt", (3, 41, 6), FORBIDDEN),
    "join a group": ("setsockopt", (3, 0, 35), ASK),
    "join a group of a source": ("setsockopt", (3, 0, 46), ASK),
    "join a group, IPv6": ("setsockopt", (3, 41, 20), ASK),
    "join an anycast group": ("setsockopt", (3, 41, 27), ASK),
    "leave a group": ("setsockopt", (3, 0, 36), ALLOW),
    "time to live": ("setsockopt", (3, 0, 2), ALLOW),
    "IPv6 alone": ("setsockopt", (3, 41, 26), ALLOW),
    "reuse an address": ("setsockopt", (3, 1, 2), ALLOW),
    "no delay": ("setsockopt", (3, 6, 1), ALLOW),
    "other level": ("setsockopt", (3, 17, 25), ALLOW),
    "io_uring": ("io_uring_setup", (8, 0x1000), MISSING),
    "exit": ("exit_group", (0,), ALLOW),
}


@ARCHITECTURES
@pytest.mark.parametrize(("call", "arguments", "expected"), CASES.values(), ids=CASES)
def test_verdict(name, call, arguments, expected):
    machine = MACHINES[name]
    assert verdict(machine, FETCH, getattr(machine, call), arguments) == expected


@ARCHITECTURES
@pytest.mark.parametrize(
    ("call", "arguments"),
    [("socket", (2, 1, 0)), ("socket", (10, 1, 6)), ("bind", (3, 0x1000, 16)), ("listen", (3, 5))],
)
def test_where_sockets_are_given_their_life_is_followed(name, call, arguments):
    machine = MACHINES[name]
    number = getattr(machine, call)
    assert verdict(machine, FETCH, number, arguments) == ALLOW
    assert verdict(machine, GIVE, number, arguments) == ASK


@ARCHITECTURES
@pytest.mark.parametrize("mode", Mode)
def test_foreign_architectures_have_no_system_calls(name, mode):
    machine = MACHINES[name]
    # i386, arm, x86_64, aarch64
    for audit in {0x40000003, 0x40000028, 0xC000003E, 0xC00000B7} - {machine.audit, machine.narrow_audit}:
        assert verdict(machine, mode, machine.exit_group, audit=audit) == MISSING


@ARCHITECTURES
@pytest.mark.parametrize("mode", Mode)
def test_32_bit_programs_have_all_but_the_network(name, mode):
    machine = MACHINES[name]
    allowed = {n for n in range(512) if verdict(machine, mode, n, audit=machine.narrow_audit) == ALLOW}
    assert set(range(512)) - allowed == set(machine.narrow_network)


def test_the_x32_abi_has_no_system_calls():
    machine = MACHINES["x86_64"]
    assert verdict(machine, FETCH, 0x40000000 | machine.connect) == MISSING
    assert verdict(machine, FETCH, 0x40000000) == MISSING


@ARCHITECTURES
def test_the_probe_asks_at_exit_only(name):
    machine = MACHINES[name]
    code = bpf.assemble(bpf.asking_at_exit(machine))
    asked = [n for n in range(512) if run(code, struct.pack("=II56x", n, machine.audit)) == ASK]
    assert asked == [machine.exit_group]


HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "__NR_"),
    "aarch64": ("/usr/include/asm-generic/unistd.h", "__NR3264_|__NR_"),
}


@ARCHITECTURES
def test_numbers_are_those_of_the_kernel_headers(name):
    path, prefix = HEADERS[name]
    if not Path(path).exists():
        pytest.skip(f"no {path}")
    defined = dict(re.findall(rf"#define (?:{prefix})(\w+)\s+(\d+)", Path(path).read_text()))
    machine = MACHINES[name]
    calls = [field for field in machine._fields if field not in ("audit", "has_x32", "narrow_audit", "narrow_network")]
    assert {call: getattr(machine, call) for call in calls} == {call: int(defined[call]) for call in calls}


def test_numbers_of_32_bit_programs_are_those_of_the_kernel_headers():
    path = Path("/usr/include/x86_64-linux-gnu/asm/unistd_32.h")
    if not path.exists():
        pytest.skip(f"no {path}")
    defined = dict(re.findall(r"#define __NR_(\w+) (\d+)", path.read_text()))
    calls = (
        *("socketcall", "socket", "connect", "sendto", "sendmsg", "sendmmsg"),
        *("io_uring_setup", "io_uring_enter", "io_uring_register", "pidfd_getfd"),
    )
    assert MACHINES["x86_64"].narrow_network == tuple(int(defined[call]) for call in calls)
