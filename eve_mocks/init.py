"""``init``: a mocks folder with an example, and what to put into the project's own script."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from eve_mocks import files, load, npm_package
from eve_mocks.errors import MockError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eve_mocks.errors import Problem

EXAMPLE = """\
# What api.example.com answers, in place of the real service. Any file beside this one is a mock of its own.
kind: http
url: https://api.example.com/
routes:
  /hello/{name}:
    GET: {response: {hello: world}}
"""
_SCRIPTS = ("eval", "evals", "test:evals", "test", "dev", "start")


def make(folder: Path, shown: str) -> list[str]:
    """Make the folder, with an example where it holds no mock, and return what was written. Raises ``MockError``."""
    example = folder / "example.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if load.names(folder):
            return []
        files.write_whole(example, EXAMPLE.encode())
    except OSError as error:
        raise MockError(
            f"the mocks folder {shown} cannot be made: {error.strerror}",
            why="the mocks are files in it",
            fix=f"Make {shown} a folder that you may write to, or name another with --dir.",
        ) from error
    return [f"{shown.removesuffix('/')}/{example.name}"]


def package(root: Path) -> tuple[list[str], list[Problem]]:
    """What evals of an eve project import, written into its place; and what was wrong with that."""
    if not is_eve(root):
        return [], []
    problem = npm_package.write(root)
    return ([], [problem]) if problem else (["node_modules/eve-mocks"], [])


def is_eve(root: Path) -> bool:
    """Whether eve is installed here, or asked for."""
    if (root / "node_modules" / "eve").exists():
        return True
    found = _package(root)
    return any("eve" in found.get(key, {}) for key in ("dependencies", "devDependencies"))


def script(root: Path, shown: str) -> str:
    """The line that runs the project's own script with its mocks: of package.json, or a command."""
    given = [] if shown == "mocks" else ["--dir", shown]
    run = shlex.join(["eve-mocks", *given, "run", "--"])
    scripts = _package(root).get("scripts", {})
    for name in _SCRIPTS:
        command = scripts.get(name)
        if isinstance(command, str) and "eve-mocks" not in command:
            return f"{json.dumps(f'{name}:mocked')}: {json.dumps(f'{run} {command}')}"
    return f'"eval:mocked": {json.dumps(f"{run} eve eval")}' if is_eve(root) else f"{run} COMMAND"


def is_of_npm(line: str) -> bool:
    return line.startswith('"')


def _package(root: Path) -> dict[str, dict[str, object]]:
    try:
        found = json.loads(files.read_regular(root / "package.json"))
    except (OSError, ValueError, RecursionError):
        return {}
    return dict(_mappings(found)) if isinstance(found, dict) else {}


def _mappings(package: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    for key, value in package.items():
        if isinstance(value, dict):
            yield key, value
