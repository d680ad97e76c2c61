"""Attempts to leave, in a network namespace whose one way out is a device that a recorder watches.

Each attempt is made twice. Without containment its packets are seen outside, so the recorder would see a leak;
contained, none is.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import containment
import pytest

CAN_MAKE_NAMESPACES = sys.platform == "linux" and os.geteuid() == 0 and shutil.which("ip") is not None
pytestmark = pytest.mark.skipif(not CAN_MAKE_NAMESPACES, reason="needs root and iproute2")
RECORDER = Path(__file__).with_name("recorder.py")

SETUP = """
    netns add {inside}
    netns add {outside}
    link add {device} netns {inside} type veth peer name {device} netns {outside}
    -n {inside} link set lo up
    -n {inside} link set {device} address 02:00:00:00:00:01
    -n {outside} link set {device} address 02:00:00:00:00:02
    -n {inside} link set {device} up
    -n {outside} link set {device} up
    -n {inside} address add 10.77.0.1/24 dev {device}
    -n {inside} address add fd77::1/64 dev {device} nodad
    -n {inside} neighbour add 10.77.0.2 lladdr 02:00:00:00:00:02 dev {device} nud permanent
    -n {inside} neighbour add fd77::2 lladdr 02:00:00:00:00:02 dev {device} nud permanent
    -n {inside} route add default via 10.77.0.2
    -n {inside} route add default via fd77::2
"""


class World:
    """A namespace to run commands in, and what was seen outside of it."""

    def __init__(self, inside: str, recorder: subprocess.Popen) -> None:
        self.prefix = ["ip", "netns", "exec", inside]
        self.recorder = recorder

    def seen(self) -> list[str]:
        self.recorder.stdin.write("\n")
        self.recorder.stdin.flush()
        return json.loads(self.recorder.stdout.readline())


def ip(line: str) -> None:
    subprocess.run(["ip", *line.split()], check=True, timeout=10)


@pytest.fixture(scope="module")
def world():
    names = {"inside": f"em-in-{os.getpid()}", "outside": f"em-out-{os.getpid()}", "device": "em0"}
    try:
        for line in SETUP.strip().splitlines():
            ip(line.format(**names))
        command = ["ip", "netns", "exec", names["outside"], sys.executable, str(RECORDER), names["device"]]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recorder:
            world = World(names["inside"], recorder)
            world.seen()
            yield world
            recorder.stdin.close()
    finally:
        for name in ("inside", "outside"):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip(f"netns delete {names[name]}")


PRELUDE = """
import os, struct, sys
from socket import *
setdefaulttimeout(0.3)
Q = b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\6canary\\7example\\0\\0\\1\\0\\1"
UDP, UDP6 = lambda: socket(AF_INET, SOCK_DGRAM), lambda: socket(AF_INET6, SOCK_DGRAM)
"""
FORK = "if os.fork() == 0:\n    {}\n    os._exit(0)\nos.wait()"
ATTEMPTS = {
    "tcp": "socket().connect(('203.0.113.9', 443))",
    "tcp to a port nobody lists": "socket().connect(('203.0.113.9', 48123))",
    "tcp, server first": "socket().connect(('203.0.113.9', 22))",
    "tcp over IPv6": "socket(AF_INET6).connect(('2001:db8::9', 443))",
    "tcp, mapped": "socket(AF_INET6).connect(('::ffff:203.0.113.9', 443))",
    "tcp on the next network": "socket().connect(('10.77.0.2', 80))",
    "mptcp": "socket(AF_INET, SOCK_STREAM, 262).connect(('203.0.113.9', 443))",
    "metadata service": "import urllib.request as u; u.urlopen(u.Request('http://169.254.169.254/latest/api/token',"
    " method='PUT'), timeout=0.3)",
    "udp": "UDP().sendto(b'x', ('203.0.113.9', 9))",
    "udp, connected": "s = UDP(); s.connect(('203.0.113.9', 9)); s.send(b'x')",
    "udp over IPv6": "UDP6().sendto(b'x', ('2001:db8::9', 9))",
    "udp, mapped": "UDP6().sendto(b'x', ('::ffff:203.0.113.9', 9))",
    "udp to a multicast group": "UDP().sendto(b'x', ('224.0.0.251', 5353))",
    "udp to everyone": "s = UDP(); s.setsockopt(SOL_SOCKET, SO_BROADCAST, 1); s.sendto(b'x', ('10.77.0.255', 9))",
    "quic": "UDP().sendmsg([bytes([0xc0, 0, 0, 0, 1]) + bytes(1195)], [], 0, ('203.0.113.9', 443))",
    "dns": "UDP().sendto(Q, ('8.8.8.8', 53)); sys.exit(1)",
    "dns, connected": "s = UDP(); s.connect(('8.8.8.8', 53)); s.send(Q); sys.exit(1)",
    "dns over IPv6": "UDP6().sendto(Q, ('2001:4860:4860::8888', 53)); sys.exit(1)",
    "dns over tcp": "s = socket(); s.connect(('8.8.8.8', 53)); s.sendall(Q); sys.exit(1)",
    "sendmsg with a device": "UDP().sendmsg([b'x'], [(0, 8, struct.pack('=i8x', if_nametoindex('em0')))], 0,"
    " ('203.0.113.9', 9))",
    "sendmsg with a device over IPv6": "UDP6().sendmsg([b'x'], [(41, 50, struct.pack('=16xi', if_nametoindex('em0')))],"
    " 0, ('2001:db8::9', 9))",
    "dns with a device": "UDP().sendmsg([Q], [(0, 8, struct.pack('=i8x', if_nametoindex('em0')))], 0, ('8.8.8.8', 53))",
    "a device for the socket": "s = UDP(); s.setsockopt(SOL_SOCKET, 25, b'em0'); s.sendto(b'x', ('203.0.113.9', 9))",
    "fast open": "socket().sendto(b'x', MSG_FASTOPEN, ('203.0.113.9', 443))",
    "fast open at connect": "s = socket(); s.setsockopt(6, 30, 1); s.connect(('203.0.113.9', 443)); s.send(b'x')",
    "raw": "socket(AF_INET, SOCK_RAW, 253).sendto(b'x', ('203.0.113.9', 0))",
    "ping": "socket(AF_INET, SOCK_RAW, 1).sendto(bytes([8, 0, 247, 255, 0, 0, 0, 0]), ('203.0.113.9', 0))",
    "ping over IPv6": "socket(AF_INET6, SOCK_RAW, 58).sendto(bytes([128, 0, 0, 0, 0, 0, 0, 0]), ('2001:db8::9', 0))",
    "packet": "s = socket(AF_PACKET, SOCK_RAW); s.bind(('em0', 0)); s.send(bytes(12) + b'\\x88\\xb5' + bytes(50))",
    "sctp": "socket(AF_INET, SOCK_SEQPACKET, 132).connect(('203.0.113.9', 9))",
    "a grandchild": FORK.format(FORK.format("socket().connect(('203.0.113.9', 443))").replace("\n", "\n    ")),
    "a session of its own": FORK.format("os.setsid(); UDP().sendto(b'x', ('203.0.113.9', 9))"),
    "a descriptor from before": FORK.format("s = UDP(); t = s.dup(); s.close(); t.sendto(b'x', ('203.0.113.9', 9))"),
}
NEEDS_MODULE = {"sctp"}
SILENT = {"a device for the socket", "fast open", "fast open at connect"}
ANSWERED_HERE = {"dns", "dns, connected", "dns over IPv6", "dns over tcp"}


def attempt(code):
    return [sys.executable, "-c", PRELUDE + code]


def run_bare(world, command):
    subprocess.run([*world.prefix, *command], capture_output=True, timeout=20, check=False)


@pytest.mark.parametrize("name", [name for name in ATTEMPTS if name not in NEEDS_MODULE])
def test_the_recorder_sees_what_leaves(world, name):
    world.seen()
    run_bare(world, attempt(ATTEMPTS[name]))
    assert world.seen() != []


@pytest.mark.parametrize("mode", ["fetch", "give"])
@pytest.mark.parametrize("name", ATTEMPTS)
def test_nothing_leaves(world, tmp_path, name, mode):
    world.seen()
    begun = time.monotonic()
    done = contained(world, tmp_path, attempt(ATTEMPTS[name]), "--mode", mode)
    took = time.monotonic() - begun
    assert world.seen() == []
    assert took < 2 + 1  # the interpreters' own start is in it
    told = done.redirects or done.refused
    assert bool(told) is (name not in SILENT | ANSWERED_HERE), done


def contained(world, folder, command, *options):
    """As containment.contained, in the namespace."""
    return containment.contained(folder, command, *options, prefix=world.prefix)


TOLD = {
    "http://169.254.169.254/latest/api/token",
    "socket://icmp/",
    "socket://ip-protocol-132/",
    "socket://packet/",
    "socket://raw/",
    "tcp://10.77.0.2:80/",
    "tcp://203.0.113.9:22/",
    "tcp://203.0.113.9:443/",
    "tcp://203.0.113.9:48123/",
    "tcp://[2001:db8::9]:443/",
    "udp://10.77.0.255:9/",
    "udp://203.0.113.9:443/",
    "udp://203.0.113.9:9/",
    "udp://224.0.0.251:5353/",
    "udp://8.8.8.8:53/",
    "udp://[2001:db8::9]:9/",
}


@pytest.mark.parametrize("contain", ["require", "off"])
def test_a_whole_run(world, project, contain):
    """Nothing leaves, and each attempt is in the log; without containment the same command leaks."""
    names = [name for name in ATTEMPTS if name not in NEEDS_MODULE or contain == "require"]
    project.file("attempts.json", json.dumps([PRELUDE + ATTEMPTS[name] for name in names]))
    project.file(
        "all.py",
        """
        import json, subprocess, sys
        for script in json.load(open("attempts.json")):
            subprocess.run([sys.executable, "-c", script], stderr=subprocess.DEVNULL, timeout=10)
        """,
    )
    world.seen()
    command = ["run", "--contain", contain, "--", sys.executable, "all.py"]
    done = project.eve_mocks(*command, prefix=world.prefix, timeout=120)
    if contain == "off":
        assert world.seen() != []
        assert "not contained" in done.stderr
    else:
        assert world.seen() == []
        assert {call["url"] for call in project.calls()} == TOLD
        assert {call["outcome"] for call in project.calls()} == {"blocked"}
        assert all(call["pid"] for call in project.calls())
        assert done.returncode == 1


PROGRAMS = {
    "curl": ["curl", "-s", "-m", "1", "http://203.0.113.9:48123/"],
    "curl in an empty environment": [
        "env",
        "-i",
        "setsid",
        "-w",
        "/usr/bin/curl",
        "-s",
        "-m",
        "1",
        "http://203.0.113.9/",
    ],
    "curl, looking up": ["curl", "-s", "-m", "1", "http://canary.example/"],
    "ping": ["ping", "-c", "1", "-W", "1", "203.0.113.9"],
    "ssh": ["ssh", "-o", "ConnectTimeout=1", "203.0.113.9"],
    "git": ["git", "ls-remote", "git://203.0.113.9/x"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_leaves_from_a_program(world, tmp_path, name):
    command = PROGRAMS[name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    world.seen()
    done = contained(world, tmp_path, command)
    assert world.seen() == []
    assert done.redirects or done.refused


def test_a_child_in_a_namespace_of_its_own(world, tmp_path):
    code = "socket().connect(('203.0.113.9', 443))"
    world.seen()
    done = contained(world, tmp_path, ["unshare", "-n", *attempt(code)], "--mode", "fetch")
    assert world.seen() == []
    assert done.refusals == [("tcp", "203.0.113.9", 443)]


RING = r"""
    #include <arpa/inet.h>
    #include <linux/io_uring.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/socket.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    int main(void) {
      struct io_uring_params p;
      memset(&p, 0, sizeof p);
      int ring = syscall(SYS_io_uring_setup, 1, &p);
      if (ring < 0) return 1;
      char *sq = mmap(0, p.sq_off.array + 64, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
      struct io_uring_sqe *e = mmap(0, sizeof *e, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
      struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(443)};
      inet_pton(AF_INET, "203.0.113.9", &to.sin_addr);
      memset(e, 0, sizeof *e);
      e->opcode = IORING_OP_CONNECT;
      e->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      e->addr = (unsigned long)&to;
      e->off = sizeof to;
      *(unsigned *)(sq + p.sq_off.array) = 0;
      __atomic_store_n((unsigned *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
      return syscall(SYS_io_uring_enter, ring, 1, 0, 0, 0, 0) < 0;
    }
"""


def test_io_uring(world, tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    (tmp_path / "ring.c").write_text(textwrap.dedent(RING))
    subprocess.run(["gcc", "-o", tmp_path / "ring", tmp_path / "ring.c"], check=True, timeout=60)
    world.seen()
    bare = subprocess.run([*world.prefix, tmp_path / "ring"], check=False, timeout=10)
    if bare.returncode != 0:
        pytest.skip("io_uring is switched off")
    assert world.seen() != []
    assert contained(world, tmp_path, [str(tmp_path / "ring")]).code == 1
    assert world.seen() == []
