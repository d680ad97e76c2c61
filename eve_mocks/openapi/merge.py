"""A schema and those of its ``allOf`` as one, so that a value can be made for all of them at once."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eve_mocks.openapi.node import Node

_DEEPEST = 30


def merged(node: Node, depth: int = 0) -> Node:
    """The schema with what its ``allOf`` adds. Keywords of the schema itself come before those of its parts."""
    value = node.value
    if not isinstance(value, dict) or "allOf" not in value or depth > _DEEPEST:
        return absolute(node)
    own = absolute(dataclasses.replace(node, value={key: part for key, part in value.items() if key != "allOf"})).value
    parts = node.child("allOf")
    for place in range(len(parts.value) if isinstance(parts.value, list) else 0):
        part = merged(parts.child(place).follow(), depth + 1).value
        if isinstance(part, dict):
            own = _together(own, part)
    return dataclasses.replace(node, value=own)


def _together(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    found = {**other, **one}
    for key in ("properties", "discriminator"):
        if isinstance(one.get(key), dict) and isinstance(other.get(key), dict):
            found[key] = {**other[key], **one[key]}
    if isinstance(one.get("required"), list) and isinstance(other.get("required"), list):
        found["required"] = list(dict.fromkeys([*other["required"], *one["required"]]))
    for key in ("oneOf", "anyOf"):
        if key in one and key in other:
            found[key] = one[key]
    return found


def absolute(node: Node) -> Node:
    """The schema with references that may be read from anywhere: parts of several documents are put together."""
    return dataclasses.replace(node, value=_rebased(node.value, node, 0))


def _rebased(value: Any, node: Node, depth: int) -> Any:
    from urllib.parse import urljoin

    if depth > 2 * _DEEPEST:
        return value
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            return {**value, "$ref": urljoin(node.uri, value["$ref"])}
        return {key: _rebased(part, node, depth + 1) for key, part in value.items()}
    return [_rebased(part, node, depth + 1) for part in value] if isinstance(value, list) else value


def type_of(schema: dict[str, Any]) -> str | None:
    """The type of a value to make; None where nothing tells."""
    given = schema.get("type")
    if isinstance(given, list):
        given = next((one for one in given if one != "null"), "null")
    if isinstance(given, str):
        return given
    for type_, keys in (
        ("object", ("properties", "required", "additionalProperties", "minProperties")),
        ("array", ("items", "prefixItems", "minItems")),
        ("string", ("pattern", "minLength", "maxLength", "format")),
        ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    ):
        if any(key in schema for key in keys):
            return type_
    return None
