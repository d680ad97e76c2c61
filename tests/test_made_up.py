"""Values that fit a schema: real shapes, and whatever hypothesis makes of the keywords."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eve_mocks import made_up
from eve_mocks.schema import Schema

OBJECT = {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}, "required": ["id"]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({}, {}, id="anything"),
        pytest.param(OBJECT, {"id": "text"}, id="required-only"),
        pytest.param({"type": "array", "items": OBJECT}, [], id="empty-array"),
        pytest.param({"type": "array", "items": OBJECT, "minItems": 1}, [{"id": "text"}], id="array-with-one"),
        pytest.param({"type": ["null", "boolean"]}, True, id="not-null"),
        pytest.param({"type": "string", "format": "date-time"}, "2026-01-01T00:00:00Z", id="format"),
        pytest.param({"type": "string", "minLength": 6, "maxLength": 7}, "textxx", id="length"),
        pytest.param({"type": "integer", "minimum": 5}, 5, id="minimum"),
        pytest.param({"type": "number", "maximum": -2, "minimum": -3}, -2, id="between"),
        pytest.param({"type": "integer", "exclusiveMinimum": 9}, 10, id="above"),
        pytest.param({"enum": ["open", "closed"]}, "open", id="enum"),
        pytest.param({"const": 0}, 0, id="const"),
        pytest.param({"type": "string", "examples": ["ENG-1"]}, "ENG-1", id="example"),
        pytest.param({"oneOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": OBJECT}}, {"id": "text"}, id="reference"),
        pytest.param({"allOf": [OBJECT, {"required": ["n"]}]}, {"id": "text", "n": 1}, id="all"),
        pytest.param({"type": "string", "pattern": "^[0-9]{4}$"}, ..., id="pattern"),
        pytest.param({"$ref": "#"}, ..., id="endless"),
        pytest.param({"$ref": "#/$defs/no"}, ..., id="reference-to-nothing"),
        pytest.param({"type": "nonsense"}, ..., id="no-schema"),
    ],
)
def test_values(schema: object, expected: object) -> None:
    assert made_up.value(schema) == expected


TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
            "minimum": st.integers(-9, 9),
            "exclusiveMinimum": st.integers(-9, 9),
            "maximum": st.integers(-9, 9),
            "minLength": st.integers(0, 9),
            "maxLength": st.integers(0, 9),
            "enum": st.lists(st.integers() | st.text(), min_size=1, unique=True),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES,
            "items": inner,
            "minItems": st.integers(0, 3),
            "properties": st.dictionaries(st.text(max_size=3), inner, max_size=3),
            "required": st.lists(st.text(max_size=3), max_size=3, unique=True),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=6,
)


@given(SCHEMAS)
@settings(max_examples=60, deadline=None)
def test_what_is_made_up_fits(schema: dict[str, object]) -> None:
    found = made_up.value(schema)
    assert found is ... or Schema(schema).problems(found) == []
