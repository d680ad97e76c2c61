"""Rules as files and sessions give them: what is refused, how it is told, how large they may be, whom they are for."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from eve_mocks import http_mock, mcp_mock
from eve_mocks.document import Document
from eve_mocks.errors import MockError
from eve_mocks.folder import Folder
from eve_mocks.stubs.file import load_stubs
from eve_mocks.stubs.limits import CHARACTERS, DEPTH, NODES, RULES
from eve_mocks.stubs.names import Target, find
from eve_mocks.stubs.rules import read_for, read_rules

FOLDER = Folder.at(Path(__file__).parent, "tests")
OUTCOME = {"outcome": {"response": 1}}
TASKS = {"id": "tasks", "tool": "list_tasks", **OUTCOME}


def document(value: Any) -> Document:
    return Document.from_python(value, file="stubs.json", line=3, folder=FOLDER)


def read(value: Any, *, strict: bool = True) -> Any:
    return read_rules(document(value), "", lambda name: Target("todo", name), strict=strict)


def refused(value: Any, *, strict: bool = True) -> MockError:
    with pytest.raises(MockError) as caught:
        read(value, strict=strict)
    assert (caught.value.file, caught.value.line) == ("stubs.json", 3)
    assert caught.value.why
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize(
    ("rule", "message", "fix"),
    [
        (7, "stub 0: $[0]: ", "id: tasks"),
        ({}, "stub 0: $[0]: 0 has no id", "id: tasks"),
        ({"id": ""}, "stub 0: $[0].id is empty", "id: tasks"),
        ({"id": 5}, "stub 0: $[0].id: id is 5, not text", "tasks"),
        ({"id": "a"}, 'stub "a": $[0]: 0 has no tool', "tool: list_tasks"),
        ({"id": "a", "tool": ""}, 'stub "a": $[0].tool is empty', "tool: list_tasks"),
        ({"id": "a", "tool": "t"}, 'stub "a": $[0]: it has neither outcome nor outcomes', "outcome: {response"),
        ({**TASKS, "outcomes": [{"response": 1}]}, 'stub "tasks": $[0]: it has both outcome and outcomes', "Keep one"),
        ({"id": "a", "tool": "t", "outcomes": []}, 'stub "a": $[0].outcomes is empty', "outcomes: ["),
        ({"id": "a", "tool": "t", "outcomes": {}}, 'stub "a": $[0]: outcomes is {}, not a list', "outcomes: ["),
        (
            {"id": "a", "tool": "t", "response": 1},
            'stub "a": $[0]: response stands beside the outcome',
            "outcome: {resp",
        ),
        ({"id": "a", "tool": "t", "responses": [1]}, 'stub "a": $[0]: responses stands beside', "outcomes: [{response"),
        ({"id": "a", "tool": "t", "throw": {}}, 'stub "a": $[0]: throw stands beside the outcome', "outcome: {throw"),
        ({**TASKS, "mach": {}}, "stub \"tasks\": $[0]: unknown key 'mach'", "Did you mean match?"),
        ({**TASKS, "approval": "never"}, 'stub "tasks": $[0]: approval cannot be given', "Take it out"),
        ({**TASKS, "match": []}, 'stub "tasks": $[0].match: match is [], not a mapping', "match: {"),
        ({**TASKS, "match": None}, 'stub "tasks": $[0].match: match is nothing (null), not a mapping', "match: {"),
        ({**TASKS, "match": {"state": "open"}}, 'stub "tasks": $[0].match.state is "open"', 'Write {"const": "open"}'),
        (
            {**TASKS, "match": {"a b": {"$ref": "#"}}},
            'stub "tasks": $[0].match["a b"].$ref is not a keyword',
            "Write the",
        ),
        ({**TASKS, "outcome": 3}, 'stub "tasks": $[0].outcome: outcome is 3, not a mapping', "response"),
        ({**TASKS, "outcome": {}}, 'stub "tasks": $[0].outcome: outcome has no answer', "response"),
        ({**TASKS, "outcome": {"tasks": []}}, 'stub "tasks": $[0].outcome: outcome is not an outcome', "response"),
        (
            {"id": "a", "tool": "t", "outcomes": [{"response": 1}, {"response": 1, "throw": {"message": "x"}}]},
            'stub "a": $[0].outcomes[1]: outcomes.1 has response and throw',
            "Keep one",
        ),
        ({**TASKS, "outcome": {"throw": {}}}, 'stub "tasks": $[0].outcome: throw has no message', "message: "),
        (
            {**TASKS, "outcome": {"throw": {"message": 1}}},
            'stub "tasks": $[0].outcome: message is 1, not text',
            "timed",
        ),
        ({**TASKS, "outcome": {"throw": {"message": "", "name": ""}}}, "$[0].outcome: the name is empty", "Error"),
        (
            {**TASKS, "outcome": {"throw": {"message": "", "code": 1}}},
            "$[0].outcome: unknown key 'code'",
            "name, message",
        ),
        ({**TASKS, "outcome": {"throw": "timed out"}}, "$[0].outcome: throw is 'timed out', not a mapping", "message"),
        (
            {**TASKS, "outcome": {"response": 1, "delay": 1}},
            "$[0].outcome: delay is not part of eve's",
            "mock's own stubs",
        ),
        (
            {**TASKS, "outcome": {"fault": "reset"}},
            "$[0].outcome: fault is not part of eve's outcomes",
            "mock's own stubs",
        ),
        ({**TASKS, "outcome": {"response": {1: 2}}}, "$[0].outcome.response has the key 1, which is not text", '"1"'),
        ({**TASKS, "outcome": {"response": {1, 2}}}, "$[0].outcome.response is {1, 2}, of type set", "JSON"),
        ({**TASKS, "outcome": {"response": (1,)}}, "$[0].outcome.response is (1,), of type tuple", "JSON"),
        ({**TASKS, "outcome": {"response": [math.nan]}}, "$[0].outcome.response[0] is nan, of type float", "JSON"),
        ({**TASKS, "match": {"__proto__": True}}, 'stub "tasks": $[0].match has the key __proto__', "Take it out"),
        (
            {**TASKS, "outcome": {"response": [{"__proto__": 1}]}},
            "$[0].outcome.response[0] has the key __proto__",
            "Take",
        ),
    ],
)
def test_a_refusal_names_the_rule_the_path_and_the_fix(rule: Any, message: str, fix: str) -> None:
    error = refused([rule])
    assert error.message.startswith("stub ")
    assert message in error.message
    assert fix in f"{error.fix} {error.why}"


@pytest.mark.parametrize("value", [{}, {"id": "a"}, "x", 1, None])
def test_stubs_are_a_list(value: Any) -> None:
    assert refused(value).message == "$ is not a list of stubs"


def test_python_may_give_a_tuple() -> None:
    assert [rule.id for rule in read((TASKS,)).all] == ["tasks"]


def test_an_id_stands_once() -> None:
    error = refused([TASKS, {**TASKS, "id": "b"}, TASKS])
    assert error.message == 'stub "tasks": $[2]: the id is taken'
    assert "$[0]" in error.why


def test_a_mock_takes_outcomes_of_http_too() -> None:
    rules = read([{"id": "a", "tool": "t", "outcome": {"body": "x", "status": 503, "delay": "1s"}}], strict=False)
    response = rules.all[0].outcomes[0].over_http
    assert (response.status, response.body, response.delay) == (503, b"x", 1.0)


def test_own_names_that_only_look_special_are_allowed_at_the_top() -> None:
    rule = read([{**TASKS, "match": {"constructor": {"const": 1}, "toString": True}}]).all[0]
    assert rule.matches({"constructor": 1, "toString": None})
    assert [str(each) for each in rule.differences({})] == ["constructor is missing", "toString is missing"]


# Limits, at and past each


def test_the_number_of_rules() -> None:
    rules = [{**TASKS, "id": str(number)} for number in range(RULES + 1)]
    assert len(read(rules[:-1]).all) == 100
    assert refused(rules).message == 'stub "100": $[100] is rule 101, and 100 are allowed'


def _with_nodes(number: int) -> Any:
    """Rules of so many JSON values: the list, the rule, its id, tool, outcome and response are six of them."""
    return [{**TASKS, "outcome": {"response": [0] * (number - 6)}}]


def test_the_number_of_json_values() -> None:
    assert read(_with_nodes(NODES))
    assert refused(_with_nodes(NODES + 1)).message.endswith("is one JSON value too many, after 20,000")


def test_json_values_of_all_rules_count_together() -> None:
    half = _with_nodes(NODES // 2 + 2)[0]
    assert 'stub "b": ' in refused([half, {**half, "id": "b"}]).message


def _with_depth(number: int) -> Any:
    """The response is at depth 3."""
    value: Any = 0
    for _ in range(number - 3):
        value = [value]
    return [{**TASKS, "outcome": {"response": value}}]


def test_the_depth() -> None:
    assert read(_with_depth(DEPTH))
    assert refused(_with_depth(DEPTH + 1)).message.endswith("[0] is nested deeper than 32")


def test_a_value_that_contains_itself_is_too_deep() -> None:
    value: list[Any] = []
    value.append(value)
    assert "deeper" in refused([{**TASKS, "outcome": {"response": value}}]).message


def test_the_number_of_characters() -> None:
    frame = sum(map(len, ("id", "tasks", "tool", "list_tasks", "outcome", "response")))
    fits = "x" * (CHARACTERS - frame)
    assert read([{**TASKS, "outcome": {"response": fits}}])
    assert "more than 1,000,000" in refused([{**TASKS, "outcome": {"response": fits + "x"}}]).message
    assert (
        "more than 1,000,000" in refused([{**TASKS, "outcome": {"response": {fits: ""}}, "match": {"a": {}}}]).message
    )


# Whom a rule is for

NAMES = {
    "linear": {"list_issues": "list_issues", "search": "search", "a/b": "a/b"},
    "notion": {"GET /v1/pages/{page_id}": "GET /v1/pages/{page_id}", "getPage": "GET /v1/pages/{page_id}"},
    "github": {"search": "search"},
}


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("list_issues", ("linear", "list_issues")),
        ("linear__list_issues", ("linear", "list_issues")),
        ("linear:list_issues", ("linear", "list_issues")),
        ("a/b", ("linear", "a/b")),
        ("GET /v1/pages/{page_id}", ("notion", "GET /v1/pages/{page_id}")),
        ("notion:GET /v1/pages/{page_id}", ("notion", "GET /v1/pages/{page_id}")),
        ("getPage", ("notion", "GET /v1/pages/{page_id}")),
        ("notion__getPage", ("notion", "GET /v1/pages/{page_id}")),
        ("github:search", ("github", "search")),
        ("linear__search", ("linear", "search")),
    ],
)
def test_a_name_means_an_operation(name: str, target: tuple[str, str]) -> None:
    assert find(name, NAMES) == target


@pytest.mark.parametrize(
    ("name", "why", "fix"),
    [
        ("list_isues", "never adds one", "Did you mean list_issues?"),
        ("notion__list_issues", "never adds one", "list_issues"),
        ("get /v1/pages/{page_id}", "never adds one", "Did you mean GET /v1/pages/{page_id}?"),
        ("GET /v1/pages/{id}", "never adds one", "Did you mean GET /v1/pages/{page_id}?"),
        ("researcher/list_issues", "the subagent researcher", "Write list_issues"),
        ("researcher/assistant/list_issues", "the subagent researcher/assistant", "Write list_issues"),
        ("agent", "runs inside eve", "linear__list_issues"),
        ("connection_search", "runs inside eve", "linear__list_issues"),
        ("connection_execute", "runs inside eve", "linear__list_issues"),
        ("zzz", "never adds one", "Use one of: list_issues, search, a/b"),
    ],
)
def test_an_unknown_name_is_refused_with_the_reason(name: str, why: str, fix: str) -> None:
    with pytest.raises(MockError) as caught:
        find(name, NAMES)
    assert caught.value.message == f"{name!r} names no operation of any mock"
    assert why in caught.value.why
    assert fix in caught.value.fix


def test_a_shared_name_is_refused_with_the_candidates() -> None:
    with pytest.raises(MockError) as caught:
        find("search", NAMES)
    assert "linear, github" in caught.value.message
    assert caught.value.fix == "Write linear:search or github:search."


def test_a_long_list_of_names_is_cut() -> None:
    many = {"m": {f"operation_{number}": "" for number in range(5000)}}
    with pytest.raises(MockError) as caught:
        find("zzz", many)
    assert len(caught.value.fix) < 400


# For any mock


def mocks() -> list[Any]:
    linear = mcp_mock(
        "https://mcp.linear.test/mcp",
        tools={"list_tasks": {"outputSchema": {"type": "object", "required": ["tasks"]}}},
    )
    shop = http_mock("https://api.shop.test/", routes={"/orders/{id}": {"GET": {"response": 1}}})
    return [linear.named("linear", FOLDER), shop.named("shop", FOLDER)]


def test_rules_of_a_session_may_be_for_any_mock() -> None:
    given = [
        {"id": "a", "tool": "linear__list_tasks", "outcome": {"response": {"tasks": []}}},
        {"id": "b", "tool": "GET /orders/{id}", **OUTCOME},
    ]
    rules = read_for(mocks(), document(given), "s1")
    assert [(rule.label, *rule.target) for rule in rules.all] == [
        ("s1:a", "linear", "list_tasks"),
        ("s1:b", "shop", "GET /orders/{id}"),
    ]


def test_a_response_that_breaks_the_output_schema_is_refused() -> None:
    with pytest.raises(MockError) as caught:
        read_for(mocks(), document([TASKS]), "")
    assert caught.value.message.startswith('stub "tasks": $[0]: the result of list_tasks breaks its outputSchema')


@pytest.mark.parametrize("name", ["stubs.json", "stubs.yaml"])
def test_a_file_of_stubs(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(json.dumps([{**TASKS, "outcome": {"response": {"tasks": []}}}]))
    assert [rule.label for rule in load_stubs(file, mocks(), shown=name).all] == [f"{name}:tasks"]


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("s.yaml", "", 1, "is empty"),
        ("s.yaml", "[]\n---\n[]\n", 1, "more than one document"),
        (
            "s.yaml",
            "- id: a\n  tool: list_tasks\n  match: {x: {format: uri}}\n  outcome: {response: 1}\n",
            3,
            "x.format",
        ),
        ("s.yaml", "id: a\ntool: list_tasks\n", 1, "not a list of stubs"),
        ("s.json", '[\n{"id": "a", "tool": "list_task",\n "outcome": {"response": 1}}]', 2, "names no operation"),
        ("s.json", "[", 1, "not JSON"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(
    tmp_path: Path, name: str, text: str, line: int, message: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(MockError) as caught:
        load_stubs(file, mocks(), shown=name)
    assert (caught.value.file, caught.value.line) == (name, line)
    assert message in caught.value.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MockError, match=r"gone\.json cannot be read"):
        load_stubs(tmp_path / "gone.json", [], shown="gone.json")
