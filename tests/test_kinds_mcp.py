"""The mcp kind, asked by the MCP SDK's client and by plain HTTP requests; real sockets are test_clients_mcp's."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap

import pytest
from mcp import MCPError
from mcp_in_process import connected

from eve_mocks.load import load
from eve_mocks.match import parse_url
from eve_mocks.model import Headers, Request
from eve_mocks.session import Sessions

URL = "https://mcp.tracker.test/mcp"
MODES = ("auto", "2026-07-28", "legacy")
BOTH = "application/json, text/event-stream"
SCHEMA = {
    "tools": [
        {"name": "list_teams", "description": "Lists teams", "inputSchema": {"type": "object"}},
        {
            "name": "list_issues",
            "title": "List issues",
            "description": "Lists issues",
            "annotations": {"readOnlyHint": True},
            "inputSchema": {
                "type": "object",
                "properties": {"state": {"enum": ["open", "closed"]}, "limit": {"type": "integer"}},
                "required": ["state"],
            },
            "outputSchema": {
                "type": "object",
                "properties": {"issues": {"type": "array"}, "next": {"type": ["string", "null"]}},
                "required": ["issues"],
            },
        },
        {"name": "create_issue", "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}}},
    ]
}


@pytest.fixture
def folder(tmp_path):
    """Writes files into a mocks folder and loads it."""

    def write(**files):
        for name, text in files.items():
            path = tmp_path / "mocks" / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                json.dumps(text, indent=1) if isinstance(text, dict) else textwrap.dedent(text).lstrip("\n")
            )
        return load(tmp_path / "mocks", shown="mocks")

    return write


@pytest.fixture
def mock(folder):
    """The one mock of a folder with a file ``tracker.py`` or ``tracker.yaml``, and perhaps its schema file."""

    def make(*, py=None, yaml=None, schema=None):
        files = {"tracker_dot_py": py, "tracker_dot_yaml": yaml, "schemas__tracker_dot_json": schema}
        found = folder(**{name: text for name, text in files.items() if text is not None})
        assert not found.errors, found.errors[0]
        return found.mocks[0]

    return make


def ask(mock, method="POST", *, body=None, accept=BOTH, version="2025-11-25", path="", **headers):
    """One plain request to the mock."""
    fields = {"content-type": "application/json", "accept": accept, "mcp-protocol-version": version}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = Request(
        method=method,
        target=parse_url(mock.url + path),
        headers=Headers((name, value) for name, value in fields.items() if value is not None),
        body=b"" if body is None else content,
    )

    async def run():
        answer = await mock.answer(request, Sessions().get())
        await mock.close()
        return answer

    return asyncio.run(run())


def message(method, **params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def called(mock, tool, arguments=None, *, mode="auto"):
    """The result of one call, and the answer that carried it."""

    async def run():
        async with connected(mock, mode=mode) as (client, transport):
            result = await client.call_tool(tool, arguments or {})
            return result, next(answer for answer in transport.answers if answer.operation == tool)

    return asyncio.run(run())


# What is listed


@pytest.mark.parametrize("mode", MODES)
def test_tools_with_an_answer_are_listed_as_the_schema_file_has_them(mock, mode):
    made = mock(yaml=f"kind: mcp\nurl: {URL}\nresults: {{list_issues: {{issues: []}}, list_teams: []}}", schema=SCHEMA)

    async def run():
        async with connected(made, mode=mode) as (client, _):
            return await client.list_tools()

    tools = [tool.model_dump(by_alias=True, exclude_none=True) for tool in asyncio.run(run()).tools]
    assert tools == SCHEMA["tools"][:2]
    assert made.operations() == ["list_teams", "list_issues"]


@pytest.mark.parametrize(
    "tools",
    [
        pytest.param("{ping: {description: Mine, inputSchema: {type: object, required: [x]}}}", id="by name"),
        pytest.param("[{name: ping, description: Mine, inputSchema: {type: object, required: [x]}}]", id="as listed"),
    ],
)
def test_tools_of_the_mock_come_before_the_schema_file(mock, tools):
    made = mock(
        yaml=f"kind: mcp\nurl: {URL}\ntools: {tools}\nresults: {{ping: pong}}",
        schema={"tools": [{"name": "ping", "description": "Theirs", "inputSchema": {"type": "object"}}]},
    )
    listed = json.loads(ask(made, body=message("tools/list"), accept="application/json").response.body)
    expected = {"name": "ping", "description": "Mine", "inputSchema": {"type": "object", "required": ["x"]}}
    assert listed["result"]["tools"] == [expected]


def test_a_handler_alone_is_described_by_its_docstring(mock):
    made = mock(
        py=f"""
        from eve_mocks import mcp_mock
        tracker = mcp_mock("{URL}")

        @tracker.tool
        def create_issue(args):
            \"\"\"Creates an issue.

            And returns it.
            \"\"\"
            return args

        @tracker.tool("delete-issue")
        def delete(args):
            return None
        """
    )
    listed = json.loads(ask(made, body=message("tools/list"), accept="application/json").response.body)
    assert listed["result"]["tools"] == [
        {
            "name": "create_issue",
            "description": "Creates an issue.\n\nAnd returns it.",
            "inputSchema": {"type": "object"},
        },
        {"name": "delete-issue", "inputSchema": {"type": "object"}},
    ]


# What is answered


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"teams": [{"id": 1, "name": "Büro"}]}, '{"teams": [{"id": 1, "name": "Büro"}]}', id="object"),
        pytest.param([1, None], "[1, null]", id="list"),
        pytest.param("plain words", "plain words", id="text as it is"),
        pytest.param(None, "null", id="null"),
        pytest.param(False, "false", id="false"),
        pytest.param(12345678901234567890, "12345678901234567890", id="long number"),
        pytest.param(
            {"content": [{"type": "paragraph"}]}, '{"content": [{"type": "paragraph"}]}', id="content of others"
        ),
        pytest.param(
            {"content": [{"type": "text", "text": "hi"}], "role": "assistant"},
            '{"content": [{"type": "text", "text": "hi"}], "role": "assistant"}',
            id="a message of others",
        ),
    ],
)
def test_a_json_value_becomes_text(mock, mode, value, text):
    made = mock(yaml=f"kind: mcp\nurl: {URL}\nresults: {json.dumps({'get': value})}")
    result, _ = called(made, "get", mode=mode)
    assert [block.text for block in result.content] == [text]
    assert result.structured_content is None
    assert not result.is_error


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_with_an_output_schema_has_structured_content_nulls_included(mock, mode):
    made = mock(yaml=f"kind: mcp\nurl: {URL}\nresults: {{list_issues: {{issues: [null], next: null}}}}", schema=SCHEMA)
    result, _ = called(made, "list_issues", {"state": "open"}, mode=mode)
    assert result.structured_content == {"issues": [None], "next": None}
    assert json.loads(result.content[0].text) == {"issues": [None], "next": None}


@pytest.mark.parametrize("mode", MODES)
def test_structured_content_that_is_no_object_is_for_clients_that_know_it(mock, mode):
    tools = "{ids: {outputSchema: {type: array, items: {type: integer}}}}"
    made = mock(yaml=f"kind: mcp\nurl: {URL}\ntools: {tools}\nresults: {{ids: [1, 2]}}")

    async def run():
        async with connected(made, mode=mode) as (client, _):
            return (await client.list_tools()).tools[0], await client.call_tool("ids", {})

    tool, result = asyncio.run(run())
    assert result.content[0].text == "[1, 2]"
    if mode == "legacy":
        assert (tool.output_schema, result.structured_content) == (None, None)
    else:
        assert (tool.output_schema["type"], result.structured_content) == ("array", [1, 2])


@pytest.mark.parametrize("mode", MODES)
def test_a_content_array_passes_through(mock, mode):
    content = [{"type": "text", "text": "one"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}]
    made = mock(yaml=f"kind: mcp\nurl: {URL}\nresults: {json.dumps({'draw': {'content': content, 'isError': True}})}")
    result, answer = called(made, "draw", mode=mode)
    assert [block.model_dump(by_alias=True, exclude_none=True) for block in result.content] == content
    assert result.is_error
    assert answer.error is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param({}, "'state' is a required property", id="missing"),
        pytest.param({"state": "done"}, "state: 'done' is not one of ['open', 'closed']", id="not in the enum"),
        pytest.param({"state": "open", "limit": "9"}, "limit: '9' is not of type 'integer'", id="no coercion"),
    ],
)
def test_arguments_are_validated_before_any_answer(mock, mode, arguments, told):
    made = mock(
        py=f"""
        from eve_mocks import mcp_mock
        tracker = mcp_mock("{URL}")

        @tracker.tool
        def list_issues():
            raise AssertionError("the handler ran")
        """,
        schema=SCHEMA,
    )
    result, answer = called(made, "list_issues", arguments, mode=mode)
    assert result.is_error
    assert result.content[0].text == f"Invalid arguments for list_issues: {told}"
    assert answer.error is None


HANDLERS = f"""
import asyncio, datetime
from eve_mocks import Fault, Response, Throw, ToolError, mcp_mock

tracker = mcp_mock("{URL}", state={{"seen": []}}, results={{"passes": "the result"}})

@tracker.tool
def fails():
    raise ToolError("title is required")

@tracker.tool
async def throws():
    await asyncio.sleep(0)
    raise Throw("Linear timed out", "TimeoutError")

@tracker.tool
def resets():
    raise Fault("reset")

@tracker.tool
def waits():
    return Response(json={{"ok": True}}, delay="250ms")

@tracker.tool
def speaks():
    return Response(text="words")

@tracker.tool
def refuses():
    return Response(status=503, text="down", headers={{"retry-after": "1"}})

@tracker.tool
def passes():
    return NotImplemented

@tracker.tool
def passes_on():
    return NotImplemented

@tracker.tool
def breaks(args):
    return args["missing"]

@tracker.tool
async def cancels():
    inner = asyncio.create_task(asyncio.sleep(60))
    inner.cancel()
    await inner

@tracker.tool
def quits():
    raise KeyboardInterrupt

@tracker.tool  # mapping
def mapping():
    class Odd(dict):
        def items(self):
            raise RuntimeError("no items")
    return Odd(a=1)

@tracker.tool  # dates
def dates():
    return {{"due": [datetime.date(2026, 1, 1)]}}

@tracker.tool
def sees(args, request, session, state):
    state["seen"].append(args)
    return [request.method, request.headers["content-type"], session, state["seen"]]

@tracker.tool  # half
def half():
    return {{"content": [{{"type": "text"}}]}}

@tracker.tool  # odd
def odd():
    return {{"content": [{{"type": "resource", "resource": {{}}}}]}}
"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("tool", "text", "is_error"),
    [
        pytest.param("fails", "title is required", True, id="ToolError"),
        pytest.param("throws", "Linear timed out", True, id="Throw"),
        pytest.param("speaks", "words", False, id="Response with text"),
        pytest.param("passes", "the result", False, id="NotImplemented with a result"),
        pytest.param("sees", '["POST", "application/json", "run", [{"a": 1}]]', False, id="what is offered"),
    ],
)
def test_handlers_answer_with_results(mock, mode, tool, text, is_error):
    result, answer = called(mock(py=HANDLERS), tool, {"a": 1}, mode=mode)
    assert (result.content[0].text, bool(result.is_error)) == (text, is_error)
    assert answer.error is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("tool", "line", "told"),
    [
        pytest.param("breaks", "return args", "KeyError: 'missing'", id="raises"),
        pytest.param("cancels", "await inner", "CancelledError", id="cancels a task of its own"),
        pytest.param("quits", "raise KeyboardInterrupt", "KeyboardInterrupt", id="no Exception"),
        pytest.param("mapping", "@tracker.tool  # mapping", "RuntimeError: no items", id="cannot be read"),
        pytest.param("dates", "@tracker.tool  # dates", "$.due[0] is of type date", id="not JSON"),
        pytest.param(
            "half", "@tracker.tool  # half", "content[0] of the result has no text", id="half a content block"
        ),
        pytest.param("odd", "@tracker.tool  # odd", "the result of odd is not one of MCP: content.0", id="no content"),
    ],
)
def test_a_broken_handler_is_an_error_result_with_file_and_line(mock, mode, tool, line, told):
    number = next(n for n, each in enumerate(HANDLERS.lstrip("\n").splitlines(), 1) if line in each)
    made = mock(py=HANDLERS)
    result, answer = called(made, tool, mode=mode)
    assert result.is_error
    place = f"mocks/tracker.py:{number}: "
    assert result.content[0].text.startswith(place)
    assert answer.error.startswith(place)
    assert told in answer.error


def test_a_fault_and_a_delay_are_for_the_http_exchange(mock):
    made = mock(py=HANDLERS)
    body = message("tools/call", name="resets", arguments={})
    assert ask(made, body=body).response.fault == "reset"
    made = mock(py=HANDLERS)
    waiting = ask(made, body=message("tools/call", name="waits", arguments={}))
    assert waiting.response.delay == 0.25
    assert b'{\\"ok\\": true}' in waiting.response.body


def test_a_response_of_another_status_is_the_http_answer(mock):
    answer = ask(mock(py=HANDLERS), body=message("tools/call", name="refuses", arguments={}))
    assert (answer.response.status, answer.response.body) == (503, b"down")
    assert ("retry-after", "1") in answer.response.headers


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("tool", "told", "near", "fix"),
    [
        pytest.param("fail", "Unknown tool: fail. Did you mean fails?", "fails", "a handler for fail", id="unknown"),
        pytest.param("zzz", "Unknown tool: zzz", None, "a handler for zzz", id="nothing is near"),
        pytest.param("passes_on", "No answer for passes_on", None, "handler of passes_on", id="its handler passed"),
    ],
)
def test_a_tool_without_an_answer_is_the_protocols_own_error(mock, mode, *, tool, told, near, fix):
    made = mock(py=HANDLERS)

    async def run():
        async with connected(made, mode=mode) as (client, transport):
            with pytest.raises(MCPError) as caught:
                await client.call_tool(tool, {})
            return caught.value.error, next(answer for answer in transport.answers if answer.operation == tool)

    error, answer = asyncio.run(run())
    assert error.code == -32602
    assert error.message.startswith(told)
    assert (answer.nearest, answer.error) == (near, None)
    assert fix in answer.unanswered


@pytest.mark.parametrize(
    ("described", "tool", "lines"),
    [
        pytest.param("", "get", "results: {get: …}", id="nothing is described"),
        pytest.param("tools: {ping: {}, get: {}}\n", "get", "results: {get: …}", id="it is described"),
        pytest.param(
            "tools: {ping: {}}\n",
            "get",
            "results: {get: …} and tools: {get: {description: …}}",
            id="others are described",
        ),
        pytest.param("", "a b", 'results: {"a b": …}', id="an odd name"),
    ],
)
def test_a_tool_without_an_answer_is_told_with_the_line_that_would_answer_it(mock, described, tool, lines):
    yaml = f"kind: mcp\nurl: {URL}\n{described}results: {{ping: {{ok: true}}}}\n"
    answer = ask(mock(yaml=yaml), body=message("tools/call", name=tool, arguments={}))
    assert answer.unanswered == f"Add to mocks/tracker.yaml: {lines}"
    assert ask(mock(yaml=yaml), body=message("tools/call", name="ping", arguments={})).unanswered is None


def test_a_handler_that_breaks_its_output_schema_is_broken(mock):
    made = mock(
        py=f"""
        from eve_mocks import mcp_mock
        tracker = mcp_mock("{URL}")

        @tracker.tool
        def list_issues():
            return {{"issues": "none"}}
        """,
        schema=SCHEMA,
    )
    answer = ask(made, body=message("tools/call", name="list_issues", arguments={"state": "open"}))
    assert "breaks its outputSchema: issues: 'none' is not of type 'array'" in answer.error
    assert b'"isError":true' in answer.response.body


# State and order


COUNTER = f"""
import asyncio
from eve_mocks import mcp_mock
tracker = mcp_mock("{URL}", state={{"count": 0, "order": []}})

@tracker.tool
async def count(state):
    before = state["count"]
    await asyncio.sleep(0)
    state["count"] = before + 1
    return state["count"]

@tracker.tool
async def note(args, state):
    await asyncio.sleep(0)
    state["order"].append(args["n"])
    return state["order"]

@tracker.tool
async def hang(state):
    state["count"] = -100
    try:
        await asyncio.Event().wait()
    finally:
        state["count"] = 0
"""


@pytest.mark.parametrize("mode", MODES)
def test_parallel_calls_of_two_sessions_count_each_from_1_to_50(mock, mode):
    made = mock(py=COUNTER)
    sessions = Sessions()

    async def fifty(session):
        async with connected(made, mode=mode, session=sessions.get(session)) as (client, _):
            results = await asyncio.gather(*(client.call_tool("count", {}) for _ in range(50)))
            return sorted(int(result.content[0].text) for result in results)

    async def run():
        return await asyncio.gather(fifty("a"), fifty("b"))

    assert asyncio.run(run()) == [list(range(1, 51))] * 2


@pytest.mark.parametrize("versions", [("2025-11-25",), ("2026-07-28",), ("2025-11-25", "2026-07-28")])
def test_calls_are_answered_in_the_order_they_arrive(mock, versions):
    made = mock(py=COUNTER)
    session = Sessions().get()

    async def run():
        made.warm()
        requests = [call_of("note", {"n": n}, versions[n % len(versions)]) for n in range(20)]
        await asyncio.gather(*(made.answer(request, session) for request in requests))
        await made.close()
        return session.state("tracker", None)["order"]

    assert asyncio.run(run()) == list(range(20))


def call_of(tool, arguments, version, **headers):
    params = {"name": tool, "arguments": arguments}
    fields = {"content-type": "application/json", "accept": BOTH, "mcp-protocol-version": version} | headers
    if version == "2026-07-28":
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        fields |= {"mcp-method": "tools/call", "mcp-name": tool}
    body = json.dumps(message("tools/call", **params)).encode()
    return Request(method="POST", target=parse_url(URL), headers=Headers(fields.items()), body=body)


@pytest.mark.parametrize("kind", ["2026-07-28", "2025-11-25", "MCP session"])
def test_a_client_that_hangs_up_cancels_the_handler_and_the_next_call_goes_on(mock, kind):
    sessions = kind == "MCP session"
    made = mock(py=COUNTER.replace("state={", "mcp_sessions=True, state={") if sessions else COUNTER)
    session = Sessions().get()
    version = "2025-11-25" if sessions else kind

    async def run():
        headers = {"mcp-session-id": await opened(made, session)} if sessions else {}
        state = session.state("tracker", {"count": 0, "order": []})
        hanging = asyncio.create_task(made.answer(call_of("hang", {}, version, **headers), session))
        async with asyncio.timeout(10):
            while state["count"] != -100:  # noqa: ASYNC110 - the handler has only its state to tell us by
                await asyncio.sleep(0)
            hanging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hanging
            assert state["count"] == 0  # it ended before the turn was given on
            answer = await made.answer(call_of("count", {}, version, **headers), session)
        await made.close()
        return answer

    assert b'"text":"1"' in asyncio.run(run()).response.body


# HTTP


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_methods_other_than_post_are_405_without_the_sdk(mock, method):
    answer = ask(mock(py=COUNTER), method)
    assert answer.response.status == 405
    assert ("allow", "POST") in answer.response.headers
    assert answer.operation == f"{method} /mcp"


def test_there_is_no_authorization_server_to_find(mock):
    made = mock(yaml="kind: mcp\nurl: https://mcp.tracker.test/\nresults: {a: 1}")
    answer = ask(made, "GET", path=".well-known/oauth-protected-resource")
    assert answer.response.status == 404


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28", None])
def test_a_notification_is_202(mock, version):
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = ask(mock(py=COUNTER), body=body, version=version)
    assert (answer.response.status, answer.response.body) == (202, b"")
    assert answer.operation == "notifications/initialized"


@pytest.mark.parametrize(
    ("accept", "version", "media_type"),
    [
        pytest.param("application/json", "2025-11-25", "application/json", id="handshake, JSON"),
        pytest.param(BOTH, "2025-11-25", "text/event-stream", id="handshake, both"),
        pytest.param("text/event-stream", "2025-11-25", "text/event-stream", id="handshake, stream"),
        pytest.param("*/*", "2025-11-25", "application/json", id="handshake, any"),
        pytest.param(None, "2025-11-25", "application/json", id="handshake, not said"),
        pytest.param(BOTH, None, "text/event-stream", id="no version, both"),
        pytest.param("application/json", "2026-07-28", "application/json", id="2026, JSON"),
        pytest.param(BOTH, "2026-07-28", "application/json", id="2026, both"),
        pytest.param("text/event-stream", "2026-07-28", "text/event-stream", id="2026, stream"),
    ],
)
def test_json_or_a_stream_by_accept(mock, accept, version, media_type):
    body = call_of("count", {}, version).body
    answer = ask(mock(py=COUNTER), body=body, accept=accept, version=version, mcp_method="tools/call", mcp_name="count")
    assert answer.response.status == 200
    assert dict(answer.response.headers)["content-type"] == media_type
    body = answer.response.body.decode()
    if media_type == "text/event-stream":
        assert body.startswith("event: message\r\ndata: {")
        assert body.endswith("}\r\n\r\n")
        body = body.partition("data: ")[2]
    assert json.loads(body)["result"]["content"][0]["text"] == "1"


def test_a_client_that_takes_neither_is_406(mock):
    assert ask(mock(py=COUNTER), body=message("ping"), accept="text/html").response.status == 406


@pytest.mark.parametrize(
    ("body", "operation", "status", "code"),
    [
        pytest.param(b"nonsense", "POST /mcp", 400, -32700, id="not JSON"),
        pytest.param(b"[]", "POST /mcp", 400, -32602, id="a batch"),
        pytest.param(b"[" * 100_000, "POST /mcp", 400, -32700, id="nested deeply"),
        pytest.param(message("tools/call"), "tools/call", 200, -32602, id="no tool"),
        pytest.param(message("resources/list"), "resources/list", 200, -32601, id="unknown method"),
        pytest.param(message("server/discover"), "server/discover", 200, -32601, id="discover before the handshake"),
    ],
)
def test_what_is_no_call_is_the_protocols_own_error(mock, body, operation, status, code):
    answer = ask(mock(py=COUNTER), body=body, accept="application/json")
    assert (answer.operation, answer.response.status) == (operation, status)
    assert json.loads(answer.response.body)["error"]["code"] == code


@pytest.mark.parametrize("asked", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_handshake_answers_in_the_version_that_is_asked_and_issues_no_session(mock, asked):
    body = message("initialize", protocolVersion=asked, capabilities={}, clientInfo={"name": "t", "version": "1"})
    answer = ask(mock(py=COUNTER), body=body, version=None, accept="application/json")
    assert json.loads(answer.response.body)["result"]["protocolVersion"] == asked
    assert "mcp-session-id" not in dict(answer.response.headers)
    assert answer.operation == "initialize"


def test_a_5_mib_argument_passes(mock):
    body = message("tools/call", name="note", arguments={"n": "x" * (5 << 20)})
    answer = ask(mock(py=COUNTER), body=body, accept="application/json")
    assert len(answer.response.body) > 5 << 20


# MCP sessions


async def opened(made, session):
    """The id of a new MCP session."""
    body = message(
        "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"}
    )
    fields = {"content-type": "application/json", "accept": BOTH}
    request = Request(
        method="POST", target=parse_url(URL), headers=Headers(fields.items()), body=json.dumps(body).encode()
    )
    answer = await made.answer(request, session)
    return dict(answer.response.headers)["mcp-session-id"]


@pytest.fixture
def stateful(mock):
    return mock(yaml=f"kind: mcp\nurl: {URL}\nmcp_sessions: true\nresults: {{ping: pong}}")


def test_an_mcp_session_is_opened_used_and_ended(stateful):
    session = Sessions().get()

    async def run():
        id_ = await opened(stateful, session)
        statuses = []
        for method, header in (("POST", id_), ("POST", None), ("POST", "stale"), ("DELETE", id_), ("POST", id_)):
            request = call_of("ping", {}, "2025-11-25", **({"mcp-session-id": header} if header else {}))
            if method == "DELETE":
                request = Request(method=method, target=request.target, headers=request.headers)
            answer = await stateful.answer(request, session)
            statuses.append(answer.response.status)
        await stateful.close()
        return statuses

    assert asyncio.run(run()) == [200, 400, 404, 200, 404]


@pytest.mark.parametrize("mode", MODES)
def test_the_sdks_client_works_with_mcp_sessions(stateful, mode):
    result, _ = called(stateful, "ping", mode=mode)
    assert result.content[0].text == "pong"


# What stops the load


@pytest.mark.parametrize(
    ("yaml", "line", "told"),
    [
        pytest.param(f"kind: mcp\nurl: {URL}\nresutls: {{}}", 3, "Did you mean results?", id="unknown key"),
        pytest.param("kind: mcp\nresults: {}", 1, "has no url", id="no url"),
        pytest.param(f"kind: mcp\nurl: {URL}#x", 2, "has a fragment", id="fragment"),
        pytest.param(f"kind: mcp\nurl: {URL}\nresults: [list_teams]", 3, "not a mapping", id="results as a list"),
        pytest.param(f"kind: mcp\nurl: {URL}\nmcp_sessions: yes", 3, "not true or false", id="sessions as text"),
        pytest.param(
            f"kind: mcp\nurl: {URL}\nresults:\n  list_teams: []\n  list_isues: []",
            5,
            "Did you mean list_issues?",
            id="result of no tool",
        ),
        pytest.param(
            f"kind: mcp\nurl: {URL}\nresults:\n  list_issues:\n    issues: none",
            4,
            "issues: 'none' is not of type 'array'",
            id="result that breaks its output schema",
        ),
        pytest.param(
            f"kind: mcp\nurl: {URL}\nresults:\n  list_issues: {{content: [{{type: text, text: hi}}]}}",
            4,
            "has no structuredContent",
            id="result without the structured content",
        ),
        pytest.param(
            f"kind: mcp\nurl: {URL}\nresults:\n  list_teams: {{content: [{{type: image, data: x}}]}}",
            4,
            "content[0] of the result has no mimeType",
            id="half a content block",
        ),
        pytest.param(
            f"kind: mcp\nurl: {URL}\ntools:\n  ping:\n    inputSchema: {{type: objekt}}",
            5,
            "the inputSchema of ping is not valid: type: 'objekt' is not valid",
            id="input schema that is none",
        ),
        pytest.param(
            f"kind: mcp\nurl: {URL}\ntools:\n  ping:\n    inputSchema: {{type: array}}",
            5,
            "arguments are always an object",
            id="input schema of no object",
        ),
        pytest.param(
            f"kind: mcp\nurl: {URL}\ntools:\n  - name: ping\n    inputSchmea: {{}}",
            5,
            "Did you mean inputSchema?",
            id="unknown key of a tool",
        ),
        pytest.param(f"kind: mcp\nurl: {URL}\ntools:\n  - description: x", 4, "has no name", id="tool without a name"),
        pytest.param(
            f"kind: mcp\nurl: {URL}\ntools:\n  - name: ping\n  - name: ping", 5, "two tools are called ping", id="twice"
        ),
        pytest.param(f"kind: mcp\nurl: {URL}\ntools: ping", 3, "not a list", id="tools as text"),
    ],
)
def test_a_mistake_stops_the_load_with_its_line(folder, yaml, line, told):
    errors = folder(tracker_dot_yaml=yaml, schemas__tracker_dot_json=SCHEMA).errors
    assert len(errors) == 1
    assert told in str(errors[0])
    assert (errors[0].file, errors[0].line) == ("mocks/tracker.yaml", line)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        pytest.param("", 1, "is empty", id="0 bytes"),
        pytest.param('{"tools": [\n', 2, "is not JSON", id="broken"),
        pytest.param(
            '{"tools": [\n {"name": "a", "inputSchema": {"type": "object"}},\n {"name": "b",\n  "inputSchema": 5}]}',
            4,
            "not a mapping",
            id="a schema that is none",
        ),
    ],
)
def test_a_broken_schema_file_stops_the_load_with_its_line(folder, text, line, told):
    yaml = f"kind: mcp\nurl: {URL}\nresults: {{a: 1}}"
    errors = folder(tracker_dot_yaml=yaml, schemas__tracker_dot_json=text).errors
    assert len(errors) == 1
    assert told in str(errors[0])
    assert (errors[0].file, errors[0].line) == ("mocks/schemas/tracker.json", line)


@pytest.mark.parametrize(
    ("code", "line", "told"),
    [
        pytest.param("@tracker.tool\ndef list_teams(arg):\n    pass", 3, "Did you mean args?", id="unknown parameter"),
        pytest.param("@tracker.tool\ndef list_isues():\n    pass", 3, "Did you mean list_issues?", id="no such tool"),
        pytest.param(
            "@tracker.tool\ndef list_teams():\n    pass\n\n@tracker.tool('list_teams')\ndef again():\n    pass",
            7,
            "the tool list_teams has two handlers",
            id="two handlers",
        ),
    ],
)
def test_a_mistake_in_a_handler_stops_the_load_with_its_line(folder, code, line, told):
    text = f'from eve_mocks import mcp_mock\ntracker = mcp_mock("{URL}")\n{code}\n'
    errors = folder(tracker_dot_py=text, schemas__tracker_dot_json=SCHEMA).errors
    assert len(errors) == 1
    assert told in str(errors[0])
    assert errors[0].file == "mocks/tracker.py"
    assert errors[0].line == line


def test_every_mistake_of_a_mock_is_told_in_the_order_of_its_lines(folder):
    yaml = f"kind: mcp\nurl: {URL}#x\nmcp_sessions: 1\nresults:\n  list_isues: []\n  list_teem: []\nresutls: 1"
    errors = folder(tracker_dot_yaml=yaml, schemas__tracker_dot_json=SCHEMA).errors
    assert [(error.line, error.fix.partition("?")[0]) for error in errors] == [
        (2, f"Write {URL}"),
        (3, "Write for example true"),
        (5, "Did you mean list_issues"),
        (6, "Did you mean list_teams"),
        (7, "Did you mean results"),
    ]
    yaml = f"kind: mcp\nurl: {URL}\ntools:\n  a: {{descriptin: x}}\n  b: {{inputSchema: 1}}\n"
    errors = folder(tracker_dot_yaml=yaml).errors
    assert [(error.line, error.message) for error in errors] == [
        (4, "unknown key 'descriptin' in a"),
        (5, "inputSchema is 1, not a mapping"),
    ]


def test_a_tool_that_nothing_describes_beside_others_that_are(folder):
    yaml = f"kind: mcp\nurl: {URL}\ntools: {{ping: {{}}}}\nresults: {{ping: 1, search: 2}}\n"
    (error,) = folder(tracker_dot_yaml=yaml).errors
    assert error.fix == "Describe it under tools: {search: {description: …}}"


def test_results_in_python_have_to_be_json(folder):
    text = f'from eve_mocks import mcp_mock\ntracker = mcp_mock(\n    "{URL}", results={{"a": {{1, 2}}}})\n'
    errors = folder(tracker_dot_py=text).errors
    assert "$ is of type set" in str(errors[0])
    assert errors[0].where == "mocks/tracker.py:2"


def test_loading_imports_neither_the_sdk_nor_jsonschema(tmp_path):
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "tracker.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "tracker.yaml").write_text(f"kind: mcp\nurl: {URL}\nresults: {{list_teams: []}}")
    code = (
        "import pathlib, sys; from eve_mocks.load import load; found = load(pathlib.Path(sys.argv[1]));"
        "assert found.mocks and not found.errors, found;"
        "print([name for name in ('mcp', 'mcp_types', 'pydantic', 'jsonschema', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
