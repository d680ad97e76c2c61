"""Runs Python mock files and finds what they declare.

They are run by path, under names that no import can meet: a mock called ``json.py`` shadows nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from typing import TYPE_CHECKING

from eve_mocks import exits
from eve_mocks.declared import Declared, noting
from eve_mocks.handler import telling
from eve_mocks.silence import turned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from eve_mocks.folder import Folder
    from eve_mocks.model import Mock, Passage


class Declarations:
    """The mock objects of one folder's Python files; an object that several names hold counts once."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._seen: list[Declared] = []
        self._made: list[Declared] = []
        _forget(folder)

    def of(self, file: Path) -> list[tuple[str, Callable[[str], Mock | Passage]]]:
        """The mock objects bound at module level, by variable. Raises ``MockError`` for any failure of the file."""
        return [(variable, _draft(value, self._folder)) for variable, value in self.bound(file)]

    def bound(self, file: Path) -> list[tuple[str, Declared]]:
        """The objects themselves, by variable. Raises ``MockError``."""
        found = []
        with noting() as made:
            module = _run(file, self._folder)
        self._made.extend(made)
        for variable, value in vars(module).items():
            if isinstance(value, Declared) and not any(value is each for each in self._seen):
                self._seen.append(value)
                found.append((variable, value))
        return found

    def unbound(self) -> list[Declared]:
        """What the files made, and none of them holds."""
        return [each for each in self._made if not any(each is other for other in self._seen)]


def _draft(value: Declared, folder: Folder) -> Callable[[str], Mock | Passage]:
    def named(name: str) -> Mock | Passage:
        with telling(f"the mock {name}", folder, folder.show(value.file), value.line):
            return value.named(name, folder)

    return named


def _run(file: Path, folder: Folder) -> types.ModuleType:
    exits.guard()
    module = types.ModuleType(f"{folder.path.name}:{file.stem}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module  # dataclasses and pickle look for a class's module there
    with (
        _apart(folder.path, file.parent),
        telling(
            folder.show(file),
            folder,
            folder.show(file),
            1,
            meant=(),
            why="a mock file is run once before the command starts, and has to run to its end",
            fix="Correct it there.",
        ),
    ):
        exec(compile(file.read_bytes(), file, "exec", dont_inherit=True), vars(module))  # noqa: S102 - the user's code
    return module


@contextlib.contextmanager
def _apart(*folders: Path) -> Iterator[None]:
    """What a mock file does as it loads touches neither the command's streams nor the folders, which it imports from.

    stdout belongs to the command, and so does stdin: ``input()`` in a mock is an error.
    """
    # They stay: a handler may import later.
    sys.path += [str(folder) for folder in dict.fromkeys(folders) if str(folder) not in sys.path]
    before = sys.stdin, sys.dont_write_bytecode
    sys.stdin, sys.dont_write_bytecode = None, True
    try:
        with contextlib.redirect_stdout(sys.stderr), turned(1, 2):
            yield
    finally:
        sys.stdin, sys.dont_write_bytecode = before


def _forget(folder: Folder) -> None:
    """Let modules beside the mocks be imported anew: they may have been edited since the last load."""
    if str(folder.path) not in sys.path:  # the first load
        return
    importlib.invalidate_caches()
    for name, module in list(sys.modules.items()):
        attributes = getattr(module, "__dict__", {})
        places = [attributes.get("__file__"), *(attributes.get("__path__") or ())]
        if any(isinstance(place, str) and folder.holds(place) for place in places):
            del sys.modules[name]
