"""Starts a command behind the filter.

A filter belongs to a thread. So a thread of this process puts it on, which hands the listener to all the others, and
starts the command, which inherits it. No second interpreter starts, no descriptor has to be passed, and the rest of
this process is as free as before.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, NamedTuple

from eve_mocks.contain import filter as bpf
from eve_mocks.contain import seccomp
from eve_mocks.contain.inherited import close_ways_out
from eve_mocks.contain.machine import this_machine
from eve_mocks.contain.responder import Responder
from eve_mocks.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from eve_mocks.contain.policy import Policy


class Contained(NamedTuple):
    """A command that runs contained. Closing it ends the network of what is left of it."""

    pid: int
    listener: seccomp.Listener
    responder: Responder

    def close(self) -> None:
        self.listener.close()
        self.responder.close()


def start(spawn: Callable[[], int], *, mode: bpf.Mode, policy: Policy, siblings: Collection[int] = ()) -> Contained:
    """Call ``spawn`` in a filtered thread; the process that it starts and names is contained. It may raise.

    ``spawn`` must do no more than that: its own calls wait for a supervisor that starts when it is done.

    ``siblings`` are the other child processes of this one, whose ends are left to their owners: this process
    becomes the parent of orphaned descendants, and reaps them.
    """
    machine = this_machine()
    if machine is None:
        raise RuntimeError("start() needs a machine that probe() approved of")
    seccomp.become_subreaper()
    close_ways_out()
    responder = Responder()
    code = bpf.assemble(bpf.program(machine, mode))

    def launch() -> tuple[int, seccomp.Listener]:
        listener = seccomp.install(code)
        try:
            return spawn(), listener
        except BaseException:
            listener.close()
            raise

    responder.start()
    try:
        pid, listener = in_thread(launch, "filtered")
    except BaseException:
        responder.close()
        raise
    # While the command's program is loaded: its first question is far.
    from eve_mocks.contain.supervisor import Supervisor

    # From this thread: those that the filtered one starts are filtered too, and would wait for themselves.
    Supervisor(listener, machine, mode, policy, responder).start()
    threading.Thread(target=_reap, args=({pid, *siblings},), name="reaper", daemon=True).start()
    return Contained(pid=pid, listener=listener, responder=responder)


def _reap(own: Collection[int]) -> None:
    """Take the orphans that end off the process table, until one of the ``own`` processes ends: then all is over."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)) is None or ended.si_pid not in own:
            if ended is not None:
                os.waitpid(ended.si_pid, os.WNOHANG)
