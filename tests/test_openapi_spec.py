"""Documents as mocks load them: where their paths begin, names that several operations have, paths that are none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eve_mocks.kinds.http.mock import Http
from eve_mocks.load import Mocks, load
from eve_mocks.match import parse_claim
from eve_mocks.openapi.servers import bases, below, nearest

if TYPE_CHECKING:
    from pathlib import Path

GET = {"get": {"responses": {"200": {"description": ""}}}}


def loaded(folder: Path, document: Any, more: str = "") -> Mocks:
    (folder / "specs").mkdir()
    (folder / "specs" / "a.json").write_text(json.dumps(document, indent=1))
    (folder / "a.yaml").write_text(f"kind: http\nurl: https://a.test/\nspec: specs/a.json\n{more}")
    return load(folder, shown="mocks")


def named(**ids: str) -> dict[str, Any]:
    paths = {f"/{path}": {"get": {"operationId": id_, "responses": {}}} for path, id_ in ids.items()}
    return {"openapi": "3.1.0", "paths": paths}


@pytest.mark.parametrize(
    ("document", "url", "expected"),
    [
        ({"servers": [{"url": "/v3"}]}, "https://a.test/", ["/v3"]),
        ({"servers": [{"url": "/"}]}, "https://a.test/v1", []),
        ({"servers": [{"url": "https://b.test/v1"}, {"url": "//A.test/v2/"}]}, "https://a.test/", ["/v2"]),
        ({"servers": [{"url": "http://a.test/v1"}]}, "https://a.test/", []),
        ({"servers": [{"url": "https://x.a.test/v1"}]}, "https://*.a.test/", ["/v1"]),
        ({"servers": [{"url": "https://a.test/"}, 5, {"url": "https://[x/"}, {}]}, "https://a.test/", [""]),
        ({"servers": [{"url": "/{v}", "variables": {"v": {"default": "v4"}, "w": 5}}]}, "https://a.test/", ["/v4"]),
        ({"servers": [{"url": "/{v}", "variables": []}]}, "https://a.test/", ["/{v}"]),
        ({"servers": "https://a.test/v1"}, "https://a.test/", []),
        ({"swagger": "2.0", "host": "a.test", "basePath": "/api/"}, "https://a.test/", ["/api"]),
        ({"swagger": "2.0", "basePath": "/api"}, "https://a.test/", ["/api"]),
        ({"swagger": "2.0"}, "https://a.test/", []),
        ({"swagger": "2.0", "host": "b.test", "basePath": "/api"}, "https://a.test/", []),
    ],
    ids=[
        *("a path", "the default", "another and no scheme", "another port", "a wildcard", "nonsense", "a variable"),
        *("no variables", "no list", "Swagger", "Swagger without host", "Swagger without both", "Swagger elsewhere"),
    ],
)
def test_servers_of_the_mock(document: Any, url: str, expected: list[str]) -> None:
    assert bases(document, parse_claim(url)) == expected


@pytest.mark.parametrize(
    ("found", "prefix", "expected"),
    [
        ([], "/v1", ["/v1"]),
        (["/v2", "/v1"], "/v1", ["/v1"]),
        (["", "/v1/eu"], "/v1", ["/v1/eu", "", "/v1"]),
        (["/v1beta"], "/v1", ["/v1"]),
    ],
    ids=["none", "the same", "below and above", "beside"],
)
def test_the_likeliest_server(found: list[str], prefix: str, expected: list[str]) -> None:
    assert nearest(found, prefix) == expected


@pytest.mark.parametrize(
    ("path", "base", "prefix", "expected"),
    [
        ("/x", "/v1", "/v1", "/x"),
        ("/x", "/v1", "", "/v1/x"),
        ("/x/y", "", "/x", "/y"),
        ("/x", "", "/x", "/"),
        ("/xy", "", "/x", None),
    ],
)
def test_a_path_below_the_url(path: str, base: str, prefix: str, expected: str | None) -> None:
    assert below(path, base, prefix) == expected


def test_a_server_of_another_path_leaves_paths_relative(tmp_path: Path) -> None:
    document = {"openapi": "3.0.0", "servers": [{"url": "https://a.test/v2"}], "paths": {"/x": GET}}
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "a.json").write_text(json.dumps(document))
    (tmp_path / "a.yaml").write_text("kind: http\nurl: https://a.test/v9\nspec: specs/a.json\n")
    (mock,) = load(tmp_path).mocks
    assert mock.operations() == ["GET /x"]


def test_one_name_of_several_operations_is_told(tmp_path: Path) -> None:
    (mock,) = loaded(tmp_path, named(a="one", b="one", c="two")).mocks
    assert isinstance(mock, Http)
    (problem,) = mock.skipped
    assert problem.message == "mocks/specs/a.json:11: two operations are named one: GET /a and GET /b"
    assert mock.names() == {"GET /a": "GET /a", "GET /b": "GET /b", "GET /c": "GET /c", "two": "GET /c"}


def test_a_stub_that_names_several_operations_stops_the_load(tmp_path: Path) -> None:
    stubs = "stubs: [{id: s, tool: a__one, outcome: {response: 1}}]\n"
    (error,) = loaded(tmp_path, named(a="one", b="one"), stubs).errors
    assert "'a__one' names 2 operations: GET /a, GET /b" in error.message
    assert (error.fix, error.where) == ("Write GET /a or GET /b.", "mocks/a.yaml:4")


@pytest.mark.parametrize(
    "document",
    [{"openapi": "3.1.0", "webhooks": {}}, {"openapi": "3.1.0", "paths": {"/a": 5, "/b": None, "x-c": {"get": 1}}}],
    ids=["webhooks alone", "paths that are none"],
)
def test_a_document_without_operations_is_told(tmp_path: Path, document: Any) -> None:
    found = loaded(tmp_path, document)
    assert ([problem.message.partition(": ")[2] for problem in found.problems], found.errors) == (
        ["the document describes no operation"],
        [],
    )


def test_a_path_that_leads_nowhere_is_told_and_the_others_answer(tmp_path: Path) -> None:
    found = loaded(tmp_path, {"openapi": "3.1.0", "paths": {"/a": {"$ref": "#/nowhere"}, "/b": GET}})
    (problem,) = found.problems
    assert problem.message == "mocks/specs/a.json:4: /a: $ref '#/nowhere' leads nowhere"
    assert [mock.operations() for mock in found.mocks] == [["GET /b"]]


def test_a_document_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    loaded(tmp_path, {})
    with (tmp_path / "specs" / "a.json").open("wb") as file:
        file.truncate(60_000_000)
    (error,) = load(tmp_path, shown="mocks").errors
    assert (error.message, error.where) == ("mocks/specs/a.json has 60 MB", "mocks/a.yaml:3")


def test_merge_keys_are_told(tmp_path: Path) -> None:
    """OpenAPI documents keep to what JSON has (OpenAPI 3.1, Format), and merge keys are of YAML 1.1."""
    (tmp_path / "a.yaml").write_text("kind: http\nurl: https://a.test/\nspec: specs/a.yaml\n")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "a.yaml").write_text("openapi: 3.1.0\npaths:\n  /a: &a {get: {}}\n  /b:\n    <<: *a\n")
    (error,) = load(tmp_path, shown="mocks").errors
    assert ("<< is a merge key" in error.message, error.where) == (True, "mocks/specs/a.yaml:5")
