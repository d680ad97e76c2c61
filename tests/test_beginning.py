"""Runs that are given stubs and state on the command line."""

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
    routes:
      /charges:
        GET: {response: {from: route}}
    stubs:
      - {id: own, tool: GET /charges, match: {page: {const: "2"}}, outcome: {response: {from: mock}}}
"""
NOTES = """
    from eve_mocks import http_mock

    notes = http_mock("https://notes.test/", state={"notes": []})

    @notes.get("/notes")
    def listed(state):
        return state["notes"]

    @notes.post("/notes")
    def add(request, state):
        state["notes"].append(request.json())
        return state["notes"]
"""
RULES = """
    - id: steps
      tool: pay__GET /charges
      outcomes:
        - response: {n: 1}
        - response: {n: 2}
    - {id: never, tool: GET /charges, outcome: {response: 3}}
"""
CHARGES = "https://api.pay.test/v1/charges"


@pytest.fixture
def stubbed(project: Project, needs: Callable[..., str]) -> Project:
    needs("curl")
    project.file("mocks/pay.yaml", PAY)
    project.file("mocks/notes.py", NOTES)
    project.file("evals/rules.yaml", RULES)
    project.file("evals/notes.json", '{"notes": ["milk"]}')
    return project


def curl(*urls: str, options: tuple[str, ...] = ()) -> list[str]:
    return ["curl", "-sSw", "\\n", *options, *urls]


def test_stubs_of_a_file_come_before_those_of_the_mock(stubbed: Project) -> None:
    run = stubbed.eve_mocks("run", "--stubs", "evals/rules.yaml", "--", *curl(*[f"{CHARGES}?page=2"] * 3))
    assert [json.loads(line) for line in run.stdout.splitlines()] == [{"n": 1}, {"n": 2}, {"n": 2}]
    assert run.returncode == 0
    assert stubbed.report()["unused"]["stubs"] == ["evals/rules.yaml:never", "pay:own"]
    assert "  unused   stubs evals/rules.yaml:never, pay:own\n" in run.stderr
    assert [(call["stub"], call["position"]) for call in stubbed.calls()] == [
        ("evals/rules.yaml:steps", 0),
        ("evals/rules.yaml:steps", 1),
        ("evals/rules.yaml:steps", 1),
    ]


def test_a_file_that_is_named_twice_counts_once(stubbed: Project) -> None:
    options = ("--stubs", "evals/rules.yaml", "--stubs", str(stubbed.root / "evals" / "rules.yaml"))
    stubbed.eve_mocks("run", *options, "--", "true")
    assert stubbed.report()["unused"]["stubs"].count("evals/rules.yaml:never") == 1
    assert len(stubbed.report()["unused"]["stubs"]) == len(set(stubbed.report()["unused"]["stubs"]))


def test_files_of_stubs_come_in_their_order(stubbed: Project) -> None:
    stubbed.file(
        "first.json", '[{"id": "a", "tool": "GET /charges", "match": {"page": {}}, "outcome": {"response": 9}}]'
    )
    options = ("--stubs", "first.json", "--stubs", "evals/rules.yaml")
    run = stubbed.eve_mocks("run", *options, "--", *curl(f"{CHARGES}?page=2", CHARGES))
    assert [json.loads(line) for line in run.stdout.splitlines()] == [9, {"n": 1}]


@pytest.mark.parametrize(
    ("options", "url", "code"),
    [
        pytest.param([], CHARGES, 0, id="a stub is unused, as a warning"),
        pytest.param(["--fail-on-unused"], CHARGES, 1, id="a stub is unused, and that fails"),
        pytest.param(["--fail-on-unused"], f"{CHARGES}?page=2", 0, id="every stub is used"),
    ],
)
def test_fail_on_unused(stubbed: Project, options: list[str], url: str, code: int) -> None:
    run = stubbed.eve_mocks("run", *options, "--", *curl(url))
    assert run.returncode == code, run.stderr
    told = "problem  1 stub was never used\n    why        no call matched pay:own" in run.stderr
    assert told == (code == 1)


def test_a_stub_that_only_a_killed_run_used_is_not_unused(stubbed: Project) -> None:
    stubbed.eve_mocks("run", "--", *curl(f"{CHARGES}?page=2"))
    folder = (stubbed.root / stubbed.report()["log"]).parent
    begun = json.loads((folder / "report.json").read_text()) | {
        "exitCode": None,
        "unused": {"stubs": ["pay:own"], "mocks": []},
    }
    (folder / "report.json").write_text(json.dumps(begun))
    folded = stubbed.eve_mocks("report", folder.name, "--json")
    assert json.loads(folded.stdout)["unused"]["stubs"] == []


def test_a_mock_starts_from_a_seed(stubbed: Project) -> None:
    post = ("-H", "content-type: application/json", "-d", '"dog"')
    run = stubbed.eve_mocks(
        "run", "--seed", "notes=evals/notes.json", "--", *curl("https://notes.test/notes", options=post)
    )
    assert json.loads(run.stdout) == ["milk", "dog"]


def test_each_session_has_its_own_copy_of_a_seed(stubbed: Project) -> None:
    ask = "curl -sSd '\"dog\"' -H 'x-eve-mocks-session: {0}' https://notes.test/notes; echo"
    command = "; ".join(ask.format(session) for session in ("a", "a", "b"))
    run = stubbed.eve_mocks("run", "--seed", "notes=evals/notes.json", "--", "sh", "-c", command)
    assert [json.loads(line) for line in run.stdout.splitlines()] == [
        ["milk", "dog"],
        ["milk", "dog", "dog"],
        ["milk", "dog"],
    ]


@pytest.mark.parametrize(
    ("options", "message", "fix"),
    [
        pytest.param(
            ["--stubs", "none.yaml"], "none.yaml cannot be read", "Write it, or name another file", id="no file"
        ),
        pytest.param(
            ["--stubs", "evals/note.json"], "note.json cannot be read", "Did you mean evals/notes.json?", id="a typo"
        ),
        pytest.param(["--stubs", "bad.yaml"], 'bad.yaml:3: stub "b": $[1]', "Did you mean GET /charges", id="a rule"),
        pytest.param(["--stubs", "mocks/pay.yaml"], "pay.yaml:1: $ is not a list of stubs", "[{id", id="not a list"),
        pytest.param(["--seed", "notes"], "--seed notes is not NAME=FILE", "--seed linear=", id="no file named"),
        pytest.param(["--seed", "note=x"], "there is no mock 'note'", "Did you mean notes?", id="no such mock"),
        pytest.param(["--seed", "pay=x"], "the mock pay has no state", "notes", id="no state"),
        pytest.param(["--seed", "notes=bad.json"], "bad.json:1: ", "", id="a broken seed"),
        pytest.param(["--seed", "notes=empty.json"], "empty.json is empty", "issues", id="an empty seed"),
        pytest.param(
            ["--seed", "notes=evals/notes.json", "--seed", "notes=evals/notes.json"],
            "--seed is given twice",
            "Keep one",
            id="two seeds",
        ),
    ],
)
def test_wrong_files_start_nothing(stubbed: Project, options: list[str], message: str, fix: str) -> None:
    stubbed.file(
        "bad.yaml",
        "- {id: a, tool: GET /charges, outcome: {response: 1}}\n"
        "- id: b\n  tool: GET /charge\n  outcome: {response: 1}\n",
    )
    stubbed.file("bad.json", '{"notes": [}')
    stubbed.file("empty.json", "")
    run = stubbed.eve_mocks("run", *options, "--", "touch", "started")
    assert (run.returncode, run.stdout) == (2, "")
    assert message in run.stderr
    assert fix in run.stderr
    assert "Traceback" not in run.stderr
    assert not (stubbed.root / "started").exists()


def test_all_mistakes_are_told_at_once(stubbed: Project) -> None:
    stubbed.file("bad.yaml", "- {id: a, tool: GET /chargs, outcome: {response: 1}}\n- {id: a, tool: x, outcomes: []}\n")
    run = stubbed.eve_mocks("run", "--stubs", "bad.yaml", "--seed", "pay=x", "--", "true")
    assert [line for line in run.stderr.splitlines() if line.startswith("eve-mocks:")] == [
        "eve-mocks: the mock pay has no state",
        "eve-mocks: bad.yaml:1: stub \"a\": $[0].tool: 'GET /chargs' names no operation of any mock",
        'eve-mocks: bad.yaml:2: stub "a": $[1].outcomes is empty',
    ]
