"""The connections a project declares for its agents, and what a call to each of them does.

Read here are the MCP client configurations that lie in a project, in ``eve_app`` what eve compiles. VS Code reads its
configuration as JSON with comments, and so do others, so comments and trailing commas are accepted in all of them.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from typing import TYPE_CHECKING, Any, Literal

from eve_mocks import files, secret_urls
from eve_mocks.errors import MockError
from eve_mocks.match import BadURL, is_loopback, parse_url
from eve_mocks.model import Passage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from eve_mocks.model import Mock
    from eve_mocks.router import Router

type Status = Literal["mocked", "allowed", "blocked", "local"]

# Where a client looks, and the key under which it keeps its servers.
_FILES = ((".mcp.json", "mcpServers"), (".cursor/mcp.json", "mcpServers"), (".vscode/mcp.json", "servers"))
# A string is matched first, so that what looks like a comment in it stays.
_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'("(?:\\.|[^"\\\n])*")|,(?=\s*[}\]])')
# ${NAME} and ${NAME:-default} as Claude Code writes them, ${env:NAME} as Cursor and VS Code do.
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One connection. ``url`` is None where it is local (stdio), or known only when the agent runs.

    ``spec`` is the URL of an OpenAPI document, which may name the server; ``made_later``: eve makes it in each session.
    """

    name: str
    kind: str
    url: str | None
    source: str
    is_local: bool = False
    spec: str | None = None
    made_later: bool = False

    @property
    def is_dynamic(self) -> bool:
        return self.made_later or (self.url is None and self.spec is None and not self.is_local)


def read(root: Path, environment: Mapping[str, str] = os.environ) -> tuple[list[Connection], list[MockError]]:
    """Every connection declared below ``root``, and the mistakes in the files that declare them."""
    found: list[Connection] = []
    errors: list[MockError] = []
    for source, key in _FILES:
        try:
            text = files.read_regular(root / source).decode("utf-8-sig")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error.reason
            errors.append(
                MockError(
                    f"{source} cannot be read: {reason}",
                    why="it declares the connections of this project's MCP clients",
                    fix="Make it a readable UTF-8 file.",
                    file=source,
                )
            )
            continue
        try:
            servers = _servers(text, key, source)
        except MockError as error:
            errors.append(error)
            continue
        for name, server in servers.items():
            try:
                found.append(_connection(name, server, source, environment))
            except MockError as error:
                errors.append(error.at(source, _line_of(text, name)))
    return found, errors


def _servers(text: str, key: str, source: str) -> dict[str, Any]:
    plain = _STRING_OR_COMMENT.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), text)
    plain = _STRING_OR_COMMA.sub(lambda match: match[1] or " ", plain)
    try:
        document = json.loads(plain)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise MockError(
            f"this is not JSON: {reason}",
            why="an MCP client's configuration is a JSON object",
            fix="Correct the file at this line, or just before it.",
            file=source,
            line=line,
        ) from error
    servers = document.get(key, {}) if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise MockError(
            f"{key} is not an object",
            why="it maps the name of each connection to how it is reached",
            fix=f'Write {{"{key}": {{"linear": {{"url": "https://mcp.linear.app/mcp"}}}}}}',
            file=source,
            line=_line_of(text, key),
        )
    return servers


def _connection(name: str, server: Any, source: str, environment: Mapping[str, str]) -> Connection:
    if not (name.isprintable() and name):
        raise MockError(
            f"a connection cannot be named {name!a}",
            why="its name is shown in lists, and typed in commands",
            fix="Give it a name of letters and digits.",
        )
    url = server.get("url") if isinstance(server, dict) else None
    if isinstance(url, str):
        return Connection(name=name, kind="mcp", url=_expand(url, environment), source=source)
    if isinstance(server, dict) and isinstance(server.get("command"), str):
        return Connection(name=name, kind="mcp", url=None, source=source, is_local=True)
    raise MockError(
        f"the connection {name} has neither a url nor a command",
        why="without one of them no client can reach it",
        fix='Give it "url": "https://…" or "command": "…".',
    )


def _expand(url: str, environment: Mapping[str, str]) -> str | None:
    """The URL with its variables filled in; None where one is not known here. Raises ``MockError``."""
    filled = _VARIABLE.sub(lambda match: environment.get(match[1]) or match[2] or match[0], url)
    if "${" in filled:
        return None
    try:
        parse_url(filled)
    except BadURL as error:
        raise MockError(
            f"the url {secret_urls.url(filled)!r} cannot be called: {error}",
            why="a connection is reached at an http(s) URL",
            fix="Write for example https://mcp.example.com/mcp",
        ) from error
    return filled


def _line_of(text: str, key: str) -> int | None:
    match = re.search(re.escape(json.dumps(key, ensure_ascii=False)) + r"\s*:", text)
    return text.count("\n", 0, match.start()) + 1 if match else None


def rows(router: Router, connections: Iterable[Connection]) -> list[dict[str, Any]]:
    """The rows of ``list``: connections first, then every entry of the mocks folder that is not one of them."""
    connections = list(connections)
    listed = [_connection_row(router, connection) for connection in connections]
    shown = {(connection.name, connection.url) for connection in connections}
    entries: list[Mock | Passage] = [*router.mocks, *router.passages]
    listed += [_entry_row(entry) for entry in entries if (entry.name, entry.url) not in shown]
    return listed


def _connection_row(router: Router, connection: Connection) -> dict[str, Any]:
    row = {
        "name": connection.name,
        "status": _status(router, connection),
        "url": connection.url and secret_urls.url(connection.url),
        "kind": connection.kind,
        "isConnection": True,
        "isDynamic": connection.is_dynamic,
        "source": connection.source,
    }
    return {key: value for key, value in row.items() if value is not None}


def _status(router: Router, connection: Connection) -> Status:
    if connection.is_local:
        return "local"
    if connection.url is None:  # told by its name alone, until the agent calls it
        return "mocked" if any(mock.name == connection.name for mock in router.mocks) else "blocked"
    url = parse_url(connection.url)
    if is_loopback(url.host):
        return "local"
    entry = router.resolve(url)
    if entry is None:
        return "blocked"
    return _entry_status(entry)


def _entry_status(entry: Mock | Passage) -> Status:
    if not isinstance(entry, Passage):
        return "mocked"
    return "allowed" if entry.kind == "allow" else "blocked"


def _entry_row(entry: Mock | Passage) -> dict[str, Any]:
    return {
        "name": entry.name,
        "status": _entry_status(entry),
        "url": entry.url,
        "kind": entry.kind,
        "isConnection": False,
        "isDynamic": False,
        "source": entry.file,
    }
