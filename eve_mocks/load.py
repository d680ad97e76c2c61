"""The mocks folder -> mocks, passages and every mistake found, each with file and line.

A file is right or wrong by itself: one broken file does not hide the mistakes of another.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

from eve_mocks import doubts
from eve_mocks.data_file import read_documents
from eve_mocks.errors import Collecting, MockError, Problem, as_written
from eve_mocks.folder import SUFFIXES, Folder
from eve_mocks.kinds import KINDS
from eve_mocks.match import did_you_mean
from eve_mocks.model import Mock, Passage
from eve_mocks.python_file import Declarations
from eve_mocks.router import Router

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from eve_mocks.document import Document

    # What becomes a mock or a passage once its name is known. Raises ``MockError``.
    type Draft = Callable[[str], Mock | Passage]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mocks:
    """What a folder holds.

    ``ignored`` are the names of files that hold no mock; ``problems`` tell what loads, and yet does nothing.
    """

    folder: Path
    mocks: list[Mock] = dataclasses.field(default_factory=list)
    passages: list[Passage] = dataclasses.field(default_factory=list)
    errors: list[MockError] = dataclasses.field(default_factory=list)
    ignored: list[str] = dataclasses.field(default_factory=list)
    problems: tuple[Problem, ...] = ()


def load(path: Path, *, shown: str | None = None, also: Iterable[Path] = ()) -> Mocks:
    """Load a folder, and files from elsewhere; a missing folder is empty.

    Raises ``MockError`` only where the folder itself cannot be read.
    """
    folder = Folder.at(path, shown)
    found = Mocks(folder=folder.path)
    declarations = Declarations(folder)
    stems: dict[str, Path] = {}
    for file in (*_files(folder), *also):
        if file.suffix not in SUFFIXES or (file.exists() and not file.is_file()):
            found.ignored.append(file.name)
            continue
        with _CollectingIn(found.errors, folder.show(file)):
            _check_name(file, stems, folder)
            drafts = declarations.of(file) if file.suffix == ".py" else _documents(file, folder)
            for key, draft in drafts:
                with _CollectingIn(found.errors, folder.show(file)):
                    made = draft(file.stem if len(drafts) == 1 else f"{file.stem}.{key}")
                    found.passages.append(made) if isinstance(made, Passage) else found.mocks.append(made)
            if not drafts:
                found.ignored.append(file.name)
    if any(getattr(mock, "auth", None) or getattr(mock, "copies", None) for mock in found.mocks):
        from eve_mocks import beside

        with _CollectingIn(found.errors, folder.shown):
            found.mocks.extend(beside.made_for(found.mocks))
    with _CollectingIn(found.errors, folder.shown):
        _check_names(found)
        Router(found.mocks, found.passages)
    return dataclasses.replace(found, problems=tuple(_doubts(found, folder, declarations)))


def _doubts(found: Mocks, folder: Folder, declarations: Declarations) -> Iterator[Problem]:
    if not (found.mocks or found.passages or found.errors):
        yield doubts.of_nothing(folder)
    for mock in found.mocks:
        yield from mock.problems
    yield from doubts.of_files(folder, found.ignored, declarations.unbound())


def declared(mocks: Iterable[Mock]) -> list[str]:
    """The names of the mocks that files declare, without what is mocked beside them."""
    return [mock.name for mock in mocks if not getattr(mock, "is_beside", False)]


def names(path: Path) -> set[str]:
    """The names that the files of a folder have taken; none where it cannot be read."""
    try:
        return {file.stem for file in path.iterdir() if file.suffix in SUFFIXES}
    except OSError:
        return set()


class _CollectingIn(Collecting):
    """Gives what it keeps a file at least, and takes a value that is too deep for a mistake."""

    def __init__(self, errors: list[MockError], file: str) -> None:
        super().__init__()
        self.errors = errors
        self._file = file

    def __exit__(self, type_: object, error: BaseException | None, traceback: object) -> bool:
        if isinstance(error, RecursionError):
            error = MockError(
                "its values are nested too deeply",
                why="neither Python nor its clients could read such an answer",
                fix="Write it flatter.",
            )
        if isinstance(error, MockError):
            error.at(self._file, None)
        return super().__exit__(type_, error, traceback)


def _files(folder: Folder) -> list[Path]:
    """The files at the top of the folder; hidden ones are editors' and the system's."""
    try:
        return sorted(file for file in folder.path.iterdir() if not file.name.startswith(".") and not file.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise MockError(
            f"the mocks folder {folder.shown} cannot be read: {error.strerror}",
            why="without it nothing is known of what may be called",
            fix="Make it a folder that you may read, or name another with --dir.",
            file=folder.shown,
        ) from error


def _check_name(file: Path, stems: dict[str, Path], folder: Folder) -> None:
    if not file.name.isprintable():
        raise MockError(
            f"the file name {file.name!r} cannot name a mock",
            why="a mock's name is shown in reports and typed in commands",
            fix="Rename the file.",
            file=folder.shown,
        )
    twin = stems.setdefault(file.stem, file)
    if twin is not file:
        raise MockError(
            f"two files are named {file.stem}: {twin.name} and {file.name}",
            why="the file's name without its ending is the mock's name",
            fix="Rename one of them, or merge them.",
            file=folder.show(file),
            line=1,
        )


def _check_names(found: Mocks) -> None:
    seen: dict[str, str] = {}
    entries: list[Mock | Passage] = [*found.mocks, *found.passages]
    for entry in entries:
        if entry.name in seen:
            raise MockError(
                f"two mocks are named {entry.name}",
                why=f"the other is in {seen[entry.name]}",
                fix="Rename one of the files.",
                file=entry.file,
                line=entry.line,
            )
        seen[entry.name] = entry.file


def _documents(file: Path, folder: Folder) -> list[tuple[str, Draft]]:
    """The drafts of a data file, by the number of the document."""
    shown = folder.show(file)
    documents = read_documents(file, shown, folder)
    if not documents:
        raise MockError(
            f"{shown} is empty",
            why="a mock file says at least its kind and url",
            fix="Begin with kind: http and url: https://…, or delete the file.",
            file=shown,
            line=1,
        )
    return [(str(n), functools.partial(_make, document)) for n, document in enumerate(documents, 1)]


def _make(document: Document, name: str) -> Mock | Passage:
    document.mapping(example="kind: http")
    kind = document.required("kind", why=f"it is one of {', '.join(KINDS)}", example="http")
    make = KINDS.get(kind.text(example="http"))
    if make is None:
        raise kind.error(
            f"unknown kind {as_written(kind.value)}",
            why=f"a mock is one of {', '.join(KINDS)}",
            fix=did_you_mean(kind.value, KINDS),
        )
    return make(name, document)
