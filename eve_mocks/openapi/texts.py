"""Texts for formats and patterns of schemas, the same every time."""

from __future__ import annotations

import re
import re._constants as op  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import warnings
from typing import Any

# JSON Schema 2020-12, section 7.3; OpenAPI 3.0, Data Types.
_FORMATS = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "user@example.com",
    "idn-email": "user@example.com",
    "hostname": "example.com",
    "idn-hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uri-reference": "/",
    "iri": "https://example.com/",
    "iri-reference": "/",
    "uri-template": "/{id}",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "json-pointer": "/a",
    "relative-json-pointer": "0",
    "regex": ".*",
    "byte": "ZXhhbXBsZQ==",
    "int32": "1",
    "int64": "1",
    "decimal": "1",
}
_LONGEST = 1000


def of_format(name: object) -> str | None:
    """A text of a format; None for one that says nothing of it."""
    return _FORMATS.get(name) if isinstance(name, str) else None


def of_pattern(pattern: str, least: int = 0) -> str | None:
    """A text that a pattern matches: the first of each choice, as few of each repetition as may be.

    None where that cannot be told: ECMAScript's patterns are read as Python's, which most of them are as well.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = parser.parse(re.sub(r"\\d", "[0-9]", pattern))
        shortest = "".join(_texts(parsed, 0))
        if len(shortest) >= least:
            return shortest[:_LONGEST]
        return "".join(_texts(parsed, least))[:_LONGEST]
    except (re.error, RecursionError, NotImplementedError, OverflowError):
        return None


def _texts(parsed: Any, least: int) -> list[str]:
    return [_text(what, given, least) for what, given in parsed]


def _text(what: Any, given: Any, least: int) -> str:
    if what is op.LITERAL:
        return chr(given)
    if what is op.NOT_LITERAL:
        return "a" if given != ord("a") else "b"
    if what is op.ANY:
        return "a"
    if what is op.IN:
        return _of_set(given)
    if what is op.BRANCH:
        return "".join(_texts(given[1][0], least))
    if what is op.SUBPATTERN:
        return "".join(_texts(given[-1], least))
    if what in (op.MAX_REPEAT, op.MIN_REPEAT):
        low, high, part = given
        count = min(max(low, least), high, _LONGEST) if high else 0
        return "".join(_texts(part, 0)) * count
    if what is op.AT or what in (op.ASSERT, op.ASSERT_NOT):
        return ""
    raise NotImplementedError(what)


def _of_set(members: Any) -> str:
    if members and members[0][0] is op.NEGATE:
        refused = {chr(given) for what, given in members[1:] if what is op.LITERAL}
        ranges = [given for what, given in members[1:] if what is op.RANGE]
        for letter in "a0A_-. ~é":
            inside = any(low <= ord(letter) <= high for low, high in ranges)
            categories = {given for what, given in members[1:] if what is op.CATEGORY}
            if letter not in refused and not inside and not any(_in_category(letter, one) for one in categories):
                return letter
        raise NotImplementedError
    for what, given in members:
        if what is op.LITERAL:
            return chr(given)
        if what is op.RANGE:
            return chr(given[0])
        if what is op.CATEGORY:
            return next(letter for letter in "a0 -" if _in_category(letter, given))
    raise NotImplementedError


def _in_category(letter: str, category: Any) -> bool:
    told = {
        op.CATEGORY_WORD: letter.isalnum() or letter == "_",
        op.CATEGORY_NOT_WORD: not (letter.isalnum() or letter == "_"),
        op.CATEGORY_DIGIT: letter.isdigit(),
        op.CATEGORY_NOT_DIGIT: not letter.isdigit(),
        op.CATEGORY_SPACE: letter.isspace(),
        op.CATEGORY_NOT_SPACE: not letter.isspace(),
    }
    return told[category]
