"""The tools of one mock: how each is described, and what answers it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from eve_mocks.errors import Collecting, MockError
from eve_mocks.kinds.mcp.results import Result, succeeded
from eve_mocks.match import nearest
from eve_mocks.schema import Schema, fault_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eve_mocks.document import Document
    from eve_mocks.handler import Handler
    from eve_mocks.response import Json

type Definition = dict[str, Any]

# MCP 2026-07-28, Tool.
_KEYS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta")
_OPEN: Json = {"type": "object"}
_EXAMPLE = "{list_issues: {description: Lists issues, inputSchema: {type: object}}}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """``definition`` is what ``tools/list`` says of it; ``result`` is ``...`` for none."""

    definition: Definition
    input: Schema
    output: Schema | None
    handler: Handler | None = None
    result: Json = ...

    @property
    def is_answered(self) -> bool:
        """Whether there is an answer even without a stub."""
        return self.handler is not None or self.result is not ...

    async def answer(self, values: Mapping[str, Callable[[], Any]]) -> Any:
        """What the handler returns, else the fixed result, else ``NotImplemented``."""
        answer = NotImplemented if self.handler is None else await self.handler.call(values)
        return self.result if answer is NotImplemented and self.result is not ... else answer

    def complete(self, value: Json) -> Result:
        """The result that carries a value. Raises ``MockError`` for one that the tool cannot have."""
        result = succeeded(value, structured=self.output is not None)
        if self.output is None or result.get("isError"):
            return result
        name = self.definition["name"]
        if "structuredContent" not in result:
            wrong = "has no structuredContent"
        elif problems := self.output.problems(result["structuredContent"]):
            wrong = f"breaks its outputSchema: {'; '.join(problems)}"
        else:
            return result
        raise MockError(
            f"the result of {name} {wrong}",
            why="a tool with an outputSchema answers with structured content that fits it, and clients check that",
            fix="Correct the result, or take the outputSchema out of the tool.",
        )


def describe(pulled: Document | None, document: Document) -> dict[str, Definition]:
    """The tools that the schema file and the mock describe, by name. Raises ``MockError``, or ``Mistakes``."""
    described = {} if pulled is None else _definitions(pulled.part("tools"), known=None)
    if "tools" in document:
        described |= _definitions(document.part("tools"), known=_KEYS)
    return described


def build(
    described: Mapping[str, Definition], document: Document, handlers: Mapping[str, Handler], docs: Mapping[str, str]
) -> dict[str, Tool]:
    """The tools that are described or answered, by name. ``docs`` describes handlers that nothing else describes.

    Raises ``MockError``, or ``Mistakes``.
    """
    mistakes = Collecting()
    results = document.part("results") if "results" in document else None
    fixed = {} if results is None else results.mapping(example="{list_issues: {issues: []}}")
    answered = dict.fromkeys((*fixed, *handlers))
    for tool in answered:
        with mistakes:
            if described and tool not in described:
                raise _unknown(tool, described, results if tool in fixed else None, handlers.get(tool))
    tools = {}
    for tool in described or answered:
        definition = described.get(tool) or _undescribed(tool, docs.get(tool))
        output = definition.get("outputSchema")
        tools[tool] = Tool(
            definition=definition,
            input=Schema(definition["inputSchema"]),
            output=None if output is None else Schema(output),
            handler=handlers.get(tool),
            result=fixed.get(tool, ...),
        )
        if results is not None and tool in fixed:
            with mistakes, results.part(tool).placing():
                tools[tool].complete(fixed[tool])
    mistakes.tell()
    return tools


def _definitions(document: Document, *, known: tuple[str, ...] | None) -> dict[str, Definition]:
    """Tools as MCP lists them, or by name. Raises ``MockError``, or ``Mistakes``."""
    found: dict[str, Definition] = {}
    mistakes = Collecting()
    if isinstance(document.value, dict):
        entries = [(key, part) for key, part in document.parts()]
    else:
        document.sequence(example=_EXAMPLE)
        entries = [(None, part) for _, part in document.parts()]
    for key, part in entries:
        with mistakes:
            given = part.mapping(known)
            name = key or part.required("name", why="a tool is called by its name", example="x").text()
            if name in found:
                raise part.error(
                    f"two tools are called {name}", why="a tool is called by its name", fix="Take one of them out."
                )
            found[name] = {**given, "name": name, "inputSchema": given.get("inputSchema", _OPEN)}
            _check(name, part)
    mistakes.tell()
    return found


def _check(name: str, tool: Document) -> None:
    for key in ("title", "description"):
        if key in tool:
            tool.part(key).text(example="Lists issues")
    for key in ("annotations", "_meta"):
        if key in tool:
            tool.part(key).mapping()
    for key in ("inputSchema", "outputSchema"):
        if key not in tool:
            continue
        schema = tool.part(key).mapping(example="{type: object, properties: {title: {type: string}}}")
        fault = fault_of(schema)
        if fault is None and key == "inputSchema" and schema.get("type") != "object":
            fault = "its type is not object, and arguments are always an object"
        if fault is not None:
            raise tool.error(
                f"the {key} of {name} is not valid: {fault}",
                key,
                why=f"{key} is a JSON Schema (2020-12 unless $schema names another)",
                fix="Correct it, for example: {type: object, properties: {title: {type: string}}, required: [title]}",
            )


def _undescribed(name: str, doc: str | None) -> Definition:
    return {"name": name, **({"description": doc} if doc else {}), "inputSchema": _OPEN}


def _unknown(tool: str, known: Mapping[str, Any], results: Document | None, handler: Handler | None) -> MockError:
    what = "result" if results is not None else "handler"
    near = nearest(tool, known)
    error = MockError(
        f"the {what} {tool} names no tool",
        why=f"where tools are described, each that answers has to be; described are {', '.join(known)}",
        fix=f"{f'Did you mean {near}? If not, describe' if near else 'Describe'} it under tools: "
        f"{{{tool}: {{description: …}}}}",
    )
    if results is not None:
        return error.at(results.file, results.line_of(tool))
    return error.at(handler.file, handler.line) if handler else error
