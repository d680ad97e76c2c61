"""``add``: a mock file that loads and answers at once, for a person to fill in.

What is mocked is said by a URL, by the connection of the name, or by what the last run blocked; in the last case
the operations that were blocked become the routes.
"""

from __future__ import annotations

import dataclasses
import json
import keyword
import re
import shlex
from typing import TYPE_CHECKING, Any

from eve_mocks import advice, load
from eve_mocks.errors import MockError
from eve_mocks.match import nearest, parse_claim
from eve_mocks.providers import PROVIDERS, provider_of
from eve_mocks.routes import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from eve_mocks.connections import Connection
    from eve_mocks.match import Claim

KINDS = ("http", "mcp", "model")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PLAIN_YAML = re.compile(r"[A-Za-z0-9/][A-Za-z0-9/:._*~+%-]*")
_OPERATION = re.compile(r"(\S+) (/.*)")
_MAX_ROUTES = 20
_MAX_TOLD = 20
_SUFFIXES = (".yaml", ".yml", ".json", ".py")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """What is to be mocked. ``operations`` are pairs of method and path below ``url``, as far as they are known."""

    name: str
    url: str
    kind: str
    operations: tuple[tuple[str, str], ...] = ()
    model: str | None = None

    @property
    def provider(self) -> str | None:
        """Whose API it is; None for a server that speaks as OpenAI does."""
        return provider_of(parse_claim(self.url).url)


def find(
    name: str, *, url: str | None, kind: str | None, connections: Iterable[Connection], report: dict[str, Any] | None
) -> Upstream:
    """What ``add NAME`` is to mock. Raises ``MockError`` where nothing tells."""
    connections = list(connections)
    connection = next((one for one in connections if one.name == name), None)
    blocked = _blocked(report)
    suggestions = [advice.Suggestion(**target["suggestion"]) for target in blocked]
    if url is None and connection is not None:
        url = _url_of(connection)
    suggestion = _suggested(name, blocked) if url is None else None
    if suggestion is not None:
        name, url, kind = suggestion.name, suggestion.url, kind or suggestion.kind
    elif url is None:
        if name not in PROVIDERS:
            raise _unknown(name, [one.name for one in connections], suggestions)
        url = PROVIDERS[name].url
    if not _NAME.fullmatch(name):
        raise MockError(
            f"{name!r} cannot be the name of a mock",
            why="a name is a file's: up to 64 letters, digits, - and _, beginning with a letter or a digit",
            fix=f"Use for example {advice.mock_name(name) if name else 'notion'}.",
        )
    claim = parse_claim(url)
    told = "mcp" if connection is not None and connection.url == url else advice.kind_of(url)
    return Upstream(
        name=name,
        url=url,
        kind=kind or told,
        operations=tuple(_operations(claim, blocked)),
        model=next((one.model for one in (suggestion, *suggestions) if one and one.url == url), None),
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
    if connection.is_local:
        raise MockError(
            f"the connection {connection.name} is a local program",
            why=f"{connection.source} starts it by a command, and speaks with it over pipes, not the network",
            fix="Mock what that program calls, or give the URL of another upstream with --url.",
        )
    raise MockError(
        f"the URL of the connection {connection.name} is known only when the agent runs",
        why=f"in {connection.source} it is made of variables that have no value here",
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
    name = upstream.name
    _refuse_taken(name, upstream, folder, shown)
    file = f"{name}{'.py' if python else '.yaml'}"
    path = f"{shown.removesuffix('/')}/{file}"
    text = (_python if python else _yaml)(name, upstream)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / file, text)
    except OSError as error:
        raise MockError(
            f"{path} cannot be written: {error.strerror}",
            why="the mock is a file in the mocks folder",
            fix=f"Make {shown} a folder that you may write to, or name another with --dir.",
        ) from error
    mistakes = [error for error in load.load(folder, shown=shown).errors if error.file == path]
    if mistakes:
        (folder / file).unlink()
        raise mistakes[0]
    return path


def _write(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8") as out:
        try:
            out.write(text)
            out.flush()
        except OSError:
            path.unlink()
            raise


def _refuse_taken(name: str, upstream: Upstream, folder: Path, shown: str) -> None:
    for suffix in _SUFFIXES:
        if (folder / f"{name}{suffix}").exists():
            raise MockError(
                f"{shown}/{name}{suffix} exists",
                why="add never overwrites, and two files of one name would be one mock twice",
                fix="Edit that file, or add under another name.",
            )
    claim = parse_claim(upstream.url)
    for mock in load.load(folder, shown=shown).mocks:
        other = parse_claim(mock.url)
        if (other.url.origin, other.prefix) == (claim.url.origin, claim.prefix):
            raise MockError(
                f"{upstream.url} is mocked already, by {mock.name}",
                why="two mocks of one URL: only one of them could answer",
                fix=f"Add the answers to {mock.file}, or give the new mock a longer path.",
            )


def _plain(text: str) -> str:
    """A scalar of YAML: as it is where that is safe, else quoted as JSON, which YAML includes."""
    return text if _PLAIN_YAML.fullmatch(text) else json.dumps(text)


_SCRIPTS = "scripts:                # by the name of a request or of a model, what it answers, entry by entry\n"
_SAID = '"This is what the script says."'


def _model(upstream: Upstream) -> str:
    return upstream.model or PROVIDERS[upstream.provider or "openai"].model


def _provider(upstream: Upstream) -> str:
    """The first arguments of ``model_mock``."""
    if upstream.provider is None:
        return json.dumps(upstream.url)
    url = "" if upstream.url == PROVIDERS[upstream.provider].url else f", url={json.dumps(upstream.url)}"
    return f"{json.dumps(upstream.provider)}{url}"


def _yaml(name: str, upstream: Upstream) -> str:
    head = f"# What {name} answers, in place of the real service.\nkind: {upstream.kind}\nurl: {_plain(upstream.url)}\n"
    if upstream.kind == "model":
        if upstream.provider is not None:
            head = head.replace("url: ", f"provider: {upstream.provider}\nurl: ")
        return f"{head}{_SCRIPTS}  {_plain(_model(upstream))}:\n    - {_SAID}\n"
    if upstream.kind == "mcp":
        return f"{head}results:                # tool -> the JSON that it always answers\n  ping: {{ok: true}}\n"
    routes: dict[str, list[str]] = {}
    for method, path in upstream.operations:
        routes.setdefault(path, []).append(f"    {method}: {{response: {{ok: true}}}}\n")
    if not routes:
        routes["/**"] = ["    ANY: {response: {ok: true}}        # until you know what is called\n"]
    return f"{head}routes:\n" + "".join(f"  {_plain(path)}:\n{''.join(lines)}" for path, lines in routes.items())


def _python(name: str, upstream: Upstream) -> str:
    factory = f"{upstream.kind}_mock"
    variable = re.sub(r"\W", "_", name)
    if not variable.isidentifier() or keyword.iskeyword(variable) or variable == factory:
        variable = f"the_{variable}"
    if upstream.kind == "model":
        return f'''"""What {name} answers, in place of the real service."""

from eve_mocks import model_mock


def answer(request):
    return f"This is the script of {{request.model}}, which was asked: {{request.prompt}}"


# By the name of a request or of a model, what it answers, entry by entry.
{variable} = model_mock({_provider(upstream)}, scripts={{{json.dumps(_model(upstream))}: [answer]}}, repeat_last=True)
'''
    head = f'''"""What {name} answers, in place of the real service."""

from eve_mocks import {factory}

{variable} = {factory}({json.dumps(upstream.url)}, state=lambda: {{"calls": 0}})
'''
    if upstream.kind == "mcp":
        return f'''{head}

@{variable}.tool
def ping(args, state):
    """Say that the mock answers."""
    state["calls"] += 1
    return {{"ok": True, "calls": state["calls"]}}
'''
    handlers = [
        f"""

@{variable}.route({json.dumps(method)}, {json.dumps(path)})
def answer_{index}(request, state):
    state["calls"] += 1
    return {{"ok": True, "calls": state["calls"]}}
"""
        for index, (method, path) in enumerate(upstream.operations or [("ANY", "/**")], 1)
    ]
    return head + "".join(handlers)
