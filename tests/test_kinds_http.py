"""Kind http: which route answers, what it answers, and what a handler is given."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import eve_mocks
from eve_mocks import Response, http_mock
from eve_mocks.errors import MockError
from eve_mocks.folder import Folder
from eve_mocks.load import load
from eve_mocks.match import parse_url
from eve_mocks.model import Answer, Headers, Request
from eve_mocks.session import Session

if TYPE_CHECKING:
    from eve_mocks.kinds.http import Http, HttpMock

URL = "https://api.pay.test/v1"


def finished(mock: HttpMock) -> Http:
    return mock.named("pay", Folder.at(Path(__file__).parent, "tests"))


def request(
    path: str = "/", method: str = "GET", *, body: bytes = b"", headers: list[tuple[str, str]] | None = None
) -> Request:
    return Request(method=method, target=parse_url(URL + path), headers=Headers(headers or ()), body=body)


def ask(mock: HttpMock, asked: Request, session: Session | None = None) -> Answer:
    return asyncio.run(finished(mock).answer(asked, session or Session("s")))


def said(answer: Answer) -> Any:
    return json.loads(answer.response.body)


ROUTES = {
    "/**": {"GET": {"response": "rest"}},
    "/a/{x}": {"GET": {"response": "templated"}, "ANY": {"response": "templated any"}},
    "/a/b": {"GET": {"response": "concrete"}, "DELETE": {"status": 204}},
    "/a/{x}.json": {"GET": {"response": "partly templated"}},
    "/a/**": {"POST": {"response": "rest of a"}},
    "/": {"ANY": {"response": "root"}},
    "/c%20d/é": {"GET": {"response": "encoded"}},
}


@pytest.mark.parametrize(
    ("method", "path", "expected", "operation"),
    [
        ("GET", "/a/b", "concrete", "GET /a/b"),
        ("GET", "/a/c", "templated", "GET /a/{x}"),
        ("GET", "/a/c.json", "partly templated", "GET /a/{x}.json"),
        ("GET", "/a/c/d", "rest", "GET /**"),
        ("POST", "/a/c/d", "rest of a", "POST /a/**"),
        ("POST", "/a/b", "templated any", "POST /a/{x}"),
        ("HEAD", "/a/b", "concrete", "HEAD /a/b"),
        ("PUT", "/a/c", "templated any", "PUT /a/{x}"),
        ("GET", "", "root", "GET /"),
        ("GET", "/", "root", "GET /"),
        ("GET", "/a/x%2Fy", "templated", "GET /a/{x}"),
        ("GET", "/a/%62", "concrete", "GET /a/b"),
        ("GET", "/a/z/../b", "concrete", "GET /a/b"),
        ("GET", "/a//b", "rest", "GET /**"),
        ("GET", "/c%20d/%c3%a9", "encoded", "GET /c%20d/é"),
        ("GET", "/A/b", "rest", "GET /**"),
    ],
)
def test_the_nearest_route_answers(method: str, path: str, expected: str, operation: str) -> None:
    answer = ask(http_mock(URL, routes=ROUTES), request(path, method))
    assert (said(answer), answer.operation) == (expected, operation)


def test_operations_are_listed() -> None:
    routes = {"/a/{x}": {"GET": {"response": 1}}, "/b": {"POST": {"response": 1}, "ANY": {"response": 2}}}
    assert finished(http_mock(URL, routes=routes)).operations() == ["POST /b", "ANY /b", "GET /a/{x}"]


@pytest.mark.parametrize(
    ("method", "path", "nearest"),
    [
        ("GET", "/pages", 'GET /pages/{id}: "/{id}" is missing at the end'),
        ("GET", "/pags/p1", 'GET /pages/{id}: segment 1 is "pags", not "pages"'),
        ("PUT", "/pages/p1", "GET /pages/{id}: the method is PUT; the path has GET, PATCH"),
        ("PATCH", "/pages/p1/blocks", 'PATCH /pages/{id}: "/blocks" is too much at the end'),
        ("POST", "/search/", "POST /search: the call has a slash at the end"),
        ("POST", "/zzz/yyy/xxx", None),
    ],
)
def test_a_miss_names_the_nearest_route_and_what_differs(method: str, path: str, nearest: str | None) -> None:
    routes = {
        "/pages/{id}": {"GET": {"response": 1}, "PATCH": {"response": 1}},
        "/search": {"POST": {"response": 1}},
    }
    answer = ask(http_mock(URL, routes=routes), request(path, method))
    assert (answer.response.status, answer.operation) == (404, f"{method} {path}")
    assert answer.nearest == nearest
    error = said(answer)["error"]
    assert error["message"] == f"the mock pay has no answer for {method} {path}"
    assert ": ".join(error[key] for key in ("nearest", "difference") if key in error) == (nearest or "")


def test_a_mock_without_routes_answers_404() -> None:
    answer = ask(http_mock(URL), request("/x"))
    assert (answer.response.status, answer.nearest, answer.error) == (404, None, None)
    assert answer.unanswered == "Add a handler for GET /x to tests/test_kinds_http.py."


def test_a_handler_takes_what_it_names() -> None:
    mock = http_mock(URL, state={"n": 1})
    seen: dict[str, Any] = {}

    @mock.post("/orders/{id}/x")
    def handler(args: Any, request: Any, params: Any, state: Any, session: Any) -> None:
        seen.update(args=args, request=request, params=params, state=state, session=session)

    asked = request(
        "/orders/a%2Fb/x?q=1&r=1&r=2&id=no&body=no",
        "POST",
        body=b'{"a": 1, "a": 2}',
        headers=[("Content-Type", "application/json; charset=utf-8"), ("Cookie", 'c=3; q="4"'), ("X-Trace", "5")],
    )
    answer = ask(mock, asked, Session("me"))
    assert (answer.response.status, answer.response.body) == (204, b"")
    assert seen["args"] == {
        "c": "3",
        "content-type": "application/json; charset=utf-8",
        "x-trace": "5",
        "q": "1",
        "r": ["1", "2"],
        "id": "a/b",
        "body": {"a": 2},
    }
    assert (seen["request"], seen["params"], seen["state"], seen["session"]) == (asked, {"id": "a/b"}, {"n": 1}, "me")


@pytest.mark.parametrize(
    ("media_type", "body", "expected"),
    [
        ("application/json", b"[1]", [1]),
        ("application/vnd.api+json", b"1", 1),
        ("application/x-www-form-urlencoded", b"a=1&b=2&b=3&c=", {"a": "1", "b": ["2", "3"], "c": ""}),
        ("text/plain", b"caf\xc3\xa9", "café"),
        (None, b"x", "x"),
    ],
)
def test_the_body_is_read_by_its_type(media_type: str | None, body: bytes, expected: object) -> None:
    mock = http_mock(URL)
    mock.post("/")(lambda args: {"got": args["body"]})
    headers = [("content-type", media_type)] if media_type else []
    assert said(ask(mock, request("/", "POST", body=body, headers=headers))) == {"got": expected}


@pytest.mark.parametrize("body", [b"{", b"\xff", b'"\\ud800"', b"NaN", b"[" * 100_000])
def test_a_body_that_is_not_json_is_the_clients_mistake(body: bytes) -> None:
    mock = http_mock(URL)
    mock.post("/")(lambda request: request.json())
    answer = ask(mock, request("/", "POST", body=body))
    assert (answer.response.status, answer.operation, answer.error) == (400, "POST /", None)
    assert said(answer)["error"]["message"].startswith("the body ")


@pytest.mark.parametrize(
    ("returned", "status", "body"),
    [
        ({"a": 1}, 200, b'{"a": 1}'),
        ([], 200, b"[]"),
        (0, 200, b"0"),
        (False, 200, b"false"),
        ("text", 200, b'"text"'),
        (None, 204, b""),
        (Response(status=404, json={"error": "no"}), 404, b'{"error": "no"}'),
        (Response(json=None), 200, b"null"),
    ],
)
def test_what_a_handler_returns_is_the_answer(returned: object, status: int, body: bytes) -> None:
    async def handler() -> object:
        await asyncio.sleep(0)
        return returned

    for function in (handler, lambda: returned):
        mock = http_mock(URL)
        mock.get("/")(function)
        response = ask(mock, request()).response
        assert (response.status, response.body) == (status, body)


def test_a_handler_passes_to_the_next_answer() -> None:
    mock = http_mock(URL, routes={"/a/b": {"ANY": {"response": "any"}}})
    mock.get("/a/b")(lambda: NotImplemented)
    mock.get("/{x}/{y}")(lambda: NotImplemented)
    assert said(ask(mock, request("/a/b"))) == "any"
    missed = ask(mock, request("/c/d"))
    assert (missed.response.status, missed.nearest) == (404, "GET /{x}/{y}: its handler passed")
    assert missed.unanswered is not None
    assert missed.unanswered.startswith("Let the handler of GET /{x}/{y} answer")


@pytest.mark.parametrize(
    ("raised", "status", "error"),
    [
        (eve_mocks.Throw("slow", "TimeoutError"), 500, {"name": "TimeoutError", "message": "slow"}),
        (eve_mocks.Throw("slow"), 500, {"name": "Error", "message": "slow"}),
        (eve_mocks.ToolError("title is required"), 500, {"name": "ToolError", "message": "title is required"}),
    ],
)
def test_a_thrown_error_is_an_answer_that_the_preload_knows(raised: Exception, status: int, error: object) -> None:
    def handler() -> None:
        raise raised

    mock = http_mock(URL)
    mock.get("/")(handler)
    answer = ask(mock, request())
    assert (answer.response.status, said(answer), answer.error) == (status, {"error": error}, None)
    assert ("eve-mocks", "throw") in answer.response.headers


def test_a_fault_is_carried_to_the_connection() -> None:
    def handler() -> None:
        raise eve_mocks.Fault("reset")

    mock = http_mock(URL, routes={"/a": {"GET": {"fault": "truncated"}}})
    mock.get("/")(handler)
    assert ask(mock, request()).response.fault == "reset"
    assert ask(mock, request("/a")).response.fault == "truncated"


def test_an_unknown_fault_gets_the_nearest() -> None:
    mock = http_mock(URL)

    @mock.get("/")
    def handler() -> None:
        raise eve_mocks.Fault("rest")  # type: ignore[arg-type]

    with pytest.raises(MockError, match="Did you mean reset"):
        ask(mock, request())


def _breaks() -> dict[str, Any]:
    import datetime
    import decimal

    return {
        "raises": lambda: 1 // 0,
        "exits": lambda: sys.exit(1),
        "stops": lambda: next(iter(())),
        "a date": lambda: {"a": [{"b": datetime.date(2026, 1, 1)}]},
        "a Decimal": lambda: {"a": decimal.Decimal(1)},
        "bytes": lambda: {"a": b"x"},
        "a set": lambda: [{1}],
        "NaN": lambda: {"a": float("nan")},
        "a generator": lambda: (n for n in ()),
        "an object": object,
        "a bad status": lambda: Response(99),
        "two bodies": lambda: Response(json=1, text="x"),
        "a bad header": lambda: Response(headers={"a": "x\ny"}),
        "state": lambda state: state["missing"],
    }


@pytest.mark.parametrize(("name", "handler"), _breaks().items(), ids=_breaks())
def test_a_handler_that_breaks_is_told_with_its_place(name: str, handler: Any) -> None:
    mock = http_mock(URL)
    if name == "an object":

        def handler() -> object:
            return object()

    mock.get("/")(handler)
    with pytest.raises(MockError) as caught:
        ask(mock, request())
    assert caught.value.file == "tests/test_kinds_http.py"
    source = Path(__file__).read_text().splitlines()
    assert "def handler" in source[caught.value.line - 1] or "lambda" in source[caught.value.line - 1]


@pytest.mark.parametrize(
    ("value", "told"),
    [({"a": [1, {"b": {3}}]}, "$.a[1].b is of type set"), ({"n": float("inf")}, "$.n is inf"), ({(1, 2): 1}, "(1, 2)")],
)
def test_a_value_that_is_not_json_is_told_with_its_path(value: object, told: str) -> None:
    mock = http_mock(URL)
    mock.get("/")(lambda: value)
    with pytest.raises(MockError) as caught:
        ask(mock, request())
    assert told in caught.value.message


@pytest.mark.parametrize(
    ("function", "reads"),
    [
        (lambda: 1, False),
        (lambda params, state, session: 1, False),
        (lambda request: 1, True),
        (lambda args: 1, True),
    ],
)
def test_the_body_is_waited_for_only_where_a_handler_can_see_it(function: Any, reads: bool) -> None:
    mock = http_mock(URL, routes={"/static": {"POST": {"response": 1}}})
    mock.post("/{x}")(function)
    assert finished(mock).reads_body(request("/x", "POST")) is reads
    assert finished(mock).reads_body(request("/x", "PUT")) is False
    assert finished(mock).reads_body(request("/x/y/z", "POST")) is False


def test_a_handler_that_may_pass_is_seen_behind_a_static_route() -> None:
    mock = http_mock(URL, routes={"/{x}": {"POST": {"response": 1}}})
    mock.post("/a")(lambda request: NotImplemented if request.body else 2)
    assert finished(mock).reads_body(request("/a", "POST")) is True
    assert said(ask(mock, request("/a", "POST", body=b"x"))) == 1


@pytest.mark.parametrize("seed", [{"n": 0}, lambda: {"n": 0}], ids=["value", "function"])
def test_fifty_parallel_calls_in_each_of_two_sessions_count_to_fifty(seed: object) -> None:
    mock = http_mock(URL, state=seed)

    @mock.get("/count")
    async def count(state: Any) -> int:
        n: int = state["n"]
        await asyncio.sleep(0)
        state["n"] = n + 1
        return n + 1

    async def run() -> list[list[Any]]:
        made = finished(mock)
        sessions = [Session("a"), Session("b")]
        calls = [made.answer(request("/count"), session) for _ in range(50) for session in sessions]
        answers = [said(answer) for answer in await asyncio.gather(*calls)]
        return [answers[0::2], answers[1::2]]

    assert asyncio.run(run()) == [list(range(1, 51))] * 2


def test_a_seed_function_that_breaks_is_told() -> None:
    mock = http_mock(URL, state=lambda: 1 // 0)
    mock.get("/")(lambda state: state)
    with pytest.raises(MockError, match="ZeroDivisionError") as caught:
        ask(mock, request())
    assert caught.value.file == "tests/test_kinds_http.py"


def test_state_without_a_seed_is_an_empty_mapping() -> None:
    mock = http_mock(URL)
    mock.get("/")(lambda state: state)
    assert said(ask(mock, request())) == {}


def test_a_decorated_function_stays_a_function() -> None:
    mock = http_mock(URL)

    @mock.get("/a")
    @mock.route("any", "/b")
    def answer() -> int:
        return 1

    assert answer() == 1
    assert finished(mock).operations() == ["ANY /b", "GET /a"]


STATIC: list[tuple[str, int, dict[str, str], bytes]] = [
    ("{response: {a: [1]}}", 200, {"content-type": "application/json"}, b'{"a": [1]}'),
    ("{response: null}", 200, {"content-type": "application/json"}, b"null"),
    (
        "{response: 1, status: 418, headers: {X-A: 1, content-type: text/x}}",
        418,
        {"X-A": "1", "content-type": "text/x"},
        b"1",
    ),
    ("{body: café}", 200, {"content-type": "text/plain; charset=utf-8"}, "café".encode()),
    ("{body: ''}", 200, {"content-type": "text/plain; charset=utf-8"}, b""),
    ("{body_file: files/page.html}", 200, {"content-type": "text/html"}, b"<p>\r\n\xff"),
    (
        "{body_file: files/../files/page.html, headers: {Content-Type: x/y}}",
        200,
        {"Content-Type": "x/y"},
        b"<p>\r\n\xff",
    ),
    ("{body_file: linked.bin}", 200, {"content-type": "application/octet-stream"}, b"out"),
    ("{status: 204}", 204, {}, b""),
    (
        "{throw: {message: m}}",
        500,
        {"content-type": "application/json", "eve-mocks": "throw"},
        b'{"error": {"name": "Error", "message": "m"}}',
    ),
    (
        "{throw: {name: N, message: m}, status: 503}",
        503,
        {"content-type": "application/json", "eve-mocks": "throw"},
        b'{"error": {"name": "N", "message": "m"}}',
    ),
]


@pytest.mark.parametrize(("outcome", "status", "headers", "body"), STATIC, ids=[row[0] for row in STATIC])
def test_static_outcomes(tmp_path: Path, outcome: str, status: int, headers: dict[str, str], body: bytes) -> None:
    (tmp_path / "outside").write_bytes(b"out")
    (tmp_path / "mocks/files").mkdir(parents=True)
    (tmp_path / "mocks/files/page.html").write_bytes(b"<p>\r\n\xff")
    (tmp_path / "mocks/linked.bin").symlink_to(tmp_path / "outside")
    (tmp_path / "mocks/m.yaml").write_text(f"kind: http\nurl: {URL}\nroutes:\n  /a:\n    GET: {outcome}\n")
    loaded = load(tmp_path / "mocks", shown="mocks")
    assert loaded.errors == []
    response = asyncio.run(loaded.mocks[0].answer(request("/a"), Session("s"))).response
    assert (response.status, dict(response.headers), response.body) == (status, headers, body)


def test_events_delays_and_repeated_headers_are_carried(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(
        f"kind: http\nurl: {URL}\nroutes:\n  /a:\n    GET:\n      delay: 250ms\n"
        "      headers: {set-cookie: [a=1, b=2]}\n"
        '      events:\n        - {data: {n: 1}, id: 7}\n        - {data: "x\\r\\ny\\rz", event: end, delay: 1.5s}\n'
    )
    loaded = load(tmp_path)
    response = asyncio.run(loaded.mocks[0].answer(request("/a"), Session("s"))).response
    assert response.events is not None
    assert [event.encode() for event in response.events] == [
        b'id: 7\ndata: {"n": 1}\n\n',
        b"event: end\ndata: x\ndata: y\ndata: z\n\n",
    ]
    assert (response.delay, [event.delay for event in response.events]) == (0.25, [0.0, 1.5])
    assert [value for name, value in response.headers if name == "set-cookie"] == ["a=1", "b=2"]


BAD_OUTCOMES: list[tuple[str, str, str]] = [
    ("hello", "not a mapping", "response"),
    ("{object: page}", "not an outcome", "GET: {response:"),
    ("{}", "no answer", "response"),
    ("{status: 200}", "no answer", "response"),
    ("{response: 1, body: x}", "response and body", "one"),
    ("{response: 1, sttus: 200}", "'sttus'", "Did you mean status?"),
    ("{response: 1, status: 99}", "status 99", "Use"),
    ("{response: 1, status: 101}", "status 101", "Use"),
    ("{response: 1, status: '200'}", "status '200'", "Use"),
    ("{response: 1, status: true}", "status true", "Use"),
    ("{response: 1, status: }", "status nothing (null)", "Use"),
    ("", "GET is nothing (null), not a mapping", "response"),
    ("{respnse: 1}", "not an outcome", "Did you mean response?"),
    ("{evnts: [], status: 200}", "'evnts'", "Did you mean events?"),
    ("{fault: }", "unknown fault nothing", "reset"),
    ("{response: 1, headers: [a]}", "not a mapping", "x-request-id"),
    ("{response: 1, headers: {a b: c}}", "not a header name", "name"),
    ('{response: 1, headers: {a: "b\\nc"}}', "cannot carry", "line breaks"),
    ("{response: 1, headers: {a: ☕}}", "cannot carry", "encode"),
    ("{response: 1, headers: {a: {b: c}}}", "header a is", "text"),
    ("{response: 1, headers: {a: ~}}", "header a is", "text"),
    ("{response: 1, delay: soon}", "not a length of time", "250ms"),
    ("{response: 1, delay: -1}", "not a length of time", "250ms"),
    ("{body: [1]}", "not text", "body"),
    ("{body_file: nope.txt}", "No such file", "mocks/nope.txt"),
    ("{body_file: .}", "Is a directory", "mocks"),
    ("{body_file: ../secret}", "not in mocks", "link"),
    ("{body_file: /etc/passwd}", "not in mocks", "link"),
    ('{body_file: "a\\0b"}', "not in mocks", "link"),
    ("{events: {data: 1}}", "not a list", "events:"),
    ("{events: [1]}", "not a mapping", "data"),
    ("{events: [{dta: 1}]}", "'dta'", "Did you mean data?"),
    ("{events: [{event: x}]}", "no data", "data"),
    ('{events: [{data: 1, event: "a\\nb"}]}', "event: 'a\\nb'", "Correct"),
    ("{events: [{data: 1, delay: x}]}", "not a length of time", "250ms"),
    ("{throw: timeout}", "not a mapping", "message"),
    ("{throw: {name: X}}", "no message", "message"),
    ("{throw: {message: 1}}", "not text", "timed out"),
    ("{throw: {message: x, status: 1}}", "'status'", "name"),
    ("{fault: rest}", "unknown fault 'rest'", "Did you mean reset?"),
    ("{fault: [reset]}", "unknown fault", "reset"),
]


@pytest.mark.parametrize(("outcome", "message", "fix"), BAD_OUTCOMES, ids=[row[0] for row in BAD_OUTCOMES])
def test_a_wrong_outcome_is_told(tmp_path: Path, outcome: str, message: str, fix: str) -> None:
    (tmp_path / "m.yaml").write_text(f"kind: http\nurl: {URL}\nroutes:\n  /a:\n    GET: {outcome}\n")
    (error,) = load(tmp_path, shown="mocks").errors
    assert (error.file, error.line) == ("mocks/m.yaml", 5)
    assert message in error.message
    assert fix in error.fix


@pytest.mark.parametrize(
    ("routes", "line", "message"),
    [
        ("[]", 3, "not a mapping"),
        ("\n  /a: 1", 4, "not a mapping"),
        ("\n  /a:\n    GTE: {response: 1}", 5, "'GTE'"),
        ("\n  /a:\n    get: {response: 1}", 5, "'get'"),
        ("\n  a: {}", 4, "does not begin with /"),
        ("\n  /{a}/{a}: {}", 4, "more than once"),
        ("\n  /{}: {}", 4, "without a plain name"),
        ("\n  /a?b=1: {}", 4, "has a query"),
        ("\n  GET /a: {}", 4, "begins with a method"),
        ("\n  /{a}:\n    GET: {response: 1}\n  /{b}:\n    GET: {response: 1}", 7, "two routes"),
    ],
)
def test_wrong_routes_are_told(tmp_path: Path, routes: str, line: int, message: str) -> None:
    (tmp_path / "m.yaml").write_text(f"kind: http\nurl: {URL}\nroutes: {routes}\n")
    (error,) = load(tmp_path, shown="mocks").errors
    assert (error.file, error.line) == ("mocks/m.yaml", line)
    assert message in error.message


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("3", "not text"),
        ("['https://x.test/', 3]", "not text"),
        ("{a: b}", "not text"),
        ("x.json", "no file x.json"),
        ("../x.json", "not in mocks"),
    ],
)
def test_a_spec_is_a_url_or_a_file_or_a_list_of_them(tmp_path: Path, spec: str, told: str) -> None:
    (tmp_path / "m.yaml").write_text(f"kind: http\nurl: {URL}\nspec: {spec}\n")
    (error,) = load(tmp_path, shown="mocks").errors
    assert (error.line, told in error.message) == (3, True)


def test_every_mistake_of_a_document_is_told_in_the_order_of_its_lines(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("""\
kind: http
url: x.test
routes:
  /a:
    GET: {respnse: 1}
    GTE: {response: 1}
    PUT:
  /b/:id:
    GET: {response: 1, delay: soon, status: 9, headers: {a: {}}}
  /c:
    GET: {response: 1, delai: 1, boddy: x}
  /{x}: {GET: {response: 1}}
  /{y}: {GET: {response: 1}}
rutes: {}
""")
    errors = load(tmp_path, shown="mocks").errors
    assert [(error.line, error.message[:20]) for error in errors] == [
        (2, "the url 'x.test' has"),
        (5, "GET is not an outcom"),
        (6, "unknown key 'GTE' in"),
        (7, "PUT is nothing (null"),
        (8, "the path '/b/:id' ha"),
        (9, "the header a is {}"),
        (9, "'soon' is not a leng"),
        (9, "the status 9 is not "),
        (11, "unknown key 'delai' "),
        (11, "unknown key 'boddy' "),
        (13, "two routes answer GE"),
        (14, "unknown key 'rutes' "),
    ]


def test_every_mistake_of_a_python_mock_is_told(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("""\
from eve_mocks import http_mock
m = http_mock("https://m.test", routes={"/a": {"GET": {"respnse": 1}}, "b": {}})
@m.get("/c")
def c(parms, reqest): ...
@m.get("/d")
def d(stat): ...
""")
    errors = load(tmp_path, shown="mocks").errors
    assert [(error.line, error.fix.partition("?")[0]) for error in errors] == [
        (2, "Did you mean response"),
        (2, "Write /b"),
        (3, "Did you mean params"),
        (3, "Did you mean request"),
        (5, "Did you mean state"),
    ]


DOUBTFUL: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("no routes", f"kind: http\nurl: {URL}\n", [("mocks/m.yaml:1: the mock has no routes", "routes:")]),
    ("empty routes", f"kind: http\nurl: {URL}\nroutes: {{}}\n", [("mocks/m.yaml:1: the mock has no routes", "")]),
    (
        "a spec",
        f"kind: http\nurl: {URL}\nspec: https://x.test/openapi.json\n",
        [("mocks/m.yaml:3: https://x.test/openapi.json has not been pulled", "eve-mocks pull m")],
    ),
    (
        "the path of the url again",
        f"kind: http\nurl: {URL}\nroutes:\n  /a: {{GET: {{response: 1}}}}\n  /v1/a: {{GET: {{response: 1}}}}\n",
        [("mocks/m.yaml:5: the path /v1/a repeats", "write /a")],
    ),
    ("all is well", f"kind: http\nurl: {URL}\nroutes:\n  /v1beta: {{GET: {{response: 1}}}}\n", []),
]


@pytest.mark.parametrize(("text", "told"), [row[1:] for row in DOUBTFUL], ids=[row[0] for row in DOUBTFUL])
def test_what_cannot_be_meant_is_told(tmp_path: Path, text: str, told: list[tuple[str, str]]) -> None:
    (tmp_path / "m.yaml").write_text(text)
    loaded = load(tmp_path, shown="mocks")
    assert loaded.errors == []
    assert len(loaded.problems) == len(told)
    for problem, (message, fix) in zip(loaded.problems, told, strict=True):
        assert problem.message.startswith(message)
        assert fix in problem.fix
        assert problem.why


UNANSWERED = [
    ("GET", "/x", "routes: {/x: {GET: {response: …}}}"),
    ("HEAD", "/x", "routes: {/x: {HEAD: {response: …}}}"),
    ("PROPFIND", "/x", "routes: {/x: {ANY: {response: …}}}"),
    ("PUT", "/pages/1", 'routes: {"/pages/{id}": {PUT: {response: …}}}'),
    ("GET", "/a,b:", 'routes: {"/a,b:": {GET: {response: …}}}'),
]


@pytest.mark.parametrize(("method", "path", "line"), UNANSWERED, ids=[f"{row[0]} {row[1]}" for row in UNANSWERED])
def test_a_call_without_an_answer_is_told_with_the_line_that_would_answer_it(
    tmp_path: Path, method: str, path: str, line: str
) -> None:
    head = f"kind: http\nurl: {URL}\n"
    (tmp_path / "m.yaml").write_text(f"{head}routes: {{'/pages/{{id}}': {{GET: {{response: 1}}}}}}\n")
    (mock,) = load(tmp_path, shown="mocks").mocks
    answer = asyncio.run(mock.answer(request(path, method), Session("s")))
    assert (answer.response.status, answer.unanswered) == (404, f"Add to mocks/m.yaml: {line}")
    (tmp_path / "m.yaml").write_text(f"{head}{line.replace('…', '1')}\n")
    (mended,) = load(tmp_path, shown="mocks").mocks
    again = asyncio.run(mended.answer(request(path, method), Session("s")))
    assert (again.response.status, again.unanswered) == (200, None)
