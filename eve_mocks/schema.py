"""JSON Schema: whether a schema is one, and what in a value breaks it.

jsonschema takes a tenth of a second to import, so it is asked only where it is needed: for a value, and for a schema
that is not plainly valid.
"""

from __future__ import annotations

import contextlib
import functools
import re
from typing import TYPE_CHECKING, Any

from eve_mocks.ecmascript import BadPattern, compile_pattern
from eve_mocks.errors import MockError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import jsonschema.protocols

    from eve_mocks.response import Json

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_DIALECTS = ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#")


class Schema:
    """One JSON Schema, compiled when the first value is held against it."""

    def __init__(self, schema: Json) -> None:
        self.schema = schema

    def problems(self, value: Json) -> list[str]:
        """What is wrong with a value, each with where; nothing if it is valid. Raises ``MockError``."""
        from referencing.exceptions import Unresolvable

        try:
            errors = sorted(self._validator.iter_errors(value), key=lambda error: [str(part) for part in error.path])
        except Unresolvable as error:
            raise MockError(
                f"a schema refers to {error.ref!r}, which is not in it",
                why="a $ref is followed within its schema, and nothing is downloaded",
                fix="Put what it names under $defs, and refer to it as #/$defs/name.",
            ) from error
        return [_told(error.path, error.message) for error in errors]

    @functools.cached_property
    def _validator(self) -> jsonschema.protocols.Validator:
        from jsonschema.validators import Draft202012Validator, extend, validator_for
        from referencing.jsonschema import EMPTY_REGISTRY

        # MCP (2026-07-28, Tool): 2020-12 unless $schema names another. A registry of its own keeps the library from
        # downloading what a $ref names.
        dialect = validator_for(self.schema, default=Draft202012Validator)
        patterns = {
            **ECMASCRIPT,
            **{key: _lenient(dialect.VALIDATORS[key]) for key in _LENIENT & dialect.VALIDATORS.keys()},
        }
        ecmascript: type[jsonschema.protocols.Validator] = extend(dialect, patterns)  # type: ignore[no-untyped-call]
        return ecmascript(self.schema, registry=EMPTY_REGISTRY)


def fault_of(schema: Json) -> str | None:
    """What makes a value no valid JSON Schema, or None."""
    if _is_plainly_valid(schema):
        return None
    if not isinstance(schema, dict):
        return f"{schema!r} is neither an object nor true or false"
    if not isinstance(schema.get("$schema", ""), str):
        return f"$schema: {schema['$schema']!r} is not a URI"
    from jsonschema import FormatChecker
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    no_formats = FormatChecker(formats=())  # a pattern is ECMAScript's, which Python cannot judge
    try:
        dialect = validator_for(schema, default=Draft202012Validator)
        dialect.check_schema(schema, format_checker=no_formats)  # type: ignore[call-arg]  # the stubs lack it
    except SchemaError as error:
        return _told(error.path, error.message)
    return None


def _pattern(_validator: Any, pattern: str, instance: Json, _schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not _fits(pattern, instance, otherwise=True):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: dict[str, Json], instance: Json, _schema: Any) -> Iterator[Any]:
    for pattern, schema in patterns.items() if isinstance(instance, dict) else ():
        for name, value in instance.items():
            if _fits(pattern, name, otherwise=False):
                yield from validator.descend(value, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, additional: Json, instance: Json, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not isinstance(instance, dict):
        return
    patterns = schema.get("patternProperties", {})
    extra = [
        name
        for name in instance
        if name not in schema.get("properties", {}) and not any(_fits(each, name, otherwise=True) for each in patterns)
    ]
    if isinstance(additional, dict):
        for name in extra:
            yield from validator.descend(instance[name], additional, path=name)
    elif not additional and extra:
        were = "was" if len(extra) == 1 else "were"
        shown = ", ".join(repr(name) for name in sorted(extra))
        yield ValidationError(f"Additional properties are not allowed ({shown} {were} unexpected)")


def _fits(pattern: str, text: str, *, otherwise: bool) -> bool:
    """Whether a text matches. ``otherwise`` is for a pattern of another language, which only its author can read."""
    for flags in ("u", ""):  # JSON Schema asks for flag u; many a pattern that is in use has it only without
        try:
            return compile_pattern(pattern, flags).found_in(text)
        except BadPattern:
            continue
    return otherwise


def _lenient(keyword: Callable[..., Iterator[Any] | None]) -> Callable[..., Iterator[Any]]:
    """A keyword of the library's that looks at patterns with Python's eyes: it holds where Python cannot read them."""

    def check(*arguments: Any) -> Iterator[Any]:
        with contextlib.suppress(re.error):
            yield from keyword(*arguments) or ()

    return check


def _told(path: Iterable[str | int], message: str) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    return f"{where}: {message}" if where else message


def _is_plainly_valid(schema: Json) -> bool:
    """True for a schema of common keywords, each as it should be; False is no verdict."""
    if isinstance(schema, bool):
        return True
    return isinstance(schema, dict) and all(
        key.startswith("x-") or (key in _PLAIN and _PLAIN[key](value)) for key, value in schema.items()
    )


def _text(value: Json) -> bool:
    return isinstance(value, str)


def _number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _flag(value: Json) -> bool:
    return isinstance(value, bool)


def _anything(value: Json) -> bool:  # noqa: ARG001 - true whatever it is
    return True


def _type(value: Json) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(name in _TYPES for name in names) and len(set(names)) == len(names)


def _names(value: Json) -> bool:
    return isinstance(value, list) and all(map(_text, value)) and len(set(value)) == len(value)


def _schemas(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_plainly_valid, value))


def _named_schemas(value: Json) -> bool:
    return isinstance(value, dict) and all(map(_is_plainly_valid, value.values()))


ECMASCRIPT = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
}
_LENIENT = {"unevaluatedProperties"}

_PLAIN: dict[str, Callable[[Json], bool]] = {
    "$schema": lambda value: value in _DIALECTS,
    "$ref": lambda value: isinstance(value, str) and value.startswith("#/"),
    "type": _type,
    "required": _names,
    "enum": lambda value: isinstance(value, list) and bool(value),
    **dict.fromkeys(("$comment", "title", "description", "format", "pattern"), _text),
    **dict.fromkeys(("const", "default"), _anything),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count),
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly"), _flag),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _schemas),
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions"), _named_schemas),
    **dict.fromkeys(("items", "additionalProperties", "propertyNames", "not", "contains"), _is_plainly_valid),
}
