"""A small value that fits a JSON Schema, for ``add`` to write down: a person goes on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eve_mocks.schema import Schema, fault_of

if TYPE_CHECKING:
    from eve_mocks.response import Json

_DEEPEST = 12
_TEXTS = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "email": "ada@example.com",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def value(schema: Json) -> Json:
    """A value that fits; ``...`` where none was found."""
    if not isinstance(schema, dict | bool) or fault_of(schema) is not None:
        return ...
    try:
        found = _value(schema, schema, 0)
        return ... if Schema(schema).problems(found) else found
    except (_TooDeepError, TypeError, KeyError, IndexError, ValueError):
        return ...


class _TooDeepError(Exception):
    pass


def _value(schema: Any, root: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise _TooDeepError
    if not isinstance(schema, dict):
        return {}
    if "const" in schema:
        return schema["const"]
    given = [schema[key] for key in ("default", "example") if schema.get(key) is not None]
    given += [schema[key][0] for key in ("enum", "examples") if schema.get(key)]
    if given:
        return given[0]
    if "$ref" in schema:
        return _value(_target(schema["$ref"], root), root, depth + 1)
    for key in ("oneOf", "anyOf"):
        if schema.get(key):
            rest = {name: part for name, part in schema.items() if name != key}
            return _value({**rest, **_resolved(schema[key][0], root)}, root, depth + 1)
    if "allOf" in schema:
        schema = _merged([{name: part for name, part in schema.items() if name != "allOf"}, *schema["allOf"]], root)
    return _of_type(schema, root, depth)


def _of_type(schema: Any, root: Any, depth: int) -> Any:
    kind = schema.get("type")
    kind = next((each for each in kind if each != "null"), "null") if isinstance(kind, list) else kind
    if kind == "array":
        size = schema.get("minItems", 0)
        return [_value(schema.get("items", {}), root, depth + 1) for _ in range(size)]
    if kind == "string":
        text = _TEXTS.get(schema.get("format", ""), "text")
        return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]
    if kind in ("integer", "number"):
        least = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        least += 1 if "exclusiveMinimum" in schema else 0
        return min(max(least, 1), schema.get("maximum", 1) if least < 1 else least)
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    properties = schema.get("properties", {})
    return {name: _value(properties.get(name, {}), root, depth + 1) for name in schema.get("required", ())}


def _target(ref: str, root: Any) -> Any:
    found = root
    for part in ref.removeprefix("#").split("/")[1:]:
        found = found[part.replace("~1", "/").replace("~0", "~")]
    return found


def _resolved(schema: Any, root: Any) -> Any:
    return _target(schema["$ref"], root) if "$ref" in schema else schema


def _merged(schemas: list[Any], root: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for schema in (_resolved(each, root) for each in schemas):
        properties = {**found.get("properties", {}), **schema.get("properties", {})}
        required = [*found.get("required", ()), *schema.get("required", ())]
        found = {**found, **schema, "properties": properties, "required": required}
    return found
