"""Keywords of ``match`` that look at a value itself (JSON Schema 2020-12, validation, section 6).

Each makes a check of its value in a schema, and refuses a value that it cannot have.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sized
from typing import TYPE_CHECKING, Any

from eve_mocks.ecmascript import BadPattern, compile_pattern
from eve_mocks.match import did_you_mean
from eve_mocks.stubs.difference import MISSING, Difference, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eve_mocks.document import Document
    from eve_mocks.errors import MockError
    from eve_mocks.response import Json

# Gives the first thing that keeps a value from fitting, or None.
type Check = Callable[[Json], Difference | None]
# Makes the check of one keyword; None for a keyword that asks nothing. Raises ``MockError`` with the JSON path.
type Keyword = Callable[[Document], Check | None]

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
# ECMA-262, Object.prototype: eve asks for a property with `in`, which finds these in every object.
INHERITED = frozenset(
    """__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ __proto__ constructor hasOwnProperty
    isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf""".split()  # noqa: SIM905 - a word list
)


def wrong(part: Document, problem: str, fix: str, why: str = "match is a subset of JSON Schema 2020-12") -> MockError:
    return part.error(f"{part.json_path} {problem}", why=why, fix=fix)


def list_of(part: Document, what: str, *, nonempty: bool = False) -> list[Document]:
    if not isinstance(part.value, list) or (nonempty and not part.value):
        raise wrong(part, f"is {shown(part.value)}", f"Make it a{' nonempty' if nonempty else ''} list of {what}.")
    return [item for _, item in part.parts()]


def _text(part: Document, what: str = "text") -> str:
    if not isinstance(part.value, str):
        raise wrong(part, f"is {shown(part.value)}", f"Make it {what}.")
    return part.value


def _unique(parts: Iterable[Document]) -> None:
    seen = set()
    for part in parts:
        identity = _identity(part.value)
        if identity in seen:
            raise wrong(part, f"is {shown(part.value)} again", "Take it out.")
        seen.add(identity)


def refuse_inherited(part: Document, name: str) -> None:
    if name in INHERITED:
        raise wrong(
            part,
            f"is {name}, a name that every object of ECMAScript inherits",
            "Match another property.",
            why="eve could not tell such a property from the inherited one, and refuses it",
        )


def as_double(number: float) -> float:
    """The number that ECMAScript would read."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_scalar(value: Json) -> bool:
    return value is None or isinstance(value, str | int | float)


def _identity(value: Json) -> tuple[str, Any]:
    """Equal for scalars that are the same to ECMAScript: 1 and 1.0 are, 1 and true are not."""
    if _is_number(value):
        return "number", as_double(value)
    return type(value).__name__, value if is_scalar(value) else None


def _is_type(value: Json, name: str) -> bool:
    match name:
        case "number":
            return _is_number(value)
        case "integer":
            return _is_number(value) and as_double(value).is_integer()
        case "null":
            return value is None
        case _:
            return isinstance(value, {"array": list, "boolean": bool, "object": dict, "string": str}[name])


def _type(part: Document) -> Check:
    items = list_of(part, "types", nonempty=True) if isinstance(part.value, list) else [part]
    for item in items:
        if item.value not in TYPES or not isinstance(item.value, str):
            raise wrong(item, f"is {shown(item.value)}, not a type", did_you_mean(str(item.value), TYPES))
    _unique(items)
    names = tuple(item.value for item in items)
    wanted = f"of type {' or '.join(names)}"
    return lambda value: None if any(_is_type(value, name) for name in names) else Difference(value, wanted)


def _scalars(parts: list[Document], wanted: str) -> Check:
    for part in parts:
        if not is_scalar(part.value):
            raise wrong(
                part,
                "is an object or an array, and only text, numbers, true, false and null can be compared",
                "Match its parts, with properties or prefixItems.",
            )
    _unique(parts)
    allowed = {_identity(part.value) for part in parts}
    return lambda value: None if _identity(value) in allowed else Difference(value, wanted)


def _const(part: Document) -> Check:
    return _scalars([part], shown(part.value))


def _enum(part: Document) -> Check:
    parts = list_of(part, "values", nonempty=True)
    return _scalars(parts, f"one of {', '.join(shown(each.value) for each in parts)}")


def _note(part: Document) -> None:
    _text(part)


def _bound(holds: Callable[[float, float], bool], words: str) -> Keyword:
    def keyword(part: Document) -> Check:
        if not _is_number(part.value):
            raise wrong(part, f"is {shown(part.value)}", "Make it a number.")
        limit, wanted = as_double(part.value), f"{words} {shown(part.value)}"
        return lambda value: (
            None if not _is_number(value) or holds(as_double(value), limit) else Difference(value, wanted)
        )

    return keyword


def _size(type_: type[Sized], holds: Callable[[int, int], bool], words: str) -> Keyword:
    """Text is counted in characters (code points), as JSON Schema has it."""

    def keyword(part: Document) -> Check:
        if not _is_type(part.value, "integer") or part.value < 0:
            raise wrong(part, f"is {shown(part.value)}", "Make it a whole number, 0 or more.")
        limit, wanted = int(part.value), words.format(shown(part.value))
        return lambda value: (
            None if not isinstance(value, type_) or holds(len(value), limit) else Difference(value, wanted)
        )

    return keyword


def _pattern(part: Document) -> Check:
    text = _text(part, "a regular expression")
    try:
        pattern = compile_pattern(text)
    except BadPattern as error:
        raise wrong(
            part,
            f"is {shown(text)}, not a regular expression: {error}",
            "Correct it; with flag u, a backslash stands only before what it escapes.",
            why="pattern is a regular expression of ECMAScript with flag u",
        ) from error
    wanted = f"text that matches {shown(text)}"
    return lambda value: None if not isinstance(value, str) or pattern.found_in(value) else Difference(value, wanted)


def _required(part: Document) -> Check:
    parts = list_of(part, "property names")
    for each in parts:
        refuse_inherited(each, _text(each, "a property name"))
    _unique(parts)
    names = tuple(part.value)
    return lambda value: (
        next((Difference(MISSING, "there", (name,)) for name in names if name not in value), None)
        if isinstance(value, dict)
        else None
    )


ASSERTIONS: dict[str, Keyword] = {
    "type": _type,
    "const": _const,
    "enum": _enum,
    "title": _note,
    "description": _note,
    "default": lambda _part: None,
    "minimum": _bound(operator.ge, "at least"),
    "maximum": _bound(operator.le, "at most"),
    "exclusiveMinimum": _bound(operator.gt, "more than"),
    "exclusiveMaximum": _bound(operator.lt, "less than"),
    "minLength": _size(str, operator.ge, "text of at least {} characters"),
    "maxLength": _size(str, operator.le, "text of at most {} characters"),
    "pattern": _pattern,
    "minItems": _size(list, operator.ge, "an array of at least {} items"),
    "maxItems": _size(list, operator.le, "an array of at most {} items"),
    "minProperties": _size(dict, operator.ge, "an object of at least {} properties"),
    "maxProperties": _size(dict, operator.le, "an object of at most {} properties"),
    "required": _required,
}
