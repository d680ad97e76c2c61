"""The official MCP SDK's server behind one mock: an ASGI application that is called in process.

Importing the SDK takes longer than anything else here, so only ``McpMock`` imports this module, off the event loop.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    GetPromptRequestParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from eve_mocks.errors import MockError
from eve_mocks.kinds.mcp.call import NoAnswer, ToolCall
from eve_mocks.kinds.mcp.notes import framed
from eve_mocks.kinds.mcp.reading import Failed, Reading
from eve_mocks.kinds.mcp.results import failed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, MutableMapping

    from mcp.server.context import ServerRequestContext

    from eve_mocks.kinds.mcp.results import Result
    from eve_mocks.kinds.mcp.tools import Tool
    from eve_mocks.model import Request

type Context = ServerRequestContext[Any, Any]

_CALL = "eve_mocks.call"
_NOT_FOUND = -32002
# MCP 2026-07-28, CacheableResult: what is listed or read may be different for the next session.
_OF_THIS_SESSION = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_OBJECT = {"type": "object"}
_BOTH = "application/json, text/event-stream"
# What the SDK sends with a stream, but for `connection`, which is the listener's to say.
_STREAM_HEADERS = [("content-type", "text/event-stream"), ("cache-control", "no-cache, no-transform")]


class Service:
    """Made in the event loop that it serves in; ``start`` comes first, ``close`` last."""

    def __init__(self, name: str, tools: Mapping[str, Tool], reading: Reading, *, sessions: bool) -> None:
        self._tools = tools
        self._reading = reading
        server = Server(name, version="eve-mocks", get_tool_input_schema=self._input_schema)
        server.middleware.clear()  # tracing, which nobody collects
        server.add_request_handler("tools/list", PaginatedRequestParams, self._list)
        server.add_request_handler("tools/call", CallToolRequestParams, self._call)
        if reading.resources:
            server.add_request_handler("resources/list", PaginatedRequestParams, self._list_resources)
            server.add_request_handler("resources/templates/list", PaginatedRequestParams, self._list_templates)
            server.add_request_handler("resources/read", ReadResourceRequestParams, self._read)
            server.add_request_handler("resources/subscribe", SubscribeRequestParams, _accept)
            server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, _accept)
        if reading.prompts:
            server.add_request_handler("prompts/list", PaginatedRequestParams, self._list_prompts)
            server.add_request_handler("prompts/get", GetPromptRequestParams, self._get)
        if reading.resources or reading.prompts:
            server.add_request_handler("completion/complete", CompleteRequestParams, _complete)
        if any(tool.handler is not None and "client" in tool.handler.names for tool in tools.values()):
            server.add_request_handler("logging/setLevel", SetLevelRequestParams, _accept)
        # The SDK chooses between JSON and streams once for all clients. One answer is one message here, so JSON is
        # asked of it, and framed as a stream for those who want that.
        self._manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=not sessions,
            max_request_body_size=sys.maxsize,
            session_idle_timeout=None,
            max_sessions=None,
        )
        self._closing = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        started = asyncio.Event()
        self._running = asyncio.create_task(self._run(started))
        await started.wait()

    async def _run(self, started: asyncio.Event) -> None:
        # The manager's task group has to be left in the task that entered it, which is none of a request.
        async with self._manager.run():
            started.set()
            await self._closing.wait()

    async def close(self) -> None:
        self._closing.set()
        if self._running is not None:
            await self._running

    async def ask(self, request: Request, call: ToolCall) -> tuple[int, list[tuple[str, str]], bytes]:
        """Status, headers and body of the answer; ``call`` is asked if a tool is called."""
        accept = request.headers.get("accept", "*/*")
        streams = "text/event-stream" in accept
        headers = [(name.lower(), value) for name, value in request.headers.pairs if name.lower() != "accept"]
        headers.append(("accept", _BOTH if streams else accept))
        status, answered, body = await self._exchange(request, headers, call)
        answered = [pair for pair in answered if pair[0] != "content-length"]
        notes = call.client.taken()
        framing = notes or "application/json" not in accept or _is_handshake(request)
        if streams and status == 200 and body and framing:
            kept = [pair for pair in answered if pair[0] != "content-type"]
            return status, [*_STREAM_HEADERS, *kept], b"".join(map(framed, (*notes, body)))
        return status, answered, body

    async def _exchange(
        self, request: Request, headers: list[tuple[str, str]], call: ToolCall
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        scope: MutableMapping[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": request.target.scheme,
            "path": request.path,
            "raw_path": request.path.encode(),
            "query_string": request.target.query.encode(),
            "root_path": "",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
            "client": None,
            "server": (request.target.host, request.target.port),
            _CALL: call,
        }
        body: list[bytes] = [request.body]
        start: MutableMapping[str, Any] = {}
        parts: list[bytes] = []

        async def receive() -> MutableMapping[str, Any]:
            if not body:  # a client that hangs up cancels this task instead
                await asyncio.get_running_loop().create_future()
            return {"type": "http.request", "body": body.pop(), "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                parts.append(message.get("body", b""))

        try:
            await self._manager.handle_request(scope, receive, send)
        finally:
            if call.task is not None:  # the client hung up, and the turn is not given on before the handler has ended
                call.abandoned = True
                call.task.cancel()
                await asyncio.wait([call.task])
        answered = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"]]
        return int(start["status"]), answered, b"".join(parts)

    async def _list(self, context: Context, _params: PaginatedRequestParams) -> Result:
        call: ToolCall = context.request.scope[_CALL]  # type: ignore[union-attr]  # HTTP always has one
        tools = [_of_version(context, tool.definition) for tool in call.listed().values()]
        return {"tools": tools, **_OF_THIS_SESSION}

    async def _call(self, context: Context, params: CallToolRequestParams) -> Result:
        call: ToolCall = context.request.scope[_CALL]  # type: ignore[union-attr]  # HTTP always has one
        call.task = asyncio.current_task()
        try:
            result = await call.answer(params.name, params.arguments or {})
            return _of_version(context, _checked(params.name, result, call))
        except NoAnswer as error:
            # MCP 2026-07-28, Tools, Error Handling: an unknown tool is a protocol error.
            raise MCPError(INVALID_PARAMS, str(error)) from error
        except asyncio.CancelledError:
            if not call.abandoned or call.task is None:
                raise
            # An MCP session outlives its requests: for it this is an answer that nobody reads.
            call.task.uncancel()
            return failed("cancelled")
        finally:
            call.task = None

    async def _list_resources(self, _context: Context, _params: PaginatedRequestParams) -> Result:
        return {"resources": self._reading.listed(templates=False), **_OF_THIS_SESSION}

    async def _list_templates(self, _context: Context, _params: PaginatedRequestParams) -> Result:
        return {"resourceTemplates": self._reading.listed(templates=True), **_OF_THIS_SESSION}

    async def _list_prompts(self, _context: Context, _params: PaginatedRequestParams) -> Result:
        return {"prompts": [one.definition for one in self._reading.prompts.values()], **_OF_THIS_SESSION}

    async def _read(self, context: Context, params: ReadResourceRequestParams) -> Result:
        call: ToolCall = context.request.scope[_CALL]  # type: ignore[union-attr]  # HTTP always has one
        contents = await _told(context, self._reading.read(str(params.uri), call))
        return {"contents": contents, **_OF_THIS_SESSION}

    async def _get(self, context: Context, params: GetPromptRequestParams) -> Result:
        call: ToolCall = context.request.scope[_CALL]  # type: ignore[union-attr]  # HTTP always has one
        found = await _told(context, self._reading.get(params.name, params.arguments or {}, call))
        return {**found, "resultType": "complete"}

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        tool = self._tools.get(name)
        return None if tool is None else tool.definition["inputSchema"]


async def _told[T](context: Context, reading: Awaitable[T]) -> T:
    """What is read, or the protocol's error."""
    try:
        return await reading
    except NoAnswer as error:
        # MCP 2025-11-25, Resources, Error Handling; 2026-07-28 has one code for all that is unknown.
        is_resource = context.method == "resources/read" and context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
        raise MCPError(_NOT_FOUND if is_resource else INVALID_PARAMS, str(error)) from error
    except Failed as error:
        raise MCPError(INVALID_PARAMS if str(error).startswith("Missing") else INTERNAL_ERROR, str(error)) from error


async def _accept(context: Context, _params: Any) -> Result:
    """Take what asks for messages at a later time: a resource of a mock changes for nobody."""
    return {} if context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS else {"resultType": "complete"}


async def _complete(_context: Context, _params: Any) -> Result:
    return {"completion": {"values": [], "total": 0, "hasMore": False}, "resultType": "complete"}


def _checked(name: str, result: Result, call: ToolCall) -> Result:
    """A result that the protocol has; the SDK would tell of another to its own log only."""
    try:
        CallToolResult.model_validate(result)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return call.broken(
            name,
            MockError(
                f"the result of {name} is not one of MCP: {where}: {first['msg']}",
                why="an object with content is passed on as it is, so it has to be a CallToolResult",
                fix="Correct it, or answer with the JSON alone, without content.",
            ),
        )
    return result


def _is_handshake(request: Request) -> bool:
    return request.headers.get("mcp-protocol-version", HANDSHAKE_PROTOCOL_VERSIONS[0]) in HANDSHAKE_PROTOCOL_VERSIONS


def _of_version(context: Context, value: Result) -> Result:
    """A tool or a result without what the handshake versions have not: structured content that is no object."""
    if context.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        return value
    if value.get("outputSchema", _OBJECT).get("type") != "object":
        return {key: part for key, part in value.items() if key != "outputSchema"}
    if not isinstance(value.get("structuredContent", {}), dict):
        return {key: part for key, part in value.items() if key != "structuredContent"}
    return value
