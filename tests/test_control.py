"""The control API, asked by real clients inside of a run, and what it refuses."""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from running_proxy import RunningProxy

from eve_mocks.calls import CallLog
from eve_mocks.control import ControlApi
from eve_mocks.dispatch import Dispatcher
from eve_mocks.folder import Folder
from eve_mocks.load import load
from eve_mocks.proxy.carrier import Carrier
from eve_mocks.proxy.certificates import Certificates
from eve_mocks.proxy.listener import BACKLOG, Listener
from eve_mocks.proxy.upstream import Upstreams
from eve_mocks.report import Tally
from eve_mocks.router import Router
from eve_mocks.session import Sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TOKEN = "the-token"
MOCKS = {
    "pay.yaml": """
        kind: http
        url: http://pay.test/v1
        routes:
          /charges: {GET: {response: route}}
          /charges/{id}: {POST: {response: route}}
        """,
    "bank.yaml": "{kind: http, url: 'http://bank.test/', routes: {/charges: {GET: {response: bank}}}}",
    "notes.py": """
        import datetime
        from eve_mocks import http_mock

        notes = http_mock("http://notes.test/", state={"notes": []})

        @notes.post("/notes")
        def add(request, state):
            state["notes"].append(request.json())
            return state["notes"]

        @notes.post("/broken")
        def broken(state):
            state["at"] = datetime.date(2026, 1, 1)
        """,
    "seeded.py": """
        from eve_mocks import http_mock

        def seed():
            raise RuntimeError("no seed today")

        seeded = http_mock("http://seeded.test/", state=seed)
        """,
}


class Control:
    """A proxy with the control API, and a client of both."""

    def __init__(self, running: RunningProxy, sessions: Sessions) -> None:
        self.running = running
        self.sessions = sessions
        self.url = running.url

    def ask(
        self, method: str, path: str, body: Any = ..., *, token: str | None = TOKEN, proxied: bool = False
    ) -> tuple[int, Any]:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        data = None if body is ... else body if isinstance(body, bytes) else json.dumps(body).encode()
        url = f"{'http://eve-mocks.invalid' if proxied else self.url}{path}"
        return fetch(urllib.request.Request(url, data, headers, method=method), self.url if proxied else None)

    def call(self, url: str, method: str = "GET", body: Any = ..., session: str | None = None) -> tuple[int, Any]:
        headers = {"content-type": "application/json"} | ({} if session is None else {"x-eve-mocks-session": session})
        data = None if body is ... else json.dumps(body).encode()
        return fetch(urllib.request.Request(url, data, headers, method=method), self.url)


@functools.cache
def opener(proxy: str | None) -> urllib.request.OpenerDirector:
    """Made once: each makes a TLS context, which reads all certificates of the system."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({} if proxy is None else {"http": proxy}))


def fetch(request: urllib.request.Request, proxy: str | None) -> tuple[int, Any]:
    try:
        with opener(proxy).open(request, timeout=20) as answer:
            status, content = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, content = error.code, error.read()
    return status, json.loads(content) if content else None


@pytest.fixture
def control(ca: Path, tmp_path: Path) -> Iterator[Control]:
    folder = Folder.at(tmp_path / "mocks", "mocks")
    folder.path.mkdir()
    for name, text in MOCKS.items():
        lines = text.removeprefix("\n").splitlines()
        indent = len(lines[0]) - len(lines[0].lstrip())
        (folder.path / name).write_text("\n".join(line[indent:] for line in lines))
    mocks = load(folder.path, shown="mocks")
    assert mocks.errors == []
    running = RunningProxy(ca)
    sock = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    running.port = sock.getsockname()[1]
    sessions = Sessions()
    log = CallLog(tmp_path / "calls.jsonl", Tally())

    async def start() -> None:
        dispatcher = Dispatcher(Router(mocks.mocks, mocks.passages), sessions, log)
        carrier = Carrier(dispatcher, Upstreams(), address=sock.getsockname()[:2], token="inner")
        api = ControlApi(dispatcher, log, folder=folder, token=TOKEN, address=sock.getsockname()[:2])
        running.listener = Listener(dispatcher, Certificates(ca), carrier, token="inner", control=api)
        await running.listener.start(sock)

    running.run(start())
    yield Control(running, sessions)
    running.close()


@pytest.fixture
def answering() -> Iterator[Callable[[Callable[[Any], tuple[int, Any]]], str]]:
    """``answering(function)`` is the URL of a server on loopback: JSON in, status and JSON out."""
    servers: list[ThreadingHTTPServer] = []

    def start(function: Callable[[Any], tuple[int, Any]]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                status, told = function(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                body = b"" if told is None else json.dumps(told).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/call"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


class TestSessions:
    def test_one_begins_with_its_own_rules_and_state(self, control: Control) -> None:
        stubs = [{"id": "a", "tool": "pay:GET /charges", "outcomes": [{"response": 1}, {"response": 2}]}]
        status, told = control.ask(
            "POST", "/v1/sessions", {"id": "s", "stubs": stubs, "seeds": {"notes": {"notes": ["x"]}}}
        )
        assert (status, told) == (201, {"id": "s", "proxy": f"http://s:{TOKEN}@127.0.0.1:{control.running.port}"})
        assert [control.call("http://pay.test/v1/charges", session="s")[1] for _ in range(3)] == [1, 2, 2]
        assert control.call("http://pay.test/v1/charges") == (200, "route")
        assert control.call("http://notes.test/notes", "POST", "y", "s") == (200, ["x", "y"])
        assert control.call("http://notes.test/notes", "POST", "y") == (200, ["y"])

    def test_it_is_known_by_its_proxy(self, control: Control) -> None:
        _, told = control.ask("POST", "/v1/sessions", {"id": "a:b@c=~+"})
        control.ask("PUT", f"/v1/sessions/{urllib.parse.quote('a:b@c=~+', safe='')}/pins", PIN)
        asked = urllib.request.Request("http://pay.test/v1/charges")
        assert fetch(asked, told["proxy"]) == (200, "pinned")
        assert control.call("http://pay.test/v1/charges") == (200, "route")

    def test_one_without_an_id_is_given_one(self, control: Control) -> None:
        ids = {control.ask("POST", "/v1/sessions", {})[1]["id"] for _ in range(20)}
        assert len(ids) == 20

    def test_a_thousand(self, control: Control) -> None:
        for n in range(1000):
            assert control.ask("POST", "/v1/sessions", {"id": f"s{n}", "seeds": {"notes": {"notes": [n]}}})[0] == 201
        for n in (0, 500, 999):
            assert control.call("http://notes.test/notes", "POST", "x", f"s{n}") == (200, [n, "x"])

    def test_two_megabytes(self, control: Control) -> None:
        """State may be as large as that; rules have eve's limit, and the next request is answered as before."""
        large = "x" * 2_000_000
        assert control.ask("PUT", "/v1/sessions/run/state/notes", {"notes": [large]}) == (204, None)
        assert control.ask("GET", "/v1/sessions/run/state/notes") == (200, {"notes": [large]})
        stub = {"id": "a", "tool": "pay:GET /charges", "outcome": {"response": large}}
        status, told = control.ask("POST", "/v1/sessions", {"id": "s", "stubs": [stub]})
        assert (status, "characters" in told["error"]["message"]) == (422, True), told["error"]
        assert control.ask("PUT", "/v1/sessions/run/state/notes", large.encode())[0] == 400
        assert control.call("http://pay.test/v1/charges") == (200, "route")

    def test_one_that_has_begun_stays_as_it_is(self, control: Control) -> None:
        control.call("http://pay.test/v1/charges", session="early")
        for id_ in ("early", "run", "twice"):
            control.ask("POST", "/v1/sessions", {"id": "twice"})
            status, told = control.ask("POST", "/v1/sessions", {"id": id_})
            assert (status, told["error"]["message"]) == (409, f"the session {id_} has begun already")

    @pytest.mark.parametrize(
        ("body", "status", "message"),
        [
            pytest.param({"id": "x" * 10_000}, 422, "a text of 10000 characters cannot be", id="a long id"),
            pytest.param({"id": "a\nb"}, 422, "a text of 3 characters cannot be", id="a control character"),
            pytest.param({"id": 3}, 422, "id is 3, not text", id="a number"),
            pytest.param({"stub": []}, 422, "unknown key 'stub'", id="a misspelt key"),
            pytest.param([], 422, "is [], not a mapping", id="a list"),
            pytest.param(b"{", 400, "the body is not JSON", id="half a body"),
            pytest.param(b'{"id": "\\ud800"}', 400, "lone surrogate", id="half a character"),
            pytest.param(b"[" * 100_000, 400, "the body is not JSON", id="too deep"),
            pytest.param({"stubs": {}}, 422, "$.stubs is not a list of stubs", id="no list of stubs"),
            pytest.param(
                {"stubs": [{"id": "a", "tool": "GET /charges", "outcome": {"response": 1}}]},
                422,
                "'GET /charges' is an operation of several mocks: bank, pay",
                id="a shared operation",
            ),
            pytest.param(
                {"stubs": [{"id": "a", "tool": "pay:GET /charge", "outcome": {"response": 1}}]},
                422,
                "stub \"a\": $.stubs[0].tool: 'pay:GET /charge' names no operation",
                id="an unknown operation",
            ),
            pytest.param(
                {"stubs": [{"id": "a", "tool": "bank:GET /charges", "outcome": {"body": "x"}}]},
                422,
                "body is not part of eve's outcomes",
                id="an outcome that is not eve's",
            ),
            pytest.param({"seeds": {"note": 1}}, 422, "there is no mock 'note'", id="an unknown mock"),
            pytest.param({"seeds": {"pay": 1}}, 422, "the mock pay has no state", id="a mock without state"),
        ],
    )
    def test_what_cannot_begin_one(self, control: Control, body: Any, status: int, message: str) -> None:
        found, told = control.ask("POST", "/v1/sessions", body)
        assert found == status
        assert message in told["error"]["message"]
        assert told["error"]["why"]
        assert told["error"]["fix"]
        assert control.sessions.find("s") is None


PIN = {"operation": "pay:GET /charges", "outcome": {"response": "pinned"}}


class TestPins:
    def test_it_comes_first_in_its_session_alone(self, control: Control) -> None:
        stubs = [{"id": "a", "tool": "pay:GET /charges", "outcome": {"response": "stub"}}]
        for id_ in ("one", "two"):
            control.ask("POST", "/v1/sessions", {"id": id_, "stubs": stubs})
        assert control.ask("PUT", "/v1/sessions/one/pins", PIN) == (204, None)
        answers = [control.call("http://pay.test/v1/charges", session=id_)[1] for id_ in ("one", "two", "run")]
        assert answers == ["pinned", "stub", "route"]

    def test_a_new_one_begins_anew(self, control: Control) -> None:
        control.ask("POST", "/v1/sessions", {"id": "s"})
        said = []
        for outcomes in ([1, 2], [3, 4]):
            pin = {"operation": "pay:GET /charges", "outcomes": [{"response": each} for each in outcomes]}
            control.ask("PUT", "/v1/sessions/s/pins", pin)
            said += [control.call("http://pay.test/v1/charges", session="s")[1] for _ in range(3)]
        assert said == [1, 2, 2, 3, 4, 4]

    def test_it_may_say_all_that_a_mock_may(self, control: Control) -> None:
        outcome = {"status": 429, "response": {"error": "slow down"}, "headers": {"retry-after": "1"}}
        control.ask("PUT", "/v1/sessions/run/pins", {"operation": "pay:GET /charges", "outcome": outcome})
        assert control.call("http://pay.test/v1/charges") == (429, {"error": "slow down"})

    def test_a_callback_answers_each_call(self, control: Control, answering: Any) -> None:
        asked = []

        def answer(message: Any) -> tuple[int, Any]:
            asked.append(message)
            return 200, {"response": {"id": message["input"]["id"], "n": len(asked)}}

        pin = {"operation": "POST /charges/{id}", "callback": answering(answer)}
        assert control.ask("PUT", "/v1/sessions/run/pins", pin) == (204, None)
        answers = [control.call("http://pay.test/v1/charges/c1", "POST", {"x": 1}) for _ in range(2)]
        assert answers == [(200, {"id": "c1", "n": 1}), (200, {"id": "c1", "n": 2})]
        assert {key: asked[0][key] for key in ("session", "mock", "operation")} == {
            "session": "run",
            "mock": "pay",
            "operation": "POST /charges/{id}",
        }
        assert asked[0]["input"]["body"] == {"x": 1}

    def test_a_callback_that_passes_leaves_it_to_the_next(self, control: Control, answering: Any) -> None:
        pin = {"operation": "pay:GET /charges", "callback": answering(lambda _: (204, None))}
        control.ask("PUT", "/v1/sessions/run/pins", pin)
        assert control.call("http://pay.test/v1/charges") == (200, "route")

    def test_a_callback_may_throw(self, control: Control, answering: Any) -> None:
        thrown = {"throw": {"name": "TimeoutError", "message": "slow"}}
        pin = {"operation": "pay:GET /charges", "callback": answering(lambda _: (200, thrown))}
        control.ask("PUT", "/v1/sessions/run/pins", pin)
        assert control.call("http://pay.test/v1/charges") == (
            500,
            {"error": {"name": "TimeoutError", "message": "slow"}},
        )

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            pytest.param((500, "oops"), 'answered 500: "oops"', id="an error"),
            pytest.param((200, {"result": 1}), "is not an outcome", id="no outcome"),
            pytest.param((200, None), "is not JSON", id="no JSON"),
            pytest.param(None, "gave no answer", id="nobody there"),
        ],
    )
    def test_a_callback_that_fails_breaks_the_mock(
        self, control: Control, answering: Any, answer: Any, message: str
    ) -> None:
        url = answering(lambda _: answer)
        if answer is None:
            url = f"http://127.0.0.1:{free_port()}/"
        control.ask("PUT", "/v1/sessions/run/pins", {"operation": "pay:GET /charges", "callback": url})
        status, told = control.call("http://pay.test/v1/charges")
        assert (status, told["error"]["name"]) == (500, "BrokenMock")
        assert message in told["error"]["message"]
        assert message in control.ask("GET", "/v1/sessions/run/stubs")[1]["error"]
        assert control.ask("GET", "/v1/sessions/run/calls")[1][0]["outcome"] == "error"

    @pytest.mark.parametrize(
        ("body", "message", "fix"),
        [
            pytest.param(
                {**PIN, "operation": "GET /charges"},
                "of several mocks: bank, pay",
                "bank:GET /charges or pay:",
                id="shared",
            ),
            pytest.param({**PIN, "operation": "GET /charge"}, "names no operation", "GET /charges", id="unknown"),
            pytest.param({**PIN, "operation": 3}, "operation is 3, not text", "", id="no text"),
            pytest.param({"outcome": {"response": 1}}, "no operation", "list_tasks", id="none"),
            pytest.param({"operation": "pay:GET /charges"}, "neither outcome nor outcomes", "outcome:", id="no answer"),
            pytest.param({**PIN, "outcomes": []}, "both outcome and outcomes", "Keep one", id="two answers"),
            pytest.param(
                {**PIN, "callback": "http://127.0.0.1:1"}, "a callback beside", "Keep one", id="and a callback"
            ),
            pytest.param({**PIN, "outcome": {"respond": 1}}, "$.outcome: ", "response", id="a misspelt outcome"),
            pytest.param(
                {"operation": "pay:GET /charges", "callback": "http://example.com/"},
                "is not on this machine",
                "http://127.0.0.1",
                id="a callback elsewhere",
            ),
        ],
    )
    def test_what_cannot_be_pinned(self, control: Control, body: Any, message: str, fix: str) -> None:
        status, told = control.ask("PUT", "/v1/sessions/run/pins", body)
        assert status == 422
        assert message in told["error"]["message"]
        assert fix in told["error"]["fix"]
        assert control.call("http://pay.test/v1/charges") == (200, "route")


class TestState:
    def test_it_is_set_and_read(self, control: Control) -> None:
        control.ask("POST", "/v1/sessions", {"id": "s"})
        assert control.ask("GET", "/v1/sessions/s/state/notes") == (200, {"notes": []})
        assert control.ask("PUT", "/v1/sessions/s/state/notes", {"notes": ["a"]}) == (204, None)
        control.call("http://notes.test/notes", "POST", "b", "s")
        assert control.ask("GET", "/v1/sessions/s/state/notes") == (200, {"notes": ["a", "b"]})
        assert control.ask("GET", "/v1/sessions/run/state/notes") == (200, {"notes": []})

    def test_two_megabytes(self, control: Control) -> None:
        state = {"notes": ["x" * 1000] * 2000}
        assert control.ask("PUT", "/v1/sessions/run/state/notes", state) == (204, None)
        assert control.ask("GET", "/v1/sessions/run/state/notes") == (200, state)

    @pytest.mark.parametrize(
        ("mock", "message"), [("note", "there is no mock 'note'"), ("pay", "the mock pay has no state")]
    )
    def test_of_what_has_none(self, control: Control, mock: str, message: str) -> None:
        for method, body in (("GET", ...), ("PUT", {})):
            status, told = control.ask(method, f"/v1/sessions/run/state/{mock}", body)
            assert (status, told["error"]["message"]) == (422, message)

    def test_state_that_is_not_json_is_told(self, control: Control) -> None:
        control.call("http://notes.test/broken", "POST")
        status, told = control.ask("GET", "/v1/sessions/run/state/notes")
        assert status == 422
        assert "$.at is of type date" in told["error"]["message"]

    def test_a_seed_that_fails_is_told_with_its_place(self, control: Control) -> None:
        status, told = control.ask("GET", "/v1/sessions/run/state/seeded")
        error = told["error"]
        assert (status, error["file"], error["line"]) == (500, "mocks/seeded.py", 4)
        assert "/state/seeded failed: RuntimeError: no seed today" in error["message"]
        assert control.ask("GET", "/v1/sessions/run/state/notes")[0] == 200

    def test_state_that_is_too_deep_is_told(self, control: Control) -> None:
        deep = b"[" * 1500 + b"]" * 1500
        for method, body in (("PUT", deep), ("GET", ...)):
            status, told = control.ask(method, "/v1/sessions/run/state/notes", body)
            assert status == 204 or told["error"]["message"]
        assert control.ask("GET", "/v1/sessions/run/calls") == (200, [])


def test_what_is_sent_is_called_the_body(control: Control) -> None:
    status, told = control.ask("POST", "/v1/sessions", {"seed": {}})
    assert (status, told["error"]["message"]) == (422, "unknown key 'seed' in the body")


def test_the_calls_of_a_session(control: Control) -> None:
    control.ask("POST", "/v1/sessions", {"id": "s"})
    assert control.ask("GET", "/v1/sessions/s/calls") == (200, [])
    control.call("http://pay.test/v1/charges?page=2", session="s")
    control.call("http://pay.test/v1/charges")
    control.call("http://pay.test/v1/charges/c%201", "POST", {"x": 1}, "s")
    control.call("http://nowhere.test/", session="s")
    _, calls = control.ask("GET", "/v1/sessions/s/calls")
    assert [(call["operation"], call["outcome"], call["failed"]) for call in calls] == [
        ("GET /charges", "mocked", False),
        ("POST /charges/{id}", "mocked", False),
        ("GET /", "blocked", True),
    ]
    assert calls[0]["input"]["page"] == "2"
    assert (calls[1]["input"]["id"], calls[1]["input"]["body"]) == ("c 1", {"x": 1})


def test_the_rules_that_were_used(control: Control) -> None:
    stubs = [
        {"id": id_, "tool": "pay:GET /charges", "match": {"page": {"const": id_}}, "outcome": {"response": 1}}
        for id_ in "ab"
    ]
    control.ask("POST", "/v1/sessions", {"id": "s", "stubs": stubs})
    control.ask("PUT", "/v1/sessions/s/pins", {**PIN, "operation": "bank:GET /charges"})
    control.call("http://pay.test/v1/charges?page=b", session="s")
    assert control.ask("GET", "/v1/sessions/s/stubs") == (
        200,
        {"error": None, "matchedRuleIds": ["b"], "unusedRuleIds": ["pin:bank:GET /charges", "a"]},
    )


class TestWhoMayAsk:
    @pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], f"{TOKEN}x", "t\u00e9"])
    @pytest.mark.parametrize("proxied", [False, True], ids=["direct", "proxied"])
    def test_nobody_without_the_token(self, control: Control, token: str | None, proxied: bool) -> None:
        for method, path in (("POST", "/v1/sessions"), ("GET", "/v1/sessions/run/calls"), ("GET", "/v1/nothing")):
            status, told = control.ask(method, path, {} if method == "POST" else ..., token=token, proxied=proxied)
            assert (status, told["error"]["message"]) == (401, "the token is missing or wrong")
        assert control.sessions.find("s") is None

    def test_through_the_proxy(self, control: Control) -> None:
        assert control.ask("POST", "/v1/sessions", {"id": "s"}, proxied=True)[0] == 201
        assert control.ask("GET", "/v1/sessions/s/calls", proxied=True) == (200, [])

    def test_through_the_proxy_to_its_own_port(self, control: Control) -> None:
        request = urllib.request.Request(
            f"{control.url}/v1/sessions/run/calls", headers={"authorization": f"bearer {TOKEN}"}
        )
        assert fetch(request, control.url) == (200, [])

    @pytest.mark.parametrize(
        ("method", "path", "status", "message"),
        [
            ("GET", "/v1/sessions", 405, "/v1/sessions does not take GET"),
            ("DELETE", "/v1/sessions/run/calls", 405, "does not take DELETE"),
            ("GET", "/v1/sessions/run", 404, "there is no /v1/sessions/run"),
            ("GET", "/v1/sessions/run/call", 404, "there is no /v1/sessions/run/call"),
            ("GET", "/v1/sessions/run/state", 404, "there is no"),
            ("GET", "/v1/sessions/run/calls/x", 404, "there is no"),
            ("GET", "/v1/sessions/nobody/calls", 404, "there is no session 'nobody'"),
        ],
    )
    def test_what_is_not_there(self, control: Control, method: str, path: str, status: int, message: str) -> None:
        found, told = control.ask(method, path)
        assert found == status
        assert message in told["error"]["message"]

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    def test_another_user_is_told_nothing(self, control: Control) -> None:
        """It can reach the port, as anybody on the machine can; the token is in an environment that it cannot read."""
        code = f"""
import encodings.idna, http.client, os  # all of it now: the other user may not be able to read the library
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    open("/proc/{os.getpid()}/environ").read()
except PermissionError:
    print("environment: refused")
for path in ("/v1/sessions/run/calls", "/v1/sessions/nobody/calls", "/v1/sessions"):
    client = http.client.HTTPConnection("127.0.0.1", {control.running.port}, timeout=20)
    client.request("GET", path)
    answer = client.getresponse()
    print(answer.status, answer.read().decode())
"""
        told = subprocess.run(
            [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60, cwd="/"
        ).stdout.splitlines()
        assert told[0] == "environment: refused"
        assert len(told) == 4
        assert len(set(told[1:])) == 1  # whether a session is there is not told either
        assert told[1].startswith("401 ")

    def test_none_of_it_is_a_call_of_the_run(self, control: Control) -> None:
        control.ask("POST", "/v1/sessions", {"id": "s"}, proxied=True)
        control.ask("POST", "/v1/sessions", {"id": "s"}, token=None)
        control.call("http://pay.test/v1/charges")
        assert len(control.ask("GET", "/v1/sessions/run/calls")[1]) == 1


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
