"""``list``, ``add`` and ``check`` as a person runs them: results on stdout, the rest on stderr, and the exit code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project

PAY = """
    kind: http
    url: https://api.pay.test/v1
    routes: {/charges: {GET: {response: {ok: true}}}}
    """
PASSAGES = """
    kind: allow
    url: https://gateway.test/
    why: evals need a model
    ---
    kind: block
    url: https://logs.test/
    why: noise
    """
CONNECTIONS = '{"mcpServers": {"pay": {"url": "https://api.pay.test/v1/mcp"}, "files": {"command": "npx"}}}'


@pytest.fixture
def full(project: Project) -> Project:
    project.file("mocks/pay.yaml", PAY)
    project.file("mocks/passages.yaml", PASSAGES)
    project.file(".mcp.json", CONNECTIONS)
    return project


def test_list_as_json(full: Project) -> None:
    done = full.eve_mocks("list", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    assert [(row["name"], row["status"], row["isConnection"], row["source"]) for row in rows] == [
        ("pay", "mocked", True, ".mcp.json"),
        ("files", "local", True, ".mcp.json"),
        ("pay", "mocked", False, "mocks/pay.yaml"),
        ("passages.1", "allowed", False, "mocks/passages.yaml"),
        ("passages.2", "blocked", False, "mocks/passages.yaml"),
    ]
    for row in rows:
        assert set(row) - {"url", "kind"} == {"name", "status", "isConnection", "isDynamic", "source"}


def test_list_as_a_table(full: Project) -> None:
    lines = full.eve_mocks("list").stdout.splitlines()
    assert lines[1] == "local     files        mcp                                   .mcp.json"
    assert lines[3] == "allowed   passages.1   allow   https://gateway.test/         mocks/passages.yaml"


def test_list_of_nothing_says_how_to_begin(project: Project) -> None:
    done = project.eve_mocks("list")
    assert (done.returncode, done.stdout) == (0, "")
    assert "problem: mocks does not exist" in done.stderr
    assert "eve-mocks add NAME --url" in done.stderr
    assert project.eve_mocks("list", "--json").stdout == "[]\n"


def test_check_counts(full: Project) -> None:
    assert full.eve_mocks("check").stdout == "1 mock, 1 operation, 1 allow, 1 block, 2 connections\n"
    counts = {"mocks": 1, "operations": 1, "allows": 1, "blocks": 1, "connections": 2}
    assert json.loads(full.eve_mocks("check", "--json").stdout) == counts


@pytest.mark.parametrize("command", ["check", "list"])
def test_every_mistake_is_told_at_once(full: Project, command: str) -> None:
    full.file("mocks/one.yaml", "kind: htpp\nurl: https://one.test/\n")
    full.file("mocks/two.py", "from eve_mocks import http_mock\nmock = http_mock('two.test')\n")
    full.file(".mcp.json", '{"mcpServers":\n{"x": {}}}')
    done = full.eve_mocks(command)
    assert (done.returncode, done.stdout) == (2, "")
    told = [line for line in done.stderr.splitlines() if line.startswith("eve-mocks: ")]
    assert [line.split(": ")[1] for line in told] == ["mocks/one.yaml:1", "mocks/two.py:2", ".mcp.json:2"]
    assert "Did you mean http?" in done.stderr

    done = full.eve_mocks(command, "--json")
    errors = json.loads(done.stderr)["errors"]
    assert [(error["file"], error["line"]) for error in errors] == [
        ("mocks/one.yaml", 1),
        ("mocks/two.py", 2),
        (".mcp.json", 2),
    ]


@pytest.mark.parametrize("command", ["check", "list"])
def test_what_does_nothing_is_told_beside_the_result(full: Project, command: str) -> None:
    result = full.eve_mocks(command).stdout
    full.file("mocks/d.yamll", "")
    done = full.eve_mocks(command)
    assert (done.returncode, done.stdout) == (0, result)
    what, why, fix = done.stderr.splitlines()
    assert what == "eve-mocks: problem: mocks/d.yamll is not read"
    assert why.startswith("  why: ")
    assert fix.startswith("  fix: Rename it")
    (told,) = json.loads(full.eve_mocks(command, "--json").stderr)["problems"]
    assert set(told) == {"message", "why", "fix"}


def test_check_in_a_folder_below_names_the_mocks_above(full: Project) -> None:
    (full.root / "below").mkdir()
    done = full.eve_mocks("check", prefix=["env", "-C", "below"])
    assert done.stdout.startswith("0 mocks,")
    assert "eve-mocks --dir ../mocks" in done.stderr


def test_add_from_what_the_last_run_blocked(project: Project, needs: Callable[..., str]) -> None:
    curl = needs("curl")
    url = "https://logs.example.com/v1/tail"
    assert project.eve_mocks("run", "--", curl, "-sS", url).returncode == 1
    added = project.eve_mocks("add", "logs")
    assert (added.returncode, added.stdout) == (0, "mocks/logs.yaml\n")
    done = project.eve_mocks("run", "--", curl, "-sS", url)
    assert (done.returncode, done.stdout) == (0, '{"ok": true}')


def test_what_is_suggested_is_the_same_everywhere_and_can_be_typed(project: Project, needs: Callable[..., str]) -> None:
    project.file("mocks/openai.yaml", "kind: http\nurl: https://api.openai.com/v1\n")
    curl = needs("curl")
    initialize = '{"jsonrpc": "2.0", "id": 1, "method": "initialize"}'
    urls = "https://api.openai.com/v2/x", "http://api.openai.com/v1/x", "https://rpc.tracker.test/v1"
    command = [curl, "-sS", "-d", initialize, *urls[2:], "--next", "-sSw", "\\n", *urls[:2]]
    done = project.eve_mocks("run", "--", *command)
    commands = [
        "eve-mocks add api-openai-com --url https://api.openai.com/",
        "eve-mocks add openai-http --url http://api.openai.com/",
        "eve-mocks add rpc --url https://rpc.tracker.test/v1 --kind mcp",
    ]
    for one in commands:
        assert f"Mock it: {one}\\n" in done.stdout
        assert f"    mock it    {one}\n" in done.stderr
    nowhere = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9")
    assert project.eve_mocks("add", "rpc.tracker.test", env=nowhere).stdout == "mocks/rpc.yaml\n"
    for one in commands[:2]:
        assert project.eve_mocks(*one.split()[1:]).returncode == 0
    done = project.eve_mocks("run", "--", *command)
    assert (done.returncode, done.stderr.splitlines()[0].split("   ")[0]) == (0, "eve-mocks  3 calls")
    mocked = {target["target"]: target["url"] for target in project.report()["targets"]}
    assert mocked == {"api-openai-com": "https://api.openai.com/", "openai-http": "http://api.openai.com/"} | {
        "rpc": "https://rpc.tracker.test/v1"
    }


def test_add_never_overwrites(project: Project) -> None:
    file = project.file("mocks/pay.json", "{}")
    done = project.eve_mocks("add", "pay", "--url", "https://api.pay.test/")
    assert (done.returncode, done.stdout) == (2, "")
    assert "mocks/pay.json exists" in done.stderr
    assert file.read_text() == "{}"


def test_add_into_another_folder(project: Project) -> None:
    done = project.eve_mocks("--dir", "fakes", "add", "pay", "--url", "https://api.pay.test/", "--python")
    assert done.stdout == "fakes/pay.py\n"
    assert "http_mock" in (project.root / "fakes" / "pay.py").read_text()
