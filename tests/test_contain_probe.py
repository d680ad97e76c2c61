"""Why a machine cannot contain. What it can is found out by doing it: see test_contain_stress.py."""

import errno
import os
import socket
import sys

import pytest

from eve_mocks import contain
from eve_mocks.contain import launch, machine
from eve_mocks.contain.probe import why_no_filter, yama
from eve_mocks.contain.seccomp import Listener

ORDINARY, ADMINISTRATOR = "CapEff:\t0000000000000000\n", "CapEff:\t000001ffffffffff\n"


@pytest.mark.parametrize(
    ("level", "capabilities", "expected"),
    [
        (None, ORDINARY, None),
        ("0\n", ORDINARY, None),
        ("1\n", ORDINARY, None),
        ("2\n", ORDINARY, "Yama leaves ptrace to administrators (kernel.yama.ptrace_scope = 2)"),
        ("2\n", ADMINISTRATOR, None),
        ("3\n", ADMINISTRATOR, "Yama forbids ptrace (kernel.yama.ptrace_scope = 3)"),
    ],
)
def test_yama(tmp_path, level, capabilities, expected):
    if level is not None:
        (tmp_path / "scope").write_text(level)
    (tmp_path / "status").write_text(f"Name:\tpython\n{capabilities}")
    reason = yama(tmp_path / "scope", tmp_path / "status")
    assert (reason and reason.text) == expected


def test_another_platform(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert contain.probe().text == "darwin has no seccomp"


@pytest.mark.parametrize(
    ("name", "largest"), [("riscv64", sys.maxsize), ("x86_64", 2**31 - 1)], ids=["no table", "32-bit"]
)
def test_a_machine_without_a_table(monkeypatch, name, largest):
    monkeypatch.setattr(machine.os, "uname", lambda: os.uname_result(("Linux", "host", "6.1", "#1", name)))
    monkeypatch.setattr(sys, "maxsize", largest)
    assert contain.probe().text == f"no system call table for {name}" + (" (32-bit)" if largest < 2**32 else "")


@pytest.mark.parametrize(
    ("number", "beginning"),
    [
        (errno.EBUSY, "inside another run"),
        (errno.EINVAL, "Linux "),
        (errno.ENOSYS, "Linux "),
        (errno.EPERM, "a seccomp filter is not allowed here (Operation not permitted)"),
    ],
)
def test_no_filter(number, beginning):
    assert why_no_filter(OSError(number, os.strerror(number))).text.startswith(beginning)


def test_the_answer_of_this_machine_leaves_it_free():
    verdict = contain.probe()
    assert isinstance(verdict, contain.Mode | contain.Reason)
    if isinstance(verdict, contain.Mode):
        assert contain.probe() is verdict
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:  # would wait for an answer for ever
        assert free.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16) == b""


def test_what_spawn_raises_is_raised_and_nothing_stays(monkeypatch):
    mode = contain.probe()
    if isinstance(mode, contain.Reason):
        pytest.skip(str(mode))
    closed = []
    monkeypatch.setattr(launch.seccomp, "become_subreaper", lambda: None)
    monkeypatch.setattr(Listener, "close", lambda self, close=Listener.close: (close(self), closed.append(self)))
    policy = contain.Policy(
        proxy4=("127.0.0.1", 9),
        proxy6=None,
        known=("127.0.0.1", 8),
        on_redirect=print,
        on_refused=print,
        refuses=lambda host, port: False,
    )
    with pytest.raises(FileNotFoundError):
        contain.start(lambda: os.posix_spawn("/no/such/program", ["program"], {}), mode=mode, policy=policy)
    assert len(closed) == 1
