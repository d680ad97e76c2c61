"""What an MCP server says of itself: its tools, resources and prompts, by the official SDK's client.

The SDK speaks both generations of the protocol: it asks ``server/discover``, and falls back to the handshake.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.auth import OAuthFlowError
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel, ValidationError

from eve_mocks.errors import MockError, Problem
from eve_mocks.pull import web
from eve_mocks.schema import fault_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from eve_mocks.pull.limits import Limits
    from eve_mocks.pull.signin import Person

_METHOD_NOT_FOUND = -32601

type Listed = dict[str, Any]


async def describe(
    url: str,
    *,
    headers: Sequence[tuple[str, str]] = (),
    person: Person | None = None,
    limits: Limits,
    problems: list[Problem] | None = None,
) -> dict[str, list[Listed]]:
    """``{"tools": […]}``, and resources and prompts where the server has them, by name. Raises ``MockError``.

    ``person`` is whoever can sign in where the server asks for it. ``problems`` gets what could not be kept as it is.
    """
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)  # what it would log is told as an error
    seen: list[httpx2.Response] = []
    with anyio.CancelScope(deadline=anyio.current_time() + limits.whole) as scope, _telling(url, seen, limits):
        async with _connected(url, seen, headers=headers, person=person, limits=limits, scope=scope) as client:
            found = await _lists(client, url, limits)
            found["tools"] = [_usable(tool, [] if problems is None else problems) for tool in found["tools"]]
            return found
    raise web.failed(url, f"did not answer within {limits.whole:g} s", fix="Try again later.")


@contextlib.asynccontextmanager
async def _connected(
    url: str,
    seen: list[httpx2.Response],
    *,
    headers: Sequence[tuple[str, str]],
    person: Person | None,
    limits: Limits,
    scope: anyio.CancelScope,
) -> AsyncIterator[Client]:
    async def note(response: httpx2.Response) -> None:
        seen[:] = [response]

    async with contextlib.AsyncExitStack() as stack:
        auth = None
        if person is not None and not any(name.lower() == "authorization" for name, _ in headers):
            from eve_mocks.pull.signin import signing_in

            auth = await stack.enter_async_context(signing_in(url, person, scope, limits))
        http = await stack.enter_async_context(web.client(headers, limits, auth=auth))
        http.event_hooks = {"response": [note, *http.event_hooks["response"]]}
        transport = streamable_http_client(url, http_client=http, max_sse_event_size=limits.size)
        yield await stack.enter_async_context(Client(transport, read_timeout_seconds=limits.silence, cache=None))


async def _lists(client: Client, url: str, limits: Limits) -> dict[str, list[Listed]]:
    has = client.server_capabilities
    found = {"tools": await _all("tools", client.list_tools, url, limits)}
    if has.resources is not None:
        found["resources"] = await _all("resources", client.list_resources, url, limits)
        found["resourceTemplates"] = await _all("resource_templates", client.list_resource_templates, url, limits)
    if has.prompts is not None:
        found["prompts"] = await _all("prompts", client.list_prompts, url, limits)
    return {key: each for key, each in found.items() if each or key == "tools"}


async def _all(key: str, ask: Callable[..., Awaitable[Any]], url: str, limits: Limits) -> list[Listed]:
    """Every page of a list, sorted by name, so that a server's order is no change."""
    found: dict[str, Listed] = {}
    cursors: set[str] = set()
    cursor = None
    for _ in range(limits.pages):
        try:
            page = await ask(cursor=cursor)
        except MCPError as error:
            if error.code == _METHOD_NOT_FOUND and cursor is None:  # it has none, whatever it says that it can do
                return []
            raise
        for entry in getattr(page, key):
            listed = _plain(entry)
            found.setdefault(str(listed.get("uri") or listed.get("uriTemplate") or listed["name"]), listed)
        cursor = page.next_cursor
        if not cursor:
            return [found[name] for name in sorted(found)]
        if cursor in cursors:
            raise web.failed(url, f"gives the same page of {key} again and again", fix="Tell the server's authors.")
        cursors.add(cursor)
    raise web.failed(url, f"has more than {limits.pages} pages of {key}", fix="Tell the server's authors.")


def _plain(entry: BaseModel) -> Listed:
    """What the server said, and nothing that it left out."""
    return entry.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _usable(tool: Listed, problems: list[Problem]) -> Listed:
    """A tool whose schemas are schemas: no mock loads with another, and its server is somebody else's to correct."""
    kept = dict(tool)
    for key in ("inputSchema", "outputSchema"):
        fault = fault_of(tool[key]) if key in tool else None
        if fault is None:
            continue
        problems.append(
            Problem(
                message=f"the {key} of {tool['name']} is left out: {fault}",
                why="its server says so, and it is no JSON Schema (2020-12 unless $schema names another)",
                fix="Tell the server's authors, or describe the tool in the mock, under tools:.",
            )
        )
        del kept[key]
        if key == "inputSchema":
            kept[key] = {"type": "object"}
    return kept


@contextlib.contextmanager
def _telling(url: str, seen: list[httpx2.Response], limits: Limits) -> Iterator[None]:
    """What the SDK makes of a server that fails, as what the server did; ``seen`` is its last answer."""
    try:
        with web.telling(url, limits):
            try:
                yield
            except BaseExceptionGroup as group:
                raise _first(group) from group
    except OAuthFlowError as error:
        raise web.failed(url, f"let nobody sign in: {_told(error)}", fix="Try again, or give --header.") from error
    except (MCPError, ValidationError, RuntimeError) as error:
        for response in seen:
            web.check_status(url, response)
            if "html" in response.headers.get("content-type", ""):
                raise web.failed(url, "answers with a page for people (HTML)", fix="Check the URL.") from error
        raise web.failed(url, f"is no MCP server that can be read: {_told(error)}", fix="Check the URL.") from error


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The exception that a group of task groups holds; one that is ours goes first."""
    leaves: list[BaseException] = []
    todo: list[BaseException] = [group]
    while todo:
        each = todo.pop()
        if isinstance(each, BaseExceptionGroup):
            todo.extend(each.exceptions)
        else:
            leaves.append(each)
    return min(leaves, key=lambda leaf: not isinstance(leaf, MockError | httpx2.HTTPError))


def _told(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
