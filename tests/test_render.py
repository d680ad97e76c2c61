"""The summary, as a person reads it."""

from __future__ import annotations

import io
import os
import pty
import re
import shlex
import termios
from typing import Any

import pytest
from test_calls import call
from test_report import KNOWN, blocked, ended

from eve_mocks import advice, render
from eve_mocks.errors import Problem


def summary(*given: Any, colour: bool = False, width: int | None = None, **more: Any) -> str:
    return render.summary(ended(*given, **more), shown=".eve-mocks/report.json", colour=colour, width=width)


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


def test_what_was_expected_is_one_line_at_the_end() -> None:
    known = [blocked("known.test", path, **KNOWN) for path in ("/a", "/b")]
    lines = summary(*known, blocked("other.test", **KNOWN), blocked("new.test")).splitlines()
    rows = [line for line in lines if line.startswith("  blocked")]
    assert rows[0].startswith("  blocked   1   new.test  GET /   by curl")
    assert rows[1:] == ["  blocked   3   as expected: known.test 2, other.test 1"]
    assert sum("mock it" in line for line in lines) == 1


def test_what_mcp_needs_beside_tools_is_one_number() -> None:
    messages = ["initialize", "notifications/initialized", "tools/list", "server/discover", "ping"]
    tools = ["a", "b", "b", "c", "d", "e"]
    text = summary(*(call(target="linear", kind="mcp", operation=name) for name in messages * 3 + tools))
    assert "linear 21 (b 2, a 1, c 1, d 1, e 1, protocol 15)\n" in text
    assert "linear 3 (protocol 3)\n" in summary(*[call(target="linear", kind="mcp", operation="tools/list")] * 3)


@pytest.mark.parametrize("width", [50, 60, 80, 100])
def test_a_terminal_is_not_overrun(width: int) -> None:
    mcp = {"name": "tracker", "url": "https://mcp.tracker.test/v1/mcp", "kind": "mcp"}
    given = [
        *(call(target=f"mock-{n}") for n in range(30)),
        blocked("a.test", "/" + "long/" * 40),
        blocked("mcp.tracker.test", "/v1/mcp", suggestion=mcp),
        blocked(
            "b.test", reason="tls", error="It does not trust the certificate of the run. " * 3, fix="Trust it. " * 9
        ),
    ]
    wide = summary(*given)
    lines = summary(*given, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert all(line.startswith(("eve-mocks ", "  ")) for line in lines)
    pasted = re.search(r"mock it    (eve-mocks add tracker(?:.*\\\n)*.*)", "\n".join(lines))
    assert pasted is not None
    assert shlex.split(pasted[1].replace("\\\n", "")) == shlex.split(advice.Suggestion(**mcp).command)
    told = "".join(lines).replace("\\", "")
    assert re.sub(r"\s", "", told) == re.sub(r"\s", "", wide)


def test_how_wide_a_terminal_is() -> None:
    assert render.width(None) is None
    assert render.width(io.StringIO()) is None
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 72))
    with os.fdopen(theirs, "w") as terminal:
        assert render.width(terminal) == 72
    os.close(ours)


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


@pytest.mark.parametrize("width", [None, 50, 100])
def test_a_coloured_summary_says_the_same(width: int | None) -> None:
    given = [call(), blocked("a.test")]
    coloured = summary(*given, colour=True, width=width)
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == summary(*given, width=width)
