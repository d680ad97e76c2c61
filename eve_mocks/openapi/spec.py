"""The documents of one mock: read from files, each operation under the path that it has below the mock's url."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from eve_mocks.data_file import read_documents
from eve_mocks.errors import Collecting, MockError, Problem
from eve_mocks.openapi import servers
from eve_mocks.openapi.dialect import Dialect
from eve_mocks.openapi.node import Documents, Node, Unresolvable
from eve_mocks.openapi.operation import Operation, version_of
from eve_mocks.openapi.sample import Sampler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eve_mocks.document import Document
    from eve_mocks.folder import Folder
    from eve_mocks.match import Claim

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_LARGEST = 40_000_000
_PAGES = (b"<!doctype", b"<html", b"<?xml")
_WHY = "spec names OpenAPI documents: 3.0, 3.1 or Swagger 2.0, in JSON or YAML"


class Described(NamedTuple):
    """An operation below a mock's url."""

    operation: Operation
    path: str
    spec: Spec

    @property
    def file(self) -> str:
        return self.spec.document.file

    @property
    def line(self) -> int | None:
        """Where the document has it: looked up where it is told, for in a large document that takes its time."""
        return self.spec.document.line_of("paths", self.operation.path, self.operation.method.lower())


class Spec:
    """One document, and what checks and makes values for its schemas."""

    def __init__(self, root: Node, document: Document) -> None:
        self.root = root
        self.document = document
        self.version = version_of(root.value)
        self.dialect = Dialect(self.version, root.documents)
        self.sampler = Sampler(lambda schema, value: not self.dialect.problems(schema, value, answers=True))

    def operations(self, problems: list[Problem]) -> Iterator[Operation]:
        """Each operation; a path that is a reference which leads nowhere is a problem."""
        paths = self.root.value.get("paths", {})
        for path in paths if isinstance(paths, dict) else ():
            try:
                item = self.root.child("paths").child(path).follow()
                for method in _METHODS:
                    if isinstance(item.value, dict) and isinstance(item.value.get(method), dict):
                        yield Operation(method.upper(), str(path), item, self.root)
            except Unresolvable as error:
                told = MockError(
                    f"{path}: {error}",
                    why="the document is read as it is, and nothing is downloaded: what is under it is not answered",
                    fix="Correct the document, or put what it names into the mocks folder.",
                    file=self.document.file,
                    line=self.document.line_of("paths", path),
                )
                problems.append(Problem.of(told))


class Specs(NamedTuple):
    """``is_whole`` is whether all of the documents were there; ``problems`` tell of those that were not.

    ``copies`` are those that were pulled, by where they are from.
    """

    described: list[Described]
    is_whole: bool
    problems: list[Problem]
    copies: dict[str, Path]


def read_specs(spec: Document, name: str, claim: Claim) -> Specs:
    """The operations of what ``spec:`` names: a path, a URL, or a list. Raises ``MockError``, or ``Mistakes``."""
    parts = [part for _, part in spec.parts()] if isinstance(spec.value, list) else [spec]
    mistakes = Collecting()
    found: dict[tuple[str, str], Described] = {}
    problems: list[Problem] = []
    copies: dict[str, Path] = {}
    is_whole = True
    for number, part in enumerate(parts, 1):
        with mistakes, part.placing():
            path = _path_of(part, name, number)
            if path is None:
                problems.append(Problem.of(_not_pulled(part, name)))
                is_whole = False
                continue
            if "://" in part.value:
                copies[part.value] = path
            spec_of_part = _read(path, part)
            if not (of_part := _described(spec_of_part, claim, problems)):
                problems.append(Problem.of(_nothing(spec_of_part)))
            for described in of_part:
                method = described.operation.method
                other = found.setdefault((method, re.sub(r"\{[^}]*\}", "{}", described.path)), described)
                if other is not described:
                    raise MockError(
                        f"two documents describe {method} {described.path}: {other.file} and {described.file}",
                        why="only one of them could say what it answers",
                        fix="Take one of the documents out, or give each a mock of its own.",
                    )
    mistakes.tell()
    return Specs(list(found.values()), is_whole, problems, copies)


def _path_of(part: Document, name: str, number: int) -> Path | None:
    """Where a document is; None for one at a URL that is still to be pulled."""
    text = part.text(example="spec: schemas/shop.json")
    if "://" in text:
        path = part.folder.path / "schemas" / f"{name}{'' if number == 1 else f'.{number}'}.json"
        return path if path.is_file() else None
    path = part.folder.file(text)
    if not path.is_file():
        raise part.error(f"there is no file {text}", why=_WHY, fix=f"Put it at {part.folder.show(path)}.")
    return path


def _not_pulled(part: Document, name: str) -> MockError:
    return part.error(
        f"{part.value} has not been pulled",
        why="a document at a URL is read from schemas/ of the mocks folder, so that a run needs no network; "
        "until then routes and stubs alone answer",
        fix=f"eve-mocks pull {name}",
    )


def _nothing(spec: Spec) -> MockError:
    return MockError(
        "the document describes no operation",
        why="it has no paths below the url, and a document without any answers nothing",
        fix="Name another document, or take spec out.",
        file=spec.document.file,
        line=spec.document.line_of("paths"),
    )


def _read(path: Path, part: Document) -> Spec:
    """Raises ``MockError``."""
    folder, shown = part.folder, part.folder.show(path)
    if path.stat().st_size > _LARGEST:
        raise part.error(
            f"{shown} has {path.stat().st_size // 1_000_000} MB",
            why=f"documents of more than {_LARGEST // 1_000_000} MB are not read",
            fix="Take out what is not called.",
        )
    documents = Documents(lambda uri: _fetch(uri, path, folder))
    uri = path.absolute().as_uri()
    found = _parse(path, folder)
    documents.loaded[uri] = found.value
    spec = Spec(Node(documents, uri, "", found.value), found)
    if not spec.version:
        given = found.value.get("openapi", found.value.get("swagger"))
        told = "is no OpenAPI document" if given is None else f"is of version {given}"
        raise MockError(f"{shown} {told}", why=_WHY, fix="Name another file.", file=shown, line=found.line)
    if not isinstance(found.value.get("paths", {}), dict):
        raise MockError(f"{shown} has no paths", why=_WHY, fix="Correct it.", file=shown, line=found.line_of("paths"))
    return spec


def _parse(path: Path, folder: Folder) -> Document:
    shown = folder.show(path)
    with path.open("rb") as file:
        is_page = file.read(200).lstrip().lower().startswith(_PAGES)
    if is_page:
        fix = "Download the document itself."
        raise MockError(f"{shown} is a page, not a document", why=_WHY, fix=fix, file=shown, line=1)
    documents = read_documents(path, shown, folder)
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise MockError(f"{shown} is no OpenAPI document", why=_WHY, fix="Name another file.", file=shown, line=1)
    return documents[0]


def _fetch(uri: str, path: Path, folder: Folder) -> Any:
    """A document that another one names: a file beside it, within the mocks folder."""
    from pathlib import Path
    from urllib.parse import unquote

    parts = urlsplit(uri)
    other = Path(unquote(parts.path))
    if parts.scheme != "file":
        raise Unresolvable(uri, "is not downloaded: put it beside the document")
    if not other.resolve().is_relative_to(folder.path.resolve()) and not other.resolve().is_relative_to(
        path.parent.resolve()
    ):
        raise Unresolvable(uri, f"is not in {folder.shown}")
    try:
        found = read_documents(other, folder.show(other), folder)
    except MockError as error:
        raise Unresolvable(folder.show(other), error.message) from error
    return found[0].value if found else None


def _described(spec: Spec, claim: Claim, problems: list[Problem]) -> list[Described]:
    """Paths are relative to the mock's url, as the document's are to its server. Of a server at the same host that is
    below the url, or above it, the difference counts.
    """
    prefix = claim.prefix.rstrip("/")
    operations = list(spec.operations(problems))
    for base in servers.nearest(servers.bases(spec.root.value, claim), prefix):
        paths = [(operation, servers.below(operation.path, base, prefix)) for operation in operations]
        if found := [Described(operation, path, spec) for operation, path in paths if path is not None]:
            return found
    return []
