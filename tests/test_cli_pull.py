"""``pull``, and ``add`` where it pulls, as a person runs them: what is written, told, and served offline afterwards."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pulled_servers
import pytest
from conftest import EVE_MOCKS
from pulled_servers import TOOLS
from upstream import NAME

from eve_mocks import cli, load
from eve_mocks.match import parse_url
from eve_mocks.model import Headers, Request
from eve_mocks.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Project
    from pulled_servers import Upstreams

OPENAPI = {
    "openapi": "3.1.0",
    "info": {"title": "Pay", "version": "1"},
    "servers": [{"url": "https://api.pay.test/v1"}],
    "paths": {
        "/charges": {"get": {"responses": {"200": {"description": "All"}}}},
        "/charges/{id}": {"delete": {"responses": {"204": {"description": "Gone"}}}},
    },
}
LIST = """
import asyncio, json, sys
from mcp import Client

async def main():
    for mode in ("auto", "legacy"):
        async with Client(sys.argv[1], mode=mode) as client:
            found, cursor = [], None
            while True:
                page = await client.list_tools(cursor=cursor)
                found += [tool.model_dump(mode="json", by_alias=True, exclude_unset=True) for tool in page.tools]
                cursor = page.next_cursor
                if cursor is None:
                    break
            result = await client.call_tool(found[0]["name"], {"at": 1})
            print(json.dumps({"tools": found, "result": result.structured_content}))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstreams]:
    with pulled_servers.serving(tmp_path_factory.mktemp("upstream")) as upstreams:
        yield upstreams


@pytest.fixture
def upstreams(serving: Upstreams, project: Project, monkeypatch: pytest.MonkeyPatch) -> Upstreams:
    project.environment.update(serving.environment)
    project.environment["XDG_STATE_HOME"] = str(project.root / "state")
    for name, value in serving.environment.items():
        monkeypatch.setenv(name, value)
    return serving


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def eve_mocks(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Done]:
    """The command line in this process: importing the MCP SDK takes a second."""
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("XDG_STATE_HOME", str(project.root / "state"))
    for name in ("NO_PROXY", "no_proxy", "EVE_MOCKS_DIR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        code = cli.main(arguments)
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that nobody is."""
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")


def mock(project: Project, name: str, url: str, **results: Any) -> Path:
    return project.file(f"mocks/{name}.yaml", json.dumps({"kind": "mcp", "url": url, "results": results}))


def schema(project: Project, name: str) -> dict[str, Any]:
    return json.loads((project.root / f"mocks/schemas/{name}.json").read_text())


@pytest.mark.parametrize("python", [(), ("--python",)], ids=["yaml", "python"])
def test_what_add_pulls_is_served_offline_as_the_server_serves_it(
    upstreams: Upstreams, project: Project, python: tuple[str, ...], eve_mocks: Callable[..., Done]
) -> None:
    added = eve_mocks("add", "up", "--url", f"https://{NAME}/mcp", *python)
    assert (added.returncode, added.stdout) == (0, f"mocks/up.{'py' if python else 'yaml'}\n"), added.stderr
    assert "described by mocks/schemas/up.json (50 tools)." in added.stderr
    assert eve_mocks("check").stderr == ""
    if python:
        return
    asked = len(upstreams.mcp.asked)
    project.file("list.py", LIST)
    nowhere = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9")
    done = project.eve_mocks("run", "--", sys.executable, "list.py", f"https://{NAME}/mcp", env=nowhere)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        found = json.loads(line)
        assert sorted(found["tools"], key=lambda tool: tool["name"]) == TOOLS
        assert found["result"] == {"ok": True}
    assert len(done.stdout.splitlines()) == 2
    assert len(upstreams.mcp.asked) == asked


def test_pull_asks_all_and_one_that_fails_stops_no_other(
    upstreams: Upstreams, project: Project, eve_mocks: Callable[..., Done]
) -> None:
    spec = upstreams.document("pay", OPENAPI)
    mock(project, "good", f"https://{NAME}/mcp", tool_01={"ok": True})
    mock(project, "bad", f"https://{NAME}:8443/status/500", ping={})
    mock(project, "wild", f"https://*.{NAME}/mcp", ping={})
    project.file("mocks/pay.yaml", f"kind: http\nurl: https://api.pay.test/v1\nspec: [{spec}, {spec}]\n")
    project.file("mocks/plain.yaml", "kind: http\nurl: https://plain.test/\n")
    project.file(".mcp.json", json.dumps({"mcpServers": {"many": {"url": f"https://{NAME}/mcp"}}}))
    mock(project, "many", f"https://*.{NAME.partition('.')[2]}/mcp", ping={})
    project.file("mocks/py.py", f'from eve_mocks import mcp_mock\nm = mcp_mock("https://{NAME}/handshake")\n')
    done = eve_mocks("pull")
    assert done.returncode == 1
    rows = [re.split(r" {2,}", line) for line in done.stdout.splitlines()]
    assert rows == [
        ["failed", "bad", "mocks/schemas/bad.json"],
        ["new", "good", "mocks/schemas/good.json", "50 tools"],
        ["new", "many", "mocks/schemas/many.json", "50 tools"],
        ["new", "pay", "mocks/schemas/pay.json", "2 operations"],
        ["new", "pay", "mocks/schemas/pay.2.json", "2 operations"],
        ["new", "py", "mocks/schemas/py.json", "50 tools"],
        ["skipped", "wild", "mocks/schemas/wild.json", "wild claims many hosts, and which of them to ask is not known"],
    ]
    assert [line for line in done.stderr.splitlines() if line.startswith("eve-mocks:")] == [
        f"eve-mocks: https://{NAME}:8443/status/500 answers 500 Internal Server Error"
    ]
    assert schema(project, "good")["tools"] == TOOLS
    assert schema(project, "pay") == schema(project, "pay.2") == OPENAPI
    project.file(".mcp.json", "{")  # which is read for what claims many hosts
    assert re.search(r"^skipped +many ", eve_mocks("pull").stdout, re.MULTILINE)
    again = eve_mocks("pull", "good")
    assert (again.returncode, again.stdout) == (0, "unchanged   good   mocks/schemas/good.json   50 tools\n")


def test_check_shows_what_has_changed_and_writes_nothing(
    upstreams: Upstreams, project: Project, monkeypatch: pytest.MonkeyPatch, eve_mocks: Callable[..., Done]
) -> None:
    mock(project, "up", f"https://{NAME}/mcp", tool_01={"ok": True})
    missing = eve_mocks("pull", "--check")
    assert (missing.returncode, missing.stdout.splitlines()[1]) == (1, "+ mocks/schemas/up.json is not there")
    assert not (project.root / "mocks/schemas").exists()
    assert eve_mocks("pull").returncode == 0
    assert eve_mocks("pull", "--check").returncode == 0
    before = (project.root / "mocks/schemas/up.json").read_bytes()
    monkeypatch.setattr(upstreams.mcp, "tools", [{**TOOLS[0], "description": "Another."}, *TOOLS[1:]])
    drifted = eve_mocks("pull", "up", "--check")
    assert drifted.returncode == 1
    lines = drifted.stdout.splitlines()
    assert lines[0] == "changed   up   mocks/schemas/up.json   50 tools"
    assert [line for line in lines if line.startswith(("+ ", "- "))] == [
        '-      "description": "Does the thing of number 0.\\nAnd tells — «so».",',
        '+      "description": "Another.",',
    ]
    assert (project.root / "mocks/schemas/up.json").read_bytes() == before


def test_pull_mends_what_keeps_mocks_from_loading(
    upstreams: Upstreams, project: Project, eve_mocks: Callable[..., Done]
) -> None:
    """A tool that is gone, and a schema file that is damaged: both are told, with the nearest name or the line."""
    mock(project, "up", f"https://{NAME}/mcp", toool_01={"ok": True})
    project.file("mocks/schemas/up.json", '{"tools": [\n{"name": "tool_01",}]}')
    broken = eve_mocks("check")
    assert broken.returncode == 2
    assert "mocks/schemas/up.json:2: mocks/schemas/up.json is not JSON" in broken.stderr
    assert eve_mocks("pull").returncode == 0
    unknown = eve_mocks("check")
    assert "mocks/up.yaml:1: the result toool_01 names no tool" in unknown.stderr
    assert "Did you mean tool_01?" in unknown.stderr


STUBS = "stubs: [{id: a, tool: list_isues, outcome: {response: 1}}]\n"
LISTED = '{"tools": [\n{"name": "list_issues", "inputSchema": {"type": "object"}},\n{"name": "get_issue"}]}'


@pytest.mark.parametrize(
    ("file", "text", "where"),
    [
        pytest.param("t.yaml", "results:\n  list_isues: {}\n", "mocks/t.yaml:4", id="result"),
        pytest.param("t.yaml", STUBS, "mocks/t.yaml:3", id="stub"),
        pytest.param("t.py", "@m.tool\ndef list_isues(args):\n    return 1\n", "mocks/t.py:3", id="handler"),
        pytest.param("t.py", "@m.tool('list_isues')\ndef a(args):\n    return 1\n", "mocks/t.py:3", id="named-handler"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["check", "list"])
def test_what_the_schema_file_has_not_stops_with_the_nearest_name(
    project: Project, eve_mocks: Callable[..., Done], *, file: str, text: str, where: str, command: str
) -> None:
    url = "https://t.test/mcp"
    head = (
        f"kind: mcp\nurl: {url}\n" if file == "t.yaml" else f"from eve_mocks import mcp_mock\nm = mcp_mock('{url}')\n"
    )
    project.file(f"mocks/{file}", head + text)
    project.file("mocks/schemas/t.json", LISTED)
    done = eve_mocks(command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"eve-mocks: {where}: ")
    assert "Did you mean list_issues?" in done.stderr


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        pytest.param('"list_issues",', '"list_issues"', 2, "is not JSON", id="comma"),
        pytest.param('"type": "object"', '"type": "objekt"', 2, "inputSchema of list_issues is not valid", id="type"),
        pytest.param('"inputSchema": {"type": "object"}', '"inputSchema": 1', 2, "inputSchema is 1", id="no-object"),
        pytest.param('{"name": "get_issue"}', '{"nam": "get_issue"}', 3, "has no name", id="nameless"),
        pytest.param('{"name": "get_issue"}', "7", 3, "is 7, not a mapping", id="number"),
        pytest.param("get_issue", "list_issues", 3, "two tools are called list_issues", id="twice"),
        pytest.param('"tools"', '"tool"', 1, 'it has no list "tools"', id="another-key"),
    ],
)
def test_a_schema_file_edited_into_nonsense_is_told_with_its_line(
    project: Project, eve_mocks: Callable[..., Done], *, before: str, after: str, line: int, message: str
) -> None:
    mock(project, "t", "https://t.test/mcp", list_issues={})
    project.file("mocks/schemas/t.json", LISTED.replace(before, after))
    done = eve_mocks("check")
    assert done.returncode == 2
    assert done.stderr.startswith(f"eve-mocks: mocks/schemas/t.json:{line}: ")
    assert message in done.stderr.splitlines()[0]


def test_headers(upstreams: Upstreams, project: Project, eve_mocks: Callable[..., Done]) -> None:
    mock(project, "up", f"https://{NAME}/protected", tool_00={"ok": True})
    token = upstreams.authority.grant().access_token
    refused = eve_mocks("pull", "up")
    assert (refused.returncode, "answers 401" in refused.stderr) == (1, True)
    assert eve_mocks("pull", "up", "--header", f"Authorization: Bearer {token}").returncode == 0
    assert token not in (project.root / "mocks/schemas/up.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "message", "fix"),
    [
        pytest.param(("--header", "a: b"), "--header was given without NAME", "eve-mocks pull NAME", id="no-name"),
        pytest.param(
            ("up", "--header", "nonsense"), "a --header is not written as one", "Authorization", id="no-colon"
        ),
        pytest.param(("up", "--header", "a: b\r\nc: d"), "a --header is not written as one", "", id="two-in-one"),
        pytest.param(("op",), "there is no mock op", "up", id="nearest"),
        pytest.param(("pay",), "nothing can be pulled for pay", "spec:", id="no-spec"),
        pytest.param(("model",), "nothing can be pulled for model", "Name a mock of kind mcp", id="model"),
        pytest.param(("wild",), "wild claims many hosts", "Mock one of the hosts", id="wildcard"),
        pytest.param(("broken",), "mocks/broken.yaml is not YAML", "", id="broken"),
    ],
)
def test_what_is_refused(
    project: Project, arguments: tuple[str, ...], message: str, fix: str, eve_mocks: Callable[..., Done]
) -> None:
    mock(project, "up", "https://up.test/mcp", ping={})
    mock(project, "wild", "https://*.up.test/mcp", ping={})
    project.file("mocks/pay.yaml", "kind: http\nurl: https://pay.test/\n")
    project.file("mocks/model.yaml", "kind: model\nprovider: openai\nscripts: {a: [b]}\n")
    if "broken" in arguments:
        project.file("mocks/broken.yaml", "kind: [mcp\nurl: x")
    done = eve_mocks("pull", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert fix in done.stderr


def test_nothing_to_pull(project: Project, eve_mocks: Callable[..., Done]) -> None:
    done = eve_mocks("pull")
    assert (done.returncode, "there is nothing to pull" in done.stderr) == (2, True)


BROWSE = """
import sys, urllib.request, ssl
context = ssl.create_default_context()
context.verify_flags &= ~ssl.VERIFY_X509_STRICT
opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), urllib.request.ProxyHandler())
opener.open(sys.argv[1], timeout=20).read()
"""


def test_signing_in_at_a_terminal(upstreams: Upstreams, project: Project) -> None:
    """The browser is whatever BROWSER names; the URL is told too."""
    mock(project, "up", f"https://{NAME}/protected", tool_00={"ok": True})
    browser = project.file("browse.py", BROWSE)
    ours, theirs = pty.openpty()
    env = project.environment | {"BROWSER": f"{sys.executable} {browser} %s", "no_proxy": "127.0.0.1"}
    with subprocess.Popen([EVE_MOCKS, "pull", "up"], cwd=project.root, env=env, stderr=theirs) as running:
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # it has ended
                break
            if not part:
                break
            said += part
        os.close(ours)
    assert running.returncode == 0, said
    assert f"Sign in, in the browser:\r\n  https://{NAME}/authorize?" in said.decode()
    assert schema(project, "up")["tools"] == TOOLS[:1]
    (file,) = (project.root / "state/eve-mocks/tokens").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("python", [(), ("--python",)], ids=["yaml", "python"])
@pytest.mark.parametrize("where", ["url", "outside", "inside"])
@pytest.mark.usefixtures("upstreams")
def test_add_from_a_document(
    serving: Upstreams, project: Project, where: str, python: tuple[str, ...], eve_mocks: Callable[..., Done]
) -> None:
    if where == "url":
        spec = written = serving.document("pay", OPENAPI)
    else:
        spec = "mocks/../pay.json" if where == "outside" else "mocks/specs/pay.json"
        written = "schemas/pay.json" if where == "outside" else "specs/pay.json"
        project.file(spec, json.dumps(OPENAPI))
    added = eve_mocks("add", "pay", "--spec", spec, *python)
    assert (added.returncode, added.stdout) == (0, f"mocks/pay.{'py' if python else 'yaml'}\n"), added.stderr
    assert "It answers for https://api.pay.test/v1, kind http, described by " in added.stderr
    assert "(2 operations)" in added.stderr
    assert written in (project.root / added.stdout.strip()).read_text()
    assert (project.root / "mocks/schemas/pay.json").exists() == (where != "inside")
    (pay,) = (mock for mock in load.load(project.root / "mocks").mocks if mock.name == "pay")
    asked = Request(method="GET", target=parse_url("https://api.pay.test/v1/charges"), headers=Headers())
    assert asyncio.run(pay.answer(asked, Session("test"))).response.status == 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--spec", "no.json"), "no.json cannot be read", id="no-file"),
        pytest.param(("--spec", "page.html"), "page.html is a page for people", id="html"),
        pytest.param(("--spec", "bare.json"), "nothing tells which URL pay is to mock", id="no-server"),
        pytest.param(("--spec", "bare.json", "--kind", "mcp", "--url", "https://a.test/"), "no OpenAPI", id="kind"),
        pytest.param(("--spec", "https://nowhere.test/x.json"), "cannot be reached", id="unreachable"),
    ],
)
@pytest.mark.usefixtures("nowhere")
def test_add_from_what_is_no_document(
    project: Project, arguments: tuple[str, ...], message: str, eve_mocks: Callable[..., Done]
) -> None:
    project.file("page.html", "<!doctype html>")
    project.file("bare.json", '{"openapi": "3.1.0", "paths": {}}')
    done = eve_mocks("add", "pay", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not (project.root / "mocks").exists()


@pytest.mark.usefixtures("nowhere")
def test_add_says_when_it_cannot_pull(
    project: Project, needs: Callable[..., str], eve_mocks: Callable[..., Done]
) -> None:
    for name, more in (("mcp", ()), ("api", ("--spec", "https://api.pay.test/openapi.json"))):
        done = eve_mocks("add", name, "--url", f"https://api.pay.test/{name}", *more)
        assert (done.returncode, done.stdout) == (0, f"mocks/{name}.yaml\n")
        assert "not known: https://api.pay.test/" in done.stderr
        assert f"Then: eve-mocks pull {name}" in done.stderr
    done = project.eve_mocks("run", "--", needs("curl"), "-sSf", "https://api.pay.test/api/anything")
    assert (done.returncode, done.stdout) == (0, '{"ok": true}')


def test_add_keeps_a_schema_file_that_is_there(
    upstreams: Upstreams, project: Project, eve_mocks: Callable[..., Done]
) -> None:
    file = project.file("mocks/schemas/up.json", '{"tools": [{"name": "mine"}]}')
    asked = len(upstreams.mcp.asked)
    assert eve_mocks("add", "up", "--url", f"https://{NAME}/mcp").returncode == 0
    assert file.read_text() == '{"tools": [{"name": "mine"}]}'
    assert "  mine: " in (project.root / "mocks/up.yaml").read_text()
    assert len(upstreams.mcp.asked) == asked
