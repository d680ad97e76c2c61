"""The official conformance suite of MCP against a mock that is written for it, through ``eve-mocks run``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from machine import NODE_MODULES

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project

MOCKS = Path(__file__).parent / "conformance" / "mocks"
SUITE = NODE_MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
# Told in docs/mcp.md: the first four need requests from the server to the client, the last a server on localhost.
NOT_HERE = {
    *("tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"),
    "dns-rebinding-protection",
}


def test_all_scenarios_pass_but_those_that_are_documented(project: Project, needs: Callable[..., str]) -> None:
    needs("npm:@modelcontextprotocol/conformance")
    shutil.copytree(MOCKS, project.root / "mocks")
    suite = [needs("node"), str(SUITE), "server", "--url", "https://conformance.example.com/mcp", "--suite", "all"]
    ended = project.eve_mocks("run", "--", *suite, timeout=120)
    results = dict(re.findall(r"^[✓✗] ([\w-]+): \d+ passed, (\d+) failed$", ended.stdout, re.MULTILINE))
    assert len(results) >= 30, ended.stdout
    assert {name for name, failed in results.items() if failed != "0"} == NOT_HERE
    page = (Path(__file__).parent.parent / "docs" / "mcp.md").read_text()
    assert [name for name in NOT_HERE if name not in page] == []
