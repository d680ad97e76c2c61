"""Values for schemas: what they are, and that another library finds them valid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eve_mocks.openapi.dialect import Dialect
from eve_mocks.openapi.node import Documents, Node, Unresolvable
from eve_mocks.openapi.sample import Sampler
from eve_mocks.openapi.texts import of_pattern
from eve_mocks.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

URI = "file:///api.json"


def sampled(schema: Any, *, version: str = "3.1", schemas: Mapping[str, Any] | None = None) -> tuple[Any, list[str]]:
    """The value, and what is wrong with it."""

    def fetch(uri: str) -> Any:
        raise Unresolvable(uri, "is not there")

    documents = Documents(fetch)
    documents.loaded[URI] = {"schema": schema, "components": {"schemas": schemas or {}}}
    node = Node(documents, URI, "", documents.loaded[URI]).child("schema")
    dialect = Dialect(version, documents)
    value = Sampler(lambda one, given: not dialect.problems(one, given, answers=True)).sample(node)
    return value, dialect.problems(node, value, answers=True)


TREE = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {}, "next": {"$ref": "#/components/schemas/Tree"}},
}
LIST = {
    "type": "object",
    "required": ["rest"],
    "properties": {"rest": {"type": "array", "items": {"$ref": "#/components/schemas/List"}}},
}
ENDLESS = {"type": "object", "required": ["on"], "properties": {"on": {"$ref": "#/components/schemas/Endless"}}}
CAT = {
    "type": "object",
    "required": ["kind", "lives"],
    "properties": {"kind": {"type": "string"}, "lives": {"type": "integer"}},
}
DOG = {
    "type": "object",
    "required": ["kind", "barks"],
    "properties": {"kind": {"type": "string"}, "barks": {"type": "boolean"}},
}
SCHEMAS = {"Tree": TREE, "List": LIST, "Endless": ENDLESS, "Cat": CAT, "Dog": DOG}
PETS = {"oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}]}

CASES: dict[str, tuple[Any, Any]] = {
    "nothing said": ({}, {}),
    "true": (True, {}),
    "an example": ({"type": "string", "example": "e", "default": "d"}, "e"),
    "an example that is wrong": ({"type": "string", "example": 1, "default": "d"}, "d"),
    "examples": ({"type": "integer", "examples": ["x", 7]}, 7),
    "const": ({"const": {"a": 1}}, {"a": 1}),
    "enum": ({"enum": ["b", "a"]}, "b"),
    "a null among the types": ({"type": ["null", "integer"]}, 1),
    "string": ({"type": "string"}, "text"),
    "lengths": ({"type": "string", "minLength": 6, "maxLength": 7}, "textxx"),
    "a short one": ({"type": "string", "maxLength": 2}, "te"),
    "format": ({"type": "string", "format": "date"}, "2026-01-01"),
    "pattern": ({"type": "string", "pattern": r"^\d{3}-[A-Z]+$"}, "000-A"),
    "number": ({"type": "number", "exclusiveMinimum": 2, "multipleOf": 0.5}, 2.5),
    "integer": ({"type": "integer", "minimum": 7, "multipleOf": 5}, 10),
    "at most": ({"type": "integer", "maximum": -3}, -3),
    "between": ({"type": "number", "minimum": 3, "maximum": 4}, 3),
    "array": ({"type": "array", "items": {"type": "boolean"}}, [True]),
    "an array of some": (
        {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "integer"}},
        [1, 2, 3],
    ),
    "an array of none": ({"type": "array", "maxItems": 0, "items": {"type": "integer"}}, []),
    "a tuple": ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, [1, "text"]),
    "required only": (
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "null"}, "b": {}}},
        {"a": None},
    ),
    "required and not described": (
        {"type": "object", "required": ["a"], "additionalProperties": {"type": "integer"}},
        {"a": 1},
    ),
    "so many": (
        {"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}},
        {"key1": 1, "key2": 1},
    ),
    "allOf": (
        {
            "allOf": [
                {"required": ["a"], "properties": {"a": {"type": "integer"}}},
                {"required": ["b"], "properties": {"b": {"const": 2}}},
            ]
        },
        {"a": 1, "b": 2},
    ),
    "oneOf": ({"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "integer"}]}, "a"),
    "anyOf that requires": (
        {
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["b"]}, {"required": ["a"]}],
        },
        {"b": "text"},
    ),
    "by the name of its schema": ({**PETS, "discriminator": {"propertyName": "kind"}}, {"kind": "Cat", "lives": 1}),
    "by a mapping": (
        {**PETS, "discriminator": {"propertyName": "kind", "mapping": {"feline": "#/components/schemas/Cat"}}},
        {"kind": "feline", "lives": 1},
    ),
    "a tree": ({"$ref": "#/components/schemas/Tree"}, {"name": {}}),
    "a list of itself": ({"$ref": "#/components/schemas/List"}, {"rest": [{"rest": []}]}),
}


@pytest.mark.parametrize(("schema", "expected"), CASES.values(), ids=CASES)
def test_a_value_is_as_small_as_it_may_be_and_valid(schema: Any, expected: Any) -> None:
    assert sampled(schema, schemas=SCHEMAS) == (expected, [])


@pytest.mark.parametrize(
    ("version", "schema", "expected"),
    [
        ("3.0", {"type": "integer", "minimum": 3, "exclusiveMinimum": True}, 4),
        ("3.0", {"type": "string", "nullable": True, "enum": [None, "a"]}, None),
        (
            "3.0",
            {
                "type": "object",
                "required": ["w", "r"],
                "properties": {"w": {"type": "integer", "writeOnly": True}, "r": {"type": "integer", "readOnly": True}},
            },
            {"r": 1},
        ),
        ("2.0", {"type": "string", "x-nullable": True, "example": None}, None),
        ("2.0", {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}, [1, "text"]),
    ],
    ids=["exclusive as a word", "nullable", "write-only", "x-nullable", "a tuple of draft 4"],
)
def test_older_versions(version: str, schema: Any, expected: Any) -> None:
    assert sampled(schema, version=version) == (expected, [])


def test_what_requires_itself_has_no_value() -> None:
    value, problems = sampled({"$ref": "#/components/schemas/Endless"}, schemas=SCHEMAS)
    assert value is None
    assert problems


# Schemas that can be satisfied, whichever keywords they have.
LEAVES = st.one_of(
    st.builds(
        lambda low, size: {"type": "integer", "minimum": low, "maximum": low + size},
        st.integers(-9, 9),
        st.integers(0, 9),
    ),
    st.builds(
        lambda low, size: {"type": "string", "minLength": low, "maxLength": low + size},
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    st.sampled_from(
        [{"type": "boolean"}, {"type": "null"}, {"enum": ["a", 1, None]}, {"type": "string", "format": "uuid"}, {}]
    ),
)
SATISFIABLE = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(
            lambda properties, count: {
                "type": "object",
                "properties": properties,
                "required": list(properties)[:count],
            },
            st.dictionaries(st.sampled_from("abcd"), inner),
            st.integers(0, 4),
        ),
        st.builds(lambda items, least: {"type": "array", "items": items, "minItems": least}, inner, st.integers(0, 3)),
        st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=12,
)


@given(SATISFIABLE)
def test_whatever_can_be_satisfied_is(schema: Any) -> None:
    """Held against plain JSON Schema, which has no part in making the values."""
    value, _ = sampled(schema)
    assert Schema(schema).problems(value) == []
    assert sampled(schema)[0] == value


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^[A-Z]{2}[0-9]{4}$", "AA0000"),
        ("^(red|green)$", "red"),
        ("^https?://", "http://"),
        (r"^\w+@\w+\.[a-z]{2,}$", "a@a.aa"),
        ("[^a-z]", "0"),
        ("^a{3,5}b*$", "aaa"),
        (r"^(?!no)\S+$", "a"),
        ("(", None),
        (r"\p{Lu}", None),
    ],
)
def test_texts_of_patterns(pattern: str, expected: str | None) -> None:
    assert of_pattern(pattern) == expected
