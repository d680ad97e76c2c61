"""http mocks that are described by OpenAPI documents: answers, refusals, names, and documents that are wrong."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openapi_client import request as made

from eve_mocks.errors import MockError
from eve_mocks.kinds.http.described import faults
from eve_mocks.kinds.http.mock import Http
from eve_mocks.load import load
from eve_mocks.match import parse_url
from eve_mocks.model import Answer, Headers, Request
from eve_mocks.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project

    from eve_mocks.openapi.spec import Described

DOCUMENTS = Path(__file__).parent / "openapi"
URL = "https://api.shop.example.com/v1"
SHOP = f"kind: http\nurl: {URL}\nspec: openapi/shop.yaml\n"
SWAGGER = {
    "swagger": "2.0",
    "host": "api.old.example.com",
    "basePath": "/api",
    "produces": ["application/json"],
    "paths": {
        "/pets/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "type": "integer"}],
            "get": {
                "operationId": "getPet",
                "responses": {
                    200: {
                        "description": "",
                        "schema": {"$ref": "#/definitions/Pet"},
                        "examples": {"application/json": {"id": 7}},
                    },
                },
            },
            "post": {
                "parameters": [{"name": "name", "in": "formData", "required": True, "type": "string", "maxLength": 3}],
                "responses": {"default": {"description": ""}},
            },
        }
    },
    "definitions": {"Pet": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}},
}


@pytest.fixture
def mock(tmp_path: Path) -> Callable[..., Http]:
    """``mock(text, **files)`` loads one mock; the documents of the tests lie beside it."""
    shutil.copytree(DOCUMENTS, tmp_path / "openapi")

    def make(text: str = SHOP, *, name: str = "shop.yaml", **files: Any) -> Http:
        for file, content in files.items():
            path = tmp_path / f"{file.replace('__', '/')}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        (tmp_path / name).write_text(text)
        found = load(tmp_path, shown="mocks")
        assert found.errors == []
        (made,) = (each for each in found.mocks if isinstance(each, Http))
        return made

    return make


def ask(mock: Http, path: str, method: str = "GET", body: Any = None, session: Session | None = None) -> Answer:
    content = b"" if body is None else json.dumps(body).encode()
    headers = Headers([("content-type", "application/json")] if content else [])
    request = Request(method=method, target=parse_url(mock.url.rstrip("/") + path), headers=headers, body=content)
    return asyncio.run(mock.answer(request, session or Session("s")))


def said(answer: Answer) -> Any:
    assert answer.response is not None
    return json.loads(answer.response.body) if answer.response.body else answer.response.status


ORDER = {"id": "o0", "state": "open", "items": [{"sku": "textxxxx", "count": 5}]}


@pytest.mark.parametrize(
    ("path", "method", "body", "status", "expected"),
    [
        ("/orders", "GET", None, 200, [ORDER]),
        ("/orders/o7", "GET", None, 200, ORDER),
        ("/orders/latest", "GET", None, 200, {"id": "o77", "state": "open", "items": []}),
        ("/orders", "POST", {"items": []}, 201, {"id": "o9", "state": "open", "items": []}),
        ("/orders/o7", "DELETE", None, 204, 204),
        ("/payments", "GET", None, 200, {"kind": "card", "amount": 1, "digits": "0000"}),
    ],
    ids=["a sample", "a template", "a concrete path", "the first example that is valid", "no body", "another file"],
)
def test_what_a_document_answers(  # noqa: PLR0917 - a table
    mock: Callable[..., Http], path: str, method: str, body: Any, status: int, expected: Any
) -> None:
    answer = ask(mock(), path, method, body)
    assert answer.response is not None
    assert (answer.response.status, said(answer)) == (status, expected)


def test_headers_and_text(mock: Callable[..., Http]) -> None:
    created = ask(mock(), "/orders", "POST", {"items": []}).response
    assert created is not None
    assert dict(created.headers)["location"] == "https://example.com/"
    described = next(one for one in mock().described() if one.path == "/files")
    text = asyncio.run(mock().answer(made(described, URL), Session("s"))).response
    assert text is not None
    assert (text.body, dict(text.headers)["content-type"]) == (b"tex", "text/plain")


def test_the_order_of_answers(mock: Callable[..., Http]) -> None:
    """Stubs, then routes whatever their path is, then the document."""
    found = mock(
        SHOP
        + """
stubs:
  - {id: closed, tool: getOrder, match: {order_id: {const: o1}}, outcome: {response: stub}}
routes:
  /orders/{id}: {GET: {response: route}}
"""
    )
    assert [said(ask(found, f"/orders/{name}")) for name in ("o1", "o2", "latest")] == ["stub", "route", "route"]
    assert said(ask(found, "/orders")) == [ORDER]


@pytest.mark.parametrize(
    ("path", "method", "body", "problem"),
    [
        ("/orders?limit=0", "GET", None, "query limit: 0 is less than the minimum of 1"),
        ("/orders?state=open,gone", "GET", None, "query state: $[1]: 'gone' is not one of ['open', 'closed']"),
        ("/orders?filter[total]=x", "GET", None, "query filter: $.total: 'x' is not of type 'number'"),
        ("/orders/7", "GET", None, "path order_id: '7' does not match '^o[0-9]+$'"),
        ("/orders", "POST", None, "body: it is required, and missing"),
        ("/orders", "POST", {}, "body: $: 'items' is a required property"),
        ("/orders", "POST", {"items": [{"sku": "x" * 8, "count": 2}]}, "body: $.items[0].count: 2"),
    ],
)
def test_a_request_that_breaks_the_document_is_refused(
    mock: Callable[..., Http], path: str, method: str, body: Any, problem: str
) -> None:
    answer = ask(mock(), path, method, body)
    assert answer.response is not None
    assert answer.response.status == 400
    assert said(answer)["error"]["message"].startswith(f"the request breaks mocks/openapi/shop.yaml: {problem}")


def test_unless_the_mock_says_otherwise(mock: Callable[..., Http]) -> None:
    assert said(ask(mock(f"{SHOP}validate: false\n"), "/orders?limit=0")) == [ORDER]


def test_handlers_see_typed_values(mock: Callable[..., Http]) -> None:
    found = mock(
        f"""
from eve_mocks import http_mock

shop = http_mock("{URL}", spec="openapi/shop.yaml")


@shop.get("/orders")
def orders(args):
    return {{name: args[name] for name in ("limit", "state", "filter", "X-Shop") if name in args}}


@shop.post("/orders")
def create(args):
    return args["body"]
""",
        name="shop.py",
    )
    assert said(ask(found, "/orders?limit=5&state=open,closed&filter[total]=1.5")) == {
        "limit": 5,
        "state": ["open", "closed"],
        "filter": {"total": 1.5},
    }
    request = Request(
        method="POST",
        target=parse_url(f"{URL}/orders"),
        headers=Headers([("content-type", "application/x-www-form-urlencoded")]),
        body=b"count=3&items[]=%7B%22sku%22%3A%22xxxxxxxx%22%2C%22count%22%3A5%7D",
    )
    assert said(asyncio.run(found.answer(request, Session("s")))) == {
        "count": 3,
        "items": [{"sku": "xxxxxxxx", "count": 5}],
    }


def test_swagger_2(mock: Callable[..., Http]) -> None:
    found = mock("kind: http\nurl: https://api.old.example.com/\nspec: schemas/old.json\n", schemas__old=SWAGGER)
    assert found.operations() == ["GET /api/pets/{id}", "POST /api/pets/{id}"]
    assert said(ask(found, "/api/pets/7")) == {"id": 7}
    assert said(ask(found, "/api/pets/x"))["error"]["problems"][0]["where"] == "path id"


@pytest.mark.parametrize(
    ("servers", "url", "expected"),
    [
        ([], "https://a.test/", "/x"),
        ([{"url": "https://a.test/v1"}], "https://a.test/v1", "/x"),
        ([{"url": "https://a.test/v1"}], "https://a.test/", "/v1/x"),
        ([{"url": "https://a.test/"}], "https://a.test/x", "/"),
        ([{"url": "https://b.test/v2"}, {"url": "https://A.test/v1/"}], "https://a.test/", "/v1/x"),
        ([{"url": "https://b.test/v2"}], "https://a.test/v9", "/x"),
        ([{"url": "/v3"}], "https://a.test/", "/v3/x"),
        (
            [{"url": "https://{host}/{v}", "variables": {"host": {"default": "a.test"}, "v": {"default": "v4"}}}],
            "https://a.test/",
            "/v4/x",
        ),
    ],
    ids=["none", "the url", "below the url", "above the url", "one of two", "elsewhere", "relative", "variables"],
)
def test_paths_are_those_of_the_server(mock: Callable[..., Http], servers: Any, url: str, expected: str) -> None:
    document = {
        "openapi": "3.0.3",
        "servers": servers,
        "paths": {"/x": {"get": {"responses": {"200": {"description": ""}}}}},
    }
    found = mock(f"kind: http\nurl: {url}\nspec: schemas/a.json\n", schemas__a=document)
    assert found.operations() == [f"GET {expected}"]


def test_a_document_at_a_url_is_the_one_that_was_pulled(mock: Callable[..., Http]) -> None:
    text = f"kind: http\nurl: {URL}\nspec: [https://x.test/1.json, https://x.test/2.json]\n"
    one = {"openapi": "3.1.0", "paths": {"/one": {"get": {"responses": {"200": {"description": ""}}}}}}
    two = {"openapi": "3.1.0", "paths": {"/two": {"get": {"responses": {"200": {"description": ""}}}}}}
    assert len(mock(text).problems) == 2
    found = mock(text, schemas__shop=one)
    assert ([problem.fix for problem in found.problems], found.operations()) == (["eve-mocks pull shop"], ["GET /one"])
    both = mock(text, **{"schemas__shop": one, "schemas__shop.2": two})
    assert (both.problems, both.operations()) == ((), ["GET /one", "GET /two"])


def test_a_client_that_downloads_the_document_gets_the_pulled_copy(project: Project) -> None:
    url = "https://docs.shop.example.com/openapi.json"
    project.file("mocks/schemas/shop.json", json.dumps(document(**{"/x": GET})))
    project.file("mocks/shop.yaml", f"kind: http\nurl: {URL}\nspec: {url}?v=2\n")
    ended = project.eve_mocks("run", "--", "curl", "-sS", f"{url}?v=2")
    assert json.loads(ended.stdout) == document(**{"/x": GET})
    assert (ended.returncode, project.report()["unused"]["mocks"]) == (0, ["shop"])
    assert [(call["target"], call["outcome"]) for call in project.calls()] == [("shop.spec", "mocked")]


def thousand() -> dict[str, Any]:
    """A document of many operations, each with a schema of its own."""
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    return {
        "openapi": "3.0.0",
        "paths": {
            f"/r{n}/{{id}}": {
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "get": {"responses": {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}},
            }
            for n in range(1000)
        },
    }


def check_all(mock: Http) -> int:
    """Ask each operation twice, with what is required and with all there is, and hold the answers against it."""
    for described in mock.described():
        for optional in (False, True):
            answer = asyncio.run(mock.answer(made(described, mock.url, optional=optional), Session("s")))
            assert answer.response is not None
            assert answer.response.status < 400, (described.path, answer.response.body)
            assert wrong(described, answer) == []
    return len(mock.described())


def wrong(described: Described, answer: Answer) -> list[str]:
    told = described.operation.told
    assert told is not None
    assert answer.response is not None
    if told.schema is None:
        return [] if answer.response.body == b"" else ["it has a body"]
    value = said(answer) if told.media_type == "application/json" else answer.response.body.decode()
    return described.spec.dialect.problems(told.schema, value, answers=True)


@pytest.mark.parametrize(
    ("text", "files", "count"),
    [
        (SHOP, {}, 8),
        ("kind: http\nurl: https://a.test/\nspec: schemas/a.json\n", {"schemas__a": thousand()}, 1000),
        ("kind: http\nurl: https://api.old.example.com/api\nspec: schemas/a.json\n", {"schemas__a": SWAGGER}, 2),
    ],
    ids=["shop", "a thousand", "Swagger 2.0"],
)
def test_every_operation_answers_what_it_describes(
    mock: Callable[..., Http], text: str, files: dict[str, Any], count: int
) -> None:
    assert check_all(mock(text, **files)) == count


def test_a_real_client_and_a_checker_of_its_own(project: Project) -> None:
    """Schemathesis makes requests of the document, and holds the answers against it."""
    shutil.copytree(DOCUMENTS, project.root / "mocks" / "openapi")
    project.file("mocks/shop.yaml", SHOP)
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    schemathesis = str(Path(sys.executable).with_name("schemathesis"))
    options = ["--url", URL, "--checks", checks, "--mode", "positive", "--max-examples", "10", "--seed", "1"]
    ended = project.eve_mocks(
        "run",
        "--fail-on-block",
        "none",  # it tries a header that no server would take
        "--",
        schemathesis,
        "run",
        "mocks/openapi/shop.yaml",
        *options,
        "--phases",
        "examples,coverage,fuzzing",
        timeout=120,
    )
    assert "No issues found" in ended.stdout, ended.stdout[-3000:]
    assert (ended.returncode, len(project.calls()) > 50) == (0, True)


def document(**paths: Any) -> dict[str, Any]:
    return {"openapi": "3.1.0", "paths": paths}


GET = {"get": {"responses": {"200": {"description": ""}}}}
A = "kind: http\nurl: https://a.test/\nspec: schemas/a.json\n"


@pytest.mark.parametrize(
    ("text", "content", "told", "fix", "where"),
    [
        (A, "<!DOCTYPE html><html></html>", "is a page, not a document", "Download", "mocks/schemas/a.json:1"),
        (A, "{", "is not JSON", "", "mocks/schemas/a.json:1"),
        (A, {"swagger": "1.2"}, "is of version 1.2", "Name another", "mocks/schemas/a.json:1"),
        (A, {"info": {}}, "is no OpenAPI document", "Name another", "mocks/schemas/a.json:1"),
        (A, [], "is no OpenAPI document", "Name another", "mocks/schemas/a.json:1"),
        (A, {"openapi": "3.1.0", "paths": []}, "has no paths", "Correct", "mocks/schemas/a.json:1"),
        (A.replace("a.json", "b.json"), {}, "there is no file schemas/b.json", "Put it at", "mocks/m.yaml:3"),
        (
            f"{A}routes: {{/pet: {{GET: {{response: 1}}}}}}",
            document(**{"/pets": GET}),
            "GET /pet is no operation",
            "GET /pets?",
            "mocks/m.yaml:4",
        ),
        (
            f"{A}routes: {{/pets: {{POST: {{response: 1}}}}}}",
            document(**{"/pets": GET}),
            "POST /pets is no operation",
            "GET /pets?",
            "mocks/m.yaml:4",
        ),
        (
            f"{A}stubs: [{{id: a, tool: listPet, outcome: {{response: 1}}}}]",
            document(**{"/pets": {"get": {"operationId": "listPets", "responses": {}}}}),
            "'listPet' names no operation",
            "listPets",
            "mocks/m.yaml:4",
        ),
        (
            "kind: http\nurl: https://a.test/\nspec: [schemas/a.json, schemas/a.json]\n",
            document(**{"/pets": GET}),
            "two documents describe GET /pets",
            "Take one",
            "mocks/m.yaml:3",
        ),
    ],
    ids=[
        "a page",
        "no JSON",
        "an old version",
        "another document",
        "a list",
        "no paths",
        "no file",
        "an unknown route",
        "an unknown method",
        "an unknown name",
        "twice",
    ],
)
def test_what_is_wrong_stops_the_load(  # noqa: PLR0917 - a table
    tmp_path: Path, text: str, content: Any, told: str, fix: str, where: str
) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "a.json").write_text(content if isinstance(content, str) else json.dumps(content))
    (tmp_path / "m.yaml").write_text(text)
    (error,) = load(tmp_path, shown="mocks").errors
    assert told in error.message
    assert fix in error.fix
    assert error.where == where


@pytest.mark.parametrize(
    "routes",
    ["/pets/home: {GET: {response: 1}}", "/**: {ANY: {response: 1}}", "/pets/{other}: {GET: {response: 1}}"],
    ids=["one of a template", "a rest", "another name of the parameter"],
)
def test_routes_that_a_document_describes(mock: Callable[..., Http], routes: str) -> None:
    text = f"kind: http\nurl: https://a.test/\nspec: schemas/a.json\nroutes:\n  {routes}\n"
    assert said(ask(mock(text, schemas__a=document(**{"/pets/{id}": GET})), "/pets/home")) == 1


def json_of(schema: Any, **more: Any) -> dict[str, Any]:
    return {
        "get": {"responses": {"200": {"description": "", "content": {"application/json": {"schema": schema, **more}}}}}
    }


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (json_of({"$ref": "#/components/schemas/None"}), "leads nowhere"),
        (json_of({"$ref": "https://x.test/a.json"}), "is not downloaded"),
        (json_of({"$ref": "../../../etc/hosts"}), "is not in mocks"),
        (json_of({"$ref": "#/paths/~1x/get/responses/200/content/application~1json/schema"}), "leads in a circle"),
        (json_of({"type": "integer"}, example="x"), "an example breaks its schema: $: 'x' is not of type 'integer'"),
        (json_of({"type": "string", "pattern": "(?=b)a"}), "its answer breaks its schema"),
        ({"get": {}}, "it describes no answer"),
    ],
    ids=["nowhere", "the network", "outside of the folder", "a circle", "a wrong example", "no value", "no answer"],
)
def test_what_the_document_itself_gets_wrong_is_told(mock: Callable[..., Http], item: Any, told: str) -> None:
    found = mock(A, schemas__a=document(**{"/x": item}))
    (problem,) = [one for described in found.described() for one in faults(described)]
    assert problem.message.startswith("mocks/schemas/a.json:1: GET /x: ")
    assert told in problem.message


# Schemas that are none, or that ask for more than can be made.
ODD = [
    *({"type": type_} for type_ in ("strin", 5, [])),
    *({"type": "object", "required": True}, {"type": "array", "items": "x"}, {"properties": None}, {"properties": [1]}),
    *({"type": "string", "minLength": "3"}, {"type": "integer", "minimum": "a"}, {"type": "integer", "multipleOf": 0}),
    *({"$ref": 5}, {"$ref": "#"}, {"allOf": {}}, {"allOf": [1]}, {"oneOf": None}, {"oneOf": []}, {"anyOf": "x"}),
    *({"enum": "a"}, {"discriminator": "kind", "oneOf": [{"$ref": "#/x"}]}, {"$dynamicRef": "#x"}, [], "x", 5, None),
    *({"type": "array", "minItems": 10**9, "items": {}}, {"type": "string", "minLength": 10**9}),
    *({"type": "object", "minProperties": 10**9}, {"type": "string", "pattern": "[a-z]{1000000}"}, {"not": {}}),
]


@pytest.mark.parametrize("version", ["2.0", "3.0.0", "3.1.0"])
@pytest.mark.parametrize("schema", ODD, ids=repr)
def test_a_schema_that_is_none_breaks_no_more_than_its_operation(
    mock: Callable[..., Http], version: str, schema: Any
) -> None:
    response = {"description": "", "schema": schema, "content": {"application/json": {"schema": schema}}}
    given = {"name": "q", "in": "query", "schema": schema, **(schema if isinstance(schema, dict) else {})}
    content = {
        ("swagger" if version == "2.0" else "openapi"): version,
        "paths": {"/x": {"get": {"parameters": [given], "responses": {"200": response}}}, "/y": GET},
    }
    found = mock(A, schemas__a=content)
    places = set()
    for path in ("/x", "/x?q=1"):
        try:
            ask(found, path)
        except MockError as error:
            places.add(error.where)
    assert places <= {"mocks/schemas/a.json:1"}
    assert [one.fails for described in found.described() for one in faults(described)] in ([], [False])
    answer = ask(found, "/y").response
    assert answer is not None
    assert answer.status == 200


def test_a_reference_that_leads_nowhere_breaks_the_call_alone(project: Project) -> None:
    content = document(**{"/x": json_of({"$ref": "#/nowhere"}), "/y": GET})
    project.file("mocks/schemas/a.json", json.dumps(content))
    project.file("mocks/a.yaml", A)
    ended = project.eve_mocks(
        "run", "--", "curl", "-sSw", "%{http_code}\n", "-o", "/dev/null", "https://a.test/y", "https://a.test/x"
    )
    assert ended.returncode == 1
    assert "mocks/schemas/a.json:1: GET /x: $ref '#/nowhere' leads nowhere" in ended.stderr
    assert [call["status"] for call in project.calls()] == [200, 500]


def test_check_tells_what_a_document_gets_wrong(project: Project) -> None:
    project.file(
        "mocks/schemas/a.json", json.dumps(document(**{"/x": json_of({}, example=1), "/y?z=1": GET, "/z": {"get": {}}}))
    )
    project.file("mocks/a.yaml", A)
    ended = project.eve_mocks("check")
    assert "the path '/y?z=1' has a query" in ended.stderr
    assert "GET /z: it describes no answer" in ended.stderr
    assert ended.returncode == 0
