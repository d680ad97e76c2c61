"""The connections of an eve app, from the manifest that eve compiles, subagents included.

It has no URL of a connection that is made per session, and none of an OpenAPI connection whose document names its
servers: these are read from their modules, which Node imports with eve's constructors wrapped.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eve_mocks import files
from eve_mocks.connections import Connection
from eve_mocks.errors import Problem
from eve_mocks.match import BadURL, parse_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NAME = "compiled-agent-manifest.json"
PLACES = (f".eve/compile/{_NAME}", f".output/.eve/compile/{_NAME}")
KIND = "eve-agent-compiled-manifest"
KNOWN_VERSION = 54
_MODULES = (".ts", ".mts", ".js", ".mjs")
_DEFINES = re.compile(rb"\b(?:defineMcpClientConnection|defineOpenAPIConnection|defineDynamic)\(")
_READER = Path(__file__).parent / "preload" / "read_connections.mjs"
_PATIENCE = 30.0
_COMPILE = "Compile it again: eve-mocks run -- npx eve info"


class _Module(NamedTuple):
    """A connection whose URL its module knows. ``path`` is the module."""

    connection: Connection
    path: Path


def read(root: Path, *, runs_modules: bool = True) -> tuple[list[Connection], list[Problem]]:
    """The connections of the app in a folder, and what keeps some of them from being read.

    Without ``runs_modules`` Node is not started, and what it would tell is left out.
    """
    problems: list[Problem] = []
    found: list[Connection] = []
    modules: list[_Module] = []
    place = next((place for place in PLACES if (root / place).exists()), None)
    if place is None:
        return [], list(_uncompiled(root))
    for agent, base in _agents(root, place, problems):
        for each in _list(agent, "connections"):
            connection = _connection(each, base, root)
            if connection is None:
                problems.append(_odd(place, f"a connection of {base or 'the agent'}"))
            elif connection.url is None:
                modules.append(_Module(connection, _path(each, base, root)))
            else:
                found.append(connection)
        for each in _list(agent, "dynamicConnections"):
            connection = _dynamic(each, base, root)
            if connection is None:
                problems.append(_odd(place, f"a dynamic connection of {base or 'the agent'}"))
            else:
                modules.append(_Module(connection, _path(each, base, root)))
    known = {*(each.source for each in found), *(module.connection.source for module in modules)}
    problems += _later(root, known)
    told = _run(root, [module.path for module in modules], problems) if runs_modules else [[] for _ in modules]
    for module, made in zip(modules, told, strict=True):
        found += _with(module.connection, made)
    return found, problems


def _agents(root: Path, place: str, problems: list[Problem]) -> Iterator[tuple[dict[str, Any], str]]:
    """The agent and its subagents, each with the folder that its paths begin in."""
    try:
        manifest = json.loads(files.read_regular(root / place))
    except (OSError, ValueError, RecursionError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        problems.append(
            Problem(
                message=f"{place} cannot be read: {reason}",
                why="it is where eve keeps which connections an agent has; it may have been written half",
                fix=_COMPILE,
            )
        )
        return
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        problems.append(_odd(place, f"kind, which should be {KIND},"))
        return
    version = manifest.get("version")
    if isinstance(version, int) and version > KNOWN_VERSION:
        problems.append(
            Problem(
                message=f"{place} has version {version}",
                why=f"versions up to {KNOWN_VERSION} are known, and a later one may tell of connections otherwise",
                fix="Compare the list with the connections of the agent; a later eve-mocks may know it.",
            )
        )
    yield manifest, str(manifest.get("agentRoot") or "")
    for each in _list(manifest, "subagents"):
        agent = each.get("agent") if isinstance(each, dict) else None
        if isinstance(agent, dict):
            yield agent, str(agent.get("agentRoot") or each.get("rootPath") or "")
        else:
            problems.append(_odd(place, "a subagent"))


def _later(root: Path, known: set[str]) -> Iterator[Problem]:
    """Modules of connections that were written after eve has compiled."""
    for folder, _, names in os.walk(root / "agent"):
        if os.path.basename(folder) != "connections":  # noqa: PTH119 - os.walk gives text
            continue
        for path in (Path(folder, name) for name in sorted(names) if name.endswith(_MODULES)):
            source = str(path.relative_to(root))
            with contextlib.suppress(OSError):
                if source not in known and _DEFINES.search(files.read_regular(path)):
                    yield Problem(
                        message=f"{source} is not among the connections that eve has compiled",
                        why="so it is not listed: it was written later, or under another name",
                        fix=_COMPILE,
                    )


def _list(given: dict[str, Any], key: str) -> list[Any]:
    found = given.get(key)
    return found if isinstance(found, list) else []


def _odd(place: str, what: str) -> Problem:
    return Problem(
        message=f"{place} is not as eve writes it: {what} cannot be read",
        why="the connections of an agent are read from it",
        fix=_COMPILE,
    )


def _uncompiled(root: Path) -> Iterator[Problem]:
    """An app of eve that was never compiled."""
    try:
        package = json.loads(files.read_regular(root / "package.json"))
    except (OSError, ValueError, RecursionError):
        return
    needs = {**(_mapping(package, "dependencies")), **_mapping(package, "devDependencies")}
    if "eve" in needs and (root / "agent").is_dir():
        yield Problem(
            message="the connections of the eve agent are not listed",
            why=f"eve writes them when it compiles, and there is no {PLACES[0]}",
            fix="Compile it once: eve-mocks run -- npx eve info",
        )


def _mapping(package: Any, key: str) -> dict[str, Any]:
    found = package.get(key) if isinstance(package, dict) else None
    return found if isinstance(found, dict) else {}


def _path(given: dict[str, Any], base: str, root: Path) -> Path:
    """The module of a connection: here, for the app may have been copied since it was compiled, else where it was."""
    below = str(given.get("logicalPath"))
    _, agent, inside = base.rpartition(f"{os.sep}agent")
    here = root / "agent" / inside.lstrip(os.sep) / below
    return here if agent and here.exists() else Path(base, below)


def _source(given: dict[str, Any], base: str, root: Path) -> str:
    path = _path(given, base, root).absolute()
    return str(path.relative_to(root.absolute())) if path.is_relative_to(root.absolute()) else str(path)


def _connection(given: Any, base: str, root: Path) -> Connection | None:
    if not isinstance(given, dict) or not isinstance(given.get("connectionName"), str):
        return None
    kind = "mcp" if given.get("protocol") == "mcp" else "http"
    url = given.get("url")
    return Connection(
        name=given["connectionName"],
        kind=kind,
        url=url if isinstance(url, str) and _is_called(url) else None,
        source=_source(given, base, root),
    )


def _dynamic(given: Any, base: str, root: Path) -> Connection | None:
    if not isinstance(given, dict) or not isinstance(given.get("slug"), str):
        return None
    return Connection(name=given["slug"], kind="mcp", url=None, source=_source(given, base, root), made_later=True)


def _is_called(url: str) -> bool:
    try:
        parse_url(url)
    except BadURL:
        return False
    return True


def _with(connection: Connection, made: Sequence[dict[str, Any]]) -> Iterator[Connection]:
    """A connection as its module makes it: one for each URL, else one that is known by its name alone."""
    seen = set()
    for each in made:
        url, spec = each.get("url"), each.get("spec")
        if (url, spec) in seen or not (url or spec):
            continue
        seen.add((url, spec))
        yield Connection(
            name=connection.name,
            kind="mcp" if each.get("protocol") == "mcp" else "http",
            url=url if url and _is_called(url) else None,
            spec=spec,
            source=connection.source,
            made_later=connection.made_later,
        )
    if not seen:
        yield connection


def _run(root: Path, paths: Sequence[Path], problems: list[Problem]) -> list[list[dict[str, Any]]]:
    """What each module makes. One that ends Node, or hangs, does not keep the others from being read."""
    if not paths:
        return []
    import shutil

    node = shutil.which("node")
    if node is None:
        problems.append(
            Problem(
                message=f"the URLs of {len(paths)} connections are not known",
                why="their modules make them, Node runs these, and there is no node on the PATH",
                fix="Install Node 24, or mock the connections by --url.",
            )
        )
        return [[] for _ in paths]
    told: list[list[dict[str, Any]]] = []
    while len(told) < len(paths):
        left = paths[len(told) :]
        said, reason = _node(node, root, left)
        for path, each in zip(left, said, strict=False):
            if "error" in each:
                problems.append(_failed(path, root, each["error"]))
            told.append(each.get("made", []))
        if len(said) < len(left):
            problems.append(_failed(left[len(said)], root, reason))
            told.append([])
    return told


def _node(node: str, root: Path, paths: Sequence[Path]) -> tuple[list[dict[str, Any]], str]:
    """What Node says of the modules, as far as it got, and why no further."""
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as made:
        said, errors = Path(made, "said"), Path(made, "errors")
        said.touch()
        # What the modules print belongs to nobody. A pipe would be waited for as long as a program of theirs holds it.
        with errors.open("wb") as stderr:
            process = subprocess.Popen(  # noqa: S603 - the project's own code, as eve runs it
                [node, "--no-warnings", str(_READER), str(said), *map(str, paths)],
                cwd=root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )
        try:
            reason = f"it ended Node with {process.wait(_PATIENCE)}"
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            reason = f"it was not imported within {_PATIENCE:g} s"
        lines = errors.read_text("utf-8", "replace").splitlines()
        reason = next((line for line in lines if "Error" in line), reason)
        return [json.loads(line) for line in said.read_bytes().splitlines()], reason


def _failed(path: Path, root: Path, reason: str) -> Problem:
    shown = path.relative_to(root.absolute()) if path.is_relative_to(root.absolute()) else path
    return Problem(
        message=f"the URL that {shown} makes is not known: {reason}",
        why="Node imports the module to read it, and that failed",
        fix="Import it without what fails, or mock the connection by --url.",
    )
