"""The mocks folder: how its files are found, and how they are called when a person is told of them."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING

from eve_mocks.errors import MockError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

# What a mock file's name ends in.
SUFFIXES = (".yaml", ".yml", ".json", ".py")


@dataclasses.dataclass(frozen=True, slots=True)
class Folder:
    """``path`` is absolute; ``shown`` is how the user calls it, such as ``mocks``."""

    path: Path
    shown: str

    @classmethod
    def at(cls, path: Path, shown: str | None = None) -> Folder:
        return cls(Path(os.path.abspath(path)), str(path) if shown is None else shown)  # noqa: PTH100 - keeps symlinks

    def holds(self, file: str | Path) -> bool:
        """Whether a file is in the folder or below it."""
        return Path(file).is_relative_to(self.path)

    def show(self, file: str | Path) -> str:
        """A file as the user knows it: ``mocks/linear.yaml``."""
        return str(Path(self.shown) / Path(file).relative_to(self.path)) if self.holds(file) else str(file)

    def file(self, name: str) -> Path:
        """A file that a mock names. Raises ``MockError`` where that is outside the folder; a symbolic link may be."""
        path = Path(os.path.normpath(self.path / name))
        if not self.holds(path) or "\0" in name:
            raise MockError(
                f"the file {name!r} is not in {self.shown}",
                why="a mock's files are part of the mocks folder, so that the folder can be shared as it is",
                fix=f"Move or link the file into {self.shown}, and write its path from there.",
            )
        return path

    def place(self, error: BaseException) -> tuple[str, int] | None:
        """File and line of the user's own code that an exception comes from: the deepest frame in the folder."""
        if isinstance(error, SyntaxError) and error.filename and self.holds(error.filename):
            return self.show(error.filename), error.lineno or 1
        places = [(file, line) for file, line in _frames(error.__traceback__) if self.holds(file)]
        return (self.show(places[-1][0]), places[-1][1]) if places else None


def _frames(traceback: TracebackType | None) -> Iterator[tuple[str, int]]:
    while traceback is not None:
        yield traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
