"""Stubs of an http mock: what input they see, what comes before what, and what a miss tells."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eve_mocks import http_mock
from eve_mocks.dispatch import Dispatcher
from eve_mocks.document import Document
from eve_mocks.errors import MockError
from eve_mocks.folder import Folder
from eve_mocks.load import load
from eve_mocks.match import parse_url
from eve_mocks.model import Answer, BadRequest, Call, Headers, Request
from eve_mocks.router import Router
from eve_mocks.session import Session, Sessions
from eve_mocks.stubs.rules import read_for

if TYPE_CHECKING:
    from conftest import Project

    from eve_mocks.kinds.http import Http

URL = "https://api.shop.test/v1"
FOLDER = Folder.at(Path(__file__).parent, "tests")
JSON = ("Content-Type", "application/json")


def finished(*stubs: Any, routes: dict[str, Any] | None = None) -> Http:
    return http_mock(URL, routes=routes, stubs=list(stubs)).named("shop", FOLDER)


def stub(id_: str, tool: str, response: Any, **match: Any) -> dict[str, Any]:
    return {"id": id_, "tool": tool, "match": match, "outcome": {"response": response}}


def ask(
    mock: Http,
    path: str,
    method: str = "GET",
    *,
    body: bytes = b"",
    headers: tuple[tuple[str, str], ...] = (),
    session: Session | None = None,
) -> Answer:
    asked = Request(method=method, target=parse_url(URL + path), headers=Headers(headers), body=body)
    return asyncio.run(mock.answer(asked, session or Session("s")))


def said(answer: Answer) -> Any:
    return json.loads(answer.response.body)


@pytest.mark.parametrize(
    ("match", "matches"),
    [
        ({"order_id": {"const": "a/b"}}, True),
        ({"page": {"const": "2"}}, True),
        ({"page": {"const": 2}}, False),  # without a schema, values are text
        ({"tag": {"type": "array", "prefixItems": [{"const": "x"}, {"const": "y"}]}}, True),
        ({"tag": {"type": "string"}}, False),
        ({"x-trace": {"const": "t1"}}, True),
        ({"visitor": {"const": "v1"}}, True),
        ({"body": {"properties": {"reason": {"const": "broken"}}, "required": ["reason"]}}, True),
        ({"body": {"type": "object", "required": ["amount"]}}, False),
        ({"nothing": True}, False),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_the_input_is_parameters_by_name_and_the_body(match: dict[str, Any], matches: bool) -> None:
    mock = finished(
        stub("refund", "POST /orders/{order_id}/refund", "stub", **match),
        routes={"/orders/{order_id}/refund": {"POST": {"response": "route"}}},
    )
    answer = ask(
        mock,
        "/orders/a%2Fb/refund?page=2&tag=x&tag=y",
        "POST",
        body=b'{"reason": "broken"}',
        headers=(JSON, ("X-Trace", "t1"), ("Cookie", "visitor=v1")),
    )
    assert said(answer) == ("stub" if matches else "route")
    assert (answer.stub, answer.position) == (("shop:refund", 0) if matches else (None, None))
    assert (answer.operation, answer.nearest) == ("POST /orders/{order_id}/refund", None)


def test_a_sequence_of_every_kind_of_outcome() -> None:
    mock = finished(
        {
            "id": "s",
            "tool": "GET /x",
            "outcomes": [
                {"throw": {"name": "TimeoutError", "message": "late"}},
                {"status": 503, "body": "down", "headers": {"retry-after": "1"}},
                {"fault": "reset"},
                {"events": [{"data": "a"}], "delay": "5ms"},
                {"response": None},
            ],
        }
    )
    session = Session("s")
    answers = [ask(mock, "/x", session=session) for _ in range(6)]
    assert [answer.position for answer in answers] == [0, 1, 2, 3, 4, 4]
    responses = [answer.response for answer in answers]
    assert (responses[0].status, said(answers[0])) == (500, {"error": {"name": "TimeoutError", "message": "late"}})
    assert (responses[1].status, responses[1].body, responses[1].headers[-1]) == (503, b"down", ("retry-after", "1"))
    assert responses[2].fault == "reset"
    assert responses[3].events is not None
    assert responses[3].delay == 0.005
    assert [response.body for response in responses[4:]] == [b"null", b"null"]


def test_a_stub_makes_an_operation_known_that_nothing_else_lists() -> None:
    mock = finished(stub("a", "POST /search", 1, q=True), stub("b", "shop__POST /search", 2))
    assert mock.operations() == ["POST /search"]
    assert said(ask(mock, "/search", "POST")) == 2
    assert ask(mock, "/search").response.status == 404


def test_head_is_answered_by_the_stub_of_get() -> None:
    answer = ask(finished(stub("a", "GET /x", 1)), "/x", "HEAD")
    assert (answer.stub, answer.operation) == ("shop:a", "HEAD /x")


def test_what_no_stub_matches_goes_to_the_next_that_fits() -> None:
    routes = {"/a/{x}": {"GET": {"response": "templated"}}, "/**": {"ANY": {"response": "rest"}}}
    mock = finished(
        stub("c", "GET /a/b", "concrete", q=True), stub("r", "ANY /**", "any", q={"const": "2"}), routes=routes
    )
    assert said(ask(mock, "/a/b?q=1")) == "concrete"
    assert said(ask(mock, "/a/b")) == "templated"
    assert said(ask(mock, "/z?q=2")) == "any"
    assert said(ask(mock, "/z")) == "rest"


def test_a_stub_is_for_one_operation_and_not_for_what_its_path_would_also_fit() -> None:
    routes = {"/a/latest": {"GET": {"response": "latest"}}}
    mock = finished(stub("t", "GET /a/{x}", "templated"), routes=routes)
    assert said(ask(mock, "/a/latest")) == "latest"
    assert said(ask(mock, "/a/1")) == "templated"


def test_a_miss_tells_the_nearest_stub_and_what_differs() -> None:
    mock = finished(
        stub("far", "GET /x", 1, a={"const": "2"}, b=True),
        stub("near", "GET /x", 1, a={"const": "1"}, c={"type": "array"}),
    )
    answer = ask(mock, "/x?a=1&c=2")
    assert (answer.response.status, answer.stub) == (404, None)
    assert answer.nearest == 'shop:near: c is "2", not of type array'
    assert said(answer)["error"]["nearest"] == "shop:near"


def test_no_credential_is_told() -> None:
    mock = finished(stub("a", "POST /x", 1, authorization={"const": "Bearer right"}, body={"properties": {"x": False}}))
    body = b'{"x": {"password": "hunter2"}}'
    answer = ask(mock, "/x", "POST", body=body, headers=(JSON, ("Authorization", "Bearer wrong")))
    assert answer.nearest is not None
    assert answer.nearest.startswith("shop:a: authorization differs; body.x is")
    for secret in ("right", "wrong", "hunter2"):
        assert secret not in answer.nearest


def test_a_body_that_is_not_json_uses_nothing() -> None:
    mock = finished(stub("a", "POST /x", 1, body=True))
    session = Session("s")
    with pytest.raises(BadRequest):
        ask(mock, "/x", "POST", body=b"{", headers=(JSON,), session=session)
    assert session.stubs.verification()["matchedRuleIds"] == []


def test_an_unconditional_stub_does_not_read_the_body() -> None:
    mock = finished(stub("a", "POST /x", 1))
    assert said(ask(mock, "/x", "POST", body=b"{", headers=(JSON,))) == 1


@pytest.mark.parametrize(
    ("match", "reads"), [({"body": {"type": "object"}}, True), ({"q": True}, False), ({}, False)], ids=str
)
def test_whether_the_body_is_read(match: dict[str, Any], reads: bool) -> None:
    mock = finished(stub("a", "POST /x", 1, **match))
    request = Request(method="POST", target=parse_url(f"{URL}/x"), headers=Headers())
    assert mock.reads_body(request) is reads


def test_stubs_of_a_session_come_first_and_are_its_own() -> None:
    mock = finished(stub("a", "GET /x", "mock"), routes={"/y": {"GET": {"response": "route"}}})
    given = [stub("a", "GET /x", "session", q={"const": "1"}), stub("b", "shop:GET /y", "session")]
    own = read_for([mock], Document.from_python(given, file="", line=None, folder=FOLDER), "")
    session = Session("s", own)
    assert [said(ask(mock, path, session=session)) for path in ("/x?q=1", "/x", "/y")] == ["session", "mock", "session"]
    assert [said(ask(mock, path)) for path in ("/x?q=1", "/y")] == ["mock", "route"]
    assert session.stubs.verification()["matchedRuleIds"] == ["a", "shop:a", "b"]


@pytest.mark.parametrize(
    ("tool", "fix"),
    [
        ("GET /orders/{id}", "Did you mean GET /orders/{order_id}?"),
        ("getOrder", "Use one of: GET /orders/{order_id}."),
        ("GETT /orders", "GET /orders/{order_id}"),
    ],
)
def test_an_operation_under_another_name_is_refused(tool: str, fix: str) -> None:
    with pytest.raises(MockError) as caught:
        finished(stub("a", tool, 1), routes={"/orders/{order_id}": {"GET": {"response": 1}}})
    assert caught.value.message.startswith('stub "a": $.stubs[0].tool: ')
    assert fix in caught.value.fix
    assert caught.value.where == f"tests/test_stubs_http.py:{finished.__code__.co_firstlineno + 1}"


def test_a_yaml_mock(tmp_path: Path) -> None:
    folder = tmp_path / "mocks"
    folder.mkdir()
    file = folder / "shop.yaml"
    file.write_text(
        "kind: http\nurl: https://api.shop.test/v1\nstubs:\n"
        "  - {id: a, tool: GET /x, outcomes: [{response: pending}, {response: completed}]}\n"
    )
    found = load(folder, shown="mocks")
    assert found.errors == []
    session = Session("s")
    assert [said(ask(found.mocks[0], "/x", session=session)) for _ in range(3)] == ["pending", "completed", "completed"]
    file.write_text(file.read_text().replace("completed}", "completed, sttus: 3}"))
    (error,) = load(folder, shown="mocks").errors
    assert (error.file, error.line, error.fix) == ("mocks/shop.yaml", 4, "Did you mean status?")
    assert error.message == "stub \"a\": $.stubs[0].outcomes[1]: unknown key 'sttus' in outcomes.1"


def test_calls_at_once_use_each_entry_once() -> None:
    mock = finished({"id": "n", "tool": "GET /n", "outcomes": [{"response": number} for number in range(50)]})

    async def run() -> list[list[int]]:
        asked = Request(method="GET", target=parse_url(f"{URL}/n"), headers=Headers())
        sessions = [Session("a"), Session("b")]
        answers = await asyncio.gather(*(mock.answer(asked, sessions[n % 2]) for n in range(100)))
        return [[said(answer) for answer in answers[first::2]] for first in (0, 1)]

    assert asyncio.run(run()) == [list(range(50))] * 2


def dispatched(session_stubs: list[Any], *paths: str) -> tuple[list[Call], Dispatcher]:
    """The calls that the dispatcher records for requests with the session's own stubs."""
    mock = finished(stub("a", "GET /x", 1, q={"const": "1"}))
    own = read_for([mock], Document.from_python(session_stubs, file="", line=None, folder=FOLDER), "")
    calls: list[Call] = []
    dispatcher = Dispatcher(Router([mock]), Sessions("run", own), calls.append)

    async def run() -> None:
        for path in paths:
            exchange = await dispatcher.answer(Request(method="GET", target=parse_url(URL + path), headers=Headers()))
            exchange.finish(status=exchange.response.status if exchange.response else None)

    asyncio.run(run())
    return calls, dispatcher


def test_the_log_has_the_rule_the_position_and_the_nearest() -> None:
    calls, _ = dispatched([stub("own", "GET /x", 2, q={"const": "2"})], "/x?q=1", "/x?q=2", "/x?q=2", "/x?q=3")
    assert [(call.outcome, call.status, call.stub, call.position, call.nearest) for call in calls] == [
        ("mocked", 200, "shop:a", 0, None),
        ("mocked", 200, "own", 0, None),
        ("mocked", 200, "own", 0, None),
        ("mocked", 404, None, None, 'own: q is "3", not "2"'),
    ]


def test_more_than_10000_calls_break_the_mock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eve_mocks.stubs.playback.CALLS", 1)
    calls, _ = dispatched([], "/x?q=1", "/x?q=1")
    assert [(call.outcome, call.status) for call in calls] == [("mocked", 200), ("error", 500)]
    assert "more than" in (calls[1].error or "")


@pytest.mark.parametrize(("own", "reads"), [([], False), ([stub("b", "GET /x", 1)], True)])
def test_the_body_is_read_where_a_session_has_stubs(own: list[Any], reads: bool) -> None:
    _, dispatcher = dispatched(own)
    request = Request(method="GET", target=parse_url(f"{URL}/x"), headers=Headers())
    assert dispatcher.reads_body(request) is reads
    bad = Request(method="GET", target=parse_url(f"{URL}/x"), headers=Headers([("x-eve-mocks-session", "../..")]))
    assert dispatcher.reads_body(bad) is False


def test_what_is_unused_is_told_as_the_last_edit_has_left_it(project: Project) -> None:
    """The stub of the file as it was when the run began is there no more, and so is none that was not used."""
    mock = "kind: http\nurl: https://api.pay.test/\nroutes: {{/: {{GET: {{response: 0}}}}}}\nstubs: [{}]\n"
    rules = {name: f"{{id: {name}, tool: GET /, outcome: {{response: {name}}}}}" for name in ("old", "new", "last")}
    project.file("mocks/pay.yaml", mock.format(rules["old"]))
    code = f"""
        import pathlib, subprocess
        pathlib.Path("mocks/pay.yaml").write_text({mock.format(rules["new"] + ", " + rules["last"])!r})
        while subprocess.check_output(["curl", "-sS", "https://api.pay.test/"]) != b'"new"':
            pass
    """
    project.file("edit.py", code)
    done = project.eve_mocks("run", "--", "timeout", "20", sys.executable, "edit.py")
    assert done.returncode == 0, done.stderr
    assert project.report()["unused"]["stubs"] == ["pay:last"]
