"""eve's page about tool stubs, sentence by sentence, against an mcp mock and the MCP SDK's client.

Each row has a short name of the sentence, what it says, rules, and what follows. Sentences about eve itself are listed
at the end with the reason why a mock has nothing to do with them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import MCPError
from mcp_in_process import connected

from eve_mocks import mcp_mock
from eve_mocks.document import Document
from eve_mocks.errors import MockError
from eve_mocks.folder import Folder
from eve_mocks.session import Session
from eve_mocks.stubs.rules import read_for

FOLDER = Folder.at(Path(__file__).parent, "tests")
REAL = "the mock's own answer"
TASK = {"type": "object", "properties": {"task_id": {"type": "string"}}, "required": ["task_id"]}
COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
TOOLS = {"list_tasks": {}, "search_tasks": {}, "complete_task": {"inputSchema": TASK}, "count": {"outputSchema": COUNT}}
RESULTS = {"list_tasks": REAL, "search_tasks": REAL, "complete_task": REAL}


class Failed(str):
    """A call that failed, and what the model is told."""

    __slots__ = ()


def mock(**given: Any) -> Any:
    made = mcp_mock("https://mcp.todo.test/mcp", tools=TOOLS, results=given.pop("results", RESULTS), **given)
    return made.named("todo", FOLDER)


def rules(given: Any, *mocks: Any) -> Any:
    document = Document.from_python(given, file="stubs.json", line=1, folder=FOLDER)
    return read_for(mocks or [mock()], document, "")


def play(calls: list[tuple[str, dict[str, Any]]], *sessions: Session, made: Any = None) -> list[Any]:
    """What the calls answer, one after the other; with several sessions they take turns."""
    target = made or mock()

    async def run() -> list[Any]:
        answers = []
        async with contextlib.AsyncExitStack() as stack:
            clients = [(await stack.enter_async_context(connected(target, session=session)))[0] for session in sessions]
            for number, (tool, arguments) in enumerate(calls):
                result = await clients[number % len(clients)].call_tool(tool, arguments)
                text = result.content[0].text
                answers.append(Failed(text) if result.is_error else _value(text))
        return answers

    return asyncio.run(run())


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def always(id_: str, tool: str, response: Any, **match: Any) -> dict[str, Any]:
    return {"id": id_, "tool": tool, "match": match, "outcome": {"response": response}}


TWO_TASKS = [{"id": "dog", "title": "Walk dog"}, {"id": "rent", "title": "Pay rent"}]
FIRST_EXAMPLE = [
    {
        "id": "tasks",
        "tool": "list_tasks",
        "outcomes": [
            {"response": {"tasks": [{"id": "milk", "title": "Buy milk"}, *TWO_TASKS]}},
            {"response": {"tasks": TWO_TASKS}},
        ],
    },
    always("complete-milk", "complete_task", {"success": True}, task_id={"const": "milk"}),
]
MILK = always("milk", "complete_task", {"success": True}, task_id={"const": "milk"})
OTHERS = {"id": "other-tasks", "tool": "complete_task", "outcome": {"response": {"success": False}}}
STEPS = {"id": "steps", "tool": "list_tasks", "outcomes": [{"response": "pending"}, {"response": "completed"}]}
OPEN = {
    "filter": {"type": "object", "properties": {"status": {"const": "open"}}, "required": ["status"]},
    "query": {"type": "string", "pattern": "\\b(?i:milk)\\b"},
    "tags": {"type": "array", "contains": {"const": "urgent"}},
}
FOUND = {"filter": {"status": "open"}, "query": "Buy MILK", "tags": ["a", "urgent"]}
LATE = {"throw": {"name": "TimeoutError", "message": "Task service timed out"}}
LIST = ("list_tasks", {})


def done(task: Any) -> tuple[str, dict[str, Any]]:
    return "complete_task", {"task_id": task}


def search(**arguments: Any) -> tuple[str, dict[str, Any]]:
    return "search_tasks", arguments


class Row(NamedTuple):
    """A sentence, and the answers that follow from rules and calls."""

    name: str
    says: str
    rules: list[Any]
    calls: list[tuple[str, dict[str, Any]]]
    answers: list[Any]


ROWS = [
    Row(
        "replace",
        "stubs replace selected tools with JSON, the others stay as they are",
        FIRST_EXAMPLE,
        [LIST, done("milk"), LIST, ("search_tasks", {})],
        [FIRST_EXAMPLE[0]["outcomes"][0]["response"], {"success": True}, {"tasks": TWO_TASKS}, REAL],
    ),
    Row(
        "no-simulation",
        "a sequence goes on whether or not the write was called",
        FIRST_EXAMPLE,
        [LIST, LIST],
        [each["response"] for each in FIRST_EXAMPLE[0]["outcomes"]],
    ),
    Row("match-omitted", "a rule without match fits any valid input", [OTHERS], [done("x")], [{"success": False}]),
    Row("match-empty", "so does one with an empty match", [{**OTHERS, "match": {}}], [done("x")], [{"success": False}]),
    Row("outcome-repeats", "an outcome repeats", [always("a", "list_tasks", 1)], [LIST] * 3, [1, 1, 1]),
    Row(
        "outcomes-advance",
        "outcomes advance, and the last one repeats",
        [STEPS],
        [LIST] * 3,
        ["pending", *["completed"] * 2],
    ),
    Row(
        "not-enclosed",
        "the enclosing outcome is not part of the response",
        [always("a", "list_tasks", {"response": {"throw": {}}})],
        [LIST],
        [{"response": {"throw": {}}}],
    ),
    Row(
        "first-wins",
        "the first rule that matches wins",
        [MILK, OTHERS],
        [done("milk"), done("x")],
        [{"success": True}, {"success": False}],
    ),
    Row(
        "reversed",
        "an unconditional rule in front wins every time",
        [OTHERS, MILK],
        [done("milk")],
        [{"success": False}],
    ),
    Row("none-matches", "where no rule matches the tool itself answers", [MILK], [done("x")], [REAL]),
    Row("all-listed", "every listed property fits", [always("a", "search_tasks", 1, **OPEN)], [search(**FOUND)], [1]),
    Row(
        "must-exist",
        "every listed property must exist",
        [always("a", "search_tasks", 1, **OPEN)],
        [search(**{key: value for key, value in FOUND.items() if key != absent}) for absent in OPEN],
        [REAL] * 3,
    ),
    Row(
        "must-satisfy",
        "and satisfy its constraint",
        [always("a", "search_tasks", 1, **OPEN)],
        [
            search(**FOUND | {"filter": {"status": "done"}}),
            search(**FOUND | {"query": "milky"}),
            search(**FOUND | {"tags": []}),
        ],
        [REAL] * 3,
    ),
    Row(
        "extra-top",
        "extra properties at the top are allowed",
        [MILK],
        [("complete_task", {"task_id": "milk", "x": 1})],
        [{"success": True}],
    ),
    Row(
        "nested-optional",
        "nested properties are optional unless required",
        [
            always("required", "search_tasks", 1, f={"properties": {"a": {"const": 1}}, "required": ["a"]}),
            always("optional", "search_tasks", 2, f={"properties": {"a": {"const": 1}}}),
        ],
        [search(f={"a": 1}), search(f={}), search(f={"a": 2})],
        [1, 2, REAL],
    ),
    Row(
        "no-coercion",
        "nothing is coerced",
        [always("a", "search_tasks", 1, n={"const": 1}), always("b", "search_tasks", 2, n={"type": "boolean"})],
        [search(n="1"), search(n="true"), search(n=1), search(n=1.0), search(n=True), search(n=0)],
        [REAL, REAL, 1, 1, 2, REAL],
    ),
    Row(
        "no-defaults",
        "no default is applied",
        [always("a", "search_tasks", 1, n={"const": 1, "default": 1})],
        [search(), search(n=1)],
        [REAL, 1],
    ),
    Row(
        "javascript-patterns",
        "patterns are JavaScript's",
        [
            always("modifier", "search_tasks", 1, q={"pattern": "^(?i:milk)$"}),
            always("class", "search_tasks", 2, q={"pattern": "^\\p{Lu}+$"}),
            always("named", "search_tasks", 3, q={"pattern": "^(?<x>.)-\\k<x>$"}),
            always("behind", "search_tasks", 4, q={"pattern": "(?<=\\$)5"}),
        ],
        [search(q="MiLK"), search(q="É"), search(q="a-a"), search(q="$5"), search(q="5")],
        [1, 2, 3, 4, REAL],
    ),
    Row(
        "only-selected-advances",
        "only the selected rule advances",
        [
            {
                "id": "a",
                "tool": "search_tasks",
                "match": {"q": {"const": "a"}},
                "outcomes": [{"response": 1}, {"response": 2}],
            },
            {"id": "b", "tool": "search_tasks", "outcomes": [{"response": 3}, {"response": 4}]},
        ],
        [search(q="a"), search(), search(q="a"), search()],
        [1, 3, 2, 4],
    ),
    Row(
        "exhaustion",
        "exhaustion never selects a later rule",
        [STEPS, always("later", "list_tasks", "later")],
        [LIST] * 4,
        ["pending", *["completed"] * 3],
    ),
    Row(
        "qualified",
        "an operation may be named with its connection",
        [always("a", "todo__list_tasks", 1)],
        [LIST],
        [1],
    ),
    Row(
        "throw",
        "a throw is a failed call with its message",
        [{"id": "a", "tool": "list_tasks", "outcome": LATE}],
        [LIST] * 2,
        [Failed("Task service timed out")] * 2,
    ),
    Row(
        "throw-no-name",
        "the name may be left out; the model sees the message alone",
        [{"id": "a", "tool": "list_tasks", "outcome": {"throw": {"message": "Service unavailable"}}}],
        [LIST],
        [Failed("Service unavailable")],
    ),
    Row(
        "throw-then-response",
        "errors and responses mix; each call uses one entry and the last repeats",
        [{"id": "a", "tool": "list_tasks", "outcomes": [LATE, {"response": {"tasks": []}}]}],
        [LIST] * 3,
        [Failed("Task service timed out"), {"tasks": []}, {"tasks": []}],
    ),
    Row(
        "error-data",
        "a response with an error in it is ordinary JSON",
        [always("a", "list_tasks", {"error": "timeout"})],
        [LIST],
        [{"error": "timeout"}],
    ),
    Row(
        "validated-before",
        "the tool's schema is asked before a rule, so an invalid call uses no entry",
        [{"id": "a", "tool": "complete_task", "outcomes": [{"response": 1}, {"response": 2}]}],
        [("complete_task", {}), done(5), done("milk")],
        [
            Failed("Invalid arguments for complete_task: 'task_id' is a required property"),
            Failed("Invalid arguments for complete_task: task_id: 5 is not of type 'string'"),
            1,
        ],
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_what_follows(row: Row) -> None:
    answers = play(row.calls, Session("s", rules(row.rules)))
    assert answers == row.answers, row.says
    assert [isinstance(answer, Failed) for answer in answers] == [isinstance(answer, Failed) for answer in row.answers]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_what_follows_in_a_mock_file(row: Row) -> None:
    """The same rules as the mock's own ``stubs``."""
    assert play(row.calls, Session("s"), made=mock(stubs=row.rules)) == row.answers, row.says


def bare(**given: Any) -> dict[str, Any]:
    return {"id": "a", "tool": "list_tasks", **given}


def constrained(constraint: Any) -> dict[str, Any]:
    return always("a", "list_tasks", 1, x=constraint)


# name of the sentence, what it says, a rule that goes against it, and what is told
REFUSED = [
    ("id-required", "a rule has an id", {"tool": "list_tasks", "outcome": {"response": 1}}, "has no id"),
    ("tool-required", "and a tool", {"id": "a", "outcome": {"response": 1}}, "has no tool"),
    ("exactly-one", "it has exactly one of outcome and outcomes", bare(), "neither outcome nor outcomes"),
    (
        "exactly-one-both",
        "not both",
        bare(outcome={"response": 1}, outcomes=[{"response": 1}]),
        "both outcome and outcomes",
    ),
    ("nonempty", "outcomes is not empty", bare(outcomes=[]), "$[0].outcomes is empty"),
    (
        "response-xor-throw",
        "an outcome has one of response and throw",
        bare(outcome={"response": 1, **LATE}),
        "response and throw",
    ),
    ("response-or-throw", "it has one of them", bare(outcome={}), "no answer"),
    ("top-response", "response at the top is not accepted", bare(response=1), "response stands beside the outcome"),
    ("top-responses", "nor is responses", bare(responses=[1]), "responses stands beside the outcome"),
    ("throw-message", "throw has a message", bare(outcome={"throw": {"name": "E"}}), "throw has no message"),
    ("regex-syntax", "a pattern's syntax is checked before", constrained({"pattern": "("}), "$[0].match.x.pattern"),
    *[
        (
            f"unsupported-{keyword}",
            f"{keyword} is not supported",
            constrained({keyword: value}),
            f"$[0].match.x.{keyword} is not",
        )
        for keyword, value in {
            "patternProperties": {},
            "$ref": "#",
            "format": "email",
            "multipleOf": 2,
            "minContains": 1,
            "maxContains": 1,
            "uniqueItems": True,
            "dependentRequired": {},
            "dependentSchemas": {},
        }.items()
    ],
    ("const-object", "const is no object", constrained({"const": {}}), "$[0].match.x.const is an object"),
    ("const-array", "const is no array", constrained({"const": []}), "$[0].match.x.const is an object or an array"),
    ("enum-object", "enum holds none", constrained({"enum": [{}]}), "$[0].match.x.enum[0] is an object"),
    (
        "inherited-properties",
        "nested properties have no inherited names",
        constrained({"properties": {"toString": True}}),
        "inherits",
    ),
    ("inherited-required", "nor has required", constrained({"required": ["constructor"]}), "inherits"),
    ("unknown-tool", "unknown tools are refused", always("a", "list_task", 1), "names no operation"),
    ("unknown-path", "paths of subagents are refused", always("a", "researcher/list_tasks", 1), "names no operation"),
    ("proto", "__proto__ is reserved", constrained({"properties": {"__proto__": True}}), "has the key __proto__"),
    ("eve-tools", "connection_search cannot be replaced", always("a", "connection_search", 1), "names no operation"),
    ("eve-tools-execute", "nor connection_execute", always("a", "connection_execute", 1), "names no operation"),
    ("delegation", "a delegation happens inside eve", always("a", "agent", 1), "names no operation"),
    ("approvals", "approvals are eve's", bare(outcome={"response": 1}, approval="never"), "approval cannot be given"),
]


@pytest.mark.parametrize(("rule", "told"), [row[2:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_is_refused(rule: Any, told: str) -> None:
    with pytest.raises(MockError) as caught:
        rules([rule])
    assert told in caught.value.message
    assert caught.value.message.startswith("stub ")


# Sentences that need more than rules and calls


def test_ids_are_unique() -> None:
    """session-unique: two rules with one id are refused."""
    with pytest.raises(MockError, match="the id is taken"):
        rules([STEPS, STEPS])


def test_rules_are_shared_and_positions_are_not() -> None:
    """independent-sessions: each session has its own position in rules that several share."""
    shared = rules([STEPS])
    answers = play([LIST] * 6, Session("a", shared), Session("b", shared))
    assert answers == ["pending", "pending", "completed", "completed", "completed", "completed"]


def test_later_turns_go_on() -> None:
    """later-turns: the sequence goes on over connections of one session."""
    session = Session("a", rules([STEPS]))
    assert play([LIST], session) + play([LIST], session) == ["pending", "completed"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_calls_at_once_use_each_entry_once(mode: str) -> None:
    """parallel: calls at once use entries in the order of their arrival, each once."""
    entries = [{"response": number} for number in range(20)]
    session = Session("a", rules([{"id": "n", "tool": "list_tasks", "outcomes": entries}]))
    made = mock()

    async def run() -> list[int]:
        async with connected(made, mode=mode, session=session) as (client, _):
            results = await asyncio.gather(*(client.call_tool("list_tasks", {}) for _ in range(20)))
        return sorted(int(result.content[0].text) for result in results)

    assert asyncio.run(run()) == list(range(20))


def test_a_rule_adds_no_tool_and_lists_one_that_is_described() -> None:
    """no-new-tool: a rule does not register a tool; one that the upstream has is listed where it has an answer."""

    def made() -> Any:
        return mock(results={"list_tasks": REAL})

    async def listed(*own: Any) -> list[str]:
        async with connected(made(), session=Session("a", *own)) as (client, _):
            return [tool.name for tool in (await client.list_tools()).tools]

    stubbed = rules([always("a", "search_tasks", 1)], made())
    assert asyncio.run(listed()) == ["list_tasks"]
    assert asyncio.run(listed(stubbed)) == ["list_tasks", "search_tasks"]
    assert play([("search_tasks", {})], Session("b", stubbed), made=made()) == [1]

    async def unknown() -> None:
        async with connected(made()) as (client, _):
            with pytest.raises(MCPError, match="Unknown tool: search_tasks"):
                await client.call_tool("search_tasks", {})

    asyncio.run(unknown())


def test_what_no_rule_matches_and_nothing_else_answers_is_told() -> None:
    """none-matches, without an answer behind: the error and the report name the nearest rule and the difference."""
    made = mock(results={}, stubs=[MILK])

    async def run() -> tuple[str, Any]:
        async with connected(made) as (client, transport):
            with pytest.raises(MCPError) as caught:
                await client.call_tool("complete_task", {"task_id": "dog"})
            return str(caught.value), transport.answers[-1]

    message, answer = asyncio.run(run())
    assert answer.nearest == 'todo:milk: task_id is "dog", not "milk"'
    assert answer.nearest in message
    assert (answer.stub, answer.error) == (None, None)


def test_traces_have_the_rule_and_the_position() -> None:
    """traces: the log names the rule and the position that answered."""
    made = mock(stubs=[STEPS])

    async def run() -> list[Any]:
        async with connected(made, session=Session("a")) as (client, transport):
            for _ in range(3):
                await client.call_tool("list_tasks", {})
            return [(each.stub, each.position) for each in transport.answers if each.operation == "list_tasks"]

    assert asyncio.run(run()) == [("todo:steps", 0), ("todo:steps", 1), ("todo:steps", 1)]


def test_unused_rules_are_told() -> None:
    """unused: rules that were never used are told afterwards, and fail nothing."""
    session = Session("a", rules([MILK, STEPS]))
    play([LIST], session)
    assert session.stubs.verification() == {"error": None, "matchedRuleIds": ["steps"], "unusedRuleIds": ["milk"]}


def test_a_throw_is_no_failure_of_the_stub() -> None:
    """throw-is-normal: an intended throw is a failed call, and verification does not mind."""
    session = Session("a", rules([{"id": "a", "tool": "list_tasks", "outcome": LATE}]))
    play([LIST], session)
    assert session.stubs.verification()["error"] is None


def test_a_response_that_the_tool_cannot_have_is_refused_before() -> None:
    """output-processing: what the tool's output schema forbids is found when the rules are read."""
    with pytest.raises(MockError, match="breaks its outputSchema"):
        rules([always("a", "count", {"count": "three"})])


def test_a_broken_stub_fails_verification_even_if_the_agent_recovers() -> None:
    """broken: a response that cannot be processed does not fall back, is an error, and stays one."""
    broken = always(
        "a", "list_tasks", {"content": [{"type": "text", "text": "x", "annotations": {"priority": "high"}}]}
    )
    made = mock(stubs=[])
    session = Session("a", rules([broken, STEPS], made))

    async def run() -> Any:
        async with connected(made, session=session) as (client, transport):
            result = await client.call_tool("list_tasks", {})
            await client.call_tool("search_tasks", {})
            return result, [answer.error for answer in transport.answers if answer.operation == "list_tasks"]

    result, (error,) = asyncio.run(run())
    assert result.is_error
    assert "is not one of MCP" in error
    assert error.startswith("stubs.json:1: ")
    assert session.stubs.verification()["error"] == error


def test_more_than_10000_calls_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """recorded-calls: the call past the limit fails, and so does verification."""
    monkeypatch.setattr("eve_mocks.stubs.playback.CALLS", 2)
    session = Session("a", rules([MILK]))
    answers = play([done("x"), done("milk"), done("milk"), LIST], session)
    assert answers[:2] == [REAL, {"success": True}]
    assert isinstance(answers[2], Failed)
    assert answers[3] == REAL
    assert "more than" in session.stubs.verification()["error"]


# Sentences about eve itself.
NOT_OURS = {
    "approvals-apply": "a call that waits for approval, or is denied it, is never sent, so it uses no entry",
    "replay": "eve's replay of a workflow does not call again, so no call arrives",
    "cancel-workflow": "there is no workflow here that could be cancelled",
    "permission": "allowToolStubs and OIDC guard deployed agents; here the control API's token does",
    "action-partial": "an event of eve's own stream",
    "persistent": "tools made with serve live inside eve",
    "provider-tools": "run by the model's provider, inside the model's answer",
    "subagent-paths": "kept apart by the caller's path, which a mock does not see",
    "handoff": "a deployment handoff keeps eve's playback; here it is the proxy that keeps it",
    "error-class": "which class the client throws is made there; over HTTP the name is in the body",
    "types": "ToolStub and ToolStubOutcome are types of the TypeScript package",
}


def test_every_sentence_has_one_row() -> None:
    names = [row.name for row in ROWS] + [row[0] for row in REFUSED] + list(NOT_OURS)
    assert len(set(names)) == len(names)
