"""Reading resources and getting prompts: find what is asked for, ask its handler, and put it as the protocol has it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from eve_mocks.errors import MockError
from eve_mocks.interruption import is_from_outside
from eve_mocks.kinds.mcp.call import NoAnswer
from eve_mocks.match import nearest
from eve_mocks.model import BadRequest, Fault, Throw, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eve_mocks.handler import Handler
    from eve_mocks.kinds.mcp.call import ToolCall
    from eve_mocks.kinds.mcp.prompts import Prompt
    from eve_mocks.kinds.mcp.resources import Resource
    from eve_mocks.kinds.mcp.results import Result
    from eve_mocks.response import Json


class Failed(Exception):
    """What is read cannot be had: an error of the protocol that the client is meant to see."""


class Reading:
    """The resources and prompts of a mock; ``file`` is where more of them would stand."""

    def __init__(self, resources: Mapping[str, Resource], prompts: Mapping[str, Prompt], file: str) -> None:
        self.resources = resources
        self.prompts = prompts
        self._file = file

    def listed(self, *, templates: bool) -> list[Json]:
        """The definitions of the resources, or of the templates of them."""
        return [one.definition for one in self.resources.values() if one.is_template is templates]

    async def read(self, uri: str, call: ToolCall) -> list[Json]:
        """The contents of a resource. Raises ``NoAnswer`` or ``Failed``."""
        concrete = self.resources.get(uri)
        for resource in [concrete] if concrete is not None else self.resources.values():
            params = resource.match(uri)
            value: Any = NotImplemented
            if params is not None:
                value = await _ask(resource.handler, resource.value, call, params=params)
            if value is not NotImplemented:
                with _completing(resource.handler, call):
                    return resource.complete(uri, value)
        call.missed, call.nearest = uri, nearest(uri, self.resources)
        call.fix = f'Add to {self._file}: resources: {{"{uri}": {{text: …}}}}'
        raise NoAnswer(f"Resource not found: {uri}{_hint(call.nearest)}")

    async def get(self, name: str, given: Mapping[str, str], call: ToolCall) -> Result:
        """The result of ``prompts/get``. Raises ``NoAnswer`` or ``Failed``."""
        prompt = self.prompts.get(name)
        if prompt is None:
            call.missed, call.nearest = name, nearest(name, self.prompts)
            call.fix = f"Add to {self._file}: prompts: {{{name}: {{messages: [{{role: user, content: …}}]}}}}"
            raise NoAnswer(f"Unknown prompt: {name}{_hint(call.nearest)}")
        if missing := prompt.missing(given):
            raise Failed(f"Missing arguments for {name}: {', '.join(missing)}")
        value = await _ask(prompt.handler, prompt.filled(given), call, args=given)
        if value is NotImplemented:
            raise Failed(f"No answer for {name}: its handler passed")
        with _completing(prompt.handler, call):
            messages = prompt.complete(value)
        description = prompt.definition.get("description")
        return {"messages": messages, **({"description": description} if description else {})}


async def _ask(handler: Handler | None, value: Any, call: ToolCall, **given: object) -> Any:
    """What the handler returns, else the fixed value."""
    if handler is None:
        return value
    offered = {name: _giving(one) for name, one in given.items()}
    try:
        answer = await handler.call({**call.offered, **offered})
    except (ToolError, Throw, BadRequest) as error:
        raise Failed(str(error)) from error
    except Fault as error:
        call.fault = error.kind
        raise Failed(str(error)) from error
    except BaseException as error:
        if is_from_outside(error):
            raise
        raise _broken(error, handler, call) from error
    return value if answer is NotImplemented and value is not None else answer


def _giving(value: object) -> Callable[[], object]:
    return lambda: value


@contextlib.contextmanager
def _completing(handler: Handler | None, call: ToolCall) -> Iterator[None]:
    try:
        yield
    except MockError as error:
        raise _broken(error, handler, call) from error


def _broken(error: BaseException, handler: Handler | None, call: ToolCall) -> Failed:
    """Have the run fail for a mock that is wrong; the client is told as well."""
    if not isinstance(error, MockError):
        error = MockError(f"{type(error).__name__}: {error}", why="the mock failed", fix="Correct it there.")
    if handler is not None:
        error.at(handler.file, handler.line)
    call.error = f"{error.where}: {error.message}" if error.where else error.message
    return Failed(str(error))


def _hint(near: str | None) -> str:
    return f". Did you mean {near}?" if near else ""
