"""``pull`` against real servers over TLS: what is kept of them, and what is told of those that fail."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from typing import TYPE_CHECKING, Any

import httpx2
import pulled_servers
import pytest
from pulled_servers import PER_PAGE, TOOLS
from upstream import NAME

from eve_mocks.errors import MockError, Problem
from eve_mocks.pull import documents, drift, mcp, tokens
from eve_mocks.pull.limits import Limits
from eve_mocks.pull.signin import Person
from eve_mocks.pull.state import token_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pulled_servers import Upstreams

SHORT = Limits(connect=5, silence=1, whole=5)
FAILING = f"https://{NAME}:8443"
PROTECTED = f"https://{NAME}/protected"
OPENAPI = {"openapi": "3.1.0", "info": {"title": "Pay", "version": "1"}, "paths": {"/charges": {"get": {}, "post": {}}}}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstreams]:
    with pulled_servers.serving(tmp_path_factory.mktemp("upstream")) as upstreams:
        yield upstreams


@pytest.fixture
def upstreams(serving: Upstreams, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Upstreams:
    for name, value in {**serving.environment, "XDG_STATE_HOME": str(tmp_path / "state")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for server in (serving.mcp, serving.handshake, serving.protected):
        server.asked.clear()
        server.headers.clear()
    serving.seen.clear()
    return serving


def describe(url: str, limits: Limits = SHORT, **options: Any) -> dict[str, Any]:
    return asyncio.run(mcp.describe(url, limits=limits, **options))


def fetch(url: str, limits: Limits = SHORT, **options: Any) -> dict[str, Any]:
    return asyncio.run(documents.fetch(url, limits=limits, **options))


@pytest.mark.parametrize("generation", ["mcp", "handshake"])
def test_every_page_of_a_server_is_kept_as_it_is(upstreams: Upstreams, generation: str) -> None:
    server = getattr(upstreams, generation)
    found = describe(f"https://{NAME}/{generation}")
    assert found == {
        "tools": TOOLS,
        "resources": [{"uri": "note://one", "name": "one"}],
        "resourceTemplates": [{"uriTemplate": "note://{name}", "name": "note"}],
        "prompts": [{"name": "sum_up", "arguments": [{"name": "of"}]}],
    }
    assert server.asked == [None, str(PER_PAGE), str(2 * PER_PAGE)]
    version = server.headers[0]["mcp-protocol-version"]
    assert (version >= "2026-07-28") == (generation == "mcp")


ODD_TOOLS = {
    "tuple": ({"inputSchema": {"type": "object", "properties": {"a": {"type": "array", "items": [{}, {}]}}}}, True),
    "no-list": ({"inputSchema": {"type": "object", "required": "a"}}, True),
    "output": ({"inputSchema": {"type": "object"}, "outputSchema": {"type": "int"}}, False),
}


@pytest.mark.parametrize(("schemas", "is_input"), ODD_TOOLS.values(), ids=ODD_TOOLS)
def test_a_schema_that_is_none_is_left_out_and_told(
    upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch, schemas: dict[str, Any], is_input: bool
) -> None:
    """Another draft than the protocol's, for example. What is kept is what a mock loads with."""
    monkeypatch.setattr(upstreams.mcp, "tools", [{"name": "odd", **schemas}, TOOLS[0]])
    problems: list[Problem] = []
    found = describe(f"https://{NAME}/mcp", problems=problems)["tools"]
    assert found == [{"name": "odd", "inputSchema": {"type": "object"}}, TOOLS[0]]
    (problem,) = problems
    assert problem.message.startswith(f"the {'input' if is_input else 'output'}Schema of odd is left out: ")


def test_headers_are_sent_with_each_request(upstreams: Upstreams) -> None:
    describe(f"https://{NAME}/mcp", headers=[("x-team", "blue")])
    assert [headers["x-team"] for headers in upstreams.mcp.headers] == ["blue"] * 3


@pytest.mark.parametrize(
    ("cursor_of", "message", "asked"),
    [
        pytest.param(str, "more than 7 pages of tools", 7, id="always-another"),
        pytest.param(lambda _: "0", "the same page of tools again and again", 2, id="always-the-same"),
    ],
)
def test_pages_without_end(upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch, cursor_of, message, asked) -> None:
    monkeypatch.setattr(upstreams.mcp, "endless", True)
    monkeypatch.setattr(upstreams.mcp, "cursor_of", cursor_of)
    with pytest.raises(MockError, match=message):
        describe(f"https://{NAME}/mcp", Limits(pages=7))
    assert len(upstreams.mcp.asked) == asked


FAILURES = {
    "/status/401": ("answers 401", "answers 401"),
    "/status/403": ("answers 403", "answers 403"),
    "/status/404": ("answers 404 Not Found", "answers 404 Not Found"),
    "/status/500": ("answers 500", "answers 500"),
    "/status/204": ("is no MCP server", "is no OpenAPI document"),
    "/to/https://elsewhere.example.com/x": ("redirects to https://elsewhere.example.com/x", "cannot be reached"),
    f"/to/http://{NAME}/x": (f"redirects to http://{NAME}/x", f"redirects to http://{NAME}/x"),
    "/hang": ("did not answer within 1 s", "did not answer within 1 s"),
    "/html": ("a page for people", "a page for people"),
    "/large": ("sends more than 48 MiB", "sends more than 48 MiB"),
    "/docs/text": ("is no MCP server", "is no OpenAPI document"),
    "/docs/broken": ("is no MCP server", "is not JSON"),
    "/docs/list": ("is no MCP server", "is no OpenAPI document"),
    "/docs/latin": ("is no MCP server", "is not UTF-8"),
    "/docs/yaml": ("is no MCP server", "is not YAML"),
}
BAD_DOCUMENTS = {
    "text": b"hello",
    "broken": b'{"openapi": "3.1.0",',
    "list": b"[1]",
    "latin": b"openapi: 3.1.0\ninfo: {title: \xe9}",
    "yaml": b"openapi: 3.1.0\n\tinfo: 1",
}


@pytest.mark.parametrize("path", FAILURES)
@pytest.mark.parametrize("what", [describe, fetch], ids=["mcp", "document"])
def test_what_fails_is_told(upstreams: Upstreams, path: str, what) -> None:
    for name, content in BAD_DOCUMENTS.items():
        upstreams.document(name, content, "application/json")
    url = f"{FAILING}{path}?token=SECRET"
    with pytest.raises(MockError) as raised:
        what(url)
    assert FAILURES[path][what is fetch] in raised.value.message
    assert raised.value.message.startswith(f"{FAILING}{path}?token=[redacted]")
    assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize("what", [describe, fetch], ids=["mcp", "document"])
def test_nobody_listens(upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch, what) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
    with pytest.raises(MockError, match="cannot be reached"):
        what(f"https://{NAME}/mcp")


@pytest.mark.parametrize(
    ("content", "media"),
    [
        pytest.param(json.dumps(OPENAPI).encode(), "application/json", id="json"),
        pytest.param(b"\xef\xbb\xbf" + json.dumps(OPENAPI).encode(), "text/plain", id="byte-order-mark"),
        pytest.param(
            b"openapi: 3.1.0\ninfo: {title: Pay, version: '1'}\npaths: {/charges: {get: {}, post: {}}}\n",
            "application/yaml",
            id="yaml",
        ),
    ],
)
def test_documents(upstreams: Upstreams, content: bytes, media: str) -> None:
    assert fetch(upstreams.document("pay", content, media)) == OPENAPI


def test_references_to_other_documents_are_told(upstreams: Upstreams) -> None:
    problems: list[Problem] = []
    parts = [{"$ref": "./parts.yaml#/a"}, {"$ref": "#/components/x"}, {"$ref": "b.json"}]
    fetch(upstreams.document("parts", {**OPENAPI, "x": parts}), problems=problems)
    (problem,) = problems
    assert "refers to other documents, such as ./parts.yaml, which are not kept with it" in problem.message
    fetch(upstreams.document("parts", {**OPENAPI, "x": parts[1]}), problems=problems)
    assert len(problems) == 1


def test_codes_of_responses_are_text_in_yaml_too(upstreams: Upstreams) -> None:
    text = b"swagger: '2.0'\npaths: {/a: {get: {responses: {200: {description: on}}}}}\n"
    found = fetch(upstreams.document("codes", text))
    assert found["paths"]["/a"]["get"]["responses"] == {"200": {"description": "on"}}


def test_a_redirect_within_the_server_is_followed_with_the_headers(upstreams: Upstreams) -> None:
    upstreams.document("pay", OPENAPI)
    assert fetch(f"{FAILING}/to/docs/pay", headers=[("x-key", "k")]) == OPENAPI
    assert [(path, headers.get("x-key")) for path, headers in upstreams.seen] == [
        ("/to/docs/pay", "k"),
        ("/docs/pay", "k"),
    ]


def test_a_redirect_to_another_server_gets_no_headers(upstreams: Upstreams) -> None:
    """That server is the same name at another port."""
    with pytest.raises(MockError, match="answers 404"):
        fetch(f"{FAILING}/to/https://{NAME}/docs/pay", headers=[("x-key", "k")])
    assert upstreams.seen[0][1]["x-key"] == "k"
    upstreams.document("pay", OPENAPI)
    with pytest.raises(MockError, match="redirects more than 5 times"):
        fetch(f"{FAILING}{'/to' * 8}/docs/pay")


class Browser:
    """Follows redirects from where it is sent, as a person does who is signed in already."""

    def __init__(self, *, ends: bool = True) -> None:
        self.told: list[str] = []
        self.pages: list[str] = []
        self.ends = ends

    def person(self) -> Person:
        return Person(tell=self.told.append, browse=self.browse)

    def browse(self, url: str) -> bool:
        if self.ends:
            with httpx2.Client(verify=pulled_servers.lenient(), follow_redirects=True) as client:
                self.pages.append(client.get(url).text)
        return True


def kept() -> dict[str, Any]:
    (file,) = token_folder().iterdir()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    return json.loads(file.read_text())


def test_signing_in(upstreams: Upstreams) -> None:
    """In the browser once; then the token is used, refreshed when it is old, and asked for anew when it is refused."""
    authority, browser = upstreams.authority, Browser()
    before = authority.authorized, authority.refreshed

    def pulled() -> tuple[int, int]:
        assert describe(PROTECTED, Limits(), person=browser.person()) == {
            "tools": TOOLS[:1],
            "resources": [{"uri": "note://one", "name": "one"}],
            "resourceTemplates": [{"uriTemplate": "note://{name}", "name": "note"}],
            "prompts": [{"name": "sum_up", "arguments": [{"name": "of"}]}],
        }
        return authority.authorized - before[0], authority.refreshed - before[1]

    assert pulled() == (1, 0)
    assert "You are signed in." in browser.pages[0]
    (url,) = browser.told
    assert url.startswith(f"https://{NAME}/authorize?")
    assert "code_challenge_method=S256" in url
    assert "redirect_uri=http%3A%2F%2F127.0.0.1%3A" in url
    assert pulled() == (1, 0)
    (file,) = token_folder().iterdir()
    file.write_text(json.dumps({**kept(), "expires": 1.0}))
    assert pulled() == (1, 1)
    assert kept()["expires"] > 1.0
    authority.tokens.clear()
    assert pulled() == (2, 1)
    assert len({client.client_id for client in authority.clients.values()}) == 1


def test_nobody_to_sign_in(upstreams: Upstreams) -> None:
    with pytest.raises(MockError, match="answers 401: it wants to know who asks") as raised:
        describe(PROTECTED)
    assert "--header" in raised.value.fix


def test_a_token_that_is_given_is_used(upstreams: Upstreams) -> None:
    browser = Browser()
    token = upstreams.authority.grant().access_token
    assert describe(PROTECTED, headers=[("Authorization", f"Bearer {token}")], person=browser.person())["tools"]
    assert browser.told == []
    assert not token_folder().exists()


def test_a_person_who_does_not_come_back(upstreams: Upstreams) -> None:
    with pytest.raises(MockError, match=r"let nobody sign in: nobody did within 0\.2 s"):
        describe(PROTECTED, Limits(sign_in=0.2), person=Browser(ends=False).person())


def test_a_person_signs_in_to_one_server_at_a_time(upstreams: Upstreams) -> None:
    """And the others wait for longer than they may take themselves."""
    browser, open_at_once, most = Browser(), 0, 0

    def browse(url: str) -> bool:
        nonlocal open_at_once, most
        open_at_once += 1
        most = max(most, open_at_once)
        time.sleep(0.6)  # longer than the limit
        open_at_once -= 1
        return browser.browse(url)

    person = Person(tell=browser.told.append, browse=browse)

    async def both() -> list[Any]:
        limits = Limits(whole=1)
        urls = (PROTECTED, f"{PROTECTED}?again")
        return await asyncio.gather(*(mcp.describe(url, person=person, limits=limits) for url in urls))

    assert [len(found["tools"]) for found in asyncio.run(both())] == [1, 1]
    assert (most, len(browser.told)) == (1, 2)


def test_a_sign_in_that_is_refused(upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(_client: object, params: Any) -> str:
        return f"{params.redirect_uri}?error=access_denied&error_description=not+you&state={params.state}"

    monkeypatch.setattr(upstreams.authority, "authorize", refuse)
    browser = Browser()
    with pytest.raises(MockError, match="let nobody sign in: access_denied not you"):
        describe(PROTECTED, Limits(), person=browser.person())
    assert "Signing in failed." in browser.pages[0]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": 1}', '{"url": "%s", "port": "x", "client": 1, "token": []}'])
def test_a_damaged_token_file_is_as_none(upstreams: Upstreams, text: str) -> None:
    browser = Browser()
    store = tokens.Tokens(PROTECTED)
    store.path.parent.mkdir(parents=True, mode=0o700)
    store.path.write_text(text.replace("%s", PROTECTED))
    assert describe(PROTECTED, Limits(), person=browser.person())["tools"]
    assert len(browser.told) == 1
    assert kept()["token"]


REGION = {"url": "https://{region}.pay.test/"}
PLACE = "https://pay.test/docs/o.json"
SERVERS = {
    "absolute": ({"servers": [{"url": "https://api.pay.test/v1"}]}, "", "https://api.pay.test/v1"),
    "relative": ({"servers": [{"url": "/v2"}]}, PLACE, "https://pay.test/v2"),
    "no servers": ({}, PLACE, "https://pay.test/"),
    "nothing at all": ({}, "", None),
    "variable": ({"servers": [{**REGION, "variables": {"region": {"default": "eu"}}}]}, "", "https://eu.pay.test/"),
    "variable without default": ({"servers": [REGION]}, "", None),
    "odd servers": ({"servers": ["x"]}, PLACE, "https://pay.test/"),
    "swagger": ({"swagger": "2.0", "host": "pay.test", "basePath": "/v3"}, "", "https://pay.test/v3"),
    "swagger, its own host": ({"swagger": "2.0", "schemes": ["http"]}, PLACE, "http://pay.test/"),
    "loopback": ({"servers": [{"url": "http://localhost:3000"}]}, "", None),
}


@pytest.mark.parametrize(("document", "place", "expected"), SERVERS.values(), ids=SERVERS)
def test_the_server_of_a_document(document: dict[str, Any], place: str, expected: str | None) -> None:
    assert documents.server(document, place) == expected


def test_a_change_of_one_line_is_a_diff_of_one_line() -> None:
    before = {"tools": [{"name": "b", "description": "x"}, {"name": "a"}]}
    after = {"tools": [{"description": "y", "name": "b"}, {"name": "a"}]}
    lines = drift.lines(drift.text(before), drift.text(after), "mocks/schemas/a.json")
    changed = [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ['-      "description": "x",', '+      "description": "y",']


@pytest.mark.parametrize("before", ['{"tools":[]}', '{\n "tools": [\n ]\n}'], ids=["narrow", "wide"])
def test_another_layout_is_no_change(before: str) -> None:
    assert drift.is_same(before, {"tools": []})
    assert not drift.is_same(before, {"tools": [{"name": "a"}]})


def test_a_large_difference_is_cut() -> None:
    before, after = ({"tools": [{"name": f"{word}{number}"} for number in range(900)]} for word in "ab")
    lines = drift.lines(drift.text(before), drift.text(after), "x.json")
    assert len(lines) == 101
    assert re.fullmatch(r"… and \d+ more lines", lines[-1])
    many = drift.text({"tools": [*range(210_000)]})
    assert drift.lines(many, many, "x.json") == ["~ x.json has 210004 lines, and would have 210004"]
