"""What a Python mock file binds: an object that becomes a mock once its name and folder are known."""

from __future__ import annotations

import abc
import contextlib
import contextvars
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eve_mocks.errors import MockError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.folder import Folder
    from eve_mocks.model import Mock, Passage

_PACKAGE = str(Path(__file__).parent) + os.sep
_made: contextvars.ContextVar[list[Declared]] = contextvars.ContextVar("made")


class Declared(abc.ABC):
    """Remembers where it was made; ``file`` is a path as Python knows it."""

    def __init__(self) -> None:
        self.file, self.line = _caller()
        self._given: Mapping[str, Any] = {}
        _made.get([]).append(self)
        self._waiting: dict[object, tuple[str, str, int]] = {}

    @property
    def given(self) -> Mapping[str, Any]:
        """What was said of it, by the keys of a YAML file."""
        return self._given

    @abc.abstractmethod
    def named(self, name: str, folder: Folder) -> Mock | Passage:
        """The finished mock. Raises ``MockError``, or ``Mistakes``, for what is wrong in it."""

    def waits(self, decorator: object, operation: str) -> None:
        """Remember that a decorator was made, which is of no use until it is ``applied``."""
        self._waiting[decorator] = (operation, *_caller())

    def applied(self, decorator: object) -> None:
        self._waiting.pop(decorator, None)

    def unapplied(self, folder: Folder) -> list[Problem]:
        """A problem for each decorator that still waits."""
        return [
            Problem.of(
                MockError(
                    f"the decorator for {operation} stands above no function",
                    why="it registers the function below it, and does nothing by itself",
                    fix="Write it as @… above a function, or call it with one.",
                    file=folder.show(file),
                    line=line,
                )
            )
            for operation, file, line in self._waiting.values()
        ]


@contextlib.contextmanager
def noting() -> Iterator[list[Declared]]:
    """A list of what is made in the block, whether or not anything holds it."""
    made: list[Declared] = []
    token = _made.set(made)
    try:
        yield made
    finally:
        _made.reset(token)


def _caller() -> tuple[str, int]:
    """File and line of the nearest frame outside this package."""
    frame = sys._getframe(1)  # noqa: SLF001 - inspect.stack() reads source files, which costs milliseconds
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
