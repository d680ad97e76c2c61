"""JSON text to a value and the lines its parts stand on, stricter than Python's reader in what it takes.

A key stands once in its object, numbers are finite, text is Unicode. Lines are looked for when they are asked for.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from eve_mocks.errors import MockError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eve_mocks.document import Lines, Path

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{},]|[^][{},:"\s]+')


def read_json(text: str, file: str) -> tuple[Any, Lines]:
    """The value of a JSON text. Raises ``MockError``."""
    try:
        return _loads(text, file), _Lines(text)
    except json.JSONDecodeError as error:
        raise MockError(
            f"{file} is not JSON: {error.msg}",
            why=f"column {error.colno} cannot be read",
            fix="Correct it; JSON has no comments and no trailing commas (a .yaml file may have both).",
            file=file,
            line=error.lineno,
        ) from error
    except UnicodeEncodeError as error:
        raise MockError(
            f"{file} holds a lone surrogate",
            why=f"{error.object[error.start]!r} is half a character",
            fix="Write the character itself, or both halves.",
            file=file,
        ) from error
    except _BadNumber as error:
        raise MockError(
            f"{file} holds {str(error)[:20]}, which is not a number that JSON can carry",
            why="a number is finite, and has at most some thousand digits",
            fix="Write it as text, in quotes.",
            file=file,
            line=next((line for word, line in _tokens(text) if word == str(error)), None),
        ) from error


def _loads(text: str, file: str) -> Any:
    repeated = False

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        found = dict(pairs)
        repeated = repeated or len(found) < len(pairs)
        return found

    value = json.loads(text, object_pairs_hook=unique, parse_constant=_refuse, parse_float=_finite, parse_int=_integer)
    if repeated:
        raise next(_repeated(path, file, line) for path, line, is_again in _places(text) if is_again)
    if _SURROGATE.search(text):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _repeated(path: Path, file: str, line: int) -> MockError:
    return MockError(
        f"the key {path[-1]!r} stands twice",
        why="only one of them could count",
        fix="Remove one, or merge them.",
        file=file,
        line=line,
    )


class _Lines:
    """The line of a path, or of the nearest part above it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._places: dict[Path, int] | None = None

    def __call__(self, path: Path) -> int:
        if not path:
            return 1
        if self._places is None:
            self._places = {found: line for found, line, _ in _places(self._text)}
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path, 1)


class _BadNumber(ValueError):
    """The word cannot be a number of JSON."""


def _refuse(word: str) -> None:
    raise _BadNumber(word)


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise _BadNumber(word)
    return number


def _integer(word: str) -> int:
    try:
        return int(word)
    except ValueError as error:  # more digits than Python converts
        raise _BadNumber(word) from error


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """The tokens of valid JSON without its colons, and their lines."""
    line, counted = 1, 0
    for found in _JSON_TOKEN.finditer(text):
        line, counted = line + text.count("\n", counted, found.start()), found.start()
        yield found[0], line


def _places(text: str) -> Iterator[tuple[Path, int, bool]]:
    """The path of each key and list item of valid JSON, its line, and whether it was there before."""
    seen: set[Path] = set()
    path: list[str | int] = []
    begins = False  # whether the next token is a key, or an item of a list
    for word, line in _tokens(text):
        if begins and word not in ("]", "}"):
            begins = False
            is_key = isinstance(path[-1], str)
            if is_key:
                path[-1] = json.loads(word)
            place = tuple(path)
            yield place, line, place in seen
            seen.add(place)
            if is_key:
                continue
        if word in ("{", "["):
            path.append("" if word == "{" else 0)
            begins = True
        elif word in ("}", "]"):
            path.pop()
            begins = False
        elif word == ",":
            last = path[-1]
            path[-1] = last + 1 if isinstance(last, int) else last
            begins = True
