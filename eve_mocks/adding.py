"""``add``, as a sequence: what is mocked, what it says of itself, the schema file, the mock."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any

from eve_mocks import descriptions, scaffold
from eve_mocks.errors import MockError, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eve_mocks.connections import Connection
    from eve_mocks.folder import Folder
    from eve_mocks.pull.signin import Person
    from eve_mocks.scaffold import Upstream


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The command line."""

    name: str
    url: str | None = None
    kind: str | None = None
    spec: str | None = None
    python: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What was written; ``pulled`` is what describes it, ``problems`` what does not."""

    path: str
    upstream: Upstream
    pulled: str | None = None
    problems: Sequence[Problem] = ()


def add(
    asked: Asked,
    folder: Folder,
    connections: Sequence[Connection],
    report: dict[str, Any] | None,
    person: Person | None,
) -> Added:
    """Write a mock, and what its upstream says of itself. Raises ``MockError``, and leaves nothing then."""
    connection = next((one for one in connections if one.name == asked.name), None)
    spec = asked.spec or (connection.spec if connection is not None and asked.url is None else None)
    learnt = descriptions.Learnt()
    if spec is not None:
        scaffold.check_name(asked.name)
        scaffold.refuse_taken(asked.name, asked.url, folder.path, folder.shown)
        learnt = descriptions.document(spec, asked.name, folder)
    try:
        upstream = scaffold.find(
            asked.name,
            url=asked.url,
            kind=asked.kind,
            connections=connections,
            report=report,
            described=learnt.description,
        )
    except MockError as error:
        raise learnt.error or error from error
    scaffold.refuse_taken(upstream.name, upstream.url, folder.path, folder.shown)
    if upstream.kind == "mcp":
        learnt = descriptions.tools(upstream.name, upstream.url, folder, person)
        upstream = dataclasses.replace(upstream, tools=tuple(learnt.tools))
    with contextlib.ExitStack() as stack:
        if learnt.file is not None:
            stack.enter_context(scaffold.kept(learnt.file, learnt.content))
        path = scaffold.add(upstream, folder.path, folder.shown, python=asked.python)
    described = learnt.file and folder.show(learnt.file)
    return Added(
        path=path,
        upstream=upstream,
        pulled=f"{described or upstream.spec} ({learnt.counted})" if learnt.counted else None,
        problems=learnt.problems if learnt.error is None else [_unpulled(upstream, learnt.error)],
    )


def _unpulled(upstream: Upstream, error: MockError) -> Problem:
    what = "its tools are" if upstream.kind == "mcp" else "its OpenAPI document is"
    return Problem(
        message=f"{what} not known: {error.message}",
        why="so nothing tells whether what the mock answers is what the real service would",
        fix=f"{error.fix} Then: eve-mocks pull {upstream.name}",
    )
