"""Threads beside the main one.

Python heeds a signal in the main thread, and that does not wake up for one that another thread has taken.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def signals_for_the_main_thread() -> Iterator[None]:
    """A thread that is started here takes no signal, and neither do those that it starts."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def in_thread[T](work: Callable[[], T], name: str) -> T:
    """The result of ``work`` done in a thread of its own, which ends with it; what it raises is raised.

    The thread blocks the signals that this one does, as do the processes that it starts.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
