"""An entry of a script, as a file or a function gives it, read and checked once."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from eve_mocks.errors import Collecting, as_written
from eve_mocks.kinds.model.turn import NO_USAGE, Failure, ToolUse, Turn, Usage, json_text
from eve_mocks.response import encode_json, seconds
from eve_mocks.scripts import ENVELOPE_KEYS, envelope, is_envelope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eve_mocks.document import Document
    from eve_mocks.kinds.model.turn import Asked
    from eve_mocks.response import Json

# What a model can do beside giving an output; for the wire alone.
WIRE_KEYS = ("$tools", "$text", "$refusal", "$throw", "$delay")
_BESIDE = ("usage",)
_TOOL_KEYS = ("tool", "input", "id")
_THROW_KEYS = ("status", "name", "message", "attempts")
# The names of the AI SDK: those of a call, and the details below them.
USAGE_KEYS = (
    "inputTokens",
    "outputTokens",
    "totalTokens",
    "reasoningTokens",
    "cachedInputTokens",
    *(_DETAILS := ("inputTokenDetails", "outputTokenDetails")),
)
_DETAIL_KEYS = {
    "inputTokenDetails": ("noCacheTokens", "cacheReadTokens", "cacheWriteTokens"),
    "outputTokenDetails": ("textTokens", "reasoningTokens"),
}
# eve calls the tools of connections by this one, which takes a name and an input.
_THROUGH = "eve__tool"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A call of a tool as an entry has it."""

    tool: str
    input: dict[str, Json]
    id: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """``output`` is the request's output, where the entry has one: ``text`` and ``tools`` are then empty."""

    output: Json = ...
    text: str | None = None
    tools: tuple[Use, ...] = ()
    refusal: str | None = None
    failure: Failure | None = None
    usage: Usage = NO_USAGE
    delay: float = 0.0

    def turn(self, asked: Asked, id_: str) -> Turn:
        """The answer to a request: its output in the form that was asked for."""
        text, uses, value = self.text, self.tools, None
        if self.output is not ...:
            value = self.output
            told = _wrapped(value, asked)
            if asked.forced is not None and isinstance(told, dict):
                uses = (Use(tool=asked.forced, input=told),)
            else:
                text = told if isinstance(told, str) else json_text(told)
        return Turn(
            id=id_,
            text=text,
            tools=tuple(_called(use, asked, use.id or f"{id_}{place}") for place, use in enumerate(uses)),
            refusal=self.refusal,
            usage=self.usage,
            failure=self.failure,
            value=value,
            delay=self.delay,
        )

    def unoffered(self, asked: Asked) -> str | None:
        """A tool of the entry that the request does not offer."""
        return next((use.tool for use in self.tools if not _is_offered(use.tool, asked)), None)


def _is_offered(tool: str, asked: Asked) -> bool:
    return tool in asked.tools or (_THROUGH in asked.tools and "__" in tool)


def _called(use: Use, asked: Asked, id_: str) -> ToolUse:
    if use.tool not in asked.tools and _is_offered(use.tool, asked):
        return ToolUse(id_, _THROUGH, {"name": use.tool, "input": use.input})
    return ToolUse(id_, use.tool, use.input)


def _wrapped(value: Json, asked: Asked) -> Json:
    """The value under ``result``, where that is all that the schema of the request has."""
    schema = asked.schema
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or list(properties) != ["result"]:
        return value
    return value if isinstance(value, dict) and list(value) == ["result"] else {"result": value}


def read_entry(document: Document) -> Entry:
    """The entry of a script. Raises ``MockError``, or ``Mistakes``."""
    with document.placing():
        encode_json(document.value)
    given = document.value
    if isinstance(given, dict) and not is_envelope(given):
        if any(key.startswith("$") for key in given):
            return _on_the_wire(document)
        if "result" in given and "usage" in given:
            document.mapping(ENVELOPE_KEYS)  # raises: it has another key, most likely one that is misspelt
    told = envelope(given)
    usage = _usage(document.part("usage")) if is_envelope(given) and "usage" in document else NO_USAGE
    return Entry(output=told.result, usage=usage)


def _on_the_wire(document: Document) -> Entry:
    mistakes = Collecting()
    with mistakes:
        document.mapping((*WIRE_KEYS, *_BESIDE))
    mistakes.tell()
    tools: tuple[Use, ...] = ()
    texts: dict[str, str] = {}
    failure: Failure | None = None
    usage, delay = NO_USAGE, 0.0
    if "$tools" in document:
        with mistakes:
            tools = _tools(document.part("$tools"))
    for key in ("$text", "$refusal"):
        if key in document:
            with mistakes:
                texts[key] = document.part(key).text(example="$text: Looking.")
    if "$throw" in document:
        with mistakes:
            failure = _failure(document.part("$throw"))
    if "usage" in document:
        with mistakes:
            usage = _usage(document.part("usage"))
    if "$delay" in document:
        with mistakes, document.part("$delay").placing():
            delay = seconds(document.value["$delay"])
    if "$refusal" in document and len(document.value.keys() & {"$tools", "$text", "$throw"}):
        with mistakes:
            raise document.error(
                "$refusal stands beside another answer",
                "$refusal",
                why="a model that refuses answers nothing else",
                fix="Keep one of them.",
            )
    if not document.value.keys() & {"$tools", "$text", "$refusal", "$throw"}:
        with mistakes:
            raise document.error(
                "the entry has no answer",
                why="$delay and usage tell something of an answer",
                fix="Add $text, $tools, $refusal or $throw.",
            )
    mistakes.tell()
    return Entry(
        text=texts.get("$text"),
        tools=tools,
        refusal=texts.get("$refusal"),
        failure=failure,
        usage=usage,
        delay=delay,
    )


def _tools(tools: Document) -> tuple[Use, ...]:
    example = "$tools: [{tool: list_issues, input: {state: open}}]"
    if not tools.sequence(example=example):
        raise tools.error("$tools is empty", why="it holds the calls that the model asks for", fix=f"Write {example}")
    mistakes = Collecting()
    found: list[Use] = []
    for _, use in tools.parts():
        with mistakes:
            use.mapping(_TOOL_KEYS, example="{tool: list_issues, input: {}}")
            name = use.required("tool", why="a call is of one tool", example="list_issues").text()
            given = use.part("input").mapping(example="input: {state: open}") if "input" in use else {}
            found.append(Use(tool=name, input=given, id=use.part("id").text() if "id" in use else None))
    mistakes.tell()
    return tuple(found)


def _failure(throw: Document) -> Failure:
    given = throw.mapping(_THROW_KEYS, example="$throw: {status: 529, attempts: 1}")
    mistakes = Collecting()
    for key, least, most in (("status", 400, 599), ("attempts", 1, 1000)):
        with mistakes:
            if key in given and not (_is_whole(given[key]) and least <= given[key] <= most):
                raise throw.error(
                    f"{key} is {as_written(given[key])}",
                    key,
                    why=f"{key} is a number from {least} to {most}",
                    fix=f"Write for example {key}: {529 if key == 'status' else 1}",
                )
    for key in ("name", "message"):
        if key in given:
            with mistakes:
                throw.part(key).text(example=f"{key}: overloaded")
    mistakes.tell()
    return Failure(**given)


def _usage(usage: Document) -> Usage:
    given = usage.mapping(USAGE_KEYS, example="usage: {inputTokens: 120, outputTokens: 8}")
    numbers: dict[str, int] = {}
    mistakes = Collecting()
    for key, part in usage.parts():
        with mistakes:
            if key in _DETAILS:
                part.mapping(_DETAIL_KEYS[key], example=f"{key}: {{{_DETAIL_KEYS[key][0]}: 1}}")
                numbers |= {name: _tokens(one) for name, one in part.parts()}
            else:
                numbers[key] = _tokens(part)
    mistakes.tell()
    cached = numbers.get("cacheReadTokens", numbers.get("cachedInputTokens", 0))
    written = numbers.get("cacheWriteTokens", 0)
    reasoning = numbers.get("reasoningTokens", 0)
    input_ = numbers.get("inputTokens", numbers.get("noCacheTokens", 0) + cached + written)
    rest = max(0, given.get("totalTokens", 0) - input_)
    output = numbers.get("outputTokens", rest or numbers.get("textTokens", 0) + reasoning)
    return Usage(input=input_, output=output, reasoning=reasoning, cache_read=cached, cache_write=written)


def _tokens(part: Document) -> int:
    if not _is_whole(part.value) or part.value < 0:
        raise part.error(
            f"{part.label} is {as_written(part.value)}",
            why="tokens are counted in whole numbers",
            fix=f"Write for example {part.label}: 120",
        )
    return int(part.value)


def _is_whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def read_entries(queue: Document) -> Sequence[Document]:
    """The entries of a queue, unread. Raises ``MockError``."""
    queue.sequence(example=f'{queue.label}: ["There is one open issue."]')
    return [entry for _, entry in queue.parts()]
