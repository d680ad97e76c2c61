"""The MCP SDKs' clients, as they are installed, against a mock under ``eve-mocks run``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project

CLIENTS = Path(__file__).parent / "clients"
URL = "https://mcp.tracker.test/mcp"
TRACKER = f"""
    from eve_mocks import ToolError, mcp_mock

    tracker = mcp_mock("{URL}", state={{"issues": [], "count": 0}}, results={{"list_teams": [{{"id": "team_1"}}]}})

    @tracker.tool
    def create_issue(args, state):
        if not args.get("title"):
            raise ToolError("title is required")
        issue = {{"id": f"ENG-{{len(state['issues']) + 1}}", **args}}
        state["issues"].append(issue)
        return issue

    @tracker.tool
    def list_issues(state):
        return state["issues"]

    @tracker.tool
    async def count(state):
        state["count"] += 1
        return state["count"]
"""


@pytest.mark.parametrize(
    ("command", "protocol", "negotiation"),
    [
        pytest.param([sys.executable, "mcp_client.py", URL, "auto"], "2026-07-28", "server/discover", id="Python"),
        pytest.param([sys.executable, "mcp_client.py", URL, "legacy"], "2025-11-25", "initialize", id="Python legacy"),
        pytest.param(["node", "mcp_client.mjs", URL, "v1"], "2025-11-25", "initialize", id="TypeScript v1"),
        pytest.param(["node", "mcp_client.mjs", URL, "legacy"], "2025-11-25", "initialize", id="TypeScript legacy"),
        pytest.param(["node", "mcp_client.mjs", URL, "auto"], "2026-07-28", "server/discover", id="TypeScript"),
    ],
)
def test_a_client_lists_and_calls_tools_with_state_by_session(
    project: Project, needs: Callable[..., str], command: list[str], protocol: str, negotiation: str
):
    program, script, *arguments = command
    if program == "node":
        program = needs("node", "npm:@modelcontextprotocol/client", "npm:@modelcontextprotocol/sdk")
    project.file("mocks/tracker.py", TRACKER)
    done = project.eve_mocks("run", "--", program, str(CLIENTS / script), *arguments)
    assert done.returncode == 0, done.stderr
    for session, seen in zip("ab", json.loads(done.stdout), strict=True):
        assert seen == {
            "protocol": protocol,
            "tools": ["list_teams", "create_issue", "list_issues", "count"],
            "issues": [{"id": "ENG-1", "title": f"of {session}"}],
            "counts": list(range(1, 51)),
            "refused": [True, "title is required"],
        }
    report = project.report()
    assert report["counts"] == {"mocked": report["counts"]["mocked"], "allowed": 0, "blocked": 0, "error": 0}
    (target,) = report["targets"]
    assert (target["outcome"], target["target"], target["kind"]) == ("mocked", "tracker", "mcp")
    operations = target["operations"]
    assert (operations["count"], operations["create_issue"], operations["list_issues"]) == (100, 4, 2)
    assert operations[negotiation] == 2
    assert {"a", "b"} <= {session["id"] for session in report["sessions"]}


def test_a_broken_handler_fails_the_run_though_the_client_goes_on(project: Project):
    project.file("mocks/tracker.py", TRACKER.replace('raise ToolError("title is required")', "raise KeyError"))
    done = project.eve_mocks("run", "--", sys.executable, str(CLIENTS / "mcp_client.py"), URL, "auto")
    assert done.returncode == 1, done.stderr
    assert "mocks/tracker.py:8: the handler create_issue raised KeyError" in json.loads(done.stdout)[0]["refused"][1]
    assert "mocks/tracker.py:8" in done.stderr
    report = project.report()
    assert (report["counts"]["error"], report["childExitCode"], report["exitCode"]) == (2, 0, 1)


def test_a_client_that_hangs_up_fails_nothing_and_the_next_call_is_answered(
    project: Project, needs: Callable[..., str]
):
    project.file(
        "mocks/tracker.py",
        TRACKER
        + """
    @tracker.tool
    async def hang():
        import asyncio

        await asyncio.Event().wait()
    """,
    )
    project.file(
        "calls.sh",
        f"""
        call() {{
          curl -sS -H 'content-type: application/json' -H 'accept: application/json' {URL} "$@"
        }}
        call -m 1 -d '{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": "hang"}}}}'
        call -d '{{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {{"name": "count"}}}}'
        """,
    )
    needs("curl")
    done = project.eve_mocks("run", "--", "sh", "calls.sh")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["content"] == [{"type": "text", "text": "1"}]
    assert [(call["outcome"], call.get("cancelled")) for call in project.calls()] == [
        ("mocked", True),
        ("mocked", None),
    ]
