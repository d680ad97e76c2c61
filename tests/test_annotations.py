"""Annotations of GitHub Actions: what is told, and that nothing in it ends a line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from eve_mocks.annotations import commands

if TYPE_CHECKING:
    from conftest import Project

SUGGESTION = {"name": "logs", "url": "https://logs.example.com/", "kind": "http"}
BLOCKED = {"outcome": "blocked", "target": "logs.example.com", "operations": {"GET /a": 1}, "suggestion": SUGGESTION}


def report(*targets: dict[str, Any], problems: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"targets": list(targets), "problems": problems or []}


def test_a_blocked_call_with_its_fix() -> None:
    (line,) = commands(report(BLOCKED), "mocks").splitlines()
    assert line == (
        "::error title=eve-mocks blocked logs.example.com::GET /a"
        "%0AMock it: eve-mocks add logs --url https://logs.example.com/"
        '%0AOr allow it, in mocks/logs.yaml: {kind: allow, url: "https://logs.example.com/", why: "…"}'
    )


@pytest.mark.parametrize(
    "target",
    [{**BLOCKED, "expected": True}, {**BLOCKED, "outcome": "mocked"}, {**BLOCKED, "outcome": "allowed"}],
    ids=["expected", "mocked", "allowed"],
)
def test_what_fails_nothing(target: dict[str, Any]) -> None:
    assert commands(report(target), "mocks") == ""


def test_problems_with_their_place() -> None:
    broken = {"message": "the mock ai broke: m", "why": "mocks/ai.yaml:4: the script, m, ran dry", "fix": "Add."}
    odd = {"message": "100% of it: a\nb", "why": "c\r\x1b[1md", "fix": "e"}
    error, warning = commands(report(problems=[{**broken, "fails": True}, odd]), "mocks").splitlines()
    title = "eve-mocks%3A the mock ai broke%3A m"
    where = "file=mocks/ai.yaml,line=4"
    assert error == f"::error {where},title={title}::mocks/ai.yaml:4: the script, m, ran dry%0AAdd."
    assert warning.startswith("::warning title=eve-mocks%3A 100%25 of it%3A a%0Ab::c")
    assert "\x1b" not in warning


def test_as_many_as_are_shown() -> None:
    many = [{**BLOCKED, "target": f"host{number}.example.com"} for number in range(30)]
    assert len(commands(report(*many), "mocks").splitlines()) == 10


@pytest.mark.parametrize(("value", "count"), [("true", 1), ("", 0)], ids=["in GitHub Actions", "elsewhere"])
def test_a_run(project: Project, value: str, count: int) -> None:
    code = "import urllib.request; urllib.request.urlopen('https://logs.example.com/v1/tail')"
    ended = project.eve_mocks("run", "--", sys.executable, "-c", code, env={"GITHUB_ACTIONS": value})
    assert ended.stderr.count("\n::error title=eve-mocks blocked logs.example.com::GET /v1/tail%0A") == count
    assert "::error" not in ended.stdout
