"""What is mocked beside the mocks of a folder: the pulled documents, at the URLs that they are from."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from eve_mocks.load import load
from eve_mocks.match import parse_url
from eve_mocks.model import Headers, Request
from eve_mocks.router import Router
from eve_mocks.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from eve_mocks.model import Answer, Mock


def loaded(folder: Path, spec: str) -> list[Mock]:
    (folder / "schemas").mkdir()
    for name, path in (("a.json", "/one"), ("a.2.json", "/two")):
        document = {"openapi": "3.1.0", "paths": {path: {"get": {"responses": {"200": {"description": ""}}}}}}
        (folder / "schemas" / name).write_text(json.dumps(document))
    (folder / "a.yaml").write_text(f"kind: http\nurl: https://a.test/\nspec: {spec}\n")
    found = load(folder)
    assert found.errors == []
    return found.mocks


def ask(mocks: list[Mock], url: str, method: str = "GET") -> Answer:
    target = parse_url(url)
    mock = Router(mocks).resolve(target)
    assert mock is not None
    assert hasattr(mock, "answer")
    answer: Answer = asyncio.run(mock.answer(Request(method=method, target=target, headers=Headers()), Session("s")))
    return answer


def paths(answer: Answer) -> list[str]:
    assert answer.response is not None
    return list(json.loads(answer.response.body)["paths"])


def test_documents_whose_urls_differ_by_their_queries(tmp_path: Path) -> None:
    mocks = loaded(tmp_path, "[https://docs.test/a?v=1, https://docs.test/a?v=2]")
    asked = [paths(ask(mocks, f"https://docs.test/a{query}")) for query in ("?v=2", "?v=1", "")]
    assert asked == [["/two"], ["/one"], ["/one"]]


@pytest.mark.parametrize(
    ("url", "method", "status"),
    [
        ("https://docs.test/a.json", "GET", 200),
        ("https://docs.test/a.json", "HEAD", 200),
        ("https://docs.test/a.json", "POST", 405),
        ("https://docs.test/a.json/below", "GET", 404),
    ],
)
def test_the_document_alone_is_there(tmp_path: Path, url: str, method: str, status: int) -> None:
    response = ask(loaded(tmp_path, "https://me:secret@docs.test/a.json#part"), url, method).response
    assert response is not None
    assert response.status == status


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000"])
def test_documents_of_this_machine_are_left_to_it(tmp_path: Path, host: str) -> None:
    assert [mock.name for mock in loaded(tmp_path, f"http://{host}/openapi.json")] == ["a"]
