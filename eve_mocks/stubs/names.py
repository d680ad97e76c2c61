"""Which operation a name means: ``list_issues``, ``linear__list_issues``, ``linear:list_issues``, ``GET /v1/pages``.

A rule replaces what an operation answers; it never adds one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eve_mocks.errors import MockError
from eve_mocks.match import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    # By the name of a mock: every name of its operations, and the operation.
    type Names = Mapping[str, Mapping[str, str]]

# Documented by eve; none of them is a call that leaves the process.
_INSIDE_EVE = ("agent", "connection_search", "connection_execute", "eve__search", "eve__tool")
_LISTED = 20


class Target(NamedTuple):
    """An operation of a mock."""

    mock: str
    operation: str


def find(name: str, names: Names) -> Target:
    """The operation of a name. Raises ``MockError`` for one that is unknown, or that several mocks share."""
    found = find_all(name, names)
    if len(found) > 1:
        candidates = [f"{target.mock}:{name}" for target in found]
        raise MockError(
            f"{name!r} is an operation of several mocks: {', '.join(target.mock for target in found)}",
            why="a rule is for one operation of one mock",
            fix=f"Write {' or '.join(candidates)}.",
        )
    return found[0]


def find_all(name: str, names: Names) -> list[Target]:
    """The operations of a name, which several mocks may share. Raises ``MockError`` for one that is unknown."""
    found = list(dict.fromkeys(_targets(name, names)))
    if not found:
        raise _unknown(name, names)
    return found


def _targets(name: str, names: Names) -> Iterator[Target]:
    for mock, operations in names.items():
        for local in (name, name.removeprefix(f"{mock}__"), name.removeprefix(f"{mock}:")):
            if local in operations:
                yield Target(mock, operations[local])
                break


def _unknown(name: str, names: Names) -> MockError:
    known = [operation for operations in names.values() for operation in operations]
    head, _, last = name.rpartition("/")
    if name in _INSIDE_EVE:
        why = f"{name} runs inside eve and never reaches the network, so no mock can answer for it"
        fix = "Stub the operation that the call leads to, such as linear__list_issues."
    elif head and not name.startswith("/") and " " not in name:
        why = f"a mock sees the call, not whether the subagent {head} made it; delegation happens inside eve"
        fix = f"Write {last}, which answers every caller; or stub {name} with eve's own stubs."
    else:
        why = "a rule replaces the answer of an operation that a mock has, and never adds one"
        fix = _suggest(name, known)
    return MockError(f"{name!r} names no operation of {_of(names)}", why=why, fix=fix)


def _of(names: Names) -> str:
    return f"the mock {next(iter(names))}" if len(names) == 1 else "any mock"


def _suggest(name: str, known: list[str]) -> str:
    if not known:
        return "Describe the operation first: pull its schema file, or write it in the mock."
    if len(known) <= _LISTED:
        return did_you_mean(name, known)
    near = nearest(name, known)
    return f"Did you mean {near}?" if near else f"Use one of: {', '.join(known[:_LISTED])}, …"
