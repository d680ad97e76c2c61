"""The command in the caller's terminal: signals, stopping, exit codes, streams."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import secrets
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import EVE_MOCKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Project

PYTHON = sys.executable


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for something outside this process, which gives no other sign."""
    limit = time.monotonic() + 30
    while not true():
        assert time.monotonic() < limit, f"never happened: {what}"
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in listed.stdout.split()]


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def start(project: Project) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start ``eve-mocks run``, and wait for the first line that its command prints."""
    running: list[subprocess.Popen[str]] = []

    def begin(*command: str, **more: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [EVE_MOCKS, "run", "--", *command],
            cwd=project.root,
            env=project.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **more,  # type: ignore[call-overload]
        )
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


SIGNALLED = """
import signal, sys
numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
print("ready", flush=True)
while True:
    number = signal.sigwait(numbers)
    print(number.name, flush=True)
    if number != signal.SIGINT:
        sys.exit(3)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1], ids=lambda number: number.name)
def test_a_signal_to_the_wrapper_reaches_the_command(start: Callable[..., subprocess.Popen[str]], number: int) -> None:
    process = start(PYTHON, "-c", SIGNALLED)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (out, process.returncode) == (f"{signal.Signals(number).name}\n", 3)
    assert "0 calls" in err


def test_no_signal_is_lost(start: Callable[..., subprocess.Popen[str]]) -> None:
    """Each is sent when the one before has arrived, which is when the wrapper turns to waiting again."""
    code = """
import signal
numbers = {signal.SIGUSR1, signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
print("ready", flush=True)
while signal.sigwait(numbers) == signal.SIGUSR1:
    print("again", flush=True)
"""
    process = start(PYTHON, "-c", code)
    assert process.stdout is not None
    for _ in range(500):
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "again\n"
    process.send_signal(signal.SIGUSR2)
    process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who sent a signal")
def test_an_interrupt_that_is_sent_to_the_wrapper_alone_reaches_the_command(
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    process = start(PYTHON, "-c", SIGNALLED)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "SIGINT\n"


def test_ctrl_c_reaches_the_command_once(project: Project) -> None:
    ours, theirs = pty.openpty()
    with (
        os.fdopen(ours, "r+b", buffering=0) as terminal,
        subprocess.Popen(
            [EVE_MOCKS, "run", "--", PYTHON, "-c", SIGNALLED],
            cwd=project.root, env=project.environment, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no thread runs
        ) as process,
    ):  # fmt: skip
        os.close(theirs)
        said = b""
        while b"ready" not in said:
            said += terminal.read(1024)
        terminal.write(b"\x03")
        while b"SIGINT" not in said:
            said += terminal.read(1024)
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(OSError):  # the other side is closed
            while more := terminal.read(1024):
                said += more
    assert process.returncode == 3
    assert said.count(b"SIGINT") == said.count(b"SIGTERM") == 1


def test_ctrl_c_ends_a_command_that_does_not_mind_it(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start("sh", "-c", "echo ready; exec sleep 60")
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGINT
    assert "Traceback" not in err
    assert "0 calls" in err


def test_a_command_that_ignores_sigterm_is_waited_for(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start("sh", "-c", "trap '' TERM; echo ready; read line; echo $line; exit 4")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate("still here\n", timeout=30)
    assert (out, process.returncode) == ("still here\n", 4)


def test_what_the_caller_ignores_stays_ignored(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start(
        "sh", "-c", "echo ready; read line; echo $line", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate("as with nohup\n", timeout=30)
    assert (out, process.returncode) == ("as with nohup\n", 0)


def test_the_command_finds_the_signals_as_any_program_does(project: Project) -> None:
    code = "import signal; print([n.name for n in signal.Signals if signal.getsignal(n) is signal.SIG_IGN])"
    assert project.eve_mocks("run", "--", PYTHON, "-c", code).stdout == subprocess.check_output(
        [PYTHON, "-c", code], text=True
    )
    pipe = project.eve_mocks("run", "--", "sh", "-c", "yes | head -n 1; kill -PIPE $$; echo not dead")
    assert (pipe.stdout, pipe.returncode) == ("y\n", 128 + signal.SIGPIPE)


def test_a_command_that_stops_stops_the_wrapper_too(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start("sh", "-c", "echo ready; kill -STOP $$; echo again; exit 5")
    until(lambda: state(process.pid) == "T", "the wrapper stops")
    process.send_signal(signal.SIGCONT)
    out, _ = process.communicate(timeout=30)
    assert (out, process.returncode) == ("again\n", 5)


def test_ctrl_z_and_fg(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start("sh", "-c", "echo ready; read line; echo $line")
    for _ in range(20):
        os.killpg(process.pid, signal.SIGSTOP)
        until(lambda: all(state(pid) == "T" for pid in [process.pid, *group_children(process.pid)]), "all stop")
        os.killpg(process.pid, signal.SIGCONT)
        until(lambda: all(state(pid) in "SR" for pid in [process.pid, *group_children(process.pid)]), "all go on")
    out, _ = process.communicate("gone on\n", timeout=30)
    assert (out, process.returncode) == ("gone on\n", 0)


def group_children(pid: int) -> list[int]:
    """The command; the proxy is in a group of its own."""
    return [child for child in children(pid) if os.getpgid(child) == pid]


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["sh", "-c", "exit 7"], 7, "0 calls"),
        (["sh", "-c", "kill -KILL $$"], 137, "0 calls"),
        (["sh", "-c", "kill -SEGV $$"], 139, "0 calls"),
        (["no-such-program-at-all"], 127, "is not found"),
        (["./no/such/file"], 127, "is not found"),
        (["./not-executable"], 126, "cannot be executed"),
        (["."], 126, "cannot be executed"),
        (["./no-interpreter"], 127, "its interpreter is not found"),
        (["./no-first-line", "a b"], 0, "0 calls"),
        (["no-first-line", "a b"], 0, "0 calls"),
        (["./damaged"], 126, "cannot be executed: Exec format error"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.parametrize("live", [False, True], ids=["run", "live"])
def test_exit_codes(project: Project, command: list[str], code: int, said: str, live: bool) -> None:
    project.file("not-executable", "text")
    project.file("no-interpreter", "#!/no/such/interpreter\n").chmod(0o755)
    project.file("no-first-line", "echo $1\n").chmod(0o755)
    project.file("damaged", "\x7fELF is how a program begins").chmod(0o755)
    path = f"{project.root}:{project.environment['PATH']}"
    run = project.eve_mocks("run", *(["--live"] if live else []), "--", *command, env={"PATH": path})
    if command[-1] == "a b":
        assert run.stdout == "a b\n"
    if live and run.returncode < 0:
        code = code - 128
        assert -run.returncode == code
    else:
        assert run.returncode == code
    if code in (126, 127):
        assert run.stderr.startswith("eve-mocks: the command ")
        assert run.stderr.count("\n") == 3
        assert not list(project.root.glob(".eve-mocks/runs/*"))
    if not live:
        assert said in run.stderr


def test_a_misspelt_program_is_named(project: Project) -> None:
    run = project.eve_mocks("run", "--", "pythn3")
    assert "Did you mean python3" in run.stderr


def test_live_leaves_everything_alone(project: Project) -> None:
    project.file("mocks/broken.yaml", "kind: nonsense")
    run = project.eve_mocks("run", "--live", "--", "env")
    assert run.returncode == 0
    assert run.stderr == ""
    assert "EVE_MOCKS" not in run.stdout
    assert "127.0.0.1" not in run.stdout
    assert not (project.root / ".eve-mocks").exists()


def test_stdin_reaches_the_command_byte_for_byte(project: Project, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    run = subprocess.run(
        [EVE_MOCKS, "run", "--", "cat"],
        input=data,
        capture_output=True,
        cwd=tmp_path,
        env=project.environment,
        check=True,
        timeout=60,
    )
    assert run.stdout == data


def test_files_that_the_caller_opened_and_no_others(project: Project) -> None:
    project.file("words", "from the caller\n")
    code = "import os; print([fd for fd in range(256) if os.path.exists(f'/dev/fd/{fd}')], os.read(9, 99))"
    command = f'{PYTHON} -c "{code}" 9<words'
    native = subprocess.check_output(["sh", "-c", command], cwd=project.root, text=True)
    run = project.eve_mocks("run", "--", PYTHON, "-c", code, prefix=["sh", "-c", 'exec 9<words; exec "$@"', "sh"])
    assert run.stdout == native


def test_stdout_and_stderr_are_the_commands_own(project: Project, tmp_path: Path) -> None:
    """Byte for byte the same with and without, but for the summary at the end of stderr."""
    command = ["sh", "-c", "printf 'a\\0b\\377'; printf 'c\\r\\n\\033[1m' >&2; printf d; printf e >&2; exit 9"]
    native = subprocess.run(command, capture_output=True, check=False)
    wrapped = subprocess.run(
        [EVE_MOCKS, "run", "--", *command],
        capture_output=True,
        cwd=tmp_path,
        env=project.environment,
        check=False,
        timeout=60,
    )
    assert wrapped.stdout == native.stdout
    assert wrapped.stderr.startswith(native.stderr + b"eve-mocks  0 calls")
    assert wrapped.returncode == native.returncode


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_stream_that_the_caller_closed(project: Project, closed: str) -> None:
    shell = f"exec {EVE_MOCKS} run -- sh -c 'exit 6' {closed}"
    run = subprocess.run(
        ["sh", "-c", shell], cwd=project.root, env=project.environment, capture_output=True, check=False, timeout=60
    )
    assert run.returncode == 6
    assert b"Traceback" not in run.stderr
    assert project.report()["childExitCode"] == 6


def test_streams_closed_early_by_the_reader(project: Project) -> None:
    shell = f"({EVE_MOCKS} run -- yes; echo $? >&2) 2>&1 >&3 3>&- | (sleep 0; cat) >&2"
    run = subprocess.run(
        ["bash", "-c", f"exec 3> >(head -n 1); {shell}"],
        cwd=project.root,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.stdout == "y\n"
    assert "Traceback" not in run.stderr
    assert run.stderr.endswith(f"{128 + signal.SIGPIPE}\n")


def test_the_summary_with_no_reader(project: Project) -> None:
    """Stderr is a pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        [EVE_MOCKS, "run", "--", "sh", "-c", "exit 8"],
        cwd=project.root,
        env=project.environment,
        stderr=writer,
        stdout=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writer)
    assert (run.returncode, run.stdout) == (8, b"")


class Terminal:
    """A terminal of tmux's own server."""

    def __init__(self, tmux: str, project: Project) -> None:
        self._tmux = [tmux, "-L", f"eve-mocks-{secrets.token_hex(4)}", "-f", "/dev/null"]
        self._project = project
        # A size that the test runner exports would be the editor's, whatever the terminal's is.
        size = ("LINES", "COLUMNS")
        inherited = {name: value for name, value in project.environment.items() if name not in size}
        self._environment = inherited | {"TERM": "xterm-256color"}

    def tmux(self, *arguments: str) -> str:
        return subprocess.run(
            [*self._tmux, *arguments],
            env=self._environment,
            cwd=self._project.root,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def shows(self, text: str) -> None:
        try:
            until(lambda: text in self.tmux("capture-pane", "-p"), f"the terminal shows {text!r}")
        except AssertionError:
            pytest.fail(f"no {text!r} in:\n{self.tmux('capture-pane', '-p')}")


@pytest.fixture
def terminal(needs: Callable[..., str], project: Project) -> Iterator[Terminal]:
    made = Terminal(needs("tmux"), project)
    made.tmux("new-session", "-d", "-x", "100", "-y", "30", "env", "PS1=$ ", "bash", "--norc", "-i")
    made.shows("$")
    yield made
    made.tmux("kill-server")


EDITOR = """
import curses
def main(screen):
    text = ""
    while True:
        screen.erase()
        screen.addstr(0, 0, f"size {screen.getmaxyx()} text<{text}>")
        screen.refresh()
        key = screen.getkey()
        if key == "q":
            return
        text += key if len(key) == 1 and key.isprintable() else ""
curses.wrapper(main)
print("left the editor")
"""


def test_an_interactive_program(terminal: Terminal, project: Project) -> None:
    project.file("editor.py", EDITOR)
    terminal.keys(f"{EVE_MOCKS} run -- {PYTHON} editor.py", "Enter")
    terminal.shows("size (30, 100) text<>")
    terminal.keys("hello")
    terminal.shows("text<hello>")
    terminal.tmux("resize-window", "-x", "90", "-y", "20")
    terminal.shows("size (20, 90) text<hello>")
    terminal.keys("C-z")
    terminal.shows("Stopped")  # told on the shell's own screen, which the editor has left by then
    terminal.keys("fg", "Enter")
    terminal.shows("text<hello>")
    terminal.keys("wq")
    terminal.shows("left the editor")
    terminal.shows("0 calls")
    terminal.keys("echo code $?", "Enter")
    terminal.shows("code 0")


def test_ctrl_c_in_a_terminal(terminal: Terminal) -> None:
    terminal.keys(f"{EVE_MOCKS} run -- sh -c 'echo waiting; exec sleep 60'; echo code $?", "Enter")
    terminal.shows("waiting\n")
    terminal.keys("C-c")
    terminal.shows("code 130")
    terminal.shows("0 calls")


def test_a_shell_with_job_control_inside(terminal: Terminal) -> None:
    terminal.keys(f"{EVE_MOCKS} run -- env 'PS1=inner> ' bash --norc -i; echo code $?", "Enter")
    terminal.shows("\ninner>")
    terminal.keys("sh -c 'echo reading; exec cat'", "Enter")
    terminal.shows("\nreading")
    terminal.keys("one", "Enter")
    terminal.shows("one\none")
    terminal.keys("C-z")
    terminal.shows("Stopped")
    terminal.keys("fg", "Enter")
    terminal.shows("fg\nsh -c")
    terminal.keys("two", "Enter")
    terminal.shows("two\ntwo")
    terminal.keys("C-c")
    terminal.shows("^C\ninner>")
    terminal.keys("exit 4", "Enter")
    terminal.shows("code 4")
