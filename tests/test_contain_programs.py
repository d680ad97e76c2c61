"""Real programs, contained, in both modes: what is redirected, what is refused, what is none of our business."""

import errno
import os
import shutil
import socket
import sys
import textwrap
from pathlib import Path

import containment
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="containment is Linux's")
MODES = ("fetch", "give")
INTERPRETER = Path(sys.executable).resolve().name

PRELUDE = """
import array, ctypes, errno, os, select, socket, struct, sys, threading
from socket import *
def tell(call, *args):
    try:
        call(*args)
        print("ok")
    except OSError as error:
        print(errno.errorcode.get(error.errno, error))
"""


@pytest.fixture(params=MODES)
def mode(request):
    return request.param


@pytest.fixture
def run(tmp_path, mode):
    def run(*command, **how):
        return containment.contained(tmp_path, command, "--mode", mode, **how)

    return run


@pytest.fixture
def python(run):
    def python(code, **how):
        return run(sys.executable, "-c", PRELUDE + textwrap.dedent(code), **how)

    return python


# TCP


TCP = {
    "IPv4": ("socket()", ("203.0.113.9", 80), "203.0.113.9"),
    "IPv6": ("socket(AF_INET6)", ("2001:db8::9", 443), "2001:db8::9"),
    "IPv6 only": (
        "(s := socket(AF_INET6), s.setsockopt(IPPROTO_IPV6, IPV6_V6ONLY, 1))[0]",
        ("2001:db8::9", 443),
        "2001:db8::9",
    ),
    "IPv4 mapped": ("socket(AF_INET6)", ("::ffff:203.0.113.9", 80), "203.0.113.9"),
    "MPTCP": ("socket(AF_INET, SOCK_STREAM, 262)", ("203.0.113.9", 80), "203.0.113.9"),
    "bound before": ("(s := socket(), s.bind(('127.0.0.1', 0)))[0]", ("203.0.113.9", 80), "203.0.113.9"),
    "metadata service": ("socket()", ("169.254.169.254", 80), "169.254.169.254"),
}


@pytest.mark.parametrize(("sock", "target", "host"), TCP.values(), ids=TCP)
def test_a_connection_is_redirected_and_announced(python, sock, target, host):
    done = python(f"""
        s = {sock}
        s.connect({target})
        s.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
        print(s.getsockname()[1], s.makefile().read().splitlines()[-1])
    """)
    assert done.code == 0, done.err
    port, answer = done.out.split()
    (redirect,) = done.redirects
    assert answer == "redirect"
    assert (redirect.host, redirect.port) == (host, target[1])
    assert redirect.source in done.accepted
    assert redirect.source[1] == int(port)
    assert redirect.process.program == INTERPRETER
    assert done.refused == []


def test_a_name_is_known_at_connect(python):
    done = python("""
        create_connection(("Nowhere.Example.Invalid", 443)).close()
        create_connection(("other.example", 8443)).close()
    """)
    assert done.targets == [("nowhere.example.invalid", 443), ("other.example", 8443)]


def test_who_asks_the_proxy_knowingly_is_told(python):
    done = python("""
        port = int(os.environ["KNOWN_PORT"])
        s = create_connection(("127.0.0.1", port))
        s.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
        print(port, s.makefile().read().splitlines()[-1])
        datagrams = socket(type=SOCK_DGRAM)
        datagrams.connect(("127.0.0.1", port))
        assert datagrams.getpeername()[1] == port
    """)
    assert done.code == 0, done.err
    port, answer = done.out.split()
    assert answer == "redirect"
    assert done.targets == [("127.0.0.1", int(port))]
    assert done.redirects[0].process.program == INTERPRETER


def test_connecting_without_waiting(python):
    done = python("""
        s = socket(); s.setblocking(False)
        assert s.connect_ex(("203.0.113.9", 80)) in (0, errno.EINPROGRESS)
        select.select([], [s], [])
        assert s.getsockopt(SOL_SOCKET, SO_ERROR) == 0
        again = [s.connect_ex(("203.0.113.9", 80)) for _ in range(3)]
        assert set(again) <= {0, errno.EISCONN} and again[-1] == errno.EISCONN, again
    """)
    assert done.code == 0, done.err
    assert done.targets == [("203.0.113.9", 80)]


def test_a_socket_used_twice_is_announced_twice(tmp_path):
    code = """
        s = socket(); s.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1); s.bind(("127.0.0.1", 0))
        libc = ctypes.CDLL(None)
        for _ in range(2):
            s.connect(("203.0.113.9", 80))
            assert libc.connect(s.fileno(), struct.pack("=H14x", AF_UNSPEC), 16) == 0
    """
    done = containment.contained(tmp_path, [sys.executable, "-c", PRELUDE + textwrap.dedent(code)], "--mode", "fetch")
    assert done.code == 0, done.err
    assert done.targets == [("203.0.113.9", 80)] * 2


@pytest.mark.parametrize("port", [21, 22, 25, 110, 143, 587, 3306])
def test_a_protocol_in_which_the_server_speaks_first_is_refused(python, port):
    done = python(f"tell(create_connection, ('db.example', {port}))")
    assert done.out == "ECONNREFUSED\n"
    assert done.refusals == [("tcp", "db.example", port)]
    assert done.redirects == []


def test_a_question_for_a_route_is_no_attempt(python):
    """As a resolver asks it of each address it has found; a program that does so goes on with TCP."""
    done = python("tell(socket(AF_INET, SOCK_DGRAM).connect, ('203.0.113.9', 0))")
    assert done.out == "ENETUNREACH\n"
    assert done.refusals == []


# What is refused


REFUSED = {
    "udp connect": ("socket(AF_INET, SOCK_DGRAM).connect, ('203.0.113.9', 443)", "ENETUNREACH", "udp"),
    "udp sendto": ("socket(AF_INET, SOCK_DGRAM).sendto, b'x', ('203.0.113.9', 443)", "ENETUNREACH", "udp"),
    "udp sendmsg": ("socket(AF_INET, SOCK_DGRAM).sendmsg, [b'x'], [], 0, ('203.0.113.9', 443)", "ENETUNREACH", "udp"),
    "udp, mapped": ("socket(AF_INET6, SOCK_DGRAM).sendto, b'x', ('::ffff:203.0.113.9', 443)", "ENETUNREACH", "udp"),
    "udp by a device": (
        "socket(AF_INET, SOCK_DGRAM).sendmsg, [b'x'], [(0, 8, struct.pack('=i8x', 2))], 0, ('203.0.113.9', 443)",
        "ENETUNREACH",
        "udp",
    ),
    "multicast": ("socket(AF_INET, SOCK_DGRAM).sendto, b'x', ('224.0.0.251', 5353)", "ENETUNREACH", "udp"),
    "raw": ("socket, AF_INET, SOCK_RAW, 255", "EPERM", "raw"),
    "raw icmp": ("socket, AF_INET, SOCK_RAW, IPPROTO_ICMP", "EPERM", "icmp"),
    "ping": ("socket, AF_INET, SOCK_DGRAM, IPPROTO_ICMP", "EACCES", "icmp"),
    "packet": ("socket, AF_PACKET, SOCK_RAW, 0", "EPERM", "packet"),
    "vsock": ("socket, AF_VSOCK, SOCK_STREAM, 0", "EAFNOSUPPORT", "vsock"),
    "sctp": ("socket, AF_INET, SOCK_STREAM, 132", "EPROTONOSUPPORT", "IP protocol 132"),
    "fast open": ("socket().sendto, b'x', MSG_FASTOPEN, ('203.0.113.9', 80)", "ENOTSUP", "tcp-fast-open"),
    "fast open by sendmsg": (
        "socket().sendmsg, [b'x'], [], MSG_FASTOPEN, ('203.0.113.9', 80)",
        "ENOTSUP",
        "tcp-fast-open",
    ),
    "udplite": ("socket, AF_INET, SOCK_DGRAM, 136", "EPROTONOSUPPORT", "IP protocol 136"),
}


@pytest.mark.parametrize(("call", "error", "protocol"), REFUSED.values(), ids=REFUSED)
def test_refused_and_told_once(python, call, error, protocol):
    done = python(f"for _ in range(3): tell({call})")
    assert done.out.split() == [error] * 3
    (refused,) = done.refused
    assert refused.protocol == protocol
    assert refused.process.program.startswith("python")
    assert done.redirects == []


SILENT = {
    "device": ("socket().setsockopt, SOL_SOCKET, SO_BINDTODEVICE, b'lo'", "EPERM"),
    "fast open, on loopback": ("socket().sendto, b'x', MSG_FASTOPEN, ('127.0.0.1', 9)", "ENOTSUP"),
}


@pytest.mark.parametrize(("call", "error"), SILENT.values(), ids=SILENT)
def test_not_available(python, call, error):
    assert python(f"tell({call})").out == f"{error}\n"


@pytest.mark.parametrize("number", [425, 0x40000000 | 42], ids=["io_uring", "x32"])
def test_no_such_system_call(python, number):
    done = python(f"""
        libc = ctypes.CDLL(None, use_errno=True)
        print(libc.syscall(ctypes.c_long({number}), 8, 0), errno.errorcode[ctypes.get_errno()])
    """)
    assert done.out == "-1 ENOSYS\n"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x86_64 has a second architecture")
def test_a_program_has_no_sockets_of_the_32_bit_kind(run, tmp_path):
    """By the gate that 32-bit programs use, whose calls have other numbers."""
    source = tmp_path / "gate.c"
    source.write_text(r"""
        #include <stdio.h>
        int main(void) {
          long result = 359;  /* socket: asm/unistd_32.h */
          __asm__ volatile("int $0x80" : "+a"(result) : "b"(2L), "c"(1L), "d"(0L) : "memory");
          return printf("%d\n", (int)result) < 0;
        }""")
    assert_compiled(source, tmp_path / "gate")
    bare = containment.subprocess.run([tmp_path / "gate"], capture_output=True, text=True, timeout=10, check=False)
    if not bare.stdout or bare.stdout.startswith("-"):
        pytest.skip("this kernel has no 32-bit calls")
    assert run(tmp_path / "gate").out == "-38\n"  # ENOSYS


def test_setuid_programs_gain_nothing(run):
    assert run("grep", "NoNewPrivs", "/proc/self/status").out.split() == ["NoNewPrivs:", "1"]


@pytest.mark.parametrize("path", ["/run/systemd/resolve/io.systemd.Resolve", "/var/run/nscd/socket"])
def test_daemons_that_look_names_up_are_out_of_reach(python, path):
    assert python(f"tell(socket(AF_UNIX).connect, {path!r})").out == "ECONNREFUSED\n"


def test_a_bad_pointer_is_what_it_is_natively(python):
    done = python("""
        libc = ctypes.CDLL(None, use_errno=True)
        print(libc.connect(socket().fileno(), ctypes.c_void_p(8), 16), errno.errorcode[ctypes.get_errno()])
    """)
    assert done.out == "-1 EFAULT\n"


# DNS

QUESTION = r"Q = b'\x12\x34\1\0\0\1\0\0\0\0\0\0\3api\7example\0\0\1\0\1'"

DNS = {
    "sendto": "s = socket(AF_INET, SOCK_DGRAM); s.sendto(Q, ('8.8.8.8', 53)); print(*s.recvfrom(512)[::-1])",
    "sendmsg": "s = socket(AF_INET, SOCK_DGRAM); s.sendmsg([Q[:5], Q[5:]], [], 0, ('8.8.8.8', 53));"
    "a, _, _, f = s.recvmsg(512); print(f, a)",
    "connected": "s = socket(AF_INET, SOCK_DGRAM); s.connect(('8.8.8.8', 53)); s.send(Q); select.select([s], [], []);"
    "print(*s.recvfrom(512)[::-1])",
    "IPv6": "s = socket(AF_INET6, SOCK_DGRAM); s.sendto(Q, ('2001:4860:4860::8888', 53));"
    "a, f = s.recvfrom(512); print(f[:2], a)",
    "IPv6 only": "s = socket(AF_INET6, SOCK_DGRAM); s.setsockopt(IPPROTO_IPV6, IPV6_V6ONLY, 1);"
    "s.sendto(Q, ('2001:4860:4860::8888', 53)); a, f = s.recvfrom(512); print(f[:2], a)",
    "on loopback": "s = socket(AF_INET, SOCK_DGRAM); s.sendto(Q, ('127.0.0.53', 53)); print(*s.recvfrom(512)[::-1])",
    "peeked": "s = socket(AF_INET, SOCK_DGRAM); s.sendto(Q, ('8.8.8.8', 53)); s.recvfrom(9, MSG_PEEK);"
    "print(*s.recvfrom(512)[::-1])",
}


@pytest.mark.parametrize("how", DNS.values(), ids=DNS)
def test_questions_are_answered_as_if_by_the_server_that_was_asked(python, how):
    done = python(f"{QUESTION}\n{how}")
    assert done.code == 0, done.err
    server = "2001:4860:4860::8888" if "IPV6" in how or "INET6" in how else "8.8.8.8"
    server = "127.0.0.53" if "127.0.0.53" in how else server
    assert done.out.startswith(f"('{server}', 53) b'\\x124\\x81\\x80\\x00\\x01\\x00\\x01")
    assert done.refused == []


def test_dns_over_tcp(python):
    done = python(f"""
        {QUESTION}
        s = create_connection(("8.8.8.8", 53))
        s.sendall(len(Q).to_bytes(2) + Q)
        print(s.recv(2)[1] == len(s.recv(512)))
    """)
    assert done.out == "True\n", done.err
    assert done.redirects == []


def test_several_questions_at_once(run, tmp_path):
    source = tmp_path / "many.c"
    source.write_text(r"""
        #define _GNU_SOURCE
        #include <arpa/inet.h>
        #include <stdio.h>
        #include <string.h>
        #include <sys/socket.h>
        int main(void) {
          unsigned char q[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0\3api\7example\0\0\1\0";
          struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)}, from;
          inet_pton(AF_INET, "9.9.9.9", &to.sin_addr);
          struct iovec part = {q, sizeof q};
          struct mmsghdr m[2];
          memset(m, 0, sizeof m);
          for (int i = 0; i < 2; i++) m[i].msg_hdr = (struct msghdr){&to, sizeof to, &part, 1, 0, 0, 0};
          q[sizeof q - 1] = 1;
          int s = socket(AF_INET, SOCK_DGRAM, 0), sent = sendmmsg(s, m, 2, 0);
          printf("%d %u %u", sent, m[0].msg_len, m[1].msg_len);
          for (int i = 0; i < 2; i++) {
            char b[512]; socklen_t l = sizeof from;
            long n = recvfrom(s, b, sizeof b, 0, (void *)&from, &l);
            printf(" %ld %s", n, inet_ntoa(from.sin_addr));
          }
          to.sin_port = htons(443);
          printf(" %d", sendmmsg(s, m, 2, 0));
          struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(9)};
          here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
          m[0].msg_hdr.msg_name = &here;
          to.sin_port = htons(444);
          printf(" %d", sendmmsg(s, m, 2, 0));
          printf(" %d\n", sendmmsg(s, m, 1, 0));
        }""")
    assert_compiled(source, tmp_path / "many")
    done = run(tmp_path / "many")
    assert done.out == "2 29 29 45 9.9.9.9 45 9.9.9.9 -1 -1 1\n", done.err
    assert done.refusals == [("udp", "9.9.9.9", 443), ("udp", "9.9.9.9", 444)]


def assert_compiled(source, program, *options):
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    containment.subprocess.run(["gcc", "-O1", *options, "-o", program, source], check=True, timeout=60)


# Programs


@pytest.mark.parametrize("url", ["http://api.example/x", "http://203.0.113.9:8080/", "http://[2001:db8::1]/"])
def test_curl(run, url):
    done = run("curl", "-sS", "--noproxy", "*", "-m", "10", url)
    assert done.out == "redirect\n", done.err
    assert len(done.redirects) == 1
    assert done.redirects[0].process.program == "curl"


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_node_with_many_hosts_at_once(run):
    done = run(
        "node",
        "-e",
        "Promise.all([...Array(30).keys()].map(i => fetch(`http://h${i}.example/`).then(r => r.text())))"
        ".then(all => console.log(new Set(all).size, all.length, all[0]))",
    )
    assert done.out == "1 30 redirect\n\n", done.err
    assert sorted(done.targets) == sorted((f"h{i}.example", 80) for i in range(30))


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_node_with_its_own_resolver(run):
    done = run("node", "-e", "require('dns').promises.resolve4('api.example').then(console.log)")
    assert done.out == "[ '198.18.0.1' ]\n", done.err


def test_a_static_program(run, tmp_path):
    source = tmp_path / "static.c"
    source.write_text(r"""
        #include <arpa/inet.h>
        #include <stdio.h>
        #include <unistd.h>
        int main(void) {
          struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
          inet_pton(AF_INET, "203.0.113.9", &to.sin_addr);
          int s = socket(AF_INET, SOCK_STREAM, 0);
          if (connect(s, (void *)&to, sizeof to)) return perror("connect"), 1;
          write(s, "GET / HTTP/1.1\r\n\r\n", 18);
          char b[512]; long n = read(s, b, sizeof b);
          return printf("%.*s", (int)n, b) < 0;
        }""")
    assert_compiled(source, tmp_path / "static", "-static")
    done = run(tmp_path / "static")
    assert done.out.endswith("redirect\n"), done.err
    assert [redirect.process.program for redirect in done.redirects] == ["static"]


def test_a_resolver_that_compares_addresses(run, tmp_path, needs):
    """Musl sends to each server from one socket, and takes an answer only from where it sent to."""
    source = tmp_path / "musl.c"
    source.write_text(r"""
        #include <arpa/inet.h>
        #include <netdb.h>
        #include <stdio.h>
        int main(void) {
          struct addrinfo *found;
          int code = getaddrinfo("api.example", "80", 0, &found);
          if (code) return puts(gai_strerror(code)), 1;
          return puts(inet_ntoa(((struct sockaddr_in *)found->ai_addr)->sin_addr)) < 0;
        }""")
    command = [needs("musl-gcc"), "-O1", "-static", "-o", tmp_path / "musl", source]
    containment.subprocess.run(command, check=True, timeout=60)
    assert run(tmp_path / "musl").out == "198.18.0.1\n"


# Native


def test_a_server_of_the_command_is_native(python):
    done = python("""
        for family, host in (AF_INET, "127.0.0.1"), (AF_INET6, "::1"), (AF_INET, "0.0.0.0"):
            server = create_server((host, 0), family=family)
            client = socket(family)
            client.connect((host, server.getsockname()[1]))
            connection, peer = server.accept()
            assert peer[1] == client.getsockname()[1]
            client.sendall(b"hello")
            client.close()
            assert connection.makefile("rb").read() == b"hello"
    """)
    assert done.code == 0, done.err
    assert done.redirects == done.refused == done.accepted == []


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_a_port_is_free_when_its_socket_is_closed(python, kind):
    done = python(f"""
        with socket(AF_INET, {kind}) as finder:
            finder.bind(("127.0.0.1", 0))
            port = finder.getsockname()[1]
        for _ in range(3):
            with socket(AF_INET, {kind}) as s:
                s.bind(("127.0.0.1", port))
    """)
    assert done.code == 0, done.err


def test_the_blocking_mode_is_left_as_it_is(python):
    done = python("""
        for kind in SOCK_STREAM, SOCK_DGRAM:
            for flags in 0, SOCK_NONBLOCK:
                s = socket(AF_INET, kind | flags)
                tell(s.connect, ("203.0.113.9", 53))
                print(os.get_blocking(s.fileno()))
    """)
    modes = [line for line in done.out.split() if line in ("True", "False")]
    assert modes == ["True", "False", "True", "False"], done.err


def test_datagrams_on_loopback_are_native(python):
    done = python("""
        a, b = socket(AF_INET, SOCK_DGRAM), socket(AF_INET, SOCK_DGRAM)
        a.bind(("127.0.0.1", 0))
        b.sendto(b"one", a.getsockname()); assert a.recvfrom(9)[0] == b"one"
        b.sendmsg([b"two"], [], 0, a.getsockname()); assert a.recvmsg(9)[0] == b"two"
        b.connect(a.getsockname()); b.send(b"three"); data, source = a.recvfrom(9)
        assert data == b"three" and source == b.getsockname()
    """)
    assert done.code == 0, done.err
    assert done.refused == []


def test_unix_and_abstract_sockets_are_native(python, tmp_path):
    done = python(f"""
        for name in {str(tmp_path / "socket")!r}, "\\0eve-mocks-test-{os.getpid()}":
            server = socket(AF_UNIX); server.bind(name); server.listen()
            client = socket(AF_UNIX); client.connect(name)
            connection, _ = server.accept()
            send_fds(client, [b"x"], [0]); assert len(recv_fds(connection, 1, 1)[1]) == 1
    """)
    assert done.code == 0, done.err


def test_a_server_outside_on_loopback_is_native(python):
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = python(f"create_connection(('localhost', {server.getsockname()[1]})).sendall(b'query')")
        connection, _ = server.accept()
        with connection:
            assert connection.recv(9) == b"query"
    assert done.redirects == []


# Who


def test_session_and_program_of_each_process(run):
    code = "import socket; socket.create_connection(('api.example', 80))"
    script = f"""
        curl -s --noproxy '*' http://one.example/ >/dev/null
        EVE_MOCKS_SESSION=second {sys.executable} -c "{code}"
        export EVE_MOCKS_SESSION=third; exec curl -s --noproxy '*' http://three.example/"""
    done = run("sh", "-c", script)
    told = [(r.process.program, r.process.session) for r in done.redirects]
    python = INTERPRETER
    assert told == [("curl", None), (python, "second"), ("curl", "third")]


def test_a_thread_is_told_as_its_process(python):
    done = python("""
        thread = threading.Thread(target=create_connection, args=(("api.example", 80),))
        thread.start(); thread.join(); print(os.getpid())
    """)
    assert [redirect.process.pid for redirect in done.redirects] == [int(done.out)]


def test_a_grandchild_without_environment(run):
    done = run("env", "-i", "setsid", shutil.which("curl"), "-sS", "-m", "10", "http://api.example/")
    assert done.out == "redirect\n", done.err


def test_an_error_of_the_command_is_its_own(tmp_path):
    done = containment.contained(tmp_path, ["/no/such/program"])
    assert done.code == 1
    assert f"FileNotFoundError: [Errno {errno.ENOENT}]" in done.err
