"""One ``tools/call``: check the arguments, choose the answer, turn whatever happens into a result of the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eve_mocks.errors import MockError
from eve_mocks.interruption import is_from_outside
from eve_mocks.kinds.mcp.notes import Client
from eve_mocks.kinds.mcp.results import Result, failed
from eve_mocks.match import nearest
from eve_mocks.model import BadRequest, Fault, Throw, ToolError
from eve_mocks.outcome import carried
from eve_mocks.response import Response
from eve_mocks.stubs.playback import nearest_miss

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from eve_mocks.kinds.mcp.tools import Tool
    from eve_mocks.outcome import Outcome
    from eve_mocks.response import FaultKind, Json
    from eve_mocks.stubs.playback import Playback, Played
    from eve_mocks.stubs.rules import Rule


class NoAnswer(Exception):
    """Nothing answers this tool; the protocol has an error of its own for that."""


class ToolCall:
    """A call on its way through the SDK, and what is to happen to it beside the result that the SDK sends."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        offered: Mapping[str, Callable[[], Any]],
        playback: Playback,
        rules: Callable[[str], Sequence[Rule]],
    ) -> None:
        self.task: asyncio.Task[Any] | None = None  # in which the answer is being made
        self.abandoned = False  # whether the client hung up meanwhile
        self.response: Response | None = None  # in place of the SDK's
        self.delay = 0.0
        self.fault: FaultKind | None = None
        self.error: str | None = None
        self.nearest: str | None = None
        self.missed: str | None = None  # the tool that nothing answered
        self.fix: str | None = None  # what would answer it, where a stub nearly did
        self.played: Played | None = None
        self.client = Client()
        self._tools = tools
        self.offered = offered
        self._playback = playback
        self._rules = rules

    def listed(self) -> dict[str, Tool]:
        """The tools that have an answer in this session."""
        return {name: tool for name, tool in self._tools.items() if tool.is_answered or self._rules(name)}

    async def answer(self, name: str, args: dict[str, Json]) -> Result:
        """The result of calling a tool. Raises ``NoAnswer``."""
        tool, rules = self._tools.get(name), self._rules(name)
        if tool is None or not (tool.is_answered or rules):
            self.missed = name
            self.nearest = nearest(name, self.listed())
            hint = f". Did you mean {self.nearest}?" if self.nearest else ""
            raise NoAnswer(f"Unknown tool: {name}{hint}")
        try:
            if problems := tool.input.problems(args):
                return failed(f"Invalid arguments for {name}: {'; '.join(problems)}")
            self.played = await self._playback.answer(rules, args)
            if self.played is not None:
                return self._play(tool, self.played.outcome)
            value = await tool.answer({**self.offered, "args": lambda: args, "client": lambda: self.client})
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
        raise self._no_answer(name, rules, args)

    def _no_answer(self, name: str, rules: Sequence[Rule], args: dict[str, Json]) -> NoAnswer:
        self.missed = name
        if not rules:
            return NoAnswer(f"No answer for {name}: its handler passed")
        miss = nearest_miss(rules, args)
        self.nearest, self.fix = ": ".join(miss), miss.fix
        return NoAnswer(f"No stub of {name} matches. Nearest is {self.nearest}")

    def _play(self, tool: Tool, outcome: Outcome) -> Result:
        if outcome.throw is None:
            return self._respond(tool, outcome.over_http)
        self.delay = outcome.over_http.delay
        _, message = outcome.throw
        return failed(message)

    def broken(self, name: str, error: MockError) -> Result:
        """The result of a tool whose mock is wrong; the run fails for it."""
        handler = self._tools[name].handler
        if self.played is not None:
            place = self.played.rule.place
            self._playback.fail(error.at(place.file, place.line))
        elif handler is not None:
            error.at(handler.file, handler.line)
        self.error = f"{error.where}: {error.message}" if error.where else error.message
        return failed(str(error))

    def _respond(self, tool: Tool, response: Response) -> Result:
        self.delay = response.delay
        self.fault = response.fault
        value = carried(response)
        if value is not NotImplemented:
            return tool.complete(value)
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
