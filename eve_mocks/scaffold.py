"""``add``: a mock file that loads and answers at once, for a person to fill in.

What is mocked is said by a URL, by an OpenAPI document, by the connection of the name, or by what the last run blocked;
in the last case the operations that were blocked become the routes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import shlex
from typing import TYPE_CHECKING, Any

from eve_mocks import advice, files, load, scaffold_text
from eve_mocks.errors import MockError
from eve_mocks.match import nearest, parse_claim
from eve_mocks.providers import PROVIDERS, provider_of
from eve_mocks.routes import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from eve_mocks.connections import Connection
    from eve_mocks.match import Claim

KINDS = ("http", "mcp", "model")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_OPERATION = re.compile(r"(\S+) (/.*)")
_MAX_ROUTES = 20
_MAX_TOLD = 20
_SUFFIXES = (".yaml", ".yml", ".json", ".py")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """What is to be mocked. ``operations`` are pairs of method and path below ``url``, as far as they are known.

    ``spec`` is the OpenAPI document as the mock is to name it, ``tools`` what an MCP server lists.
    """

    name: str
    url: str
    kind: str
    operations: tuple[tuple[str, str], ...] = ()
    model: str | None = None
    spec: str | None = None
    tools: tuple[Mapping[str, Any], ...] = ()

    @property
    def provider(self) -> str | None:
        """Whose API it is; None for a server that speaks as OpenAI does."""
        return provider_of(parse_claim(self.url).url)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """An OpenAPI document: as a mock names it, where its server is, and what it can be asked."""

    spec: str
    server: str | None = None
    operations: tuple[tuple[str, str], ...] = ()


def find(
    name: str,
    *,
    url: str | None,
    kind: str | None,
    connections: Iterable[Connection],
    report: dict[str, Any] | None,
    described: Description | None = None,
) -> Upstream:
    """What ``add NAME`` is to mock. Raises ``MockError`` where nothing tells."""
    connections = list(connections)
    connection = next((one for one in connections if one.name == name), None)
    blocked = _blocked(report)
    suggestions = [advice.Suggestion(**target["suggestion"]) for target in blocked]
    if url is None and described is not None and described.server is not None:
        url = described.server
    if url is None and connection is not None:
        url = _url_of(connection)
    suggestion = _suggested(name, blocked) if url is None else None
    if suggestion is not None:
        name, url, kind = suggestion.name, suggestion.url, kind or suggestion.kind
    elif url is None:
        if name not in PROVIDERS:
            raise _unknown(name, [one.name for one in connections], suggestions)
        url = PROVIDERS[name].url
    check_name(name)
    claim = parse_claim(url)
    told = connection.kind if connection is not None and connection.url == url else advice.kind_of(url)
    kind = kind or ("http" if described is not None else told)
    if described is not None and kind != "http":
        raise MockError(
            f"a mock of kind {kind} has no OpenAPI document",
            why="--spec describes an HTTP service",
            fix="Leave out --spec, or give --kind http.",
        )
    return Upstream(
        name=name,
        url=url,
        kind=kind,
        operations=described.operations if described is not None else tuple(_operations(claim, blocked)),
        spec=None if described is None else described.spec,
        model=next((one.model for one in (suggestion, *suggestions) if one and one.url == url), None),
    )


def check_name(name: str) -> None:
    """Raises ``MockError`` for what cannot name a file."""
    if not _NAME.fullmatch(name):
        raise MockError(
            f"{name!r} cannot be the name of a mock",
            why="a name is a file's: up to 64 letters, digits, - and _, beginning with a letter or a digit",
            fix=f"Use for example {advice.mock_name(name) if name else 'notion'}.",
        )


def _blocked(report: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The targets of the last run that a mock would answer."""
    targets = report.get("targets", []) if report else []
    return [target for target in targets if target.get("suggestion")]


def _suggested(name: str, blocked: list[dict[str, Any]]) -> advice.Suggestion | None:
    """What the last run suggested under a name, or for a host. Raises ``MockError`` for a host with several."""
    named = [target["suggestion"] for target in blocked if target["suggestion"]["name"] == name]
    found = named or [target["suggestion"] for target in blocked if target["target"] == name.lower()]
    if len(found) > 1:
        raise MockError(
            f"the last run blocked {len(found)} URLs of {name}",
            why=f"they are {', '.join(one['url'] for one in found)}",
            fix="\n".join(advice.Suggestion(**one).command for one in found),
        )
    return advice.Suggestion(**found[0]) if found else None


def _url_of(connection: Connection) -> str:
    if connection.url is not None:
        return connection.url
    if connection.spec is not None:
        raise MockError(
            f"where {connection.name} is called is not known",
            why=f"{connection.source} has an OpenAPI document say it, {connection.spec}, and that does not",
            fix=f"Give it with --url: eve-mocks add {connection.name} --url https://api.example.com/",
        )
    if connection.is_local:
        raise MockError(
            f"the connection {connection.name} is a local program",
            why=f"{connection.source} starts it by a command, and speaks with it over pipes, not the network",
            fix="Mock what that program calls, or give the URL of another upstream with --url.",
        )
    raise MockError(
        f"the URL of the connection {connection.name} is known only when the agent runs",
        why=f"{connection.source} makes it in each session"
        if connection.made_later
        else f"in {connection.source} it is made of variables that have no value here",
        fix=f"Give it with --url; a wildcard covers several: eve-mocks add {connection.name} --url https://*.example.com/",
    )


def _unknown(name: str, connections: list[str], suggestions: list[advice.Suggestion]) -> MockError:
    if "://" in name:
        host = name.partition("://")[2].partition("/")[0]
        command = shlex.join(["eve-mocks", "add", advice.mock_name(host), "--url", name])
        return MockError(f"{name} is a URL", why="a mock has a name, which is its file's", fix=command)
    known = {*connections, *(one.name for one in suggestions)}
    near = nearest(name, known)
    proper = name if _NAME.fullmatch(name) else advice.mock_name(name)
    return MockError(
        f"nothing tells which URL {name} is to mock",
        why=f"no connection has this name (there {_are(connections)}), and the last run blocked no such host "
        f"(what it blocked is suggested as {', '.join(one.name for one in suggestions[:_MAX_TOLD]) or 'nothing'})",
        fix=f"Did you mean eve-mocks add {near}?" if near else f"eve-mocks add {proper} --url https://api.example.com/",
    )


def _are(names: list[str]) -> str:
    return f"are {', '.join(names)}" if names else "is none"


def _operations(claim: Claim, blocked: list[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    found = [
        (operation[1] if operation[1] in METHODS else "ANY", claim.relative(operation[2]))
        for target in blocked
        for operation in map(_OPERATION.fullmatch, target.get("operations", {}))
        if operation is not None and target["url"] == f"{claim.url.origin}/" and claim.covers_path(operation[2])
    ]
    return list(dict.fromkeys(found))[:_MAX_ROUTES]


def add(upstream: Upstream, folder: Path, shown: str, *, python: bool) -> str:
    """Write the file, load it, and return its path as the user knows it. Raises ``MockError`` and leaves nothing."""
    refuse_taken(upstream.name, upstream.url, folder, shown)
    file = f"{upstream.name}{'.py' if python else '.yaml'}"
    path = f"{shown.removesuffix('/')}/{file}"
    write = scaffold_text.python if python else scaffold_text.yaml
    # A document answers for all of its operations; where it cannot be read, routes do.
    texts = [dataclasses.replace(upstream, operations=()), upstream] if upstream.spec else [upstream]
    for each in texts:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _write(folder / file, write(each, routed=each is upstream))
        except OSError as error:
            raise MockError(
                f"{path} cannot be written: {error.strerror}",
                why="the mock is a file in the mocks folder",
                fix=f"Make {shown} a folder that you may write to, or name another with --dir.",
            ) from error
        loaded = load.load(folder, shown=shown)
        mistakes = [error for error in loaded.errors if error.file == path]
        answers = any(mock.operations() or mock.kind == "model" for mock in loaded.mocks if mock.file == path)
        if answers and not mistakes:
            break
        if mistakes or each is not upstream:
            (folder / file).unlink()
        if mistakes:
            raise mistakes[0]
    return path


@contextlib.contextmanager
def kept(path: Path, content: bytes | None) -> Iterator[None]:
    """A file that is there in the block, and afterwards where the block succeeds; None for no file."""
    if content is None or path.exists():
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_whole(path, content)
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _write(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8") as out:
        try:
            out.write(text)
            out.flush()
        except OSError:
            path.unlink()
            raise


def refuse_taken(name: str, url: str | None, folder: Path, shown: str) -> None:
    """Raises ``MockError`` where the name or the URL has a mock."""
    for suffix in _SUFFIXES:
        if (folder / f"{name}{suffix}").exists():
            raise MockError(
                f"{shown}/{name}{suffix} exists",
                why="add never overwrites, and two files of one name would be one mock twice",
                fix="Edit that file, or add under another name.",
            )
    if url is None:
        return
    claim = parse_claim(url)
    for mock in load.load(folder, shown=shown).mocks:
        other = parse_claim(mock.url)
        if (other.url.origin, other.prefix) == (claim.url.origin, claim.prefix):
            raise MockError(
                f"{url} is mocked already, by {mock.name}",
                why="two mocks of one URL: only one of them could answer",
                fix=f"Add the answers to {mock.file}, or give the new mock a longer path.",
            )
