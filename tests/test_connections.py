"""Which connections a project declares, and what ``list`` says of each."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import TYPE_CHECKING

import pytest

from eve_mocks import connections
from eve_mocks.model import Passage
from eve_mocks.router import Router

if TYPE_CHECKING:
    from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Entry:
    """As much of a mock as routing looks at."""

    name: str
    url: str
    kind: str = "mcp"
    file: str = "mocks/x.yaml"
    line: int | None = 1


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text(text)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        pytest.param(".mcp.json", '{"mcpServers": {"linear": {"url": "https://mcp.linear.app/mcp"}}}', id="claude"),
        pytest.param(
            ".mcp.json",
            '\ufeff{"mcpServers": {"linear": {"type": "http", "url": "https://${HOST:-mcp.linear.app}/mcp"}}}',
            id="default-of-a-variable",
        ),
        pytest.param(
            ".cursor/mcp.json", '{"mcpServers": {"linear": {"url": "https://${env:LINEAR}/mcp"}}}', id="cursor"
        ),
        pytest.param(
            ".vscode/mcp.json",
            '// servers of the team\n{"servers": {"linear": {"url": "https://mcp.linear.app/mcp", /* more? */ }, },}',
            id="vscode-with-comments",
        ),
    ],
)
def test_url_is_read(tmp_path: Path, file: str, text: str) -> None:
    write(tmp_path, file, text)
    found, errors = connections.read(tmp_path, {"LINEAR": "mcp.linear.app"})
    assert errors == []
    [linear] = found
    assert (linear.name, linear.url, linear.source) == ("linear", "https://mcp.linear.app/mcp", file)


def test_what_looks_like_a_comment_in_text_stays(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", '{"mcpServers": {"a": {"url": "https://a.test/x//y,]"}}}')
    found, _ = connections.read(tmp_path, {})
    assert [connection.url for connection in found] == ["https://a.test/x//y,]"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param('{"mcpServers": {\n  "a": {"url": "https://a.test/"}\n  "b": {}\n}}', 3, "not JSON", id="comma"),
        pytest.param("", 1, "not JSON", id="empty"),
        pytest.param('{\n"mcpServers": []}', 2, "mcpServers is not an object", id="servers-are-a-list"),
        pytest.param("[]", None, "mcpServers is not an object", id="a-list"),
        pytest.param('{"mcpServers": {\n\n"a": {}}}', 3, "neither a url nor a command", id="neither"),
        pytest.param('{"mcpServers": {\n"a": "https://a.test/"}}', 2, "neither a url nor a command", id="text"),
        pytest.param('{"mcpServers": {\n"a": {"url": "a.test"}}}', 2, "cannot be called", id="no-scheme"),
        pytest.param('{"mcpServers": {"\\ud800": {"url": "https://a.test/"}}}', None, r"named '\ud800'", id="no-text"),
        pytest.param('{"mcpServers": {"": {"url": "https://a.test/"}}}', 1, "cannot be named ''", id="no-name"),
        pytest.param("[" * 200_000, None, "not JSON: ", id="deep"),
    ],
)
def test_mistakes_are_told_with_file_and_line(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    write(tmp_path, ".mcp.json", text)
    found, [error] = connections.read(tmp_path, {})
    assert found == []
    assert (error.file, error.line) == (".mcp.json", line)
    assert message in error.message


def test_a_pipe_is_no_configuration(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".mcp.json")
    found, [error] = connections.read(tmp_path, {})
    assert found == []
    assert error.message == ".mcp.json cannot be read: It is not a regular file"


def test_a_credential_in_a_url_is_not_listed(tmp_path: Path) -> None:
    write(
        tmp_path, ".mcp.json", '{"mcpServers": {"linear": {"url": "https://u:pw@mcp.linear.app/mcp?api_key=SECRET"}}}'
    )
    found, _ = connections.read(tmp_path, {})
    (row, *_) = connections.rows(ROUTER, found)
    assert (row["name"], row["status"]) == ("linear", "mocked")
    assert row["url"] == "https://[redacted]@mcp.linear.app/mcp?api_key=[redacted]"


def test_one_broken_connection_does_not_hide_the_others(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", '{"mcpServers": {"bad": {}, "good": {"command": "npx"}}}')
    found, errors = connections.read(tmp_path, {})
    assert [connection.name for connection in found] == ["good"]
    assert len(errors) == 1


def test_no_configuration_is_no_connection(tmp_path: Path) -> None:
    assert connections.read(tmp_path, {}) == ([], [])


ROUTER = Router(
    [Entry("linear", "https://mcp.linear.app/mcp"), Entry("shop", "https://*.shop.test/", kind="http")],
    [
        Passage(kind="allow", name="gateway", url="https://gateway.test/", why="evals", file="mocks/gateway.yaml"),
        Passage(kind="block", name="logs", url="https://logs.test/", why="noise", file="mocks/logs.yaml"),
    ],
)


@pytest.mark.parametrize(
    ("server", "status"),
    [
        pytest.param({"url": "https://MCP.linear.app:443/mcp/"}, "mocked", id="mock"),
        pytest.param({"url": "https://a.b.shop.test/mcp"}, "mocked", id="wildcard"),
        pytest.param({"url": "https://gateway.test/v1/mcp"}, "allowed", id="allow"),
        pytest.param({"url": "https://logs.test/mcp"}, "blocked", id="block"),
        pytest.param({"url": "https://other.test/mcp"}, "blocked", id="unclaimed"),
        pytest.param({"url": "http://localhost:3000/mcp"}, "local", id="loopback"),
        pytest.param({"command": "npx", "args": ["server"]}, "local", id="stdio"),
        pytest.param({"url": "https://${input:host}/mcp"}, "blocked", id="dynamic"),
    ],
)
def test_status_of_a_connection(tmp_path: Path, server: dict[str, object], status: str) -> None:
    write(tmp_path, ".mcp.json", json.dumps({"mcpServers": {"tracker": server}}))
    found, _ = connections.read(tmp_path, {})
    row = connections.rows(ROUTER, found)[0]
    assert (row["name"], row["status"], row["isConnection"]) == ("tracker", status, True)


def test_dynamic_connection_is_matched_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", '{"mcpServers": {"shop": {"url": "https://${TENANT}.shop.test/mcp"}}}')
    found, _ = connections.read(tmp_path, {})
    assert connections.rows(ROUTER, found)[0] == {
        "name": "shop",
        "status": "mocked",
        "kind": "mcp",
        "isConnection": True,
        "isDynamic": True,
        "source": ".mcp.json",
    }


def test_a_mock_is_listed_once_where_it_is_a_connection_by_name_and_url(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", '{"mcpServers": {"linear": {"url": "https://mcp.linear.app/mcp"}}}')
    found, _ = connections.read(tmp_path, {})
    listed = [(row["name"], row["status"], row["source"]) for row in connections.rows(ROUTER, found)]
    assert listed == [
        ("linear", "mocked", ".mcp.json"),
        ("shop", "mocked", "mocks/x.yaml"),
        ("gateway", "allowed", "mocks/gateway.yaml"),
        ("logs", "blocked", "mocks/logs.yaml"),
    ]
