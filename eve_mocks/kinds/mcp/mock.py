"""The mock of an MCP server: what of an HTTP exchange is its own, before and after the SDK."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from eve_mocks.kinds.mcp.call import ToolCall
from eve_mocks.kinds.mcp.notes import progress_token
from eve_mocks.kinds.mcp.reading import Reading
from eve_mocks.model import Answer, Request
from eve_mocks.outcome import carried
from eve_mocks.response import Response
from eve_mocks.stubs.names import Target
from eve_mocks.stubs.rules import NO_RULES

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection, Mapping, Sequence

    from eve_mocks.document import Document
    from eve_mocks.errors import Problem
    from eve_mocks.kinds.mcp.prompts import Prompt
    from eve_mocks.kinds.mcp.resources import Resource
    from eve_mocks.kinds.mcp.server import Service
    from eve_mocks.kinds.mcp.tools import Tool
    from eve_mocks.session import Session
    from eve_mocks.stubs.rules import Rule, Rules


class Auth(NamedTuple):
    """What the mock says of its sign-in: the server that is named, and where."""

    server: str | None
    place: Document


class McpMock:
    """A finished mock.

    ``described`` are the tools that something describes, ``tools`` also those that merely answer. ``seed`` is the state
    that each session begins with; ``sessions`` is whether MCP sessions are kept.
    """

    kind: ClassVar[str] = "mcp"

    def __init__(
        self,
        *,
        name: str,
        url: str,
        file: str,
        line: int | None,
        described: Collection[str],
        tools: Mapping[str, Tool],
        resources: Mapping[str, Resource],
        prompts: Mapping[str, Prompt],
        seed: Any,
        sessions: bool,
        auth: Auth | None,
        problems: tuple[Problem, ...],
    ) -> None:
        self.name = name
        self.url = url
        self.file = file
        self.line = line
        self.problems = problems
        self.stubs: Rules = NO_RULES
        self._described = described
        self._tools = tools
        self._reading = Reading(resources, prompts, file)
        self.seed = seed
        self._sessions = sessions
        self.auth = auth
        # Answers a request without a token, in place of the server; set when all mocks are known.
        self.guard: Callable[[Request], Response | None] | None = None
        self._starting: asyncio.Task[Service] | None = None

    def operations(self) -> list[str]:
        return [
            name for name, tool in self._tools.items() if tool.is_answered or self.stubs.of(Target(self.name, name))
        ]

    def names(self) -> dict[str, str]:
        return {name: name for name in self._tools}

    def entries(self) -> list[str]:
        return []

    def check(self, rule: Rule) -> None:
        tool = self._tools[rule.target.operation]
        for outcome in rule.outcomes:
            if outcome.throw is None and (value := carried(outcome.over_http)) is not NotImplemented:
                tool.complete(value)

    def reads_body(self, request: Request) -> bool:
        return request.method == "POST"

    def warm(self) -> None:
        """Begin to import the SDK, so that the first call need not wait for it; returns at once."""
        _warm()

    async def close(self) -> None:
        """End what the first call began."""
        if self._starting is not None:
            await (await self._starting).close()

    async def answer(self, request: Request, session: Session) -> Answer:
        if "/.well-known/" in request.path:
            return _plain(request, 404, "There is no such document")
        if self.guard is not None and (refused := self.guard(request)) is not None:
            return Answer(response=refused, operation="sign-in")
        if request.method not in ("POST", "DELETE") or (request.method == "DELETE" and not self._sessions):
            return _plain(request, 405, "Method Not Allowed", allow="POST, DELETE" if self._sessions else "POST")
        service = await self._service()
        offered: dict[str, Callable[[], Any]] = {
            "request": lambda: request,
            "session": lambda: session.id,
            "state": lambda: session.state(self.name, self.seed),
        }
        call = ToolCall(self._tools, offered, session.stubs, functools.partial(self._rules, session))
        call.client.token = progress_token(request.body)
        operation, is_call = _operation(request)
        if is_call:
            # Taken here rather than around the handler, so that the order is that of arrival whatever the SDK does
            # in between.
            async with session.turn(self.name):
                status, headers, body = await service.ask(request, call)
        else:
            status, headers, body = await service.ask(request, call)
        return Answer(
            response=call.response or Response(status, headers=headers, body=body, delay=call.delay, fault=call.fault),
            operation=operation,
            stub=call.played and call.played.rule.label,
            position=call.played and call.played.position,
            nearest=call.nearest,
            unanswered=None if call.missed is None else call.fix or self._fix(call.missed),
            error=call.error,
        )

    def _fix(self, tool: str) -> str:
        """What would answer a call that was missed."""
        if tool in self._tools and self._tools[tool].is_answered:
            return f"Let the handler of {tool} answer this call too, or give the tool a result that is asked after it."
        name = tool if tool.isidentifier() else json.dumps(tool, ensure_ascii=False)
        answer = f"a handler for {name}" if self.file.endswith(".py") else f"results: {{{name}: …}}"
        if self._described and tool not in self._described:
            answer += f" and tools: {{{name}: {{description: …}}}}"
        return f"Add to {self.file}: {answer}"

    def _rules(self, session: Session, tool: str) -> Sequence[Rule]:
        return session.stubs.rules(Target(self.name, tool), self.stubs)

    async def _service(self) -> Service:
        import asyncio

        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        return await asyncio.shield(self._starting)  # a caller that hangs up leaves it to the next

    async def _start(self) -> Service:
        import asyncio

        service = (await asyncio.to_thread(_import))(self.name, self._tools, self._reading, sessions=self._sessions)
        await service.start()
        return service


@functools.cache
def _warm() -> None:
    import threading

    # A daemon, for a run that ends before the import does is not held up by it.
    threading.Thread(target=_import, daemon=True).start()


def _import() -> type[Service]:
    import jsonschema  # noqa: F401 - what the arguments are checked with

    from eve_mocks.kinds.mcp.server import Service

    return Service


# What is answered by the mock itself, and the parameter that names it.
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def _plain(request: Request, status: int, message: str, **headers: str) -> Answer:
    """An answer of HTTP alone, as the SDK words them: a JSON-RPC error without an id."""
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}
    return Answer(response=Response(status, json=error, headers=headers), operation=f"{request.method} {request.path}")


def _operation(request: Request) -> tuple[str, bool]:
    """What is asked, for counting, and whether the mock itself answers it.

    What is no JSON-RPC is for the SDK to refuse.
    """
    try:
        message = json.loads(request.body)
    except (ValueError, RecursionError):
        message = None
    method = message.get("method") if isinstance(message, dict) else None
    if not isinstance(method, str):
        return f"{request.method} {request.path}", False
    given = message.get("params")
    params: dict[str, Any] = given if isinstance(given, dict) else {}
    name = params.get(_NAMED.get(method, ""))
    if not isinstance(name, str):
        return method, False
    return (name if method == "tools/call" else f"{method} {name}"), True
