"""What breaks a schema of a document: answers by its letter, requests by what it means."""

from __future__ import annotations

from typing import Any

import pytest

from eve_mocks.openapi.dialect import Dialect
from eve_mocks.openapi.node import Documents, Node, Unresolvable

VERSIONS = ("2.0", "3.0", "3.1")
NAMED = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}}
SCHEMAS = {
    "Cat": {
        **NAMED,
        "required": ["kind", "lives"],
        "properties": {**NAMED["properties"], "lives": {"type": "integer"}},
    },
    "Dog": NAMED,
    "Self": {"allOf": [{"$ref": "#/schemas/Dog"}], "discriminator": {"propertyName": "kind"}},
}
EITHER = [{"$ref": "#/schemas/Cat"}, {"$ref": "#/schemas/Dog"}]


def told(version: str, schema: Any, value: Any, *, answers: bool = False) -> list[str]:
    documents = Documents(pytest.fail)
    documents.loaded["file:///a"] = {"schema": schema, "schemas": SCHEMAS}
    node = Node(documents, "file:///a", "", documents.loaded["file:///a"]).child("schema")
    return Dialect(version, documents).problems(node, value, answers=answers)


def by(**more: Any) -> dict[str, Any]:
    return {"oneOf": EITHER, "discriminator": {"propertyName": "kind", **more}}


READ_ONLY = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "readOnly": True}}}
WRITE_ONLY = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "writeOnly": True}}}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "nullable": True, "enum": ["a"]}, None),
        ({"allOf": [{"$ref": "#/schemas/Cat"}], "nullable": True}, None),
        ({"$ref": "#/schemas/Cat", "nullable": True}, None),
        ({"type": "string", "x-nullable": True}, None),
        (READ_ONLY, {}),
        (READ_ONLY, {"id": "x"}),
        (by(), {"kind": "Cat", "lives": 9}),
        (by(mapping={"feline": "#/schemas/Cat"}), {"kind": "feline", "lives": 9}),
        (by(mapping={"feline": "Cat"}), {"kind": "feline", "lives": 9}),
        ({"$ref": "#/schemas/Self"}, {"kind": "Self"}),
        ({"type": "object", "properties": {"a": {"type": "string", "required": True}}}, {"a": "x"}),
    ],
    ids=[
        *("nullable", "nullable beside allOf", "nullable beside a reference", "x-nullable"),
        *("required and read-only", "read-only", "an option by its name", "an option by a mapping", "a bare name"),
        *("a discriminator beside allOf", "required as draft 3 has it"),
    ],
)
def test_a_request_that_its_document_means_to_allow(version: str, schema: Any, value: Any) -> None:
    assert told(version, schema, value) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "string"}, None, "$: None is not of type 'string'"),
        ({"type": "object", "required": ["id"]}, {}, "$: 'id' is a required property"),
        (by(), {"kind": "Cat", "lives": "x"}, "$.lives: 'x' is not of type 'integer'"),
        (by(), {}, "$: {} is not valid under any of the given schemas"),
    ],
    ids=["null", "required", "the option that is named", "no option"],
)
def test_a_request_that_breaks_it(version: str, schema: Any, value: Any, problem: str) -> None:
    assert told(version, schema, value) == [problem]


@pytest.mark.parametrize(
    ("version", "schema", "value", "problem"),
    [
        ("3.0", {"type": "string", "nullable": True}, None, None),
        ("3.1", {"type": "string", "nullable": True}, None, "None is not of type"),
        ("2.0", {"type": "string", "nullable": True}, None, "None is not of type"),
        ("2.0", {"type": "file"}, "any", None),
        ("3.0", READ_ONLY, {}, "'id' is a required property"),
        *((version, WRITE_ONLY, {}, None) for version in VERSIONS),
        ("3.0", by(), {"kind": "Cat", "lives": 9}, None),
        ("3.1", by(), {"kind": "Cat", "lives": 9}, "is valid under each of"),
    ],
)
def test_an_answer(version: str, schema: Any, value: Any, problem: str | None) -> None:
    found = told(version, schema, value, answers=True)
    assert (found == []) if problem is None else (problem in found[0])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_reference_within_that_leads_nowhere(version: str) -> None:
    with pytest.raises(Unresolvable, match="leads nowhere"):
        told(version, {"type": "object", "properties": {"a": {"$ref": "#/schemas/Fox"}}}, {"a": 1})
