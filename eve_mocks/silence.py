"""What mocks print while they load in the wrapper, where every stream belongs to the command.

It goes nowhere: the proxy loads the same files, and what they print there is in the run's output.log.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Turn stdout and stderr to nowhere, for Python, for C libraries and for child processes."""
    before = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nowhere, turned(1, nowhere.fileno()), turned(2, nowhere.fileno()):  # noqa: PTH123
        sys.stdout = sys.stderr = nowhere
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


@contextlib.contextmanager
def turned(number: int, to: int) -> Iterator[None]:
    """Turn a descriptor to where another leads, for what child processes and C libraries write."""
    try:
        kept = os.dup(number)
    except OSError:  # closed by the caller: nothing can reach it
        yield
        return
    try:
        with contextlib.suppress(OSError):
            os.dup2(to, number)
        yield
    finally:
        os.dup2(kept, number)
        os.close(kept)
