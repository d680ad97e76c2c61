"""Ways out of a machine that has the address 10.77.0.1 on a device ``em0``, as programs that take them, for the tests.

Each goes to a place of its own, so that what is seen and told can be told apart. ``PATIENCE`` in the environment is
how many seconds the scripts wait for an answer.
"""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

INTERPRETER = Path(sys.executable).resolve().name

PRELUDE = """
import contextlib, http.client, os, struct, sys
from socket import *
setdefaulttimeout(float(os.environ.get("PATIENCE", 10)))
Q = b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\6canary\\7example\\0\\0\\1\\0\\1"
UDP, UDP6 = lambda: socket(AF_INET, SOCK_DGRAM), lambda: socket(AF_INET6, SOCK_DGRAM)

def tcp(host, port, family=AF_INET, protocol=0, say=b"\\0"):
    with socket(family, SOCK_STREAM, protocol) as s:
        s.connect((host, port))
        s.sendall(say)
        assert s.recv(512)

def option(s, *option):
    with contextlib.suppress(OSError):  # as a program goes on without it
        s.setsockopt(*option)
    return s

def child(work):
    if os.fork() == 0:
        work()
        os._exit(0)
    assert os.wait()[1] == 0
"""


class Attempt(NamedTuple):
    """A program that ends with 0 where it was answered.

    ``leak`` is what is seen of it outside where nothing holds it; None where it does not get there anyway. ``url`` is
    what the report has of it; None where it is answered on this machine, and is none.
    """

    command: tuple[str, ...]
    leak: str | None
    url: str | None
    program: str
    is_of_a_child: bool = False
    """Whether not the process that is started makes it, but one that is started by that."""


def script(code: str, leak: str | None, url: str | None, *, is_of_a_child: bool = False) -> Attempt:
    return Attempt((sys.executable, "-c", PRELUDE + code), leak, url, INTERPRETER, is_of_a_child)


def python(code: str, kind: str, host: str = "203.0.113.9", port: int = 0, *, is_of_a_child: bool = False) -> Attempt:
    return script(code, f"{kind} {host}:{port}", f"{kind}://{host}:{port}/", is_of_a_child=is_of_a_child)


def curl(url: str, leak: str | None, *before: str) -> Attempt:
    path = shutil.which("curl") or "curl"
    return Attempt((*before, path, "-sf", "-m", "1", "--noproxy", "*", url), leak, url, "curl", bool(before))


ATTEMPTS: dict[str, Attempt] = {
    "tcp": python("tcp('203.0.113.9', 443)", "tcp", port=443),
    "tcp, silent": python("tcp('203.0.113.9', 1001, say=b'')", "tcp", port=1001),
    "tcp, server first": python("tcp('203.0.113.9', 22)", "tcp", port=22),
    "tcp over IPv6": python("tcp('2001:db8::9', 443, AF_INET6)", "tcp", "[2001:db8::9]", 443),
    "tcp, mapped": python("tcp('::ffff:203.0.113.9', 1002, AF_INET6)", "tcp", port=1002),
    "tcp on the next network": python("tcp('10.77.0.2', 80)", "tcp", "10.77.0.2", 80),
    "mptcp": python("tcp('203.0.113.9', 1003, protocol=262)", "tcp", port=1003),
    "metadata service": script(
        "c = http.client.HTTPConnection('169.254.169.254'); c.request('PUT', '/latest/api/token');"
        "assert c.getresponse().status == 200",
        "tcp 169.254.169.254:80",
        "http://169.254.169.254/latest/api/token",
    ),
    "udp": python("UDP().sendto(b'x', ('203.0.113.9', 2001))", "udp", port=2001),
    "udp, connected": python("s = UDP(); s.connect(('203.0.113.9', 2002)); s.send(b'x')", "udp", port=2002),
    "udp over IPv6": python("UDP6().sendto(b'x', ('2001:db8::9', 2001))", "udp", "[2001:db8::9]", 2001),
    "udp, mapped": python("UDP6().sendto(b'x', ('::ffff:203.0.113.9', 2003))", "udp", port=2003),
    "udp to a multicast group": python("UDP().sendto(b'x', ('224.0.0.251', 5353))", "udp", "224.0.0.251", 5353),
    "udp to everyone": python(
        "option(UDP(), SOL_SOCKET, SO_BROADCAST, 1).sendto(b'x', ('10.77.0.255', 9))", "udp", "10.77.0.255", 9
    ),
    "quic": python(
        "UDP().sendmsg([bytes([0xc0, 0, 0, 0, 1]) + bytes(1195)], [], 0, ('203.0.113.9', 443))", "udp", port=443
    ),
    "sendmsg with a device": python(
        "UDP().sendmsg([b'x'], [(0, 8, struct.pack('=i8x', if_nametoindex('em0')))], 0, ('203.0.113.9', 2004))",
        "udp",
        port=2004,
    ),
    "sendmsg with a device over IPv6": python(
        "UDP6().sendmsg([b'x'], [(41, 50, struct.pack('=16xi', if_nametoindex('em0')))], 0, ('2001:db8::9', 2002))",
        "udp",
        "[2001:db8::9]",
        2002,
    ),
    "sendmsg with two devices": python(
        "UDP().sendmsg([b'x'], [(0, 8, struct.pack('=i8x', if_nametoindex(d))) for d in ('lo', 'em0')], 0,"
        " ('203.0.113.9', 2008))",
        "udp",
        port=2008,
    ),
    "a device for a datagram to loopback": script(
        "UDP().sendmsg([b'x'], [(0, 8, struct.pack('=i8x', if_nametoindex(d))) for d in ('lo', 'em0')], 0,"
        " ('127.0.0.1', 2009))",
        None,
        "udp://127.0.0.1:2009/",
    ),
    "a source route": script(
        "s = option(socket(), 0, 4, bytes([1, 0x83, 7, 4]) + inet_aton('8.8.8.8')); s.connect(('203.0.113.9', 1010));"
        " assert s.recv(1)",
        "tcp 8.8.8.8:1010",
        "tcp://203.0.113.9:1010/",
    ),
    "joining a group": script(
        "UDP().setsockopt(0, 35, inet_aton('224.0.0.251') + inet_aton('10.77.0.1')); assert UDP().recv(1)",
        None,  # it is seen, but again and again, for ten seconds and more
        "socket://multicast/",
    ),
    "dns with a device": python(
        "UDP().sendmsg([Q], [(0, 8, struct.pack('=i8x', if_nametoindex('em0')))], 0, ('1.1.1.1', 53))",
        "udp",
        "1.1.1.1",
        53,
    ),
    "a device for the socket": python(
        "option(UDP(), SOL_SOCKET, 25, b'em0').sendto(b'x', ('203.0.113.9', 2005))", "udp", port=2005
    ),
    "fast open": script(
        "socket().sendto(b'x', MSG_FASTOPEN, ('203.0.113.9', 1004))",
        "tcp 203.0.113.9:1004",
        "tcp-fast-open://203.0.113.9:1004/",
    ),
    "fast open at connect": python(
        "s = option(socket(), 6, 30, 1); s.connect(('203.0.113.9', 1005)); s.send(b'x'); assert s.recv(1)",
        "tcp",
        port=1005,
    ),
    "raw": script(
        "socket(AF_INET, SOCK_RAW, 253).sendto(b'x', ('203.0.113.9', 0))",
        "protocol 253 203.0.113.9",
        "socket://raw/",
    ),
    "ping": script(
        "socket(AF_INET, SOCK_RAW, 1).sendto(bytes([8, 0, 247, 255, 0, 0, 0, 0]), ('203.0.113.9', 0))",
        "protocol 1 203.0.113.9",
        "socket://icmp/",
    ),
    "packet": script(
        "s = socket(AF_PACKET, SOCK_RAW); s.bind(('em0', 0)); s.send(bytes(12) + b'\\x88\\xb5' + bytes(50))",
        "ethernet 0x88b5",
        "socket://packet/",
    ),
    "a grandchild": python(
        "child(lambda: child(lambda: tcp('203.0.113.9', 1006)))", "tcp", port=1006, is_of_a_child=True
    ),
    "a double fork": python(
        """
begin, begins = os.pipe()
result, told = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.read(begin, 1)
        try:
            tcp('203.0.113.9', 1007)
            os.write(told, b'through')
        finally:
            os._exit(0)
    os._exit(0)
os.wait()
os.write(begins, b'x')
os.close(told)
assert os.read(result, 9) == b'through'
""",
        "tcp",
        port=1007,
        is_of_a_child=True,
    ),
    "a session of its own": python(
        "child(lambda: (os.setsid(), UDP().sendto(b'x', ('203.0.113.9', 2006))))",
        "udp",
        port=2006,
        is_of_a_child=True,
    ),
    "a descriptor from before": python(
        "s = UDP(); t = s.dup(); s.close(); child(lambda: t.sendto(b'x', ('203.0.113.9', 2007)))",
        "udp",
        port=2007,
        is_of_a_child=True,
    ),
    "ping over IPv6": script(
        "socket(AF_INET6, SOCK_RAW, 58).sendto(bytes([128, 0, 0, 0, 0, 0, 0, 0]), ('2001:db8::9', 0))",
        "protocol 58 [2001:db8::9]",
        "socket://icmp/",
    ),
    "sctp": script("socket(AF_INET, SOCK_SEQPACKET, 132)", None, "socket://ip-protocol-132/"),
    "dns": script("s = UDP(); s.sendto(Q, ('8.8.8.8', 53)); assert s.recv(512)", "udp 8.8.8.8:53", None),
    "dns, connected": script(
        "s = UDP(); s.connect(('8.8.4.4', 53)); s.send(Q); assert s.recv(512)", "udp 8.8.4.4:53", None
    ),
    "dns over IPv6": script(
        "s = UDP6(); s.sendto(Q, ('2001:4860:4860::8888', 53)); assert s.recv(512)",
        "udp [2001:4860:4860::8888]:53",
        None,
    ),
    "dns over tcp": script("tcp('8.8.8.8', 53, say=len(Q).to_bytes(2) + Q)", "tcp 8.8.8.8:53", None),
    "curl": curl("http://203.0.113.9:3001/", "tcp 203.0.113.9:3001"),
    "curl in an empty environment, and a session of its own": curl(
        "http://203.0.113.9:3002/", "tcp 203.0.113.9:3002", "env", "-i", "setsid", "-w"
    ),
    "curl, looking up": curl("http://canary.example/", None),
    "ping, the program": Attempt(
        ("ping", "-c", "1", "-W", "1", "203.0.113.10"), "protocol 1 203.0.113.10", "socket://icmp/", "ping"
    ),
    "ssh": Attempt(
        ("ssh", "-o", "ConnectTimeout=1", "203.0.113.10"), "tcp 203.0.113.10:22", "tcp://203.0.113.10:22/", "ssh"
    ),
    "git": Attempt(
        ("git", "ls-remote", "git://203.0.113.9/x"), "tcp 203.0.113.9:9418", "tcp://203.0.113.9:9418/", "git"
    ),
    "go, to a port nobody lists": Attempt(
        ("./dial", "203.0.113.9:48123"), "tcp 203.0.113.9:48123", "tcp://203.0.113.9:48123/", "dial"
    ),
    "io_uring": Attempt(("./ring",), "tcp 203.0.113.9:1009", "tcp://203.0.113.9:1009/", "ring"),
    "a network namespace of its own": Attempt(
        ("unshare", "--net", sys.executable, "-c", f"{PRELUDE}tcp('203.0.113.9', 1008)"),
        None,
        "tcp://203.0.113.9:1008/",
        INTERPRETER,
    ),
}

SOURCES = {
    "dial.go": """
    package main

    import (
        "net"
        "os"
    )

    func main() {
        connection, err := net.Dial("tcp", os.Args[1])
        if err == nil {
            _, err = connection.Read(make([]byte, 1))
        }
        if err != nil {
            os.Exit(1)
        }
    }
    """,
    "ring.c": r"""
    #include <arpa/inet.h>
    #include <linux/io_uring.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/socket.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    static int by_itself(void) {
      struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(1009)};
      inet_pton(AF_INET, "203.0.113.9", &to.sin_addr);
      char answer;
      int s = socket(AF_INET, SOCK_STREAM, 0);
      return connect(s, (void *)&to, sizeof to) || read(s, &answer, 1) != 1;
    }
    int main(void) {
      struct io_uring_params p;
      memset(&p, 0, sizeof p);
      int ring = syscall(SYS_io_uring_setup, 1, &p);
      if (ring < 0) return by_itself();
      char *sq = mmap(0, p.sq_off.array + 64, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
      struct io_uring_sqe *e = mmap(0, sizeof *e, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
      struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(1009)};
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
    """,
}


def build(folder: Path) -> None:
    """Make the programs that no machine has, where there is a compiler."""
    for name, source in SOURCES.items():
        file = folder / name
        file.write_text(textwrap.dedent(source))
        compiler = ["go", "build"] if file.suffix == ".go" else ["gcc"]
        if shutil.which(compiler[0]):
            subprocess.run([*compiler, "-o", file.with_suffix(""), file], check=True, timeout=120)


def is_here(attempt: Attempt, folder: Path) -> bool:
    """Whether this machine has the program."""
    return shutil.which(folder / attempt.command[0] if attempt.command[0][0] == "." else attempt.command[0]) is not None
