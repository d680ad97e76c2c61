from __future__ import annotations

import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from eve_mocks.errors import MockError
from eve_mocks.schema import Schema, fault_of

VALID = {
    "true": True,
    "empty": {},
    "ordinary": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 1, "pattern": "^[a-z]+$"},
            "state": {"enum": ["open", "closed"], "default": "open"},
            "labels": {"type": ["array", "null"], "items": {"$ref": "#/$defs/label"}, "uniqueItems": True},
        },
        "required": ["title"],
        "additionalProperties": False,
        "$defs": {"label": {"anyOf": [{"type": "string"}, {"not": {"type": "integer"}}]}},
        "x-mcp-header": "Title",
    },
    "uncommon keywords": {"type": "object", "dependentRequired": {"a": ["b"]}, "unevaluatedProperties": False},
    "ECMAScript": {"pattern": r"^\p{L}(?<rest>.*)$", "patternProperties": {r"\p{L}": True}},
    "ECMAScript, at a second look": {"pattern": r"\p{L}", "unevaluatedProperties": False},
    "unknown keywords": {"type": "object", "nullable": True},
    "draft 7 tuple": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": [{"type": "string"}],
    },
    "draft 4 bound": {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "minimum": 1,
        "exclusiveMinimum": True,
    },
}
INVALID = {
    "number": 3,
    "text": "object",
    "unknown type": {"type": "strnig"},
    "no types": {"type": []},
    "repeated type": {"type": ["string", "string"]},
    "types that are no names": {"type": [{}]},
    "deep down": {"type": "object", "properties": {"a": {"items": {"type": "text"}}}},
    "property is no schema": {"properties": {"a": 1}},
    "properties is a list": {"properties": []},
    "required is a flag": {"properties": {"a": {"type": "string", "required": True}}},
    "required repeats": {"required": ["a", "a"]},
    "enum is text": {"enum": "open"},
    "negative length": {"minLength": -1},
    "length as a flag": {"maxLength": True},
    "bound as text": {"minimum": "1"},
    "bound as in draft 4": {"minimum": 1, "exclusiveMinimum": True},
    "tuple as in draft 7": {"items": [{"type": "string"}]},
    "empty allOf": {"allOf": []},
    "pattern is a number": {"pattern": 3},
    "title is a number": {"title": 3},
}


@pytest.mark.parametrize("schema", VALID.values(), ids=VALID.keys())
def test_valid_schemas_have_no_fault(schema):
    assert fault_of(schema) is None


@pytest.mark.parametrize("schema", INVALID.values(), ids=INVALID.keys())
def test_invalid_schemas_have_a_fault(schema):
    with pytest.raises(SchemaError):
        Draft202012Validator.check_schema(schema)
    assert fault_of(schema)


@pytest.mark.parametrize("dialect", [3, {}, None])
def test_a_dialect_that_is_no_name_is_a_fault(dialect):
    assert fault_of({"$schema": dialect}).startswith("$schema")


def test_a_fault_says_where():
    assert fault_of({"properties": {"a": {"type": "text"}}}).startswith("properties.a.type: 'text' is not valid")


def test_a_common_schema_is_judged_without_jsonschema():
    code = (
        "import sys; from eve_mocks.schema import fault_of;"
        f"assert fault_of({VALID['ordinary']!r}) is None; assert 'jsonschema' not in sys.modules;"
        "assert fault_of({'type': 'text'}); assert 'jsonschema' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        pytest.param({"name": "Ada", "tags": ["x"]}, [], id="valid"),
        pytest.param({}, ["'name' is a required property"], id="missing"),
        pytest.param({"name": 5}, ["name: 5 is not of type 'string'"], id="type"),
        pytest.param({"name": "Ada", "tags": ["x", 2]}, ["tags[1]: 2 is not of type 'string'"], id="in a list"),
        pytest.param(
            {"nmae": "Ada"},
            [
                "'name' is a required property",
                "Additional properties are not allowed ('nmae' was unexpected)",
            ],
            id="two at once",
        ),
    ],
)
def test_problems_of_a_value(value, problems):
    assert sorted(Schema(PERSON).problems(value)) == sorted(problems)


def test_a_schema_of_another_draft_is_read_as_that_draft():
    old = Schema({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True})
    assert old.problems(1)
    assert not old.problems(2)


@pytest.mark.parametrize("reference", ["https://schemas.example.com/issue.json", "#/$defs/issue"])
def test_a_reference_that_leads_nowhere_is_an_error_and_never_a_download(reference, monkeypatch):
    monkeypatch.setattr("urllib.request.urlopen", lambda *_: pytest.fail("a schema was downloaded"))
    with pytest.raises(MockError, match=r"refers to"):
        Schema({"$ref": reference}).problems({})


@pytest.mark.parametrize(
    ("pattern", "fits", "breaks"),
    [
        (r"^\p{L}+$", "héé", "1"),
        (r"^(?<y>\d{4})$", "2026", "٢٠٢٦"),
        ("x$", "x", "x\n"),
        (r"^[\w-.]+$", "a-b.c", "a b"),  # not with flag u
        (r"^.$", "😀", "ab"),
    ],
)
def test_patterns_are_those_of_ecmascript(pattern, fits, breaks):
    schema = Schema({"type": "object", "properties": {"a": {"pattern": pattern}}})
    assert schema.problems({"a": fits}) == []
    assert schema.problems({"a": breaks}) == [f"a: {breaks!r} does not match {pattern!r}"]
    names = Schema({"patternProperties": {pattern: {"type": "string"}}, "additionalProperties": False})
    assert names.problems({fits: "x"}) == []
    assert names.problems({fits: 1}) == [f"{fits}: 1 is not of type 'string'"]
    assert names.problems({breaks: 1}) == [f"Additional properties are not allowed ({breaks!r} was unexpected)"]


def test_additional_properties_may_have_a_schema():
    schema = Schema({"properties": {"a": True}, "additionalProperties": {"type": "string"}})
    assert schema.problems({"a": 1, "b": "x"}) == []
    assert schema.problems({"a": 1, "b": 2}) == ["b: 2 is not of type 'string'"]


def test_a_pattern_of_another_language_refuses_nothing():
    """An upstream may describe itself in Python's regular expressions; what they mean is for it to say."""
    pattern = "(?P<year>[0-9]{4})"
    schema = {
        "properties": {"a": {"pattern": pattern}, "b": {"pattern": "^[a-z]+$"}},
        "patternProperties": {pattern: False},
    }
    assert Schema({**schema, "additionalProperties": False}).problems({"a": "1", "b": "1", "c": 1}) == [
        "b: '1' does not match '^[a-z]+$'"
    ]


def test_a_schema_is_compiled_once():
    schema = Schema(PERSON)
    schema.problems({})
    compiled = vars(schema)["_validator"]
    schema.problems({})
    assert vars(schema)["_validator"] is compiled
