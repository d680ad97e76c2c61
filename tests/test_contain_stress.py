"""Contained programs under load, signals and sudden death; who may contain whom."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import containment
import pytest

from eve_mocks.contain.machine import this_machine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="containment is Linux's")
MODES = pytest.mark.parametrize("mode", ["fetch", "give"])
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def python(folder, code, *options, **how):
    return containment.contained(folder, [sys.executable, "-c", textwrap.dedent(code)], *options, **how)


@MODES
@pytest.mark.parametrize("options", [(), ("--interruptible",)], ids=["killable", "interruptible"])
def test_connections_under_a_storm_of_signals(tmp_path, mode, options):
    """Each connect succeeds once, and is announced once, though a timer interrupts every few of them."""
    source = tmp_path / "storm.c"
    source.write_text(r"""
        #include <arpa/inet.h>
        #include <errno.h>
        #include <signal.h>
        #include <stdio.h>
        #include <sys/time.h>
        #include <unistd.h>
        static volatile long alarms;
        static void on(int n) { (void)n; alarms++; }
        int main(void) {
          struct sigaction a = {.sa_handler = on, .sa_flags = SA_RESTART};
          sigaction(SIGALRM, &a, 0);
          struct itimerval every = {{0, 200}, {0, 200}};
          setitimer(ITIMER_REAL, &every, 0);
          int failed = 0, last = 0;
          for (int i = 0; i < 2000; i++) {
            struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
            to.sin_addr.s_addr = htonl(0xcb007100 + i % 250);
            int s = socket(AF_INET, SOCK_STREAM, 0);
            if (s < 0 || connect(s, (void *)&to, sizeof to)) failed++, last = errno;
            close(s);
          }
          printf("%d %d %d\n", failed, last, alarms > 100);
        }""")
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "storm", source], check=True, timeout=60)
    done = containment.contained(tmp_path, [tmp_path / "storm"], "--mode", mode, *options, timeout=90)
    assert done.out == "0 0 1\n", done.err
    assert len(done.redirects) == 2000


@MODES
def test_two_hundred_threads(tmp_path, mode):
    done = python(
        tmp_path,
        """
        import socket, threading
        failures = []
        def work(number):
            try:
                for turn in range(5):
                    with socket.create_connection((f"h{number}-{turn}.example", 80)) as s:
                        s.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
                        assert s.makefile().read().endswith("redirect\\n")
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(200)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(len(failures), failures[:1])
        """,
        "--mode",
        mode,
        timeout=90,
    )
    assert done.out == "0 []\n", done.err
    assert sorted(done.targets) == sorted((f"h{n}-{t}.example", 80) for n in range(200) for t in range(5))


@MODES
def test_children_killed_in_mid_call(tmp_path, mode):
    done = python(
        tmp_path,
        """
        import os, random, signal, socket, time
        random.seed(1)
        for _ in range(50):
            child = os.fork()
            if child == 0:
                while True:
                    socket.create_connection(("203.0.113.9", 80)).close()
                    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
            time.sleep(random.random() / 100)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        with socket.create_connection(("after.example", 80)) as s:
            print("still answered")
        """,
        "--mode",
        mode,
        timeout=60,
    )
    assert done.out == "still answered\n", done.err
    assert done.targets[-1] == ("after.example", 80)


@MODES
def test_more_lookups_than_copies_are_kept(tmp_path, mode):
    done = python(
        tmp_path,
        """
        import socket
        sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(900)]
        for number in range(5000):
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
        print(socket.create_connection(("api.example", 80)).getpeername()[0])
        """,
        "--mode",
        mode,
        timeout=60,
    )
    assert done.out == "127.0.0.1\n", done.err


@MODES
def test_a_mistake_of_ours_fails_one_call(tmp_path, mode):
    done = python(
        tmp_path,
        """
        import socket
        for host in ["broken.example", "whole.example"] * 10:
            with socket.socket() as s:
                print(s.connect_ex((host, 80)), end=" ")
        """,
        "--mode",
        mode,
    )
    assert done.out == "1 0 " * 10, done.err  # EPERM
    assert done.targets == [("whole.example", 80)] * 10
    assert [refused.reason for refused in done.refused] == ["eve-mocks failed: RuntimeError('a mistake')"]


ORPHANS = """
    import os, sys, time
    for _ in range(20):
        if os.fork() == 0:
            orphan = os.fork()
            if orphan == 0:
                time.sleep(0.05)
                os._exit(9)
            os._exit(0)
        os.wait()
    {end}
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [("time.sleep(0.3); os._exit(3)", 3), ("os._exit(4)", 4), ("os.kill(os.getpid(), 15); time.sleep(9)", 128 + 15)],
    ids=["after them", "before them", "by a signal"],
)
def test_orphans_do_not_take_the_status_of_the_command(tmp_path, end, code):
    assert python(tmp_path, ORPHANS.format(end=end)).code == code


def test_orphans_are_reaped(tmp_path):
    """A program that stops a daemon waits until its process is gone; a zombie would still be there."""
    done = python(
        tmp_path,
        """
        import os, signal, time
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(writer, str(os.getpid()).encode())
                signal.pause()
            os._exit(0)
        os.wait()
        daemon = int(os.read(reader, 20))
        os.kill(daemon, signal.SIGTERM)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                os.kill(daemon, 0)
            except ProcessLookupError:
                print("gone")
                break
        """,
    )
    assert done.out == "gone\n", done.err


DAEMON = """
    import os, socket, sys
    reader, writer = os.pipe()
    if os.fork():
        os.read(reader, 1)
        {then}
    os.setsid()
    socket.create_connection(("203.0.113.9", 80)).close()
    os.write(writer, b"x")
    ready = open(sys.argv[1], "w")
    sys.stdin.readline()
    results = []
    for call in (
        lambda: socket.create_connection(("203.0.113.9", 80)),
        lambda: socket.create_connection(("127.0.0.1", 9)),
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    ):
        try:
            call()
            results.append("open")
        except OSError as error:
            results.append(str(error.errno))
    print(*results, file=ready, flush=True)
"""


@pytest.mark.parametrize(
    ("then", "code"),
    [("os._exit(0)", 0), ("os.kill(os.getppid(), 9); os._exit(0)", -signal.SIGKILL)],
    ids=["wrapper ends", "wrapper killed"],
)
def test_what_outlives_the_wrapper_has_no_network(tmp_path, then, code):
    out = tmp_path / "out"
    os.mkfifo(out)
    script = textwrap.dedent(DAEMON).format(then=then)
    command = [*containment.wrapper(tmp_path / "report"), sys.executable, "-c", script, str(out)]
    environment = containment.environment()
    with (
        subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, text=True) as wrapper,
        out.open() as results,
    ):
        assert wrapper.wait(30) == code
        wrapper.stdin.write("\n")
        wrapper.stdin.flush()
        assert results.read() == "38 38 38\n"  # ENOSYS


def test_a_filter_like_docker_s_is_noticed(tmp_path):
    """Its default profile denies pidfd_getfd."""
    done = python(
        tmp_path,
        "import socket; print(socket.create_connection(('api.example', 80)).getpeername()[0])",
        "--deny",
        str(this_machine().pidfd_getfd),
    )
    assert (done.mode, done.out) == ("give", "127.0.0.1\n"), done.err
    assert done.targets == [("api.example", 80)]


@pytest.mark.parametrize(
    ("denied", "reason"),
    [(this_machine().seccomp, "a seccomp filter is not allowed here"), (310, "a program's memory may not be read")],
    ids=["seccomp", "process_vm_readv"],
)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86_64")
def test_what_cannot_be_contained_is_not_started(tmp_path, denied, reason):
    done = python(tmp_path, "print('started')", "--deny", str(denied))
    assert (done.code, done.out, done.mode) == (125, "", None)
    assert done.reason == f"{reason} (Operation not permitted)"


def test_a_run_in_a_run_is_noticed(tmp_path):
    inner = tmp_path / "inner"
    done = containment.contained(tmp_path, [*containment.wrapper(inner), "true"])
    assert done.code == 125
    found = containment.read(inner, containment.Run(0, "", ""))
    assert found.reason == "inside another run, or another seccomp supervisor"


@ROOT_ONLY
@MODES
def test_an_ordinary_user(tmp_path_factory, mode):
    """With a copy of the interpreter that others may read."""
    with readable(tmp_path_factory) as (folder, interpreter, environment):
        report = folder / "report"
        code = (
            "import socket, os; s = socket.create_connection(('api.example', 80));"
            "s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n'); print(os.getuid(), s.makefile().read().split()[-1])"
        )
        command = [
            interpreter,
            str(folder / "contained.py"),
            str(report),
            "--mode",
            mode,
            "--",
            interpreter,
            "-c",
            code,
        ]
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
        done = subprocess.run(
            [*user, *command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout == "65534 redirect\n", done.stderr
        run = containment.read(report, containment.Run(0, "", ""))
        assert (run.mode, run.targets) == (mode, [("api.example", 80)])


@ROOT_ONLY
def test_a_program_that_hides_its_memory_reaches_nothing(tmp_path_factory):
    with readable(tmp_path_factory) as (folder, interpreter, environment):
        report = folder / "report"
        code = (
            "import ctypes, socket\n"
            "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"  # PR_SET_DUMPABLE
            "print(*(socket.socket().connect_ex((host, 80)) for host in ('203.0.113.9', '127.0.0.1')))"
        )
        command = [interpreter, str(folder / "contained.py"), str(report), "--", interpreter, "-c", code]
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout == "1 1\n", done.stderr  # EPERM
        (refused,) = containment.read(report, containment.Run(0, "", "")).refused
        assert refused.reason == "the program does not let its memory and files be read"


@contextlib.contextmanager
def readable(tmp_path_factory):
    """A folder open to every user, with the code under test and an interpreter."""
    folder = Path(f"/tmp/eve-mocks-test-{os.getpid()}-{tmp_path_factory.getbasetemp().name}")
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    try:
        shutil.copytree(
            containment.ROOT / "eve_mocks", folder / "eve_mocks", ignore=shutil.ignore_patterns("__pycache__")
        )
        shutil.copy(containment.WRAPPER, folder)
        prefix = Path(sys.base_prefix)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        (folder / "python" / "lib").mkdir(parents=True)
        ignore = shutil.ignore_patterns("site-packages", "test", "idlelib", "__pycache__", "tkinter", "ensurepip")
        shutil.copytree(prefix / "lib" / version, folder / "python" / "lib" / version, ignore=ignore)
        for library in (prefix / "lib").glob("libpython*"):
            shutil.copy(library, folder / "python" / "lib", follow_symlinks=True)
        (folder / "python" / "bin").mkdir()
        interpreter = folder / "python" / "bin" / version
        shutil.copy(os.path.realpath(sys.executable), interpreter)
        yield (
            folder,
            str(interpreter),
            {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), "LD_LIBRARY_PATH": str(folder / "python" / "lib")},
        )
    finally:
        shutil.rmtree(folder)
