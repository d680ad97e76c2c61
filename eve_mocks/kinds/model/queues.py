"""The scripts of a mock: its queues, and the names that requests without one are given."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from eve_mocks.errors import Collecting
from eve_mocks.handler import Handler
from eve_mocks.kinds.model.entry import Entry, read_entry
from eve_mocks.match import did_you_mean
from eve_mocks.scripts import key_of
from eve_mocks.stubs.constraint import compile_constraint
from eve_mocks.stubs.difference import MISSING, Difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.document import Document
    from eve_mocks.kinds.model.turn import Asked
    from eve_mocks.stubs.assertions import Check

REQUEST_KEYS = ("schema", "tools", "match")
OFFERED = ("request", "args", "session")

type Queue = tuple[Entry | Handler, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A request that cannot say its name: what tells it."""

    name: str
    schema: str | None
    tools: tuple[str, ...]
    match: Mapping[str, Check]

    def differences(self, asked: Asked) -> Iterator[str]:
        """What a request lacks to be this one; nothing if it is."""
        if self.schema is not None and asked.schema_name != self.schema:
            yield f"the schema is {asked.schema_name or 'not there'}, not {self.schema}"
        if missing := [tool for tool in self.tools if tool not in asked.tools]:
            yield f"it does not offer {', '.join(missing)}"
        for name, check in self.match.items():
            body = asked.body
            found = check(body[name]) if name in body else Difference(MISSING, "there")
            if found is not None:
                yield str(found.under(name))


def read_scripts(scripts: Document) -> dict[str, Queue]:
    """The queues by their key. Raises ``MockError``, or ``Mistakes``."""
    scripts.mapping(example='scripts: {gpt-5.5: ["There is one open issue."]}')
    mistakes = Collecting()
    found: dict[str, Queue] = {}
    for key, queue in scripts.parts():
        with mistakes:
            queue.sequence(example=f'{key}: ["There is one open issue."]')
            entries: list[Entry | Handler] = []
            for _, entry in queue.parts():
                with mistakes, entry.placing():
                    if callable(entry.value):
                        entries.append(Handler(entry.value, OFFERED, entry.folder))
                    else:
                        entries.append(read_entry(entry))
            found[key] = tuple(entries)
    mistakes.tell()
    return found


def read_requests(requests: Document, scripts: Mapping[str, Queue]) -> tuple[Named, ...]:
    """How requests are told that cannot say their name. Raises ``MockError``, or ``Mistakes``."""
    requests.mapping(example="requests: {draftEmail: {schema: Email}}")
    mistakes = Collecting()
    found: list[Named] = []
    for name, part in requests.parts():
        with mistakes:
            if not part.mapping(REQUEST_KEYS, example="draftEmail: {schema: Email}"):
                raise part.error(
                    f"nothing tells the request {name}",
                    why="it is told by schema, tools or match; each that is given has to fit",
                    fix=f"Write for example {name}: {{tools: [search]}}",
                )
            if name not in scripts:
                raise part.error(
                    f"the request {name} has no script",
                    why="requests names a request so that the queue of that name answers it",
                    fix=did_you_mean(name, scripts) if scripts else f"Add scripts: {{{name}: […]}}",
                )
            found.append(_named(name, part))
    mistakes.tell()
    return tuple(found)


def _named(name: str, part: Document) -> Named:
    tools: tuple[str, ...] = ()
    if "tools" in part:
        part.part("tools").sequence(example="tools: [search]")
        tools = tuple(tool.text(example="search") for _, tool in part.part("tools").parts())
    match: dict[str, Check] = {}
    if "match" in part:
        part.part("match").mapping(example="match: {messages: {minItems: 3}}")
        match = {key: compile_constraint(schema) for key, schema in part.part("match").parts()}
    schema = part.part("schema").text(example="schema: Email") if "schema" in part else None
    return Named(name=name, schema=schema, tools=tools, match=match)


def candidates(asked: Asked, requests: tuple[Named, ...]) -> Iterator[str]:
    """The names of a request, from the most particular on (contract, section 6)."""
    yield from asked.names
    yield from (named.name for named in requests if next(named.differences(asked), None) is None)
    if asked.schema_name is not None:
        yield asked.schema_name
    if asked.caller is not None:
        yield asked.caller
    yield asked.model
    if "/" in asked.model:
        yield asked.model.partition("/")[2]


def queue_of(asked: Asked, requests: tuple[Named, ...], queues: Mapping[str, Queue]) -> str | None:
    """The key of the queue that answers a request; None where there is none."""
    return key_of(candidates(asked, requests), queues)


def told_by(asked: Asked, requests: tuple[Named, ...]) -> str | None:
    """Of the requests that are told by what they ask, the one that comes nearest, and what differs."""
    missed = [(list(named.differences(asked)), named.name) for named in requests]
    if not missed:
        return None
    differences, name = min(missed, key=lambda each: len(each[0]))
    return f"{name}: {'; '.join(differences)}"
