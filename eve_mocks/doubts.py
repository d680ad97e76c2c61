"""What loads, and yet cannot be what was meant: files that are not read, mocks that nothing reaches."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from eve_mocks.errors import MockError, Problem
from eve_mocks.folder import SUFFIXES
from eve_mocks.match import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eve_mocks.declared import Declared
    from eve_mocks.folder import Folder


def of_nothing(folder: Folder) -> Problem:
    """How to begin, where a folder holds no mock or is not there."""
    fix = "Begin with eve-mocks add NAME --url https://api.example.com/"
    above = _above(folder)
    if above is not None:
        beside, itself = os.path.relpath(above.parent), os.path.relpath(above)
        fix = f"{above.name} is there in {beside}: run it from there, or with eve-mocks --dir {itself}"
    return Problem(
        message=f"{folder.shown} {'holds no mocks' if folder.path.exists() else 'does not exist'}",
        why="so every call is blocked",
        fix=fix,
    )


def _above(folder: Folder) -> Path | None:
    """The nearest folder of the same name, further up, that has something to load."""
    for place in folder.path.parent.parents:
        found = place / folder.path.name
        try:
            if any(file.suffix in SUFFIXES for file in found.iterdir()):
                return found
        except OSError:  # there is none, or it is somebody else's
            continue
    return None


def of_files(folder: Folder, ignored: Iterable[str], unbound: Iterable[Declared]) -> Iterator[Problem]:
    """What is wrong with files that hold no mock, and with mocks that their file lets go."""
    told = set()
    for declared in unbound:
        file = folder.show(declared.file)
        told.add(file)
        yield Problem.of(
            MockError(
                "a mock is made here, and nothing holds it",
                why="of a Python file, what is bound to a name at its top level is loaded",
                fix="Write it as name = …, at the top level of the file.",
                file=file,
                line=declared.line,
            )
        )
    for name in ignored:
        file = folder.show(folder.path / name)
        if name.endswith(".py") and not name.startswith("_") and file not in told:
            yield Problem(
                message=f"{file} holds no mock",
                why="a Python file at the top of the mocks folder binds mocks to names, such as shop = http_mock(…)",
                fix="Bind one, or move a file that others import into a subfolder.",
            )
        elif suffix := _misspelt(name):
            yield Problem(
                message=f"{file} is not read",
                why=f"a mock file ends in {', '.join(SUFFIXES)}",
                fix=f"Rename it to end in {suffix}, or move it into a subfolder.",
            )


def _misspelt(name: str) -> str | None:
    """The ending that was probably meant. An editor's own copy, ``pay.yaml~``, means none."""
    *middle, last = ["", *Path(name).suffixes]
    if not last or last in SUFFIXES or name.endswith("~"):
        return None
    kept = [suffix for suffix in middle if suffix in SUFFIXES]
    return kept[-1] if kept else nearest(last, SUFFIXES, cutoff=0.8)
