"""The JSON Schema of ``match``: a subset of 2020-12, compiled into functions (contract, section 4).

jsonschema is not asked: it has Python's numbers in place of ECMAScript's, tells differences in its own words, and takes
a tenth of a second to import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from eve_mocks.match import did_you_mean
from eve_mocks.stubs.assertions import ASSERTIONS, Check, is_scalar, list_of, refuse_inherited, wrong
from eve_mocks.stubs.difference import Difference, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eve_mocks.document import Document
    from eve_mocks.response import Json

# As ``assertions.Keyword``, for a keyword that holds schemas: the second argument is the schema it stands in.
type Applicator = Callable[[Document, Document], Check | None]

_INSTEAD = {
    "patternProperties": "Use properties, or propertyNames with additionalProperties.",
    "format": "Use pattern.",
    "multipleOf": "Use enum, or type: integer with minimum and maximum.",
    "minContains": "Use contains, or minItems.",
    "maxContains": "Use contains, or maxItems.",
    "uniqueItems": "Use prefixItems, or contains.",
    **dict.fromkeys(("additionalItems", "unevaluatedItems"), "Use items, beside prefixItems."),
    "unevaluatedProperties": "Use additionalProperties.",
    **dict.fromkeys(
        ("dependentRequired", "dependentSchemas", "dependencies"), "Use if and then: if: {required: [a]}, then: {…}."
    ),
    **dict.fromkeys(
        ("$ref", "$dynamicRef", "$defs", "definitions", "$id", "$anchor", "$dynamicAnchor", "$schema", "$vocabulary"),
        "Write the schema out where it is used; allOf can hold several.",
    ),
}


def compile_constraint(schema: Document) -> Check:
    """Raises ``MockError`` that begins with the JSON path of what is not allowed."""
    if schema.value is True:
        return _anything
    if schema.value is False:
        return lambda value: Difference(value, "allowed")
    if not isinstance(schema.value, dict):
        raise wrong(
            schema,
            f"is {shown(schema.value)}, not a JSON Schema",
            f"Write {shown({'const': schema.value})}" if is_scalar(schema.value) else "Write a mapping.",
        )
    checks: list[Check | None] = []
    for key, part in schema.parts():
        if key in ASSERTIONS:
            checks.append(ASSERTIONS[key](part))
        elif key in APPLICATORS:
            checks.append(APPLICATORS[key](part, schema))
        else:
            raise wrong(part, "is not a keyword of match", _INSTEAD.get(key) or did_you_mean(str(key), KEYWORDS))
    asked = [check for check in checks if check is not None]
    return asked[0] if len(asked) == 1 else _every(asked)


# Keywords that hold schemas (JSON Schema 2020-12, core, section 10)


def _prefix_items(part: Document, _schema: Document) -> Check:
    checks = [compile_constraint(item) for item in list_of(part, "schemas", nonempty=True)]

    def check(value: Json) -> Difference | None:
        pairs = enumerate(zip(checks, value, strict=False)) if isinstance(value, list) else ()
        return _first((index, item, value_) for index, (item, value_) in pairs)

    return check


def _items(part: Document, schema: Document) -> Check:
    item = compile_constraint(part)
    prefix = schema.value.get("prefixItems")
    start = len(prefix) if isinstance(prefix, list) else 0
    return lambda value: (
        _first((index, item, value[index]) for index in range(start, len(value))) if isinstance(value, list) else None
    )


def _contains(part: Document, _schema: Document) -> Check:
    item = compile_constraint(part)
    return lambda value: (
        None
        if not isinstance(value, list) or any(item(each) is None for each in value)
        else Difference(value, "an array with an item that fits contains")
    )


def _properties(part: Document, _schema: Document) -> Check:
    if not isinstance(part.value, dict):
        raise wrong(part, f"is {shown(part.value)}", "Make it a mapping of names to schemas.")
    checks = {}
    for name, schema in part.parts():
        refuse_inherited(schema, name)
        checks[name] = compile_constraint(schema)
    return lambda value: (
        _first((name, check, value[name]) for name, check in checks.items() if name in value)
        if isinstance(value, dict)
        else None
    )


def _additional_properties(part: Document, schema: Document) -> Check:
    check = compile_constraint(part)
    known = schema.value.get("properties")
    named = frozenset(known) if isinstance(known, dict) else frozenset()
    return lambda value: (
        _first((name, check, value[name]) for name in value if name not in named) if isinstance(value, dict) else None
    )


def _property_names(part: Document, _schema: Document) -> Check:
    check = compile_constraint(part)
    return lambda value: _first((name, check, name) for name in value) if isinstance(value, dict) else None


def _schemas(part: Document) -> list[Check]:
    return [compile_constraint(schema) for schema in list_of(part, "schemas", nonempty=True)]


def _all_of(part: Document, _schema: Document) -> Check:
    return _every(_schemas(part))


def _any_of(part: Document, _schema: Document) -> Check:
    checks = _schemas(part)
    return lambda value: (
        None if any(check(value) is None for check in checks) else Difference(value, "what any schema of anyOf allows")
    )


def _one_of(part: Document, _schema: Document) -> Check:
    checks = _schemas(part)
    return lambda value: (
        None
        if sum(check(value) is None for check in checks) == 1
        else Difference(value, "what exactly one schema of oneOf allows")
    )


def _not(part: Document, _schema: Document) -> Check:
    check = compile_constraint(part)
    return lambda value: Difference(value, "what not leaves") if check(value) is None else None


def _if(part: Document, schema: Document) -> Check:
    condition = compile_constraint(part)
    then, otherwise = (compile_constraint(schema.part(key)) if key in schema else _anything for key in ("then", "else"))
    return lambda value: then(value) if condition(value) is None else otherwise(value)


def _branch(part: Document, schema: Document) -> None:
    """``then`` and ``else`` belong to ``if``, and ask nothing where there is none (2020-12, core, 10.2.2)."""
    if "if" not in schema:
        compile_constraint(part)


def _anything(_value: Json) -> None:
    return None


def _every(checks: list[Check]) -> Check:
    def check(value: Json) -> Difference | None:
        for each in checks:
            found = each(value)
            if found is not None:
                return found
        return None

    return check


def _first(parts: Iterable[tuple[str | int, Check, Json]]) -> Difference | None:
    for key, check, value in parts:
        found = check(value)
        if found is not None:
            return found.under(key)
    return None


APPLICATORS: dict[str, Applicator] = {
    "items": _items,
    "prefixItems": _prefix_items,
    "contains": _contains,
    "properties": _properties,
    "propertyNames": _property_names,
    "additionalProperties": _additional_properties,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "then": _branch,
    "else": _branch,
}
KEYWORDS = (*ASSERTIONS, *APPLICATORS)
