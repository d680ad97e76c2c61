"""One ``tools/call``: check the arguments, choose the answer, turn whatever happens into a result of the protocol."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eve_mocks.errors import MockError
from eve_mocks.interruption import is_from_outside
from eve_mocks.kinds.mcp.results import Result, failed
from eve_mocks.match import nearest
from eve_mocks.model import BadRequest, Fault, Response, Throw, ToolError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from eve_mocks.kinds.mcp.tools import Tool
    from eve_mocks.model import FaultKind, Json, Request


class NoAnswer(Exception):
    """Nothing answers this tool; the protocol has an error of its own for that."""


class ToolCall:
    """A call on its way through the SDK, and what is to happen to it beside the result that the SDK sends."""

    def __init__(self, tools: Mapping[str, Tool], request: Request, session: str, state: Callable[[], Any]) -> None:
        self.task: asyncio.Task[Any] | None = None  # in which the answer is being made
        self.abandoned = False  # whether the client hung up meanwhile
        self.response: Response | None = None  # in place of the SDK's
        self.delay = 0.0
        self.fault: FaultKind | None = None
        self.error: str | None = None
        self.nearest: str | None = None
        self.missed: str | None = None  # the tool that nothing answered
        self._tools = tools
        self._offered: dict[str, Callable[[], Any]] = {
            "request": lambda: request,
            "session": lambda: session,
            "state": state,
        }

    async def answer(self, name: str, args: dict[str, Json]) -> Result:
        """The result of calling a tool. Raises ``NoAnswer``."""
        tool = self._tools.get(name)
        if tool is None:
            self.missed = name
            self.nearest = nearest(name, self._tools)
            hint = f". Did you mean {self.nearest}?" if self.nearest else ""
            raise NoAnswer(f"Unknown tool: {name}{hint}")
        try:
            if problems := tool.input.problems(args):
                return failed(f"Invalid arguments for {name}: {'; '.join(problems)}")
            value = await tool.answer({**self._offered, "args": lambda: args})
            if isinstance(value, Response):
                return self._respond(tool, value)
            if value is not NotImplemented:
                return tool.complete(value)
        except (ToolError, Throw, BadRequest) as error:
            return failed(str(error))
        except Fault as error:
            self.fault = error.kind
            return failed(str(error))
        except BaseException as error:  # noqa: BLE001 - a tool is the user's code
            return self.broken(name, _mistake(name, error))
        self.missed = name
        raise NoAnswer(f"No answer for {name}: its handler passed")

    def broken(self, name: str, error: MockError) -> Result:
        """The result of a tool whose mock is wrong; the run fails for it."""
        handler = self._tools[name].handler
        if handler is not None:
            error.at(handler.file, handler.line)
        self.error = f"{error.where}: {error.message}" if error.where else error.message
        return failed(str(error))

    def _respond(self, tool: Tool, response: Response) -> Result:
        """A handler's ``Response``: JSON or text of a 200 is the tool's value, anything else goes out as it is."""
        self.delay = response.delay
        self.fault = response.fault
        media_type = dict(response.headers).get("content-type", "").partition(";")[0]
        if response.status == 200 and response.events is None and media_type == "application/json":
            return tool.complete(json.loads(response.body))
        if response.status == 200 and response.events is None and media_type == "text/plain":
            return tool.complete(response.body.decode())
        self.response = response
        return failed(f"HTTP {response.status}")


def _mistake(name: str, error: BaseException) -> MockError:
    """What went wrong, also where it was no handler: in ``json``, or in a schema that refers to itself."""
    if is_from_outside(error):
        raise error
    if isinstance(error, MockError):
        return error
    return MockError(
        f"{type(error).__name__}: {error}",
        why=f"the mock failed while it answered {name}",
        fix="Correct what it answers with.",
    )
