"""Parameters by their styles, bodies by their types, and what breaks the document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eve_mocks.match import parse_url
from eve_mocks.model import Headers, Request
from eve_mocks.openapi import requests
from eve_mocks.openapi.dialect import Dialect
from eve_mocks.openapi.node import Documents, Node
from eve_mocks.openapi.operation import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

INTEGERS = {"type": "array", "items": {"type": "integer"}}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "boolean"}}}


def operation(given: Mapping[str, Any], version: str = "3.1") -> tuple[Operation, Dialect]:
    head = {"swagger": "2.0"} if version == "2.0" else {"openapi": f"{version}.0"}
    document = {**head, "paths": {"/a/{id}": {"post": dict(given)}}}
    documents = Documents(pytest.fail)
    documents.loaded["file:///a"] = document
    root = Node(documents, "file:///a", "", document)
    return Operation("POST", "/a/{id}", root.child("paths").child("/a/{id}"), root), Dialect(version, documents)


def asked(query: str = "", body: bytes = b"", **headers: str) -> Request:
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return Request(method="POST", target=parse_url(f"https://x.test/a/1?{query}"), headers=Headers(pairs), body=body)


def parameter(schema: Any, where: str = "query", **more: Any) -> dict[str, Any]:
    return {"name": "p", "in": where, "schema": schema, **more}


@pytest.mark.parametrize(
    ("given", "request_", "expected"),
    [
        (parameter({"type": "integer"}), asked("p=7"), 7),
        (parameter({"type": "number"}), asked("p=1e2"), 100.0),
        (parameter({"type": "integer"}), asked("p=07"), "07"),
        (parameter({"type": "boolean"}), asked("p=true"), True),
        (parameter({"type": "string"}), asked("p=7"), "7"),
        (parameter({"type": ["integer", "null"]}), asked("p=null"), None),
        (parameter({"anyOf": [{"type": "integer"}, {"type": "null"}]}), asked("p=7"), 7),
        (parameter(INTEGERS), asked("p=1&p=2"), [1, 2]),
        (parameter(INTEGERS), asked("p[]=1&p[]=2"), [1, 2]),
        (parameter(INTEGERS, explode=False), asked("p=1,2"), [1, 2]),
        (parameter(INTEGERS, explode=False), asked("p="), []),
        (parameter(INTEGERS, explode=False, style="pipeDelimited"), asked("p=1%7C2"), [1, 2]),
        (parameter(INTEGERS, explode=False, style="spaceDelimited"), asked("p=1%202"), [1, 2]),
        (parameter(POINT), asked("x=1&y=true&z=0"), {"x": 1, "y": True}),
        (parameter(POINT, explode=False), asked("p=x,1,y,true"), {"x": 1, "y": True}),
        (parameter(POINT, style="deepObject"), asked("p[x]=1&p[y]=false"), {"x": 1, "y": False}),
        (parameter(INTEGERS, "header"), asked(p="1,2"), [1, 2]),
        (parameter({"type": "integer"}, "cookie"), asked(cookie="a=b; p=7"), 7),
        (parameter(INTEGERS, "path", style="label"), asked(), [1]),
        (parameter(POINT, "header", explode=True), asked(p="x=1,y=true"), {"x": 1, "y": True}),
        (
            {"name": "p", "in": "query", "content": {"application/json": {"schema": POINT}}},
            asked("p=%7B%22x%22:1%7D"),
            {"x": 1},
        ),
    ],
    ids=[
        *("integer", "number", "no integer", "boolean", "a text of digits", "null", "one of several", "exploded"),
        *("as PHP has it", "in one", "none", "pipes", "spaces", "an object", "an object in one", "deep"),
        *("header", "cookie", "label", "an object in a header", "JSON"),
    ],
)
def test_parameters(given: Any, request_: Request, expected: Any) -> None:
    found, _ = operation({"parameters": [given]})
    params = {"p": ".1"} if given["in"] == "path" else {}
    assert list(requests.parameters(found, request_, params).values()) == [expected]


@pytest.mark.parametrize(
    ("collection", "query", "expected"),
    [("csv", "p=1,2", [1, 2]), ("pipes", "p=1%7C2", [1, 2]), ("tsv", "p=1%092", [1, 2]), ("multi", "p=1&p=2", [1, 2])],
)
def test_collections_of_swagger_2(collection: str, query: str, expected: Any) -> None:
    given = {"name": "p", "in": "query", **INTEGERS, "collectionFormat": collection}
    found, dialect = operation({"parameters": [given]}, "2.0")
    values = requests.parameters(found, asked(query), {})
    assert list(values.values()) == [expected]
    assert list(requests.problems(found, asked(query), values, ..., dialect)) == []


FORM = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "l": INTEGERS}}
MULTIPART = (
    b'--b\r\ncontent-disposition: form-data; name="n"\r\n\r\n7\r\n'
    b'--b\r\ncontent-disposition: form-data; name="f"; filename="a"\r\n\r\nhello\r\n--b--\r\n'
)


@pytest.mark.parametrize(
    ("media_type", "sent", "said", "expected"),
    [
        ("application/json", b'{"n": 1}', "application/json; charset=utf-8", {"n": 1}),
        (
            "application/x-www-form-urlencoded",
            b"n=1&l=2&l=3",
            "application/x-www-form-urlencoded",
            {"n": 1, "l": [2, 3]},
        ),
        ("multipart/form-data", MULTIPART, "multipart/form-data; boundary=b", {"n": 7, "f": "hello"}),
        ("text/plain", b"n", "text/plain", "n"),
        ("application/*", b'{"n": 1}', "application/vnd.x+json", {"n": 1}),
    ],
    ids=["JSON", "a form", "parts", "text", "a range of types"],
)
def test_bodies(media_type: str, sent: bytes, said: str, expected: Any) -> None:
    found, dialect = operation({"requestBody": {"content": {media_type: {"schema": FORM}}}})
    request = asked(body=sent, content_type=said)
    content = requests.body(found, request)
    assert content == expected
    if isinstance(expected, dict):
        assert list(requests.problems(found, request, {}, content, dialect)) == []


def test_the_form_of_swagger_2() -> None:
    given = {"parameters": [{"name": "n", "in": "formData", "type": "integer", "required": True}]}
    found, dialect = operation(given, "2.0")
    for sent, problem in (
        (b"n=1", None),
        (b"n=x", "'x' is not of type 'integer'"),
        (b"m=1", "'n' is a required property"),
    ):
        request = asked(body=sent, content_type="application/x-www-form-urlencoded")
        told = list(requests.problems(found, request, {}, requests.body(found, request), dialect))
        assert (told == []) if problem is None else (problem in told[0][1])


REQUIRED = [parameter({"type": "integer", "maximum": 9}, required=True)]
JSON_BODY = {"required": True, "content": {"application/json": {"schema": FORM}}}


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (asked("p=1", b'{"n": 1}', content_type="application/json"), []),
        (asked("", b'{"n": 1}', content_type="application/json"), [("query p", "it is required, and missing")]),
        (
            asked("p=10", b'{"n": 1}', content_type="application/json"),
            [("query p", "10 is greater than the maximum of 9")],
        ),
        (asked("p=1"), [("body", "it is required, and missing")]),
        (asked("p=1", b'{"n": "x"}', content_type="application/json"), [("body", "$.n: 'x' is not of type 'integer'")]),
        (asked("p=1", b"n=1", content_type="text/csv"), [("body", "its type is text/csv, not application/json")]),
    ],
    ids=["valid", "a parameter is missing", "a parameter is wrong", "no body", "the body is wrong", "another type"],
)
def test_what_breaks_the_document(request_: Request, expected: Any) -> None:
    found, dialect = operation({"parameters": REQUIRED, "requestBody": JSON_BODY})
    given = requests.parameters(found, request_, {})
    content = requests.body(found, request_)
    assert list(requests.problems(found, request_, given, content, dialect)) == expected
