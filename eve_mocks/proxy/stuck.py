"""Finds the handler that does not return, for a run that waits for its result in vain.

It costs nothing while all is well: only then does another thread look at where the main one is.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from eve_mocks.errors import MockError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from eve_mocks.folder import Folder

_PATIENCE = 8.0  # of the seconds that the wrapper waits


def watch(folder: Folder, tell: Callable[[MockError], None], *, patience: float = _PATIENCE) -> threading.Timer:
    """Tell what the main thread is held up by, if the timer that this returns is not cancelled in time."""

    def look() -> None:
        frame = sys._current_frames().get(threading.main_thread().ident or 0)  # noqa: SLF001 - made for debuggers
        if frame is not None and (error := held_up_by(frame, folder)) is not None:
            tell(error)

    timer = threading.Timer(patience, look)
    timer.daemon = True
    timer.start()
    return timer


def held_up_by(frame: FrameType | None, folder: Folder) -> MockError | None:
    """The function of a mock file that a thread is in, and the line where it is."""
    place, name = "", ""
    while frame is not None:
        if folder.holds(frame.f_code.co_filename):
            place = place or f"{folder.show(frame.f_code.co_filename)}:{frame.f_lineno}"
            name = frame.f_code.co_name
        frame = frame.f_back
    if not place:
        return None
    return MockError(
        f"{name} has not returned: it is at {place}",
        why="while a plain function of a mock runs, nothing else is answered",
        fix="Let it return at once. To wait, use async def and await asyncio.sleep(…), or the delay of a Response.",
    )
