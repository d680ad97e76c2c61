"""``add``: what it takes from where, that what it writes loads and answers, and what it refuses."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import resource
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eve_mocks import load, scaffold
from eve_mocks.connections import Connection
from eve_mocks.errors import MockError
from eve_mocks.match import parse_url
from eve_mocks.model import Headers, Request
from eve_mocks.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from eve_mocks.model import Answer

CONNECTIONS = [
    Connection(name="linear", kind="mcp", url="https://mcp.linear.app/mcp", source=".mcp.json"),
    Connection(name="docs", kind="mcp", url="https://docs.example.com/tools", source=".mcp.json"),
    Connection(name="files", kind="mcp", url=None, source=".mcp.json", is_local=True),
    Connection(name="tenant", kind="mcp", url=None, source=".mcp.json"),
]


def blocked(
    host: str, *operations: str, name: str = "", path: str = "/", kind: str = "http", scheme: str = "https"
) -> dict[str, object]:
    """A target of a report; without a name nothing is suggested for it."""
    suggestion = {"name": name, "url": f"{scheme}://{host}{path}", "kind": kind}
    return {
        "outcome": "blocked",
        "target": host,
        "url": f"{scheme}://{host}/",
        "operations": dict.fromkeys(operations, 1),
        **({"suggestion": suggestion} if name else {}),
    }


REPORT = {
    "targets": [
        {"outcome": "mocked", "target": "slack", "url": "https://slack.com/", "operations": {"POST /x": 1}},
        blocked("logs.example.com", "GET /v1/tail", "POST /v1/lines", "POST /v1/tail", name="logs"),
        blocked("mcp.tracker.test", "POST /v2/mcp", name="tracker", path="/v2/mcp", kind="mcp"),
        blocked("mcp.assistant.test", "POST /v1/rpc", name="assistant", path="/v1/rpc", kind="mcp"),
        blocked("api.pay.test", "GET /"),
        blocked("dav.test", "PROPFIND /a", "GET /a", "M-SEARCH /a", name="dav"),
        blocked("two.test", "GET /a", name="two"),
        blocked("two.test", "GET /b", name="two-http", scheme="http"),
    ]
}


def find(name: str, url: str | None = None, kind: str | None = None) -> scaffold.Upstream:
    return scaffold.find(name, url=url, kind=kind, connections=CONNECTIONS, report=REPORT)


@pytest.mark.parametrize(
    ("name", "url", "kind", "expected"),
    [
        pytest.param("shop", "https://api.shop.test/v1", None, ("https://api.shop.test/v1", "http", ()), id="url"),
        pytest.param("a", "https://a.test/mcp", None, ("https://a.test/mcp", "mcp", ()), id="mcp-by-its-path"),
        pytest.param("a", "https://a.test/x/sse/", None, ("https://a.test/x/sse/", "mcp", ()), id="sse-by-its-path"),
        pytest.param("a", "https://mcp.a.test/v1", None, ("https://mcp.a.test/v1", "http", ()), id="not-by-its-host"),
        pytest.param("a", "https://a.test/mcp", "http", ("https://a.test/mcp", "http", ()), id="kind-is-said"),
        pytest.param("linear", None, None, ("https://mcp.linear.app/mcp", "mcp", ()), id="connection"),
        pytest.param("docs", None, None, ("https://docs.example.com/tools", "mcp", ()), id="mcp-by-its-connection"),
        pytest.param("linear", "https://a.test/", None, ("https://a.test/", "http", ()), id="url-before-connection"),
        pytest.param("tenant", "https://*.a.test/mcp", None, ("https://*.a.test/mcp", "mcp", ()), id="wildcard"),
        pytest.param(
            "logs",
            None,
            None,
            (
                "https://logs.example.com/",
                "http",
                (("GET", "/v1/tail"), ("POST", "/v1/lines"), ("POST", "/v1/tail")),
            ),
            id="blocked-by-its-short-name",
        ),
        pytest.param(
            "logs",
            "https://logs.example.com/v1",
            None,
            ("https://logs.example.com/v1", "http", (("GET", "/tail"), ("POST", "/lines"), ("POST", "/tail"))),
            id="blocked-below-a-url",
        ),
        pytest.param(
            "tracker", None, None, ("https://mcp.tracker.test/v2/mcp", "mcp", (("POST", "/"),)), id="blocked-mcp"
        ),
        pytest.param(
            "assistant",
            None,
            None,
            ("https://mcp.assistant.test/v1/rpc", "mcp", (("POST", "/"),)),
            id="blocked-mcp-by-what-it-spoke",
        ),
        pytest.param("openai", None, None, ("https://api.openai.com/", "model", ()), id="provider"),
        pytest.param("a", "https://api.openai.com/v1", None, ("https://api.openai.com/v1", "model", ()), id="model"),
        pytest.param(
            "a",
            "https://api.openai.com/v1/audio",
            None,
            ("https://api.openai.com/v1/audio", "http", ()),
            id="part-of-a-provider",
        ),
        pytest.param("two-http", None, None, ("http://two.test/", "http", (("GET", "/b"),)), id="blocked-in-the-clear"),
    ],
)
def test_what_is_mocked(name: str, url: str | None, kind: str | None, expected: tuple[object, ...]) -> None:
    found = find(name, url, kind)
    assert (found.url, found.kind, found.operations) == expected


@pytest.mark.parametrize(
    ("host", "name"),
    [("logs.example.com", "logs"), ("LOGS.example.com", "logs"), ("mcp.tracker.test", "tracker"), ("logs", "logs")],
)
def test_a_blocked_host_is_a_name_too(tmp_path: Path, host: str, name: str) -> None:
    assert scaffold.add(find(host), tmp_path, "mocks", python=False) == f"mocks/{name}.yaml"


@pytest.mark.parametrize(
    ("name", "url", "message", "fix"),
    [
        pytest.param("a/b", "https://a.test/", "cannot be the name", "a-b", id="name-with-a-slash"),
        pytest.param("../x", "https://a.test/", "cannot be the name", "x", id="name-that-is-a-path"),
        pytest.param("", "https://a.test/", "cannot be the name", "notion", id="no-name"),
        pytest.param("shop", "api.shop.test", "has no scheme", "https://api.shop.test", id="no-scheme"),
        pytest.param("shop", "http://localhost:3000/", "on this machine", "Start a server", id="loopback"),
        pytest.param("lienar", None, "nothing tells", "eve-mocks add linear", id="nearest-connection"),
        pytest.param("log", None, "nothing tells", "eve-mocks add logs", id="nearest-blocked-host"),
        pytest.param("zzz", None, "nothing tells", "eve-mocks add zzz --url", id="unknown"),
        pytest.param("pay", None, "nothing tells", "--url", id="blocked-on-purpose"),
        pytest.param("api.pay.test", None, "nothing tells", "eve-mocks add pay --url", id="host-blocked-on-purpose"),
        pytest.param(
            "two.test",
            None,
            "blocked 2 URLs of two.test",
            "eve-mocks add two --url https://two.test/\neve-mocks add two-http --url http://two.test/",
            id="host-with-two-origins",
        ),
        pytest.param(
            "https://api.shop.test/v1?a",
            None,
            "is a URL",
            "eve-mocks add shop --url 'https://api.shop.test/v1?a'",
            id="url-for-a-name",
        ),
        pytest.param("files", None, "is a local program", "--url", id="stdio"),
        pytest.param("tenant", None, "known only when the agent runs", "https://*.", id="dynamic"),
    ],
)
def test_what_is_refused(name: str, url: str | None, message: str, fix: str) -> None:
    with pytest.raises(MockError) as raised:
        find(name, url)
    assert message in raised.value.message
    assert fix in raised.value.fix


def ask(folder: Path, name: str, url: str, method: str = "GET") -> Answer:
    loaded = load.load(folder)
    assert loaded.errors == []
    [mock] = [mock for mock in loaded.mocks if mock.name == name]
    request = Request(method=method, target=parse_url(url), headers=Headers())
    return asyncio.run(mock.answer(request, Session("test")))


@pytest.mark.parametrize("python", [False, True], ids=["yaml", "python"])
@pytest.mark.parametrize("name", ["logs", "a-b", "1st", "class", "http_mock"])
def test_what_is_written_loads_and_answers(tmp_path: Path, name: str, python: bool) -> None:
    folder = tmp_path / "not" / "there" / "mocks"
    written = scaffold.add(find(name, "https://logs.example.com/"), folder, "mocks", python=python)
    assert written == f"mocks/{name}.{'py' if python else 'yaml'}"
    assert b'"ok": true' in ask(folder, name, "https://logs.example.com/v1/tail").response.body
    assert ask(folder, name, "https://logs.example.com/v1/other").response.status == 404


@pytest.mark.parametrize("python", [False, True], ids=["yaml", "python"])
@pytest.mark.parametrize("path", ["", "any/path", "v1/charges?a=1"])
def test_without_known_operations_everything_is_answered(tmp_path: Path, python: bool, path: str) -> None:
    scaffold.add(find("pay", "https://api.pay.test"), tmp_path, "mocks", python=python)
    assert b'"ok": true' in ask(tmp_path, "pay", f"https://api.pay.test/{path}", "PUT").response.body


@pytest.mark.parametrize("python", [False, True], ids=["yaml", "python"])
def test_an_mcp_mock_has_a_tool(tmp_path: Path, python: bool) -> None:
    scaffold.add(find("linear"), tmp_path, "mocks", python=python)
    [mock] = load.load(tmp_path).mocks
    assert (mock.kind, mock.operations()) == ("mcp", ["ping"])


@pytest.mark.parametrize("python", [False, True], ids=["yaml", "python"])
@pytest.mark.parametrize(
    ("name", "url", "kind"),
    [("openai", None, None), ("a-b", "https://models.test/v1", "model"), ("c", "https://api.anthropic.com/", None)],
    ids=["provider", "another server", "another name"],
)
def test_a_model_has_a_script(tmp_path: Path, name: str, url: str | None, kind: str | None, python: bool) -> None:
    scaffold.add(find(name, url, kind), tmp_path, "mocks", python=python)
    loaded = load.load(tmp_path)
    assert loaded.errors == []
    [mock] = loaded.mocks
    assert (mock.kind, len(mock.entries())) == ("model", 1)


def test_the_model_that_was_blocked_is_scripted(tmp_path: Path) -> None:
    suggestion = {"name": "openai", "url": "https://api.openai.com/", "kind": "model", "model": "gpt-5-mini"}
    report = {"targets": [{"target": "api.openai.com", "url": suggestion["url"], "suggestion": suggestion}]}
    for name, url in (("openai", None), ("ai", "https://api.openai.com/")):
        upstream = scaffold.find(name, url=url, kind=None, connections=(), report=report)
        scaffold.add(upstream, tmp_path / name, "mocks", python=False)
        assert "gpt-5-mini" in (tmp_path / name / f"{name}.yaml").read_text()


@pytest.mark.parametrize("file", ["pay.yaml", "pay.yml", "pay.json", "pay.py"])
def test_nothing_is_overwritten(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text("mine")
    with pytest.raises(MockError, match=f"mocks/{file} exists"):
        scaffold.add(find("pay", "https://api.pay.test/"), tmp_path, "mocks", python=False)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(file, "mine")]


def test_a_url_that_is_mocked_already_is_refused(tmp_path: Path) -> None:
    scaffold.add(find("pay", "https://api.pay.test/v1"), tmp_path, "mocks", python=False)
    with pytest.raises(MockError, match="mocked already, by pay"):
        scaffold.add(find("pay2", "https://API.pay.test:443/v1/"), tmp_path, "mocks", python=True)
    scaffold.add(find("files", "https://api.pay.test/v1/files"), tmp_path, "mocks", python=True)
    assert sorted(path.name for path in tmp_path.glob("*.*")) == ["files.py", "pay.yaml"]


def test_a_broken_neighbour_does_not_hinder(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("kind: htpt\n")
    assert scaffold.add(find("pay", "https://api.pay.test/"), tmp_path, "mocks", python=False)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "mocks").write_text("a file")
    with pytest.raises(MockError) as raised:
        scaffold.add(find("pay", "https://api.pay.test/"), tmp_path / "mocks", "mocks", python=False)
    assert "mocks" in raised.value.message


def test_methods_that_routes_do_not_know_are_any(tmp_path: Path) -> None:
    upstream = find("dav")
    assert upstream.operations == (("ANY", "/a"), ("GET", "/a"))
    for python in (False, True):
        folder = tmp_path / str(python)
        assert scaffold.add(upstream, folder, "mocks", python=python).startswith("mocks/dav.")
        assert load.load(folder, shown="mocks").errors == []


def test_a_disk_that_is_full_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands for it."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(MockError, match="cannot be written: File too large"):
            scaffold.add(find("logs"), tmp_path, "mocks", python=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | NAMES,
    lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner),
)


@pytest.mark.parametrize("python", [False, True], ids=["yaml", "python"])
@given(names=st.lists(NAMES, min_size=1, max_size=3, unique=True), value=VALUES)
@settings(max_examples=40, deadline=None)
def test_whatever_a_server_calls_its_tools(
    tmp_path_factory: pytest.TempPathFactory, python: bool, names: list[str], value: object
) -> None:
    folder = tmp_path_factory.mktemp("mocks")
    tools = tuple({"name": name, "inputSchema": {"type": "object"}} for name in names)
    tools = ({**tools[0], "outputSchema": {"const": value}}, *tools[1:])
    (folder / "schemas").mkdir()
    (folder / "schemas/linear.json").write_text(json.dumps({"tools": tools}))
    scaffold.add(dataclasses.replace(find("linear"), tools=tools), folder, "mocks", python=python)
    loaded = load.load(folder)
    assert loaded.errors == []
    assert sorted(loaded.mocks[0].operations()) == sorted(names)
