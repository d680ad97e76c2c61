"""``node_modules/eve-mocks`` of a project: eve bundles evals before Node resolves names in them (contract, section 4).

It holds what the Node preload resolves ``eve-mocks/evals`` to by itself, and its types. Nothing of it is from npm.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import itertools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from eve_mocks.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parent / "preload" / "evals"
_FILES = ("evals.mjs", "evals.d.ts")
_NAME = b"eve-mocks/evals"
_ENDINGS = (".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx")
_MOST_FILES = 2000  # are looked at
_MARK = "written by eve-mocks"
_PACKAGE = {
    "name": "eve-mocks",
    "description": f"What evals import, {_MARK}. Do not edit.",
    "license": "MIT",
    "type": "module",
    "exports": {"./evals": {"types": "./evals.d.ts", "default": "./evals.mjs"}},
}


def ensure(project: Path) -> Problem | None:
    """Write the package where an eval of the project imports it; what keeps it from being written is returned."""
    return write(project) if is_imported(project / "evals") else None


def write(project: Path) -> Problem | None:
    """Write the package; what keeps it from being written is returned."""
    folder = project / "node_modules" / "eve-mocks"
    try:
        if not _is_ours(folder):
            return Problem(
                message=f"{_shown(folder)} is another package",
                why="an eval imports eve-mocks/evals, and eve bundles it from there",
                fix="Take it out of package.json and of node_modules, and run again.",
            )
        folder.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            _write(folder / name, (SOURCE / name).read_bytes())
        package = {**_PACKAGE, "version": importlib.metadata.version("eve-mocks")}
        _write(folder / "package.json", json.dumps(package, indent=2).encode() + b"\n")
    except OSError as error:
        return Problem(
            message=f"{_shown(folder)} cannot be written: {error.strerror}",
            why="an eval imports eve-mocks/evals, and eve bundles it from there",
            fix="Let it be written, or run where it can be.",
        )
    return None


def is_imported(evals: Path) -> bool:
    """Whether a file of this folder, or below it, names the package."""
    for file in itertools.islice(_sources(evals), _MOST_FILES):
        with contextlib.suppress(OSError):
            if _NAME in file.read_bytes():
                return True
    return False


def _sources(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "node_modules"]
        yield from (Path(place, name) for name in names if name.endswith(_ENDINGS))


def _is_ours(folder: Path) -> bool:
    if folder.is_symlink():
        return False
    try:
        return _MARK in (folder / "package.json").read_text("utf-8", "replace")
    except FileNotFoundError:
        return not folder.exists() or not any(folder.iterdir())


def _write(path: Path, content: bytes) -> None:
    """Replace a file at once, for another run may read it; one that is right already is left alone."""
    with contextlib.suppress(OSError):
        if path.read_bytes() == content:
            return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(content)
    beside.replace(path)


def _shown(folder: Path) -> str:
    return str(Path(*folder.parts[-2:]))
