"""A table of what answers by method and path template, and which entry was nearly meant."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, NamedTuple

from eve_mocks.errors import MockError
from eve_mocks.likeness import NOTHING, likeness
from eve_mocks.match import did_you_mean
from eve_mocks.paths import PathTemplate, normalise_segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# RFC 9110, section 9, without CONNECT, which has no path; RFC 5789 (PATCH); and QUERY. ANY is ours.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "ANY")


class Found[T](NamedTuple):
    template: PathTemplate
    params: dict[str, str]
    value: T


class Miss(NamedTuple):
    """The entry that was nearly meant, and the first thing that differs; ``template`` is set where the path fits."""

    operation: str
    difference: str
    template: PathTemplate | None = None
    passed: bool = False


class _Entry[T](NamedTuple):
    template: PathTemplate
    by_method: dict[str, T]


def _words(method: str) -> tuple[str, ...]:
    """The methods whose answers a request gets, the first choice first."""
    return (method, "GET", "ANY") if method == "HEAD" else (method, "ANY")


class RouteTable[T]:
    """Concrete paths are looked up; templates are tried from concrete to general."""

    def __init__(self) -> None:
        self._concrete: dict[str, _Entry[T]] = {}
        self._general: list[_Entry[T]] = []  # sorted
        self._shapes: dict[str, _Entry[T]] = {}

    def add(self, method: str, template: PathTemplate, value: T) -> None:
        """Raises ``MockError`` for an unknown method, and for a second answer to one operation."""

        def new(there: T | None) -> T:
            if there is not None:
                other = self._entry(template).template.text
                raise MockError(
                    f"two routes answer {method} {template.text}",
                    why=f"the other is {method} {other}, and only one of them could answer",
                    fix="Keep one of them.",
                )
            return value

        self.amend(method, template, new)

    def amend(self, method: str, template: PathTemplate, change: Callable[[T | None], T]) -> None:
        """Put what ``change`` makes in the place of what is there, if anything is, perhaps with other parameters.

        Raises ``MockError`` for an unknown method.
        """
        if method not in METHODS:
            raise MockError(
                f"unknown method {method!r} at {template.text}",
                why=f"a method is one of {', '.join(METHODS)}",
                fix=did_you_mean(method, METHODS),
            )
        entry = self._entry(template)
        entry.by_method[method] = change(entry.by_method.get(method))

    def _entry(self, template: PathTemplate) -> _Entry[T]:
        if not template.names and not template.rest:
            return self._concrete.setdefault(normalise_segment(template.text), _Entry(template, {}))
        if template.shape not in self._shapes:
            self._shapes[template.shape] = _Entry(template, {})
            bisect.insort(self._general, self._shapes[template.shape], key=lambda entry: entry.template)
        return self._shapes[template.shape]

    def holds(self, method: str, template: PathTemplate) -> bool:
        """Whether an operation is there, perhaps with other names for its parameters."""
        entry = self._concrete.get(normalise_segment(template.text)) or self._shapes.get(template.shape)
        return entry is not None and method in entry.by_method

    def operations(self) -> list[str]:
        """Every operation, as ``METHOD /path/{param}``."""
        return [f"{method} {entry.template.text}" for entry in self._entries() for method in entry.by_method]

    def values(self) -> Iterator[T]:
        return (value for entry in self._entries() for value in entry.by_method.values())

    def templates(self) -> list[PathTemplate]:
        return [entry.template for entry in self._entries()]

    def find(self, method: str, path: str) -> Iterator[Found[T]]:
        """What answers, the first choice first: the nearer path, then the method itself, GET for HEAD, ANY."""
        for entry, params in self._fitting(path):
            for word in _words(method):
                if word in entry.by_method:
                    yield Found(entry.template, params, entry.by_method[word])

    def miss(self, method: str, path: str) -> Miss | None:
        """Why nothing was found: the path has other methods, or a segment differs."""
        there = [(entry, word) for entry, _ in self._fitting(path) for word in entry.by_method]
        if there:
            entry, word = there[0]
            methods = list(dict.fromkeys(word for _, word in there))
            answering = [f"{each} {entry.template.text}" for entry, each in there if each in _words(method)]
            if answering:
                return Miss(answering[0], "its handler passed", entry.template, passed=True)
            difference = f"the method is {method}; the path has {', '.join(methods)}"
            return Miss(f"{word} {entry.template.text}", difference, entry.template)
        scored = [
            (likeness(entry.template, path), f"{method if method in entry.by_method else word} {entry.template.text}")
            for entry in self._entries()
            for word in list(entry.by_method)[:1]
        ]
        (score, difference), operation = max(scored, default=(NOTHING, ""), key=lambda each: each[0].score)
        return Miss(operation, difference) if score > 0 else None

    def _entries(self) -> Iterator[_Entry[T]]:
        yield from self._concrete.values()
        yield from self._general

    def _fitting(self, path: str) -> Iterator[tuple[_Entry[T], dict[str, str]]]:
        if path in self._concrete:
            yield self._concrete[path], {}
        for entry in self._general:
            params = entry.template.match(path)
            if params is not None:
                yield entry, params
