"""``init`` and ``info``, and the page about all commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import EVE_MOCKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project

ROOT = Path(__file__).parent.parent


def test_the_page_about_commands_is_up_to_date() -> None:
    """scripts/cli-docs writes it."""
    done = subprocess.run([sys.executable, ROOT / "scripts/cli-docs", "--check"], check=False, timeout=60)
    assert done.returncode == 0


def test_init_begins_a_project_that_runs(project: Project, needs: Callable[..., str]) -> None:
    done = project.eve_mocks("init")
    assert (done.returncode, done.stdout) == (0, "mocks/example.yaml\n")
    assert done.stderr == "Run your command with it:\n  eve-mocks run -- COMMAND\n"
    assert project.eve_mocks("check").stderr == ""
    run = project.eve_mocks("run", "--", needs("curl"), "-sSf", "https://api.example.com/hello/ada")
    assert (run.returncode, json.loads(run.stdout)) == (0, {"hello": "world"})


@pytest.mark.parametrize(
    ("scripts", "line"),
    [
        pytest.param({"test": "vitest run"}, '"test:mocked": "eve-mocks run -- vitest run"', id="test"),
        pytest.param(
            {"test": "x", "eval": "eve eval --json"},
            '"eval:mocked": "eve-mocks run -- eve eval --json"',
            id="eval-first",
        ),
        pytest.param({"test": "eve-mocks run -- x"}, "eve-mocks run -- COMMAND", id="has-it-already"),
        pytest.param({"test": 1}, "eve-mocks run -- COMMAND", id="odd"),
        pytest.param("x", "eve-mocks run -- COMMAND", id="odd-scripts"),
    ],
)
def test_init_shows_the_line_of_the_projects_own_script(project: Project, scripts: object, line: str) -> None:
    project.file("package.json", json.dumps({"scripts": scripts}))
    assert project.eve_mocks("init").stderr.splitlines()[-1] == f"  {line}"
    other = project.eve_mocks("--dir", "my mocks", "init")
    assert other.stdout == "my mocks/example.yaml\n"
    assert "--dir 'my mocks' run --" in other.stderr


def test_init_in_a_project_of_eve_writes_what_its_evals_import(project: Project) -> None:
    project.file("package.json", '{"dependencies": {"eve": "1"}}')
    done = project.eve_mocks("init")
    assert done.stdout == "mocks/example.yaml\nnode_modules/eve-mocks\n"
    assert '"eval:mocked": "eve-mocks run -- eve eval"' in done.stderr
    assert json.loads((project.root / "node_modules/eve-mocks/package.json").read_text())["name"] == "eve-mocks"


def test_init_overwrites_nothing(project: Project) -> None:
    project.file("mocks/pay.yaml", "kind: http\nurl: https://pay.test/\n")
    theirs = project.file("node_modules/eve-mocks/package.json", '{"name": "eve-mocks"}')
    project.file("node_modules/eve/package.json", "{}")
    done = project.eve_mocks("init")
    assert (done.returncode, done.stdout) == (0, "")
    assert "holds mocks already" in done.stderr
    assert "node_modules/eve-mocks is another package" in done.stderr
    assert theirs.read_text() == '{"name": "eve-mocks"}'
    assert [path.name for path in (project.root / "mocks").iterdir()] == ["pay.yaml"]


def test_init_where_no_folder_can_be(project: Project) -> None:
    project.file("mocks", "a file")
    done = project.eve_mocks("init")
    assert (done.returncode, "cannot be made: File exists" in done.stderr) == (2, True)


def test_info(project: Project, needs: Callable[..., str]) -> None:
    """What is wrong is told, and stops nothing."""
    project.file("mocks/pay.yaml", "kind: http\nurl: https://pay.test/\nroutes: {/a: {GET: {response: 1}}}\n")
    project.file("mocks/bad.yaml", "kind: htpp\nurl: https://bad.test/\n")
    project.file("mocks/notes.txt", "")
    project.file(".mcp.json", '{"mcpServers": {"x": {"url": "https://x.test/mcp"}, "y": {}}}')
    project.file(".eve/compile/compiled-agent-manifest.json", '{"kind":')
    project.file("node_modules/eve/package.json", '{"version": "0.80.1"}')
    path = f"{Path(needs('node')).parent}{os.pathsep}{project.environment['PATH']}"
    done = project.eve_mocks("info", "--json", env={"PATH": path})
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["counts"] == {
        "mocks": 1, "operations": 1, "allows": 0, "blocks": 0, "connections": 1, "blockedConnections": 1,
    }  # fmt: skip
    assert {"eve-mocks", "Python", "mitmproxy", "mcp", "Node", "eve"} <= found["versions"].keys()
    assert found["versions"]["Python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["versions"]["Node"].startswith("24.")
    assert found["paths"]["mocks"] == str(project.root / "mocks")
    assert found["ignored"] == ["notes.txt"]
    messages = [problem["message"] for problem in found["problems"]]
    assert [
        next(word for word in ("bad.yaml:1", ".mcp.json", "manifest") if word in each) for each in messages[:3]
    ] == [
        "bad.yaml:1",
        ".mcp.json",
        "manifest",
    ]
    assert all(problem["fix"] for problem in found["problems"])

    text = project.eve_mocks("info")
    assert text.returncode == 0
    assert "versions   eve-mocks" in text.stdout
    assert "not read   notes.txt" in text.stdout
    assert "eve-mocks: problem: mocks/bad.yaml:1: unknown kind" in text.stderr


def test_info_inside_a_run_is_not_contained(project: Project) -> None:
    done = project.eve_mocks("run", "--contain", "off", "--", EVE_MOCKS, "info", "--json")
    found = json.loads(done.stdout)
    assert (found["contained"], found["notContained"]) == (False, "inside another run")


def test_info_of_nothing(project: Project) -> None:
    done = project.eve_mocks("info")
    assert done.returncode == 0
    assert "mocks does not exist" in done.stderr
