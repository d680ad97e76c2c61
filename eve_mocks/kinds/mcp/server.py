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
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, PaginatedRequestParams
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from eve_mocks.errors import MockError
from eve_mocks.kinds.mcp.call import NoAnswer, ToolCall
from eve_mocks.kinds.mcp.results import failed

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from mcp.server.context import ServerRequestContext

    from eve_mocks.kinds.mcp.results import Result
    from eve_mocks.kinds.mcp.tools import Tool
    from eve_mocks.model import Request

type Context = ServerRequestContext[Any, Any]

_CALL = "eve_mocks.call"
_OBJECT = {"type": "object"}
_BOTH = "application/json, text/event-stream"
# What the SDK sends with a stream, but for `connection`, which is the listener's to say.
_STREAM_HEADERS = [("content-type", "text/event-stream"), ("cache-control", "no-cache, no-transform")]


class Service:
    """Made in the event loop that it serves in; ``start`` comes first, ``close`` last."""

    def __init__(self, name: str, tools: Mapping[str, Tool], *, sessions: bool) -> None:
        self._tools = tools
        server = Server(name, version="eve-mocks", get_tool_input_schema=self._input_schema)
        server.middleware.clear()  # tracing, which nobody collects
        server.add_request_handler("tools/list", PaginatedRequestParams, self._list)
        server.add_request_handler("tools/call", CallToolRequestParams, self._call)
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
        if streams and status == 200 and body and ("application/json" not in accept or _is_handshake(request)):
            kept = [pair for pair in answered if pair[0] != "content-type"]
            return status, [*_STREAM_HEADERS, *kept], b"event: message\r\ndata: " + body + b"\r\n\r\n"
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
        # MCP 2026-07-28, CacheableResult: the list may be different for the next session.
        return {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

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

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        tool = self._tools.get(name)
        return None if tool is None else tool.definition["inputSchema"]


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
