"""The summary, as a person reads it."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from test_calls import call
from test_report import KNOWN, blocked, ended

from eve_mocks import render
from eve_mocks.errors import Problem


def summary(*given: Any, colour: bool = False, **more: Any) -> str:
    return render.summary(ended(*given, **more), shown=".eve-mocks/report.json", colour=colour)


def test_the_whole() -> None:
    linear = [call(target="linear", kind="mcp", operation=name) for name in ["get_issue"] * 6 + ["list_teams"] * 4]
    gateway = [call(outcome="allowed", target="ai-gateway", kind="allow", url="https://gw.test/")] * 14
    assert summary(*linear, *[call()] * 6, *gateway, blocked("logs.example.com", "/v1/tail")) == (
        "eve-mocks  31 calls, 1 blocked: exit 1, the command's was 0   not contained: y\n"
        "  mocked   16   linear 10 (get_issue 6, list_teams 4), pay 6\n"
        "  allowed  14   ai-gateway 14\n"
        "  blocked   1   logs.example.com  GET /v1/tail   by curl (pid 42)\n"
        "    mock it    eve-mocks add logs --url https://logs.example.com/\n"
        '    allow it   mocks/logs.yaml: {kind: allow, url: "https://logs.example.com/", why: "…"}\n'
        "  unused   idle\n"
        "  report   .eve-mocks/report.json"
    )


def test_nothing_was_asked() -> None:
    assert re.fullmatch(r"eve-mocks  0 calls {34,} not contained: y", summary())


def test_what_was_expected_comes_last_and_needs_no_advice() -> None:
    lines = summary(blocked("known.test", **KNOWN), blocked("known.test", **KNOWN), blocked("new.test")).splitlines()
    rows = [line for line in lines if line.startswith("  blocked")]
    assert rows[0].startswith("  blocked   1   new.test  GET /   by curl")
    assert rows[1].startswith("  blocked   2   known.test  GET / 2   by curl (pid 42)   (expected)")
    assert sum("mock it" in line for line in lines) == 1


def test_another_reason_is_told_in_place_of_what_to_paste() -> None:
    text = summary(blocked("a.test", reason="tls", error="It does not trust it.\nReally.", fix="Set X."))
    assert "    why        It does not trust it.\n               Really.\n    fix        Set X.\n" in text
    assert "mock it" not in text


def test_many_are_cut() -> None:
    text = summary(*(blocked(f"h{n}.test") for n in range(14)))
    assert text.count("  blocked ") == 10
    assert "    and 4 more in the report\n" in text
    tools = summary(*(call(target="x", kind="mcp", operation=f"tool_{n}") for n in range(9)))
    assert "(tool_0 1, tool_1 1, tool_2 1, tool_3 1, tool_4 1, 4 more)" in tools


def test_what_broke_and_problems() -> None:
    broke = call(outcome="error", error="mocks/pay.py:7: KeyError")
    text = summary(broke, problems=[Problem(message="m", why="one\ntwo", fix="f", fails=True)])
    assert "1 call, 1 broken: exit 1" in text
    assert "  error     1   pay  GET /charges\n" in text
    assert "  problem  m\n    why        one\n               two\n    fix        f\n" in text
    assert "    why        mocks/pay.py:7: KeyError\n" in text


def test_a_terminal_is_not_obeyed() -> None:
    text = summary(
        blocked("a\x1b[2Jb", program="evil\x1b]0;title\x07", operation="GET /\r\n\x9b"),
        problems=[Problem(message="\x1b[31m", why="\x1b[31m", fix="\x1b[31m")],
    )
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)


@pytest.mark.parametrize(
    ("no_color", "terminal", "expected"), [("", True, True), ("1", True, False), ("", False, False)]
)
def test_colours(monkeypatch: pytest.MonkeyPatch, no_color: str, terminal: bool, expected: bool) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    assert render.colours(stream) is expected
    assert not render.colours(None)


def test_a_coloured_summary_says_the_same() -> None:
    given = [call(), blocked("a.test")]
    coloured = summary(*given, colour=True)
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == summary(*given)
