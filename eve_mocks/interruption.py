"""What ends code from outside, and is no mistake of it: a client that hung up, Ctrl-C.

Everything else that user code raises is its own, also what is no ``Exception``: a test library's ``Failed``, a
``GeneratorExit``, the cancellation of a task that the code itself had started.
"""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


class Interrupted(KeyboardInterrupt):
    """The Ctrl-C of a person; a plain ``KeyboardInterrupt`` was raised by the code that it comes from."""


def heed_ctrl_c() -> None:
    """From here on SIGINT raises ``Interrupted``, unless the caller has it ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise Interrupted


def is_from_outside(error: BaseException) -> bool:
    """Whether an exception says that the code which raised it was to end, and not that it failed."""
    if isinstance(error, Interrupted):
        return True
    if "asyncio" not in sys.modules:  # which the wrapper is not to spend its time on
        return False
    import asyncio

    if not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs, so nothing was cancelled
        return False
    return task is not None and task.cancelling() > 0
