"""Each request ends in one call, and whatever goes wrong lets nothing through."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eve_mocks import Response, http_mock
from eve_mocks.dispatch import Dispatcher, Exchange
from eve_mocks.folder import Folder
from eve_mocks.match import parse_url
from eve_mocks.model import URL, Answer, Call, Headers, Mock, Passage, Peer, Request
from eve_mocks.router import Router
from eve_mocks.session import Session, Sessions

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Folder.at(Path(__file__).parent, "tests")
SHOP = http_mock("https://shop.test/", routes={"/a": {"GET": {"response": {"ok": True}}}}, state={"n": 0})


@SHOP.get("/count")
def count(state: Any) -> int:
    state["n"] += 1
    return int(state["n"])


@SHOP.post("/headers")
def headers(request: Any) -> Any:
    return [list(pair) for pair in request.headers.pairs]


@SHOP.get("/broken")
def broken() -> Any:
    return 1 // 0


@SHOP.get("/wait")
async def wait() -> None:
    await asyncio.Event().wait()


class Dispatched:
    """A dispatcher over some mocks, and the calls that it recorded."""

    def __init__(self, *entries: Mock | Passage, eve_dev: bool = False) -> None:
        self.calls: list[Call] = []
        mocks = [entry for entry in entries if not isinstance(entry, Passage)]
        passages = [entry for entry in entries if isinstance(entry, Passage)]
        router = Router([*mocks, SHOP.named("shop", FOLDER)], passages)
        self.dispatcher = Dispatcher(router, Sessions(), self.calls.append, eve_dev=eve_dev)

    async def exchange(self, asked: Request, **given: Any) -> Exchange:
        found = await self.dispatcher.answer(asked, **given)
        assert found.response is not None
        found.finish(status=found.response.status, body=found.response.body)
        return found

    def ask(self, url: str, method: str = "GET", **given: Any) -> tuple[Response, Call]:
        fields = {key: given.pop(key) for key in ("headers", "body") if key in given}
        found = asyncio.run(self.exchange(request(url, method, **fields), **given))
        assert found.response is not None
        assert self.calls[-1] is found.call
        return found.response, found.call


def request(url: str, method: str = "GET", *, headers: dict[str, str] | None = None, body: bytes = b"") -> Request:
    return Request(method=method, target=parse_url(url), headers=Headers((headers or {}).items()), body=body)


def passage(kind: Any, url: str) -> Passage:
    return Passage(kind=kind, name="named", url=url, why="it is noise")


@pytest.mark.parametrize(
    ("url", "outcome", "expected", "target", "kind", "status"),
    [
        ("https://shop.test/a", "mocked", None, "shop", "http", 200),
        ("https://shop.test/zzz", "mocked", None, "shop", "http", 404),
        ("https://shop.test/broken", "error", None, "shop", "http", 500),
        ("https://unknown.test/x", "blocked", False, "unknown.test", "block", 403),
        ("https://noise.test/x", "blocked", True, "named", "block", 403),
        ("https://telemetry.vercel.com/api", "blocked", True, "eve-telemetry", "block", 403),
        ("https://api.vercel.com/v1/x", "blocked", True, "eve-dev", "block", 403),
        ("https://api.vercel.com/v1/connect/token/c1", "mocked", None, "sign-in", "oauth", 200),
    ],
)
def test_what_becomes_of_a_request(  # noqa: PLR0917
    url: str, outcome: str, expected: bool | None, target: str, kind: str, status: int
) -> None:
    _, call = Dispatched(passage("block", "https://noise.test/"), eve_dev=True).ask(url)
    assert (call.outcome, call.expected, call.target, call.kind) == (outcome, expected, target, kind)
    assert (call.status, call.session, call.url) == (status, "run", url)


def test_eves_own_api_is_unexpected_outside_eve_dev() -> None:
    assert Dispatched().ask("https://api.vercel.com/v1/x")[1].expected is False


def test_a_block_says_how_to_mock_and_how_to_allow() -> None:
    response, call = Dispatched().ask("https://logs.example.com/v1/tail?x=1")
    sent = dict(response.headers)
    assert sent["content-type"] == "application/problem+json"
    assert (sent["eve-mocks"], sent["x-should-retry"]) == ("blocked", "false")
    problem = json.loads(response.body)
    assert list(problem) == ["title", "status", "detail", "message", "why", "fix"]
    assert problem["status"] == response.status == 403
    assert problem["detail"] == problem["message"] == "eve-mocks blocked GET https://logs.example.com/v1/tail?x=1"
    assert "eve-mocks add logs --url https://logs.example.com/" in problem["fix"]
    assert 'mocks/logs.yaml: {kind: allow, url: "https://logs.example.com/", why: "…"}' in problem["fix"]
    assert call.suggestion == {"name": "logs", "url": "https://logs.example.com/", "kind": "http"}
    assert (call.reason, call.error) == ("unclaimed", "No mock claims it, and nothing allows it.")


def test_what_is_blocked_on_purpose_needs_no_mock() -> None:
    response, call = Dispatched(passage("block", "https://noise.test/")).ask("https://noise.test/x")
    problem = json.loads(response.body)
    assert "eve-mocks add" not in problem["fix"]
    assert problem["why"] == "It is blocked on purpose: it is noise."
    assert (call.fix, call.suggestion, call.target_url) == (problem["fix"], None, "https://noise.test/")


def test_a_session_that_cannot_be_is_no_matter_for_a_mock() -> None:
    response, call = Dispatched().ask("https://new.test/", headers={"x-eve-mocks-session": "a b"})
    assert (response.status, call.reason, call.suggestion) == (400, "session", None)
    assert "x-eve-mocks-session" in json.loads(response.body)["fix"]


def test_an_allowed_url_that_reaches_the_answering_part_is_not_let_through() -> None:
    response, call = Dispatched(passage("allow", "https://real.test/")).ask("https://real.test/")
    assert (response.status, call.outcome, call.reason) == (403, "blocked", "internal")


def test_an_allowed_exchange_is_recorded_when_it_ends() -> None:
    entry = passage("allow", "https://real.test/")
    dispatched = Dispatched(entry)
    found = dispatched.dispatcher.allowed(request("https://real.test/x", "POST"), entry, user="me")
    assert dispatched.calls == []
    found.finish(status=201, body=b"begin", size=500)
    found.finish(status=500)
    (call,) = dispatched.calls
    assert (call.outcome, call.target, call.kind, call.session) == ("allowed", "named", "allow", "me")
    assert (call.status, call.response_bytes, call.response_body) == (201, 500, b"begin")


@dataclasses.dataclass
class Odd:
    """A mock whose answer is what a test says."""

    then: Callable[[], Answer]
    kind: str = "http"
    name: str = "odd"
    url: str = "https://odd.test/"
    file: str = "mocks/odd.yaml"
    line: int | None = 7

    def operations(self) -> list[str]:
        return []

    def reads_body(self, _request: Request) -> bool:
        return False

    async def answer(self, _request: Request, _session: Session) -> Answer:
        return self.then()


def test_a_broken_mock_names_its_file_and_fails_the_call() -> None:
    response, call = Dispatched().ask("https://shop.test/broken")
    error = json.loads(response.body)["error"]
    line = Path(__file__).read_text().splitlines().index("    return 1 // 0") + 1
    assert (error["file"], error["line"]) == ("tests/test_dispatch.py", line)
    assert "ZeroDivisionError" in error["message"]
    assert call.error is not None
    assert call.error.startswith(f"tests/test_dispatch.py:{line}: ")
    assert ("eve-mocks", "error") in response.headers


@pytest.mark.parametrize("kind", [LookupError, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError])
def test_a_mistake_of_a_kind_is_told_at_the_mock(kind: type[BaseException]) -> None:
    def fail() -> Answer:
        raise kind("deep inside")

    response, call = Dispatched(Odd(fail)).ask("https://odd.test/x")
    assert (response.status, call.outcome, call.cancelled) == (500, "error", None)
    assert call.error == f"mocks/odd.yaml:7: {kind.__name__}: deep inside"


@pytest.mark.parametrize("kind", [ZeroDivisionError, GeneratorExit, asyncio.CancelledError])
def test_an_exception_inside_eve_mocks_blocks(monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]) -> None:
    def fail(_url: URL) -> None:
        raise kind

    dispatched = Dispatched()
    monkeypatch.setattr(dispatched.dispatcher, "resolve", fail)
    response, call = dispatched.ask("https://shop.test/a")
    assert (response.status, call.outcome, call.reason) == (403, "blocked", "internal")
    assert kind.__name__ in (call.error or "")


@pytest.mark.parametrize(
    ("sent", "user", "session"),
    [
        ({}, None, "run"),
        ({}, "proxy-user", "proxy-user"),
        ({"x-eve-mocks-session": "header"}, None, "header"),
        ({"X-Eve-Mocks-Session": "header"}, "proxy-user", "header"),
        ({"x-eve-mocks-session": ""}, "proxy-user", "proxy-user"),
    ],
)
def test_whose_call_it_is(sent: dict[str, str], user: str | None, session: str) -> None:
    assert Dispatched().ask("https://shop.test/a", headers=sent, user=user)[1].session == session


GATEWAY = {"ai-gateway-protocol-version": "0.0.1"}


@pytest.mark.parametrize(
    ("sent", "body", "session"),
    [
        (GATEWAY, b'{"providerOptions": {"gateway": {"sessionId": "s1"}}}', "s1"),
        (
            {**GATEWAY, "x-eve-mocks-session": "header"},
            b'{"providerOptions": {"gateway": {"sessionId": "s1"}}}',
            "header",
        ),
        ({}, b'{"providerOptions": {"gateway": {"sessionId": "s1"}}}', "run"),
        (GATEWAY, b'{"providerOptions": {"gateway": {"sessionId": "not an id"}}}', "run"),
        (GATEWAY, b'{"providerOptions": {"gateway": {"sessionId": 1}}}', "run"),
        (GATEWAY, b'{"providerOptions": []}', "run"),
        (GATEWAY, b"[]", "run"),
        (GATEWAY, b"{", "run"),
        (GATEWAY, b"", "run"),
    ],
)
def test_whose_call_it_is_to_the_gateway(sent: dict[str, str], body: bytes, session: str) -> None:
    call = Dispatched().ask("https://shop.test/a", method="POST", headers=sent, body=body)[1]
    assert call.session == session


@pytest.mark.parametrize("text", ["a b", "a\nb", "x" * 10_000, "../.."])
def test_a_session_that_cannot_be_is_refused(text: str) -> None:
    response, call = Dispatched().ask("https://shop.test/a", headers={"x-eve-mocks-session": text})
    assert (response.status, call.outcome, call.reason, call.session) == (400, "blocked", "session", "run")


def test_state_is_kept_in_a_session_and_apart_from_others() -> None:
    dispatched = Dispatched()
    counted = [dispatched.ask("https://shop.test/count", user=user)[0].body for user in ("a", "a", "b", None, "a")]
    assert counted == [b"1", b"2", b"1", b"1", b"3"]


def test_internal_headers_reach_no_handler_and_the_agent_is_recorded() -> None:
    sent = {"Accept": "x", "X-Eve-Mocks-Session": "s", "x-eve-mocks-agent": "helper", "x-eve-mocks-internal-port": "1"}
    response, call = Dispatched().ask("https://shop.test/headers", "POST", headers=sent)
    assert json.loads(response.body) == [["Accept", "x"]]
    assert (call.agent, call.request_headers) == ("helper", tuple(sent.items()))


def test_a_client_that_hangs_up_cancels_the_handler() -> None:
    dispatched = Dispatched()

    async def run() -> None:
        task = asyncio.create_task(dispatched.dispatcher.answer(request("https://shop.test/wait")))
        await asyncio.sleep(0)
        assert dispatched.calls == []
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(5):  # the turn was given back
            await dispatched.exchange(request("https://shop.test/count"))

    asyncio.run(run())
    first, second = dispatched.calls
    assert (first.outcome, first.target, first.status, first.cancelled) == ("mocked", "shop", None, True)
    assert (second.status, second.cancelled) == (200, None)


@pytest.mark.parametrize(
    ("url", "method", "media_type", "reads"),
    [
        ("https://shop.test/a", "GET", "application/json", False),
        ("https://shop.test/headers", "POST", "application/json", True),
        ("https://noise.test/", "POST", "application/json", False),
        ("https://unknown.test/", "POST", "application/json", True),
        ("https://unknown.test/", "POST", "application/x-www-form-urlencoded", True),
        ("https://unknown.test/", "POST", "image/png", False),
        ("https://unknown.test/", "GET", "application/json", False),
    ],
)
def test_a_body_is_read_only_where_the_answer_depends_on_it(
    url: str, method: str, media_type: str, reads: bool
) -> None:
    dispatcher = Dispatched(passage("block", "https://noise.test/")).dispatcher
    assert dispatcher.reads_body(request(url, method, headers={"content-type": media_type})) is reads


def test_who_called_is_looked_up_for_blocked_calls_alone() -> None:
    looked: list[str] = []

    def peer() -> Peer:
        looked.append("up")
        return Peer(pid=42, program="node")

    dispatched = Dispatched()
    assert dispatched.ask("https://shop.test/a", peer=peer)[1].pid is None
    assert looked == []
    blocked = dispatched.ask("https://unknown.test/", peer=peer)[1]
    assert (blocked.pid, blocked.program, looked) == (42, "node", ["up"])


@pytest.mark.parametrize(
    ("url", "media_type", "body", "answered"),
    [
        ("https://auth.test/token", "application/x-www-form-urlencoded", b"grant_type=client_credentials", True),
        ("https://auth.test/token", "application/x-www-form-urlencoded; charset=UTF-8", b"a=1&grant_type=x", True),
        ("https://auth.test/token", "application/json", b'{"grant_type": "refresh_token"}', True),
        ("https://auth.test/token", "application/json", b'{"grant": 1}', False),
        ("https://auth.test/token", "application/json", b'["grant_type"]', False),
        ("https://auth.test/token", "application/json", b"{", False),
        ("https://auth.test/token", "text/plain", b"grant_type=x", False),
        ("https://shop.test/headers", "application/x-www-form-urlencoded", b"grant_type=x", False),
    ],
)
def test_an_unclaimed_token_request_is_answered(url: str, media_type: str, body: bytes, answered: bool) -> None:
    response, call = Dispatched().ask(url, "POST", headers={"content-type": media_type}, body=body)
    assert (call.target == "sign-in") is answered
    if answered:
        token = {"access_token": "mock-token", "token_type": "Bearer", "expires_in": 3600}
        assert json.loads(response.body) == token
        assert ("cache-control", "no-store") in response.headers


def test_a_refused_connection_is_a_call_too() -> None:
    dispatched = Dispatched()
    found = dispatched.dispatcher.refuse(
        request("https://shop.test/a"), reason="names", why="They disagree.", fix="Agree.", user="a b"
    )
    assert found.response is not None
    assert json.loads(found.response.body)["fix"] == "Agree."
    found.finish(status=found.response.status)
    (call,) = dispatched.calls
    assert (call.status, call.outcome, call.reason, call.session) == (403, "blocked", "names", "run")
    assert (call.fix, call.suggestion) == ("Agree.", None)


@pytest.mark.parametrize(
    ("url", "target", "expected"),
    [
        pytest.param("https://shop.test/", "shop", False, id="mock"),
        pytest.param("tcp://shop.test:443/", "shop", False, id="mock-not-http"),
        pytest.param("tcp-fast-open://shop.test:443/", "shop", True, id="mock-fast-open"),
        pytest.param("https://noise.test/", "named", True, id="block"),
        pytest.param("https://below.noise.test/", "below", True, id="block-of-a-path"),
        pytest.param("https://telemetry.vercel.com/", "eve-telemetry", True, id="machinery"),
        pytest.param("https://both.test/", "both.test", False, id="mock-and-block"),
        pytest.param("https://noise.test:444/", "noise.test", False, id="other-port"),
        pytest.param("https://unknown.test/", "unknown.test", False, id="unclaimed"),
    ],
)
def test_a_connection_without_a_request(url: str, target: str, expected: bool) -> None:
    dispatched = Dispatched(
        passage("block", "https://noise.test/"),
        dataclasses.replace(passage("block", "https://below.noise.test/v1"), name="below"),
        passage("block", "https://both.test/v1"),
        http_mock("https://both.test/v2").named("both", FOLDER),
    )
    scheme, authority = url.strip("/").split("://")
    host, _, port = authority.partition(":")
    known = URL(scheme, host, int(port or 443), "/")
    dispatched.dispatcher.refuse_connection(known, reason="tls", why="It does not trust.", fix="Trust.")
    (call,) = dispatched.calls
    assert (call.target, call.expected, call.reason, call.status) == (target, expected, "tls", None)
    assert call.operation == f"CONNECT {host}:{port or 443}"


def test_a_machine_is_known_by_each_of_its_names() -> None:
    """A program that has an address from /etc/hosts asks for that."""
    dispatched = Dispatched(passage("allow", "https://service.test/"))
    dispatched.dispatcher.refuse_connection(
        URL("udp", "203.0.113.9", 443, "/"), reason="protocol", why="It is a datagram.", names=("service.test",)
    )
    (call,) = dispatched.calls
    assert (call.target, call.expected) == ("named", True)
