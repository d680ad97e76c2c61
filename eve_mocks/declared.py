"""What a Python mock file binds: an object that becomes a mock once its name and folder are known."""

from __future__ import annotations

import abc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eve_mocks.folder import Folder
    from eve_mocks.model import Mock, Passage

_PACKAGE = str(Path(__file__).parent) + os.sep


class Declared(abc.ABC):
    """Remembers where it was made; ``file`` is a path as Python knows it."""

    def __init__(self) -> None:
        self.file, self.line = _caller()

    @abc.abstractmethod
    def named(self, name: str, folder: Folder) -> Mock | Passage:
        """The finished mock. Raises ``MockError`` for what is wrong in it."""


def _caller() -> tuple[str, int]:
    """File and line of the nearest frame outside this package."""
    frame = sys._getframe(1)  # noqa: SLF001 - inspect.stack() reads source files, which costs milliseconds
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
