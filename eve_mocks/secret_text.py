"""Secrets in text, found by the names beside them: text is whatever is not, or not wholly, JSON.

JSON that was cut or stands inside of other text, ``name=value``, ``name: value``, markup and parts of forms are
looked through. Each pattern finds a name and its mark; what follows is read only where the name is secret. All of it
takes linear time.
"""

from __future__ import annotations

import base64
import functools
import re
from typing import TYPE_CHECKING

from eve_mocks.secret_names import REDACTED, is_count, is_field, is_secret

if TYPE_CHECKING:
    from collections.abc import Callable

# Quotes inside of a string have as many backslashes as its depth asks for; the closing one has those of the opening.
_MEMBER = re.compile(r"""(?P<quote>(?P<escape>\\{0,8})["'])(?P<name>[\w.$ -]{1,80})(?P=quote)\s*:\s*""")
_BARE = re.compile(r"[^\s,;{}\[\]\"'\\]+")
_KEPT = frozenset(("true", "false", "null", "None", "True", "False", "undefined"))
_SCHEMA = re.compile(
    r"""\{\s*\\{0,8}"(?:\$ref|anyOf|oneOf|allOf|enum|const"""
    r"""|type\\{0,8}"\s*:\s*\\{0,8}["\[](?:string|object|array|number|integer|boolean|null)?\\{0,8}")"""
)

_PAIR = re.compile(r"(?<![\w.%$-])(?P<name>[\w.%$-]{1,80})[ \t]{0,4}(?P<mark>=(?![=>])|:(?![:/]))[ \t]{0,4}")
_QUOTED = r""""[^"\n]*"?|'[^'\n]*'?"""
_ASSIGNED = re.compile(_QUOTED + r"""|(?:(?:[Bb]earer|[Bb]asic|[Tt]oken)[ \t]{1,4})?[^\s&;,"'<>\\()\[\]{}]+""")
# After a colon there may be prose, unless the value is all that there is.
_TOLD = re.compile(
    _QUOTED + r"""|(?:(?<=[ \t])[^\s,}"'\\]{1,4096}+|[^\s,}"'\\:]{1,4096}+)(?=[ \t\r]*(?:$|[,}"'\\]))""",
    re.MULTILINE,
)
_FIELD_LINE = re.compile(r"(?:proxy-|x-[\w-]{0,40})?authorization|(?:set-)?cookie2?", re.IGNORECASE)
_LINE = re.compile(r"[^\r\n]+")
_QUOTED_LINE = re.compile(r"""[^"'\\\r\n]+""")  # inside of a command or of JSON
_SCHEME = re.compile(
    r"""\b(bearer|basic)[ \t]+(?!\w+=["']?[\w/])(?=[^\s"',;]*\d|[^\s"',;]{20}|\S*=)[\w.~+/=-]{8,}""", re.IGNORECASE
)

_TAG = re.compile(r"<\w[^<>]{0,1000}>")
_TAG_NAME = re.compile(r"""\b(?:name|key|id)\s*=\s*["']?(?P<name>[\w.-]{1,80})""")
_TAG_VALUE = re.compile(r"""\b((?:value|content)\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)""")
_ELEMENT = re.compile(r"<(?:[\w.-]{1,80}:)?(?P<name>[\w.-]{1,80})(?:\s[^<>]{0,1000})?>\s*")
_CONTENT = re.compile(r"<!\[CDATA\[.*?(?:\]\]>|\Z)|[^<]+", re.DOTALL)

_PART = re.compile(
    r'(?<![\w*])name="?+(?P<name>[^";\r\n]{1,80}+)"?+[^\r\n]{0,500}+(?:\r?\n[^\r\n]{1,500}+){0,8}+\r?\n\r?\n',
    re.IGNORECASE,
)
_PART_CONTENT = re.compile(r".*?(?=\r?\n--|\Z)", re.DOTALL)

type Hide = Callable[[str, re.Match[str]], tuple[str, int] | None]


def replace(shown: str) -> str:
    """Text without the values of what has a secret name."""
    if '"' in shown or "'" in shown:
        shown = _scan(_MEMBER, shown, _member)
    if "=" in shown or ":" in shown:
        shown = _scan(_PAIR, shown, _pair)
    if "<" in shown:
        shown = _TAG.sub(_tag, _scan(_ELEMENT, shown, _element))
    return _SCHEME.sub(_scheme, shown)


def parts(shown: str) -> str:
    """A multipart form (RFC 7578) without the content of the parts that have a secret name."""
    return _scan(_PART, shown, _part)


def _scan(pattern: re.Pattern[str], shown: str, hide: Hide) -> str:
    """Let ``hide`` say for each match what stands for the value behind it, and where that ends."""
    kept: list[str] = []
    position = done = 0
    while (found := pattern.search(shown, position)) is not None:
        position = found.end()
        if (hidden := hide(shown, found)) is not None:
            kept += shown[done:position], hidden[0]
            position = done = hidden[1]
    return "".join([*kept, shown[done:]]) if kept else shown


def _member(shown: str, found: re.Match[str]) -> tuple[str, int] | None:
    name, escape, start = found["name"], found["escape"], found.end()
    if not is_field(name):
        return None
    quote = escape + '"'
    for mark in (quote, escape + "'"):
        if shown.startswith(mark, start):
            end = _closing(mark).search(shown, start + len(mark))
            return mark + REDACTED, end.start() if end else len(shown)
    if shown[start : start + 1] in ("[", "{"):
        return None if _SCHEMA.match(shown, start) else (quote + REDACTED + quote, _end_of(shown, start, escape))
    bare = _BARE.match(shown, start)
    if bare is None or bare[0] in _KEPT or (bare[0].isdigit() and is_count(name, 0)):
        return None
    return quote + REDACTED + quote, bare.end()


@functools.lru_cache(maxsize=64)
def _closing(quote: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\\){re.escape(quote)}|$", re.MULTILINE)


@functools.lru_cache(maxsize=16)
def _structure(escape: str) -> re.Pattern[str]:
    mark = rf"(?<!\\){re.escape(escape)}"
    return re.compile(rf"""{mark}(["']).*?(?:{mark}\1|$)|[\[\]{{}}]""", re.MULTILINE)


def _end_of(shown: str, start: int, escape: str) -> int:
    """Where an array or object ends that begins here; the end of the text where it was cut."""
    depth = 0
    for found in _structure(escape).finditer(shown, start):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(shown)


def _pair(shown: str, found: re.Match[str]) -> tuple[str, int] | None:
    name, start = found["name"], found.end()
    if not is_field(name):
        return None
    if found["mark"] == "=":
        follows = _ASSIGNED
    elif not _FIELD_LINE.fullmatch(name):
        follows = _TOLD
    else:
        follows = _LINE if shown[max(0, found.start() - 1) : found.start()] in ("", "\n") else _QUOTED_LINE
    value = follows.match(shown, start)
    if value is None or value[0] in _KEPT or is_count(name, value[0]):
        return None
    quote = value[0][0] if value[0][0] in "\"'" else ""
    return quote + REDACTED + (quote if value[0].endswith(quote) else ""), value.end()


def _scheme(found: re.Match[str]) -> str:
    if found[1].lower() == "basic":  # the word is common in prose
        try:
            if b":" not in base64.b64decode(found[0].split()[1]):
                return found[0]
        except ValueError:
            return found[0]
    return f"{found[1]} {REDACTED}"


def _tag(found: re.Match[str]) -> str:
    named = _TAG_NAME.search(found[0])
    if named is None or not (is_field(named["name"]) or "csrf" in named["name"].lower()):
        return found[0]
    return _TAG_VALUE.sub(rf'\g<1>"{REDACTED}"', found[0])


def _element(shown: str, found: re.Match[str]) -> tuple[str, int] | None:
    if not is_field(found["name"]) or found[0].rstrip().endswith("/>"):
        return None
    content = _CONTENT.match(shown, found.end())
    return None if content is None else (REDACTED, content.end())


def _part(shown: str, found: re.Match[str]) -> tuple[str, int] | None:
    if not is_secret(found["name"]):
        return None
    content = _PART_CONTENT.match(shown, found.end())
    return None if content is None else (REDACTED, content.end())
