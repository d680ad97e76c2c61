"""What ``add`` can learn of an upstream before it writes a mock: its OpenAPI document, or the tools that it lists."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eve_mocks import files, snapshot
from eve_mocks.errors import MockError
from eve_mocks.match import nearest
from eve_mocks.paths import PathTemplate
from eve_mocks.pull import drift
from eve_mocks.pull.limits import Limits
from eve_mocks.scaffold import Description

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eve_mocks.errors import Problem
    from eve_mocks.folder import Folder
    from eve_mocks.pull.signin import Person

_METHODS = ("get", "post", "put", "patch", "delete", "head", "options")
_MOST_ROUTES = 200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """``file`` is the schema file to be written with ``content``, where there is one; ``error`` why there is none."""

    description: Description | None = None
    tools: Sequence[dict[str, Any]] = ()
    file: Path | None = None
    content: bytes | None = None
    counted: str = ""
    error: MockError | None = None
    problems: Sequence[Problem] = ()


def document(spec: str, name: str, folder: Folder) -> Learnt:
    """The OpenAPI document at a URL or a path. Raises ``MockError`` for a path that is none."""
    from eve_mocks.pull import documents

    file = folder.path / "schemas" / f"{name}.json"
    if "://" in spec:
        problems: list[Problem] = []
        try:
            value = asyncio.run(documents.fetch(spec, limits=Limits(), problems=problems))
        except MockError as error:
            return Learnt(description=Description(spec=spec), error=error)
        described = Description(spec=spec, server=documents.server(value, spec), operations=tuple(_operations(value)))
        counted = drift.count(value)
        return Learnt(description=described, file=file, content=_text(value), counted=counted, problems=problems)
    path = Path(os.path.abspath(spec))  # noqa: PTH100 - keeps symlinks
    value = documents.parse(_read(path, spec), spec)
    server = documents.server(value, "")
    operations = tuple(_operations(value))
    if folder.holds(path):
        written = str(path.relative_to(folder.path))
        return Learnt(
            description=Description(spec=written, server=server, operations=operations), counted=drift.count(value)
        )
    # A mock names files of its own folder alone.
    described = Description(spec=f"schemas/{name}.json", server=server, operations=operations)
    problems = documents.alone(value, spec)
    return Learnt(description=described, file=file, content=_text(value), counted=drift.count(value), problems=problems)


def _read(path: Path, shown: str) -> bytes:
    try:
        return files.read_regular(path)
    except OSError as error:
        try:
            near = nearest(path.name, [entry.name for entry in path.parent.iterdir()])
        except OSError:
            near = None
        raise MockError(
            f"{shown} cannot be read: {error.strerror}",
            why="--spec names an OpenAPI document: a URL, or a file by its path from here",
            fix=f"Did you mean {path.with_name(near).name}?" if near else "Name the file, or its URL.",
        ) from error


def _text(value: Any) -> bytes:
    try:
        return drift.text(value).encode()
    except ValueError as error:
        raise MockError(
            f"the document cannot be kept: {error}",
            why="a schema file is JSON in UTF-8, and numbers in it are finite",
            fix="Correct the document.",
        ) from error


def _operations(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Method and path of what a document describes, as far as routes can have them."""
    paths = value.get("paths")
    found = 0
    for path, item in paths.items() if isinstance(paths, dict) else ():
        try:
            PathTemplate(path)
        except MockError:
            continue
        for method in _METHODS:
            if isinstance(item, dict) and method in item and found < _MOST_ROUTES:
                found += 1
                yield method.upper(), path


def tools(name: str, url: str, folder: Folder, person: Person | None) -> Learnt:
    """What the MCP server at a URL lists; of a schema file that is there already, what that says."""
    file = folder.path / "schemas" / f"{name}.json"
    known = snapshot.read(name, folder)
    if known is not None:
        return Learnt(tools=list(snapshot.listed(known, "tools", "name").values()))
    if "*" in url:
        error = MockError(
            f"{url} is no one server",
            why="a wildcard claims many hosts",
            fix=f"Put its tools/list at {folder.show(file)}.",
        )
        return Learnt(error=error)
    from eve_mocks.pull import mcp

    problems: list[Problem] = []
    try:
        value = asyncio.run(mcp.describe(url, person=person, limits=Limits(), problems=problems))
        counted = drift.count(value)
        return Learnt(tools=value["tools"], file=file, content=_text(value), counted=counted, problems=problems)
    except MockError as error:
        return Learnt(error=error)
