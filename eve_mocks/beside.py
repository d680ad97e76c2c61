"""What is mocked beside the mocks of a folder, once all of them are known.

MCP mocks are put behind the authorization servers that they name (contract, section 5), and documents that were pulled
are where their services have them (section 3).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from eve_mocks.errors import MockError
from eve_mocks.kinds.http.copy import Copy
from eve_mocks.kinds.http.mock import Http
from eve_mocks.kinds.mcp.mock import McpMock
from eve_mocks.kinds.oauth import OAuth, of_origin
from eve_mocks.kinds.oauth import guard as refuse_without_token
from eve_mocks.kinds.oauth.resource import Resource
from eve_mocks.match import BadURL, did_you_mean, parse_claim, parse_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eve_mocks.model import Mock


def made_for(mocks: Sequence[Mock]) -> list[Mock]:
    """What is to be mocked beside these; those that ask for it are guarded. Raises ``MockError``."""
    return [*_guarded(mocks), *_copies(mocks)]


def _copies(mocks: Sequence[Mock]) -> list[Mock]:
    """The pulled documents, unless somebody mocks just their URL. Those of this machine are there for all who ask."""
    taken = {str(parse_claim(mock.url).url) for mock in mocks}
    made: dict[str, Copy] = {}
    for mock in mocks:
        for number, (given, path) in enumerate(mock.copies.items() if isinstance(mock, Http) else (), 1):
            try:
                url = parse_url(given)
                plain = str(parse_claim(str(dataclasses.replace(url, query=""))).url)
            except (BadURL, MockError):
                continue
            if plain not in taken:
                name = f"{mock.name}.spec{'' if number == 1 else number}"
                copy = made.setdefault(plain, Copy(name, plain, file=mock.file, line=mock.line))
                copy.paths.setdefault(url.query, path)
    return list(made.values())


def _guarded(mocks: Sequence[Mock]) -> list[Mock]:
    servers = [mock for mock in mocks if isinstance(mock, OAuth)]
    made: list[Mock] = []
    for mock in mocks:
        if isinstance(mock, McpMock) and mock.auth is not None:
            parts = urlsplit(mock.url)
            origin = f"{parts.scheme}://{parts.netloc}/"
            found = _server_of(mock, servers, origin)
            if found is None:
                found = of_origin(f"{mock.name}.sign-in", origin, file=mock.file, line=mock.line)
                servers.append(found)
                made.append(found)
            elif found.url.rstrip("/") != origin.rstrip("/"):
                made.append(Resource(f"{mock.name}.metadata", mock.url, found.server, file=mock.file, line=mock.line))
            mock.guard = functools.partial(refuse_without_token, found.server, mock.url)
    return made


def _server_of(mock: McpMock, servers: Sequence[OAuth], origin: str) -> OAuth | None:
    """The server that is named, else the one at the mock's own origin, else the only one."""
    assert mock.auth is not None  # noqa: S101 - the caller looked
    wanted = mock.auth.server
    if wanted is None:
        here = [server for server in servers if server.url.rstrip("/") == origin.rstrip("/")]
        declared = [server for server in servers if not server.is_beside]
        return next(iter([*here, *(declared if len(declared) == 1 else [])]), None)
    found = next((one for one in servers if wanted in (one.name, one.url, one.url.rstrip("/"))), None)
    if found is None:
        names = [server.name for server in servers]
        raise MockError(
            f"there is no authorization server {wanted!r}",
            why="auth.server is the name or the url of a mock of kind oauth",
            fix=did_you_mean(wanted, names) if names else "Write such a mock, or auth: oauth.",
            file=mock.auth.place.file,
            line=mock.auth.place.line,
        )
    return found
