"""``os._exit`` in a mock: it would end the run without a word, so it is told as the mistake that it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn

leave = os._exit
_pid = os.getpid()


def guard() -> None:
    """From here on ``os._exit`` raises ``SystemExit``; ``leave`` does what it did."""
    os._exit = _refuse


def _refuse(status: int) -> NoReturn:
    if os.getpid() != _pid:  # a process that a mock has forked ends as it wants
        leave(status)
    raise SystemExit(f"os._exit({status}) was called")
