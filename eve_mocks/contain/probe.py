"""What this machine allows: the mode to contain in, or why it cannot be done. Found out by doing it, in under 5 ms."""

from __future__ import annotations

import errno
import os
import select
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eve_mocks.contain import filter as bpf
from eve_mocks.contain import seccomp
from eve_mocks.contain.filter import Mode
from eve_mocks.contain.machine import MACHINES, this_machine
from eve_mocks.threads import in_thread

if TYPE_CHECKING:
    from eve_mocks.contain.machine import Machine

_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
_CAP_SYS_PTRACE = 1 << 19
_PATIENCE_MS = 2000


class Reason(NamedTuple):
    """Why nothing can be contained here, in words for the summary line, and what would change it."""

    text: str
    fix: str

    def __str__(self) -> str:
        return self.text


def probe() -> Mode | Reason:
    """The mode in which programs can be contained here, or the reason why they cannot."""
    if sys.platform != "linux":
        return Reason(f"{sys.platform} has no seccomp", "run it in a Linux container")
    machine = this_machine()
    if machine is None:
        name = os.uname().machine + (" (32-bit)" if os.uname().machine in MACHINES else "")
        return Reason(f"no system call table for {name}", f"use a machine of {' or '.join(MACHINES)}")
    return yama(_YAMA, Path("/proc/self/status")) or _try(machine)


def yama(scope: Path, status: Path) -> Reason | None:
    """Yama decides who may read another process's memory (Documentation/admin-guide/LSM/Yama.rst)."""
    try:
        level = int(scope.read_text())
    except (OSError, ValueError):
        return None
    fix = "set kernel.yama.ptrace_scope to 1 (sysctl)"
    if level >= 3:
        return Reason("Yama forbids ptrace (kernel.yama.ptrace_scope = 3)", f"{fix} and restart the machine")
    capabilities = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("CapEff:"))
    if level == 2 and not int(next(capabilities, "0"), 16) & _CAP_SYS_PTRACE:
        return Reason("Yama leaves ptrace to administrators (kernel.yama.ptrace_scope = 2)", fix)
    return None


def _try(machine: Machine) -> Mode | Reason:
    """Put a filter on a thread, and treat a process that it starts as a contained one would be."""
    code = bpf.assemble(bpf.asking_at_exit(machine))
    ready = threading.Event()
    found: list[seccomp.Listener] = []

    def ask() -> None:
        try:
            found.append(seccomp.install(code))
        finally:
            ready.set()
        seccomp.start_and_fail()

    def judge() -> Mode | Reason:
        ready.wait()
        if not found:
            return Reason("no filter could be set", "")
        try:
            return _judge(found[0])
        finally:
            found[0].close()

    verdicts: list[Mode | Reason] = []
    judging = threading.Thread(target=lambda: verdicts.append(judge()))
    judging.start()
    try:
        in_thread(ask, "filtered")
    except OSError as error:
        return why_no_filter(error)
    finally:
        judging.join()
    return verdicts[0]


def _judge(listener: seccomp.Listener) -> Mode | Reason:
    poll = select.poll()
    poll.register(listener.fileno(), select.POLLIN)
    if not poll.poll(_PATIENCE_MS):
        return Reason("the kernel does not pass on what programs ask", "use Linux 5.9 or newer, not an emulation of it")
    notification = seccomp.Notification()
    try:
        listener.receive(notification)
        return _examine(listener, notification)
    except OSError as error:
        return Reason(f"a program's calls cannot be answered ({error.strerror})", "use Linux 5.9 or newer")
    finally:
        listener.proceed(notification.id)


def _examine(listener: seccomp.Listener, notification: seccomp.Notification) -> Mode | Reason:
    thread = notification.thread
    try:
        seccomp.read_memory(thread, id(notification), 1)  # it shares this process's memory until it ends
        os.readlink(f"/proc/{thread}/fd/{listener.fileno()}")  # noqa: PTH115 - not a path to follow
    except OSError as error:
        return Reason(f"a program's memory may not be read ({error.strerror})", "allow process_vm_readv and ptrace")
    listener.put(notification.id, listener.fileno(), close_on_exec=True)
    try:
        os.close(seccomp.fetch_file(thread, listener.fileno()))
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS, errno.EACCES):
            return Mode.GIVE
        raise
    return Mode.FETCH


def why_no_filter(error: OSError) -> Reason:
    match error.errno:
        case errno.EBUSY:
            return Reason("inside another run, or another seccomp supervisor", "use it outside of that")
        case errno.EINVAL | errno.ENOSYS:
            return Reason(
                f"Linux {os.uname().release} is too old, or has no seccomp listener", "use Linux 5.9 or later"
            )
        case _:
            return Reason(f"a seccomp filter is not allowed here ({error.strerror})", "allow the seccomp system call")
