"""Calls folded into a report, and a report into an exit code."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from test_calls import call

from eve_mocks import calls, report
from eve_mocks.errors import Problem
from eve_mocks.report import OTHERS, Tally

if TYPE_CHECKING:
    from pathlib import Path


def blocked(host: str, path: str = "/", **changes: Any) -> Any:
    given = {
        "outcome": "blocked",
        "target": host,
        "kind": "block",
        "operation": f"GET {path}",
        "url": f"https://{host}{path}",
        "status": 403,
        "expected": False,
        "reason": "unclaimed",
        "error": "No mock claims it.",
        "suggestion": {"name": host.partition(".")[0], "url": f"https://{host}/", "kind": "http"},
        "pid": 42,
        "program": "curl",
    }
    if changes.get("reason", "unclaimed") != "unclaimed":
        del given["suggestion"]
    return call(**(given | changes))


def tallied(*given: Any) -> dict[str, Any]:
    tally = Tally()
    for one in given:
        tally.add(one)
    return tally.as_json()


def test_counts_targets_and_sessions() -> None:
    found = tallied(
        call(target_url="https://api.pay.test/v1"),
        call(operation="POST /charges", session="other"),
        call(),
        call(target="linear", kind="mcp", operation="get_issue"),
        call(target="gateway", kind="allow", outcome="allowed", url="https://gw.test/v1"),
        blocked("logs.test", "/v1/tail"),
        blocked("logs.test", "/v2", program="node", pid=43),
    )
    assert found["counts"] == {"mocked": 4, "allowed": 1, "blocked": 2, "error": 0}
    assert found["sessions"] == [{"id": "run", "calls": 6}, {"id": "other", "calls": 1}]
    assert [(target["outcome"], target["target"], target["calls"]) for target in found["targets"]] == [
        ("mocked", "pay", 3),
        ("mocked", "linear", 1),
        ("allowed", "gateway", 1),
        ("blocked", "logs.test", 2),
    ]
    assert found["targets"][0] == {
        "outcome": "mocked",
        "target": "pay",
        "kind": "http",
        "url": "https://api.pay.test/v1",
        "calls": 3,
        "operations": {"GET /charges": 2, "POST /charges": 1},
    }
    assert found["targets"][3] == {
        "outcome": "blocked",
        "target": "logs.test",
        "kind": "block",
        "url": "https://logs.test/",
        "expected": False,
        "reason": "unclaimed",
        "errors": [{"why": "No mock claims it."}],
        "suggestion": {"name": "logs", "url": "https://logs.test/", "kind": "http"},
        "pid": 42,
        "program": "curl",
        "calls": 2,
        "operations": {"GET /v1/tail": 1, "GET /v2": 1},
    }
    json.dumps(found)


def test_blocked_origins_are_told_apart() -> None:
    found = tallied(blocked("a.test"), blocked("a.test", url="http://a.test/x"), blocked("a.test", reason="tls"))
    assert [(target["url"], target["reason"]) for target in found["targets"]] == [
        ("https://a.test/", "unclaimed"),
        ("http://a.test/", "unclaimed"),
        ("https://a.test/", "tls"),
    ]
    mcp = {"name": "a-mcp", "url": "https://a.test/mcp", "kind": "mcp"}
    both = tallied(blocked("a.test"), blocked("a.test", "/mcp", suggestion=mcp))["targets"]
    assert [target["suggestion"]["name"] for target in both] == ["a", "a-mcp"]


def test_what_broke_and_what_had_no_answer_are_problems() -> None:
    broke = call(outcome="error", error="mocks/pay.py:7: KeyError")
    near = call(status=404, nearest="GET /charge: the path differs", unanswered="Add a route")
    far = call(status=404, operation="GET /x", unanswered="Add another")
    found = tallied(broke, broke, near, near, far, call())
    assert [(problem["message"], problem["why"], problem["fix"]) for problem in found["problems"][1:]] == [
        (
            "the mock pay has no answer for GET /charges",
            "the nearest is GET /charge: the path differs",
            "Add a route",
        ),
        ("the mock pay has no answer for GET /x", "it has nothing that is near", "Add another"),
    ]
    assert found["problems"][0]["message"] == "the mock pay broke: GET /charges"
    assert found["problems"][0]["why"] == "mocks/pay.py:7: KeyError"
    assert [(target["outcome"], target.get("unanswered")) for target in found["targets"]] == [
        ("mocked", 3),
        ("error", None),
    ]


def test_an_upstream_that_could_not_be_reached_is_a_problem() -> None:
    url = "https://gw.test/v1"
    told = {"outcome": "allowed", "target": "gateway", "kind": "allow", "url": url, "status": 502}
    found = tallied(*[call(**told, reason="upstream", error="Connection refused.", fix="Check it.")] * 2, call(**told))
    assert found["problems"] == [
        {
            "message": "eve-mocks could not reach https://gw.test, which gateway allows",
            "why": "Connection refused.",
            "fix": "Check it.",
        }
    ]
    (target,) = found["targets"]
    assert (target["calls"], target.keys() & {"reason", "error", "fix"}) == (3, set())


def test_different_errors_of_one_target_are_kept_up_to_a_few() -> None:
    given = [blocked("a.test", reason="authority", error=f"Host is {n}.test.", fix="f") for n in (0, 1, 0, *range(20))]
    (target,) = tallied(*given)["targets"]
    assert target["calls"] == 23
    assert target["errors"] == [{"why": f"Host is {n}.test.", "fix": "f"} for n in range(5)]


def test_names_without_end_take_bounded_memory() -> None:
    tally = Tally()

    def add(start: int, stop: int) -> None:
        for n in range(start, stop):
            tally.add(blocked(f"host-{n}.test", session=f"session-{n}"))
            tally.add(call(operation=f"GET /charges/{n}", unanswered=f"Add {n}"))

    add(0, 12_000)
    tracemalloc.start()
    add(12_000, 20_000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 50_000
    found = tally.as_json()
    assert found["counts"] == {"mocked": 20_000, "allowed": 0, "blocked": 20_000, "error": 0}
    assert sum(target["calls"] for target in found["targets"]) == 40_000
    assert sum(session["calls"] for session in found["sessions"]) == 40_000
    (pay,) = (target for target in found["targets"] if target["target"] == "pay")
    assert pay["operations"][OTHERS] > 19_000
    (others,) = (target for target in found["targets"] if target["target"] == OTHERS)
    assert not others["expected"]
    assert len(found["problems"]) == 20


def test_a_log_folds_into_what_was_counted(tmp_path: Path) -> None:
    tally = Tally()
    log = calls.CallLog(tmp_path / "calls.jsonl", tally)
    for one in (
        call(),
        blocked("a.test"),
        call(outcome="error", error="broke"),
        call(nearest="near", unanswered="Add"),
    ):
        log(one)
    log.close()
    assert Tally.from_log(tmp_path / "calls.jsonl").as_json() == tally.as_json()
    with (tmp_path / "calls.jsonl").open("a") as file:
        file.write('{"at": "no call"}\n[]\n')
    assert "a line of the log is not a call" in str(Tally.from_log(tmp_path / "calls.jsonl").as_json()["problems"])


def ended(*given: Any, child: int = 0, on_block: Any = "unexpected", problems: Any = ()) -> dict[str, Any]:
    begun = report.begin(command=["x"], started_at="now", not_contained="y", mocks=["pay", "idle"], log="calls.jsonl")
    whole = report.with_calls(begun, tallied(*given), problems)
    return report.end(whole, child_exit=child, duration_ms=12.6, fail_on_block=on_block)


KNOWN = {"expected": True, "reason": "block"}


@pytest.mark.parametrize(
    ("given", "on_block", "child", "code"),
    [
        ([], "unexpected", 0, 0),
        ([call()], "all", 0, 0),
        ([blocked("a.test")], "unexpected", 0, 1),
        ([blocked("a.test", **KNOWN)], "unexpected", 0, 0),
        ([blocked("a.test", **KNOWN), blocked("b.test")], "unexpected", 0, 1),
        ([blocked("a.test", **KNOWN)], "all", 0, 1),
        ([blocked("a.test")], "none", 0, 0),
        ([call(outcome="error")], "none", 0, 1),
        ([blocked("a.test")], "all", 7, 7),
        ([], "all", 143, 143),
    ],
)
def test_exit_code(given: list[Any], on_block: str, child: int, code: int) -> None:
    found = ended(*given, on_block=on_block, child=child)
    assert (found["exitCode"], found["childExitCode"]) == (code, child)


def test_problems_and_failures() -> None:
    warning = Problem(message="m", why="w", fix="f")
    found = ended(problems=[warning])
    assert (found["exitCode"], found["problems"]) == (0, [{"message": "m", "why": "w", "fix": "f"}])
    found = ended(problems=[Problem(message="m", why="w", fix="f", fails=True)])
    assert (found["exitCode"], found["problems"][0]["fails"]) == (1, True)


def test_unused_mocks_and_the_shape_of_a_report() -> None:
    found = ended(call())
    assert found["unused"] == {"stubs": [], "scripts": [], "mocks": ["idle"]}
    assert found["durationMs"] == 13
    assert set(found) == {
        *("version", "command", "startedAt", "durationMs", "exitCode", "childExitCode", "contained", "notContained"),
        *("counts", "targets", "sessions", "unused", "problems", "log"),
    }
    assert ended(call(outcome="error"))["unused"]["mocks"] == ["idle"]
    assert ended(blocked("pay"))["unused"]["mocks"] == ["pay", "idle"]


def test_scripts_and_what_they_cost() -> None:
    usage = {"inputTokens": 2, "outputTokens": 3}
    calls = [call(stub="ai:m", position=0, usage=usage), call(stub="ai:m", position=2, usage=usage), call()]
    tally = Tally()
    for one in calls:
        tally.add(one)
    begun = report.begin(
        command=["a"], started_at="", not_contained=None, mocks=[], scripts=[f"ai:m[{n}]" for n in range(4)], log=None
    )
    found = report.with_calls(begun, tally.as_json())
    assert found["unused"]["scripts"] == ["ai:m[1]", "ai:m[3]"]
    assert [session["usage"] for session in found["sessions"]] == [{"inputTokens": 4, "outputTokens": 6}]
    asked = [
        report.end(found, child_exit=0, duration_ms=1, fail_on_block="all", fail_on_unused=flag)
        for flag in (False, True)
    ]
    assert [one["exitCode"] for one in asked] == [0, 1]
    assert asked[1]["problems"][-1]["why"].startswith("no request came to ai:m[1], ai:m[3]")


def test_what_a_mock_doubts_is_a_problem_that_fails_nothing() -> None:
    found = ended(call(doubt="the script calls the tool serch"))
    assert found["exitCode"] == 0
    assert found["problems"][0]["why"] == "the script calls the tool serch"
