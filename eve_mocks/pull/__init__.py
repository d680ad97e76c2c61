"""``pull``: what upstreams say of themselves, kept as schema files (contract, section 9).

The one part of eve-mocks that calls a real upstream. ``mcp`` asks MCP servers and ``documents`` fetches OpenAPI
documents, both through ``web``, which bounds what they may take; ``signin`` signs in where a server asks for it.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from eve_mocks import files
from eve_mocks.errors import MockError
from eve_mocks.pull import drift

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from eve_mocks.errors import Problem
    from eve_mocks.folder import Folder
    from eve_mocks.pull.limits import Limits
    from eve_mocks.pull.signin import Person
    from eve_mocks.sources import Source

type State = Literal["new", "changed", "unchanged", "failed", "skipped"]
_AT_ONCE = 8


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """What became of one schema file.

    ``diff`` are the lines that differ; ``counted`` says how much it describes, or why it was skipped.
    """

    name: str
    file: str
    state: State
    counted: str = ""
    diff: Sequence[str] = ()
    error: MockError | None = None
    problems: Sequence[Problem] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One schema file, and how it is come by; what is told beside it is put into the list."""

    name: str
    file: str
    fetch: Callable[[list[Problem]], Awaitable[Any]]


def pull(
    wanted: Sequence[Wanted],
    folder: Folder,
    *,
    check: bool = False,
) -> list[Pulled]:
    """Fetch each, and write what has changed, but with ``check``. What fails stops nothing else."""

    async def every() -> list[Pulled]:
        turns = asyncio.Semaphore(_AT_ONCE)

        async def one(each: Wanted) -> Pulled:
            async with turns:
                return await _one(each, folder, check=check)

        return await asyncio.gather(*map(one, wanted))

    return asyncio.run(every())


async def _one(wanted: Wanted, folder: Folder, *, check: bool) -> Pulled:
    path = folder.path / "schemas" / wanted.file
    shown = folder.show(path)
    problems: list[Problem] = []
    try:
        value = await wanted.fetch(problems)
        content = drift.text(value).encode()
        before = _before(path)
        state: State = "new" if before is None else "unchanged" if drift.is_same(before, value) else "changed"
        if state != "unchanged" and not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write_whole(path, content)
    except MockError as error:
        return Pulled(name=wanted.name, file=shown, state="failed", error=error)
    except OSError as error:
        told = MockError(
            f"{shown} cannot be written: {error.strerror}",
            why="what an upstream says of itself is kept there",
            fix="Make it a file that you may read and write.",
        )
        return Pulled(name=wanted.name, file=shown, state="failed", error=told)
    except ValueError as error:  # half a character, a number without end
        told = MockError(
            f"what the upstream of {wanted.name} says cannot be kept: {error}",
            why="a schema file is JSON in UTF-8, and numbers in it are finite",
            fix="Describe it by hand in the mock.",
        )
        return Pulled(name=wanted.name, file=shown, state="failed", error=told)
    diff = drift.lines(before or "", content.decode(), shown) if check and state != "unchanged" else ()
    return Pulled(name=wanted.name, file=shown, state=state, counted=drift.count(value), diff=diff, problems=problems)


def _before(path: Any) -> str | None:
    try:
        return files.read_regular(path).decode("utf-8-sig", "replace")
    except FileNotFoundError:
        return None


def wanted(
    source: Source, url: str, *, headers: Sequence[tuple[str, str]] = (), person: Person | None = None, limits: Limits
) -> list[Wanted]:
    """The schema files of a mock. ``url`` is where an MCP server is asked, and ``person`` whoever can sign in."""

    async def tools(problems: list[Problem]) -> Any:
        from eve_mocks.pull import mcp

        return await mcp.describe(url, headers=headers, person=person, limits=limits, problems=problems)

    def document(spec: str) -> Callable[[list[Problem]], Awaitable[Any]]:
        async def fetch(problems: list[Problem]) -> Any:
            from eve_mocks.pull import documents

            return await documents.fetch(spec, headers=headers, limits=limits, problems=problems)

        return fetch

    if source.kind == "mcp":
        return [Wanted(name=source.name, file=f"{source.name}.json", fetch=tools)]
    return [
        Wanted(name=source.name, file=f"{source.name}{'' if place == 1 else f'.{place}'}.json", fetch=document(spec))
        for place, spec in source.specs
    ]
