"""The connections of an eve app: from its compiled manifest, and from modules that Node imports."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import Project
from machine import NODE_MODULES, environment

from eve_mocks import eve_app

if TYPE_CHECKING:
    from collections.abc import Callable

APP = Path(__file__).parent / "eve"
EVE = ("node", "node_modules/eve/bin/eve.js")
LINEAR = {
    "connectionName": "linear",
    "protocol": "mcp",
    "url": "https://mcp.linear.app/mcp",
    "logicalPath": "c/linear.ts",
}


def manifest(root: Path, place: str = eve_app.PLACES[0], text: str | None = None, **parts: Any) -> None:
    given = {"kind": eve_app.KIND, "version": 54, "agentRoot": str(root / "agent"), **parts}
    (root / place).parent.mkdir(parents=True)
    (root / place).write_text(json.dumps(given) if text is None else text)


@pytest.mark.parametrize("place", eve_app.PLACES)
def test_both_places_and_subagents(tmp_path: Path, place: str) -> None:
    agent = {"agentRoot": str(tmp_path / "agent/subagents/r"), "connections": [LINEAR], "dynamicConnections": []}
    subagents = [{"name": "r", "nodeId": "subagents/r", "parentNodeId": "__root__", "agent": agent}]
    shop = {**LINEAR, "connectionName": "shop", "protocol": "openapi", "url": "https://api.shop.test/v1"}
    manifest(tmp_path, place, connections=[LINEAR, shop], subagents=subagents)
    found, problems = eve_app.read(tmp_path)
    assert problems == []
    assert [(each.name, each.kind, each.url, each.source) for each in found] == [
        ("linear", "mcp", "https://mcp.linear.app/mcp", "agent/c/linear.ts"),
        ("shop", "http", "https://api.shop.test/v1", "agent/c/linear.ts"),
        ("linear", "mcp", "https://mcp.linear.app/mcp", "agent/subagents/r/c/linear.ts"),
    ]
    assert not any(each.is_dynamic for each in found)


def test_the_compiled_agent_goes_before_the_built_one(tmp_path: Path) -> None:
    for place, name in zip(eve_app.PLACES, ("new", "old"), strict=True):
        manifest(tmp_path, place, connections=[{**LINEAR, "connectionName": name}])
    assert [each.name for each in eve_app.read(tmp_path)[0]] == ["new"]


WHOLE = json.dumps({"kind": eve_app.KIND, "version": 54, "connections": [LINEAR]})


@pytest.mark.parametrize(
    ("text", "message", "found"),
    [
        pytest.param(WHOLE[: len(WHOLE) // 2], "cannot be read: ", 0, id="cut-in-half"),
        pytest.param("", "cannot be read: ", 0, id="empty"),
        pytest.param("[" * 100_000, "cannot be read: ", 0, id="deep"),
        pytest.param("[]", "kind, which should be", 0, id="a-list"),
        pytest.param(WHOLE.replace(eve_app.KIND, "eve-other"), "kind, which should be", 0, id="another-kind"),
        pytest.param(WHOLE.replace("54", "55"), "has version 55", 1, id="newer"),
        pytest.param(WHOLE.replace("54", "45"), None, 1, id="older"),
        pytest.param(WHOLE.replace("54", '"x"'), None, 1, id="odd-version"),
        pytest.param(WHOLE.replace('"connectionName"', '"name"'), "a connection of", 0, id="nameless"),
        pytest.param(WHOLE.replace("[{", "{").replace("}]", "}"), None, 0, id="connections-are-no-list"),
        pytest.param(WHOLE.replace("{", '{"subagents": [1], "dynamicConnections": [2],', 1), "a subagent", 1, id="odd"),
    ],
)
def test_a_manifest_that_is_not_as_expected(tmp_path: Path, text: str, message: str | None, found: int) -> None:
    manifest(tmp_path, text=text)
    connections, problems = eve_app.read(tmp_path)
    assert len(connections) == found
    assert (message is None) == (problems == [])
    if message is not None:
        assert any(message in problem.message for problem in problems)


def test_a_connection_that_is_newer_than_the_manifest_is_told(tmp_path: Path) -> None:
    manifest(tmp_path, connections=[{**LINEAR, "logicalPath": "connections/linear.ts"}])
    folder = tmp_path / "agent/connections"
    folder.mkdir(parents=True)
    for name, text in {"linear.ts": "defineDynamic({", "new.ts": "defineMcpClientConnection({", "util.ts": "x"}.items():
        (folder / name).write_text(text)
    (problem,) = eve_app.read(tmp_path)[1]
    assert problem.message.startswith("agent/connections/new.ts is not among")


def test_an_app_that_was_never_compiled_is_told(tmp_path: Path) -> None:
    assert eve_app.read(tmp_path) == ([], [])
    (tmp_path / "agent").mkdir()
    (tmp_path / "package.json").write_text('{"dependencies": {"eve": "1"}}')
    (problem,) = eve_app.read(tmp_path)[1]
    assert "eve-mocks run -- npx eve info" in problem.fix


MODULES = {
    "fixed": """
        import { defineDynamic, defineMcpClientConnection } from 'eve/connections';
        import { base } from '../lib/base.ts';
        const made = defineMcpClientConnection({ url: `${base}/mcp`, description: 'Fixed.' });
        export default defineDynamic({ events: { 'session.started': () => made } });
        """,
    "twice": """
        import { defineDynamic, defineMcpClientConnection, defineOpenAPIConnection } from 'eve/connections';
        import { base } from '../lib/base.ts';
        const one = defineMcpClientConnection({ url: `${base}/one`, description: 'One.' });
        const two = defineOpenAPIConnection({ baseUrl: `${base}/two`, spec: {}, description: 'Two.' });
        export default defineDynamic({ events: { 'session.started': () => ({ one, two }) } });
        """,
    "later": """
        import { defineDynamic, defineMcpClientConnection } from 'eve/connections';
        export default defineDynamic({
          events: { 'session.started': (_e, c) => defineMcpClientConnection({ url: c.session.id, description: '' }) },
        });
        """,
    "leaves": """
        import { defineDynamic } from 'eve/connections';
        if (process.env.COMPILES !== '1') process.exit(7);
        export default defineDynamic({ events: { 'session.started': () => null } });
        """,
    "throws": """
        import { defineDynamic } from 'eve/connections';
        if (process.env.COMPILES !== '1') throw new Error('no CRM_REGION');
        export default defineDynamic({ events: { 'session.started': () => null } });
        """,
    "calls": """
        import { defineDynamic } from 'eve/connections';
        console.log('hello');
        if (process.env.COMPILES !== '1') await fetch('https://crm.example.com/regions');
        export default defineDynamic({ events: { 'session.started': () => null } });
        """,
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, home: Path, needs: Callable[..., str]) -> Project:
    """A small app of eve, compiled by eve itself."""
    needs("npm:eve", "npm:ai")
    project = Project(tmp_path_factory.mktemp("app"), environment(home))
    shutil.copytree(APP / "agent", project.root / "agent")
    for name in ("package.json", "tsconfig.json"):
        shutil.copy(APP / name, project.root)
    project.file("mocks/model.yaml", "kind: model\nprovider: ai-gateway\nscripts: {gpt-5.5: []}\n")
    project.file("agent/lib/base.ts", "export const base: string = 'https://crm.example.com';\n")
    for name, text in MODULES.items():
        project.file(f"agent/connections/{name}.ts", text)
    (project.root / "node_modules").mkdir()
    for package in NODE_MODULES.iterdir():
        (project.root / "node_modules" / package.name).symlink_to(package)
    node = str(Path(needs("node")).parent)
    project.environment.update(COMPILES="1", PATH=f"{node}:{project.environment['PATH']}")
    compiled = project.eve_mocks("run", "--contain", "off", "--", *EVE, "info", timeout=120)
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    del project.environment["COMPILES"]
    return project


def test_a_real_app(app: Project) -> None:
    """Every connection is listed; what makes no URL is named, and stops no other."""
    done = app.eve_mocks("list", "--json")
    assert done.returncode == 0
    rows = {(row["name"], row["source"], row.get("url")): row for row in json.loads(done.stdout) if row["isConnection"]}
    here = "agent/connections"
    static = {
        ("tasks", f"{here}/tasks.ts", "https://tasks.example.com/mcp"),
        ("tasks", "agent/subagents/researcher/connections/tasks.ts", "https://tasks.example.com/mcp"),
        ("notes", f"{here}/notes.ts", None),
    }
    dynamic = {
        ("fixed", f"{here}/fixed.ts", "https://crm.example.com/mcp"),
        ("twice", f"{here}/twice.ts", "https://crm.example.com/one"),
        ("twice", f"{here}/twice.ts", "https://crm.example.com/two"),
        *((name, f"{here}/{name}.ts", None) for name in ("later", "crm", "leaves", "throws", "calls")),
    }
    assert rows.keys() == static | dynamic
    assert {key for key, row in rows.items() if row["isDynamic"]} == dynamic
    assert {row["status"] for row in rows.values()} == {"blocked"}
    told = [problem["message"] for problem in json.loads(done.stderr)["problems"]]
    assert told == [
        f"the URL that {here}/calls.ts makes is not known: fetch failed: eve-mocks list calls nothing",
        f"the URL that {here}/leaves.ts makes is not known: it ended Node with 7",
        f"the URL that {here}/throws.ts makes is not known: no CRM_REGION",
    ]
    nowhere = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9")
    assert app.eve_mocks("add", "fixed", env=nowhere).stdout == "mocks/fixed.yaml\n"
    assert "https://crm.example.com/mcp" in (app.root / "mocks/fixed.yaml").read_text()
    assert (
        "https://notes.example.com/openapi.json cannot be reached" in app.eve_mocks("add", "notes", env=nowhere).stderr
    )
    unknown = app.eve_mocks("add", "throws").stderr
    assert "no CRM_REGION" in unknown
    assert "agent/connections/throws.ts makes it in each session" in unknown
    (app.root / "mocks/fixed.yaml").unlink()
    app.file("mocks/all.yaml", "kind: http\nurl: https://*.example.com/\n---\nkind: mcp\nurl: https://x.test/mcp\n")
    app.file("mocks/later.yaml", "kind: mcp\nurl: https://*.later.test/mcp\nresults: {a: 1}\n")
    statuses = {
        (row["name"], row.get("url")): row["status"] for row in json.loads(app.eve_mocks("list", "--json").stdout)
    }
    assert statuses["fixed", "https://crm.example.com/mcp"] == "mocked"
    assert statuses["later", None] == "mocked"
    assert statuses["crm", None] == "blocked"


def test_without_node_the_list_goes_on(app: Project) -> None:
    done = app.eve_mocks("list", env={"PATH": "/nowhere"})
    assert done.returncode == 0
    assert "there is no node on the PATH" in done.stderr
    assert "https://tasks.example.com/mcp" in done.stdout


def test_an_app_that_was_copied(app: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", app.environment["PATH"])
    for name in ("agent", ".eve", "node_modules"):
        shutil.copytree(app.root / name, tmp_path / name, symlinks=True)
    (tmp_path / "agent/lib/base.ts").write_text("export const base = 'https://here.example.com';\n")
    found, _ = eve_app.read(tmp_path)
    assert [(each.source, each.url) for each in found if each.name == "fixed"] == [
        ("agent/connections/fixed.ts", "https://here.example.com/mcp")
    ]
