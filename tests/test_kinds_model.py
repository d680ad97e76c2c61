"""Kind model: which entry a request gets, in which form, and what is told of scripts that are wrong."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eve_mocks import Throw, model_mock
from eve_mocks.document import Document
from eve_mocks.errors import MockError
from eve_mocks.folder import Folder
from eve_mocks.kinds.model import from_document
from eve_mocks.kinds.model.queues import candidates, read_requests
from eve_mocks.kinds.model.turn import Asked
from eve_mocks.load import load
from eve_mocks.match import parse_url
from eve_mocks.model import Answer, Headers, Request
from eve_mocks.session import Session
from eve_mocks.stubs.rules import read_for, read_pin

if TYPE_CHECKING:
    from eve_mocks.kinds.model import ModelMock
    from eve_mocks.kinds.model.mock import Model

FOLDER = Folder.at(Path(__file__).parent, "tests")


def mocked(scripts: Any, **given: Any) -> Model:
    value = {"kind": "model", "provider": "openai", "scripts": scripts, **given}
    return from_document("ai", Document.from_python(value, file="mocks/ai.yaml", line=None, folder=FOLDER))


def finished(mock: ModelMock) -> Model:
    return mock.named("ai", FOLDER)


def chat(text: str = "hello", model: str = "m", *, headers: dict[str, str] | None = None, **body: Any) -> Request:
    return Request(
        method="POST",
        target=parse_url("https://api.openai.com/v1/chat/completions"),
        headers=Headers((headers or {}).items()),
        body=json.dumps({"model": model, "messages": [{"role": "user", "content": text}], **body}).encode(),
    )


def ask(mock: Model, request: Request, session: Session) -> Answer:
    return asyncio.run(mock.answer(request, session))


def said(answer: Answer) -> Any:
    """The text of an answer, its calls of tools, or the code and the status of an error."""
    body = json.loads(answer.response.body)
    if answer.response.status != 200:
        return answer.response.status, body["error"]["code"]
    message = body["choices"][0]["message"]
    functions = [one["function"] for one in message.get("tool_calls", [])]
    calls = [(one["name"], json.loads(one["arguments"])) for one in functions]
    return calls or message["refusal"] or message["content"]


def schema(name: str, *properties: str) -> dict[str, Any]:
    value = {"type": "object", "properties": {name: {} for name in properties}}
    return {"type": "json_schema", "json_schema": {"name": name, "schema": value}}


def offering(*names: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name}} for name in names]


DRY = (400, "seam-script-exhausted")


def test_entries_are_taken_in_order_until_the_script_is_dry() -> None:
    mock, session = mocked({"m": ["one", "two"]}), Session("s")
    assert [said(ask(mock, chat(), session)) for _ in range(4)] == ["one", "two", DRY, DRY]
    assert said(ask(mock, chat(), Session("t"))) == "one"


def test_a_dry_script_is_an_error_that_names_the_request() -> None:
    answer = ask(mocked({"draft": []}), chat(metadata={"request": "draft"}), Session("s"))
    assert answer.operation == "draft"
    assert answer.error is not None
    assert "the script of draft ran dry after 0 entries" in answer.error
    assert "hello" in answer.error
    assert dict(answer.response.headers)["x-should-retry"] == "false"


def test_a_dry_script_is_told_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "ai.yaml").write_text("kind: model\nprovider: openai\nscripts:\n  n: [x]\n  m:\n    - one\n")
    (mock,), session = load(tmp_path, shown="mocks").mocks, Session("s")
    answers = [asyncio.run(mock.answer(chat(), session)) for _ in range(2)]
    assert str(answers[1].error).startswith("mocks/ai.yaml:5: the script of m ran dry after 1 entry;")


def test_a_request_without_a_script_is_told_the_nearest() -> None:
    answer = ask(mocked({"gpt-5.5": ["x"]}), chat(model="gpt-5.6"), Session("s"))
    assert said(answer) == DRY
    assert answer.fix is not None
    assert "Did you mean gpt-5.5" in answer.fix


def test_the_last_entry_repeats() -> None:
    mock, session = mocked({"m": ["one", "two"]}, repeat_last=True), Session("s")
    assert [said(ask(mock, chat(), session)) for _ in range(4)] == ["one", "two", "two", "two"]


SCRIPTS = {key: [f"by {key}"] for key in ("header", "metadata", "told", "Schema", "openai/m", "m")}
REQUESTS = {"told": {"tools": ["search"], "match": {"messages": {"minItems": 1}}}}


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (
            chat(headers={"x-eve-mocks-request": "header"}, metadata={"request": "metadata"}, tools=offering("search")),
            "by header",
        ),
        (chat(metadata={"request": "metadata"}, tools=offering("search")), "by metadata"),
        (chat(metadata={"request": "unknown"}, tools=offering("search")), "by told"),
        (chat(headers={"x-eve-mocks-request": "unknown"}, response_format=schema("Schema")), "by Schema"),
        (chat(tools=offering("other"), response_format=schema("Schema")), "by Schema"),
        (chat(model="openai/m"), "by openai/m"),
        (chat(model="azure/m"), "by m"),
        (chat(), "by m"),
    ],
    ids=["header", "metadata", "told by its tools", "schema", "not told", "exact model", "model", "plain model"],
)
def test_what_a_request_is_called(request_: Request, expected: str) -> None:
    mock = mocked(SCRIPTS, requests=REQUESTS)
    assert said(ask(mock, request_, Session("s"))) == expected


def test_names_from_the_most_particular_on() -> None:
    part = Document.from_python({"told": {"schema": "S"}}, file="f", line=None, folder=FOLDER)
    asked = Asked(body={}, model="openai/m", names=("header", "tag"), schema_name="S", caller="agent")
    found = list(candidates(asked, read_requests(part, {"told": ()})))
    assert found == ["header", "tag", "told", "S", "agent", "openai/m", "m"]
    assert asked.name == "header"


def test_a_request_that_is_nearly_told_is_explained() -> None:
    mock = mocked({"told": ["x"]}, requests=REQUESTS)
    answer = ask(mock, chat(tools=offering("find")), Session("s"))
    assert answer.error is not None
    assert "told: it does not offer search" in answer.error


@pytest.mark.parametrize(
    ("entry", "request_", "expected"),
    [
        ("plain", chat(), "plain"),
        ({"score": 4}, chat(), '{"score": 4}'),
        ([1, None], chat(), "[1, null]"),
        ({"score": 4}, chat(response_format=schema("S", "score")), '{"score": 4}'),
        ({"score": 4}, chat(response_format=schema("S", "result")), '{"result": {"score": 4}}'),
        ({"result": {"score": 4}}, chat(response_format=schema("S", "result")), '{"result": {"score": 4}}'),
        ({"result": {"result": 4}}, chat(response_format=schema("S", "result")), '{"result": 4}'),
        ("yes", chat(response_format=schema("S", "result")), '{"result": "yes"}'),
        ('{"answer": ', chat(response_format=schema("S", "answer")), '{"answer": '),
        ({"result": {"$tools": 1}}, chat(), '{"$tools": 1}'),
        ({"$text": "Looking."}, chat(), "Looking."),
        ({"$refusal": "I cannot."}, chat(), "I cannot."),
        ({"$tools": [{"tool": "a", "input": {"x": 1}}, {"tool": "b"}]}, chat(), [("a", {"x": 1}), ("b", {})]),
        (
            {"$tools": [{"tool": "linear__list", "input": {"x": 1}}]},
            chat(tools=offering("eve__search", "eve__tool")),
            [("eve__tool", {"name": "linear__list", "input": {"x": 1}})],
        ),
        ({"$tools": [{"tool": "a__b"}]}, chat(tools=offering("a__b", "eve__tool")), [("a__b", {})]),
        ({"score": 4}, chat(tools=offering("final"), tool_choice="required"), [("final", {"score": 4})]),
        (
            {"score": 4},
            chat(tools=offering("a", "b"), tool_choice={"type": "function", "function": {"name": "b"}}),
            [("b", {"score": 4})],
        ),
        ({"score": 4}, chat(tools=offering("a", "b"), tool_choice="required"), '{"score": 4}'),
    ],
    ids=[
        *("text", "an object", "a list", "structured", "wrapped", "wrapped already", "wrapped twice", "wrapped text"),
        *("JSON that is broken", "keys that are data", "text of the wire", "a refusal", "tools", "eve's tool"),
        *("a tool that is offered itself", "the only tool", "a forced tool", "any of two tools"),
    ],
)
def test_an_entry_in_the_form_that_is_asked_for(entry: Any, request_: Request, expected: Any) -> None:
    assert said(ask(mocked({"m": [entry]}), request_, Session("s"))) == expected


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"inputTokens": 120}, (120, 0)),
        ({"inputTokens": 120, "outputTokens": 8, "totalTokens": 128}, (120, 8)),
        ({"totalTokens": 120}, (0, 120)),
        ({"inputTokens": 20, "totalTokens": 120}, (20, 100)),
        ({"inputTokenDetails": {"noCacheTokens": 3, "cacheReadTokens": 4}}, (7, 0)),
        ({}, (0, 0)),
    ],
    ids=repr,
)
def test_usage(usage: Any, expected: tuple[int, int]) -> None:
    answer = ask(mocked({"m": [{"result": "x", "usage": usage}]}), chat(), Session("s"))
    assert answer.usage == {"inputTokens": expected[0], "outputTokens": expected[1]}
    told = json.loads(answer.response.body)["usage"]
    assert (told["prompt_tokens"], told["completion_tokens"], told["total_tokens"]) == (*expected, sum(expected))


def retry(count: int) -> dict[str, str]:
    return {"x-stainless-retry-count": str(count)}


OVERLOADED = {"$throw": {"status": 529}}
TWICE = {"$throw": {"status": 429, "attempts": 2}}
DENIED = {"$throw": {"status": 401}}
FAILED, LIMITED, REFUSED = (529, None), (429, "rate_limit_exceeded"), (401, None)


@pytest.mark.parametrize(
    ("entries", "requests", "expected"),
    [
        ([OVERLOADED, "two"], [retry(0), retry(1), retry(2), retry(0)], [FAILED, FAILED, FAILED, "two"]),
        ([TWICE, "two", "three"], [retry(0), retry(1), retry(2), retry(0)], [LIMITED, LIMITED, "two", "three"]),
        (
            [TWICE, OVERLOADED, "three"],
            [*map(retry, (0, 1, 2, 3, 0))],
            [LIMITED, LIMITED, FAILED, FAILED, "three"],
        ),
        (["one", "two"], [retry(0), retry(1), retry(0)], ["one", "one", "two"]),
        (["one", OVERLOADED], [retry(0), retry(0), retry(1)], ["one", FAILED, FAILED]),
        ([OVERLOADED, "two"], [retry(0), retry(0), retry(1), retry(2)], [FAILED, "two", FAILED, FAILED]),
        ([OVERLOADED, "two"], [retry(1), retry(2)], [FAILED, FAILED]),
        (["one", "two"], [{"x-stainless-retry-count": "²"}, retry(0)], ["one", "two"]),
        ([OVERLOADED, "two"], [{}, {}, {}], [FAILED, FAILED, FAILED]),
        ([TWICE, "two", "three"], [{}, {}, {}, {}], [LIMITED, LIMITED, "two", "three"]),
        ([DENIED, "two"], [{}, {}], [REFUSED, "two"]),
        (["one", "two"], [{}, {}], ["one", "two"]),
    ],
    ids=[
        *("a counter", "attempts", "attempts, then another failure", "an answer that was not heard", "a stale answer"),
        *("the same twice at once", "an attempt that was lost on its way", "a counter that is none"),
        *("no counter", "attempts without a counter", "what nobody retries", "a question that is asked again"),
    ],
)
def test_a_call_and_its_retries_take_one_entry(entries: list[Any], requests: list[Any], expected: list[Any]) -> None:
    mock, session = mocked({"m": entries}), Session("s")
    assert [said(ask(mock, chat(headers=headers), session)) for headers in requests] == expected


def test_another_question_after_a_failure_is_a_new_call() -> None:
    mock, session = mocked({"m": [OVERLOADED, "two", "three"]}), Session("s")
    assert [said(ask(mock, chat(text), session)) for text in ("a", "b", "a", "c")] == [FAILED, "two", FAILED, "three"]


def test_functions_are_given_the_request() -> None:
    def draft(request: Any, args: Any, session: str) -> Any:
        return f"{request.model} {request.prompt} {request.name} {len(request.messages)} {args['model']} {session}"

    async def fail() -> Any:
        raise Throw("too long", name="context_length_exceeded")

    mock = finished(model_mock("openai", scripts={"m": [draft, fail, lambda: {"$tools": [{"tool": "a"}]}]}))
    session = Session("s")
    assert said(ask(mock, chat(metadata={"request": "n"}), session)) == "m hello n 1 m s"
    failed = ask(mock, chat(), session).response
    assert (failed.status, json.loads(failed.body)["error"]["type"]) == (500, "context_length_exceeded")
    assert said(ask(mock, chat("on"), session)) == [("a", {})]


WRONG = {"an unknown key": lambda: {"$tool": 1}, "raises": lambda: 1 / 0, "a set": lambda: {1, 2}}


@pytest.mark.parametrize("function", WRONG.values(), ids=WRONG)
def test_a_function_that_is_wrong_breaks_the_mock(function: Any) -> None:
    mock = finished(model_mock("openai", scripts={"m": [function]}))
    with pytest.raises(MockError) as caught:
        ask(mock, chat(), Session("s"))
    assert caught.value.file == "tests/test_kinds_model.py"


def test_a_session_may_pin_what_a_request_gets() -> None:
    mock, session = mocked({"m": ["one"], "n": []}), Session("s")

    def pin(operation: str, **given: Any) -> None:
        document = Document.from_python({"operation": operation, **given}, file="PUT", line=None, folder=FOLDER)
        session.stubs.pin(read_pin([mock], document, lambda *_: pytest.fail("no callback is pinned")))

    pin("m", outcomes=[{"response": {"$tools": [{"tool": "a"}]}}, {"throw": {"message": "no"}}, {"response": "on"}])
    pin("ai:n", outcome={"status": 503, "response": {"error": "down"}})
    answers = [ask(mock, chat(text), session) for text in ("a", "b", "c", "d")]
    assert [said(answer) if answer.response.status == 200 else answer.response.status for answer in answers] == [
        *([("a", {})], 500, "on", "on")
    ]
    assert {answer.stub for answer in answers} == {"pin:ai:m"}
    raw = ask(mock, chat(model="n"), session)
    assert (raw.response.status, raw.response.body) == (503, b'{"error": "down"}')


def test_a_pin_that_is_no_entry_is_refused() -> None:
    document = Document.from_python(
        {"operation": "m", "outcome": {"response": {"$tols": []}}}, file="PUT", line=None, folder=FOLDER
    )
    with pytest.raises(MockError, match=r"unknown key '\$tols'") as caught:
        read_pin([mocked({"m": []})], document, lambda *_: pytest.fail("no callback is pinned"))
    assert "$tools" in caught.value.fix


def test_rules_of_a_session_match_the_body() -> None:
    mock = mocked({"m": ["script"]})
    rules = [
        {
            "id": "long",
            "tool": "m",
            "match": {"messages": {"contains": {"properties": {"content": {"pattern": "refund"}}}}},
            "outcome": {"response": "No refunds."},
        }
    ]
    session = Session("s", read_for([mock], Document.from_python(rules, file="f", line=None, folder=FOLDER), "f"))
    assert said(ask(mock, chat("a refund"), session)) == "No refunds."
    assert said(ask(mock, chat("hello"), session)) == "script"


def test_a_tool_that_is_not_offered_is_doubted() -> None:
    mock, session = mocked({"m": [{"$tools": [{"tool": "serch"}]}, {"$tools": [{"tool": "search"}]}]}), Session("s")
    doubt = ask(mock, chat(tools=offering("search")), session).doubt
    assert doubt is not None
    assert doubt.endswith("Did you mean search?")
    assert ask(mock, chat("on", tools=offering("search")), session).doubt is None


def test_what_the_provider_does_not_have_is_told() -> None:
    request = Request(method="POST", target=parse_url("https://api.openai.com/v1/audio/speech"), headers=Headers())
    answer = ask(mocked({"m": ["x"]}), request, Session("s"))
    assert answer.response.status == 404
    assert answer.unanswered is not None


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"messages": []}', b'{"model": 5}'], ids=repr)
def test_a_body_that_no_model_could_answer(body: bytes) -> None:
    target = parse_url("https://api.openai.com/v1/chat/completions")
    request = Request(method="POST", target=target, headers=Headers(), body=body)
    answer = ask(mocked({"m": ["x"]}), request, Session("s"))
    assert (answer.response.status, answer.error) == (400, None)
    assert json.loads(answer.response.body)["error"]["type"] == "invalid_request_error"


def test_a_stream_is_paced() -> None:
    mock = mocked({"m": ["one two three"]}, tokens_per_second=10, delay="1s")
    response = ask(mock, chat(stream=True), Session("s")).response
    assert response.events is not None
    assert response.delay == 1
    assert [event.delay for event in response.events] == [0, 0.1, 0.1, 0.1, 0, 0]
    assert response.events[-1].data == "[DONE]"


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("{scripts: {m: []}}", "neither provider nor url", "openai"),
        ("{provider: opnai, scripts: {}}", "unknown provider 'opnai'", "Did you mean openai?"),
        ("{provider: openai}", "has no scripts", "gpt-5.5"),
        ("{provider: openai, scripts: []}", "scripts is []", "gpt-5.5"),
        ("{provider: openai, scripts: {m: text}}", "m is 'text'", "m: ["),
        ("{provider: openai, script: {m: []}}", "unknown key 'script'", "scripts"),
        ("{provider: openai, scripts: {m: [{$tols: []}]}}", "unknown key '$tols'", "$tools"),
        ("{provider: openai, scripts: {m: [{$tools: []}]}}", "$tools is empty", "list_issues"),
        ("{provider: openai, scripts: {m: [{$tools: [{name: a}]}]}}", "unknown key 'name'", "tool"),
        ("{provider: openai, scripts: {m: [{$tools: [{tool: a, input: 1}]}]}}", "input is 1", "state"),
        ("{provider: openai, scripts: {m: [{$text: 1}]}}", "$text is 1", "Looking"),
        ("{provider: openai, scripts: {m: [{$throw: {status: 200}}]}}", "status is 200", "529"),
        ("{provider: openai, scripts: {m: [{$throw: {attempts: 0}}]}}", "attempts is 0", "1"),
        ("{provider: openai, scripts: {m: [{$throw: {statsu: 500}}]}}", "unknown key 'statsu'", "status"),
        ("{provider: openai, scripts: {m: [{$refusal: no, $text: a}]}}", "$refusal stands beside", "Keep one"),
        ("{provider: openai, scripts: {m: [{$delay: 1s}]}}", "has no answer", "$text"),
        ("{provider: openai, scripts: {m: [{$text: a, $delay: soon}]}}", "'soon' is not a length of time", "250ms"),
        (
            "{provider: openai, scripts: {m: [{result: a, usage: {inputToken: 1}}]}}",
            "unknown key 'inputToken'",
            "inputTokens",
        ),
        ("{provider: openai, scripts: {m: [{result: a, usage: {inputTokens: -1}}]}}", "inputTokens is -1", "120"),
        (
            "{provider: openai, scripts: {m: [{result: a, usage: {}, mesages: []}]}}",
            "unknown key 'mesages'",
            "messages",
        ),
        ("{provider: openai, scripts: {m: []}, seam: {request: n}}", "the seam n has no script", "m"),
        ("{provider: openai, scripts: {m: []}, seam: {request: m, occurrence: 0}}", "occurrence is 0", "2"),
        ("{provider: openai, scripts: {m: []}, requests: {n: {schema: S}}}", "the request n has no script", "m"),
        ("{provider: openai, scripts: {m: []}, requests: {m: {}}}", "nothing tells the request m", "tools"),
        ("{provider: openai, scripts: {m: []}, requests: {m: {tool: a}}}", "unknown key 'tool'", "tools"),
        ("{provider: openai, scripts: {m: []}, requests: {m: {match: {a: {format: x}}}}}", "format", "pattern"),
        ("{provider: openai, scripts: {m: []}, repeat_last: 1}", "repeat_last is 1", "true"),
        ("{provider: openai, scripts: {m: []}, tokens_per_second: 0}", "tokens_per_second is 0", "50"),
        ("{provider: openai, scripts: {m: []}, delay: later}", "'later' is not a length of time", "250ms"),
        ("{url: 'http://localhost:1234/v1', scripts: {m: []}}", "is on this machine", ""),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, text: str, message: str, fix: str) -> None:
    (tmp_path / "m.yaml").write_text(f"{{kind: model, {text[1:]}")
    (error,) = load(tmp_path, shown="mocks").errors
    assert message in error.message
    assert fix in error.fix
    assert error.where == "mocks/m.yaml:1"


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(
        "kind: model\nprovider: opnai\nscripts:\n  m:\n    - {$tols: []}\n    - fine\n    - {$throw: {status: 1}}\n"
    )
    errors = load(tmp_path, shown="mocks").errors
    assert [error.line for error in errors] == [2, 5, 7]


def test_a_forced_tool_is_wrapped_as_its_schema_asks() -> None:
    parameters = {"type": "object", "properties": {"result": {}}}
    tools = [{"type": "function", "function": {"name": "final", "parameters": parameters}}]
    answer = ask(mocked({"m": [{"score": 4}]}), chat(tools=tools, tool_choice="required"), Session("s"))
    assert said(answer) == [("final", {"result": {"score": 4}})]
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": offering("b")}}
    answer = ask(mocked({"m": [{"x": 1}]}), chat(tools=offering("a", "b"), tool_choice=allowed), Session("s"))
    assert said(answer) == [("b", {"x": 1})]


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("responses", {"reasoning": "high"}, 400),
        ("responses", {"text": "high"}, 400),
        ("responses", {"text": {"format": {"name": {}}}}, 200),
        ("chat/completions", {"response_format": {"json_schema": {"name": ["x"]}}}, 200),
    ],
    ids=["reasoning", "text", "name of a format", "name of a schema"],
)
def test_a_member_of_another_type_than_its_own_takes_no_entry_and_breaks_nothing(
    path: str, given: dict[str, Any], status: int
) -> None:
    body = {"model": "m", "input": "x", "messages": [{"role": "user", "content": "x"}], **given}
    target = parse_url(f"https://api.openai.com/v1/{path}")
    request = Request(method="POST", target=target, headers=Headers(), body=json.dumps(body).encode())
    mock, session = mocked({"m": ["one", "two"]}), Session("s")
    answer = ask(mock, request, session)
    assert (answer.response.status, answer.error) == (status, None)
    assert said(ask(mock, chat("next"), session)) == ("two" if status == 200 else "one")
