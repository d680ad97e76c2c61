"""Resources and prompts of MCP mocks, and what handlers tell the client meanwhile."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest
from mcp.shared.exceptions import MCPError
from mcp_in_process import connected

from eve_mocks.load import load
from eve_mocks.match import parse_url
from eve_mocks.model import Headers, Request
from eve_mocks.session import Session, Sessions

URL = "https://docs.example.com/mcp"
MODES = ["auto", "legacy"]
YAML = f"""
kind: mcp
url: {URL}
resources:
  docs://readme: Hello
  docs://pages/{{id}}: {{title: Pages, json: {{page: 1}}}}
  docs://files/{{+path}}: {{text: any file, mimeType: text/x-any}}
  logo://main: {{body_file: logo.png, description: The logo}}
  docs://raw: {{contents: [{{uri: "docs://raw", text: raw}}]}}
prompts:
  summarise:
    description: Summarises
    arguments: {{text: {{description: What, required: true}}, tone: }}
    messages:
      - "Summarise {{tone}}: {{text}} {{other}}"
      - {{role: assistant, content: {{type: text, text: "Of {{text}}:"}}}}
"""
PYTHON = f"""
from eve_mocks import Fault, ToolError, mcp_mock

mock = mcp_mock("{URL}", state={{"reads": 0}}, prompts={{"both": {{"messages": ["fixed"]}}}})


@mock.resource("docs://pages/{{id}}")
def page(params, state, session):
    state["reads"] += 1
    return {{"id": params["id"], "reads": state["reads"], "session": session}}


@mock.resource("docs://bytes")
async def raw():
    return b"\\x00\\xff"


@mock.resource("docs://gone")
def gone():
    raise ToolError("it is gone")


@mock.resource("docs://broken")
def broken():
    return {{1, 2}}


@mock.resource("docs://dead")
def dead():
    raise Fault("reset")


@mock.prompt
def greet(args):
    "Greets somebody"
    return f"Hello {{args.get('name', 'you')}}"


@mock.prompt("both")
def passes():
    return NotImplemented


@mock.prompt
def several():
    return ["one", {{"role": "assistant", "content": "two"}}]


@mock.prompt
def wrong():
    return {{"role": "nobody", "content": "x"}}


@mock.tool
def work(client):
    client.log({{"step": 1}}, "warning", logger="worker")
    client.progress(1, 2, "half")
    return "done"
"""


@pytest.fixture
def mock(tmp_path):
    def made(text, name="docs.yaml"):
        (tmp_path / name).write_text(text)
        (tmp_path / "logo.png").write_bytes(b"\x89PNG")
        found = load(tmp_path, shown="mocks")
        assert found.errors == []
        return found.mocks[0]

    return made


def asked(mock, ask, *, mode="auto", session=None):
    """What a client is told, and the answers under it."""

    async def run():
        async with connected(mock, mode=mode, session=session) as (client, transport):
            return await ask(client), transport.answers

    return asyncio.run(run())


@pytest.mark.parametrize("mode", MODES)
def test_resources_and_templates_are_listed(mock, mode):
    async def ask(client):
        return (await client.list_resources()).resources, (await client.list_resource_templates()).resource_templates

    (resources, templates), _ = asked(mock(YAML), ask, mode=mode)
    assert [(one.uri, one.name, one.mime_type) for one in resources] == [
        ("docs://readme", "readme", None),
        ("logo://main", "main", "image/png"),
        ("docs://raw", "raw", None),
    ]
    assert resources[1].description == "The logo"
    assert [(one.uri_template, one.title) for one in templates] == [
        ("docs://pages/{id}", "Pages"),
        ("docs://files/{+path}", None),
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("uri", "text", "media_type"),
    [
        ("docs://readme", "Hello", "text/plain"),
        ("docs://pages/7", '{"page": 1}', "application/json"),
        ("docs://files/a/b.txt", "any file", "text/x-any"),
        ("docs://raw", "raw", None),
    ],
)
def test_a_resource_is_read(mock, mode, uri, text, media_type):
    result, answers = asked(mock(YAML), lambda client: client.read_resource(uri), mode=mode)
    ((found,),) = (result.contents,)
    assert (found.uri, found.text, found.mime_type) == (uri, text, media_type)
    assert answers[-1].operation == f"resources/read {uri}"


def test_bytes_are_a_blob(mock):
    result, _ = asked(mock(YAML), lambda client: client.read_resource("logo://main"))
    assert base64.b64decode(result.contents[0].blob) == b"\x89PNG"


@pytest.mark.parametrize("mode", MODES)
def test_a_resource_that_is_not_there(mock, mode):
    made, session = mock(YAML), Sessions().get()

    async def ask(client):
        with pytest.raises(MCPError, match="Did you mean docs://readme") as caught:
            await client.read_resource("docs://readmy")
        return caught.value.error.code

    code, answers = asked(made, ask, mode=mode, session=session)
    assert code == (-32002 if mode == "legacy" else -32602)
    assert answers[-1].unanswered == 'Add to mocks/docs.yaml: resources: {"docs://readmy": {text: …}}'
    assert answers[-1].nearest == "docs://readme"


@pytest.mark.parametrize("mode", MODES)
def test_prompts(mock, mode):
    async def ask(client):
        return (await client.list_prompts()).prompts, await client.get_prompt("summarise", {"text": "a {tone} b"})

    ((listed,), found), _ = asked(mock(YAML), ask, mode=mode)
    assert (listed.name, listed.description) == ("summarise", "Summarises")
    assert [(one.name, one.required) for one in listed.arguments] == [("text", True), ("tone", None)]
    assert [(one.role, one.content.text) for one in found.messages] == [
        ("user", "Summarise : a {tone} b {other}"),
        ("assistant", "Of a {tone} b:"),
    ]


@pytest.mark.parametrize(
    ("name", "told"), [("summarise", "Missing arguments for summarise: text"), ("sumarise", "Did you mean summarise?")]
)
def test_a_prompt_that_cannot_be_got(mock, name, told):
    async def ask(client):
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, {})
        return str(caught.value)

    said, answers = asked(mock(YAML), ask)
    assert told in said
    assert (answers[-1].unanswered is None) is (name == "summarise")


@pytest.mark.parametrize("mode", MODES)
def test_handlers_have_state_and_parameters(mock, mode):
    made, session = mock(PYTHON, "docs.py"), Session("s1")

    async def ask(client):
        pages = [(await client.read_resource(f"docs://pages/{name}")).contents[0].text for name in "ab"]
        blob = (await client.read_resource("docs://bytes")).contents[0].blob
        prompts = [await client.get_prompt(name, {"name": "Ada"} if name == "greet" else {}) for name in names]
        return pages, blob, [[(one.role, one.content.text) for one in prompt.messages] for prompt in prompts]

    names = ["greet", "both", "several"]
    (pages, blob, prompts), _ = asked(made, ask, mode=mode, session=session)
    assert [json.loads(page) for page in pages] == [
        {"id": "a", "reads": 1, "session": "s1"},
        {"id": "b", "reads": 2, "session": "s1"},
    ]
    assert base64.b64decode(blob) == b"\x00\xff"
    assert prompts == [[("user", "Hello Ada")], [("user", "fixed")], [("user", "one"), ("assistant", "two")]]


@pytest.mark.parametrize(
    ("ask", "told", "error"),
    [
        (lambda client: client.read_resource("docs://gone"), "it is gone", None),
        (lambda client: client.read_resource("docs://broken"), "is not JSON", "mocks/docs.py:23: the answer"),
        (lambda client: client.get_prompt("wrong"), "is no message of a prompt", "mocks/docs.py:"),
    ],
    ids=["fails on purpose", "is no JSON", "is no message"],
)
def test_what_a_handler_cannot_give(mock, ask, told, error):
    async def caught(client):
        with pytest.raises(MCPError) as caught:
            await ask(client)
        return str(caught.value)

    said, answers = asked(mock(PYTHON, "docs.py"), caught)
    assert told in said
    assert answers[-1].error is None if error is None else answers[-1].error.startswith(error)


def test_a_fault_is_for_the_http_exchange(mock):
    body = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "docs://dead"}}
    headers = Headers([("accept", "application/json, text/event-stream"), ("content-type", "application/json")])
    request = Request(method="POST", target=parse_url(URL), headers=headers, body=json.dumps(body).encode())

    async def run():
        made = mock(PYTHON, "docs.py")
        answer = await made.answer(request, Session("s"))
        await made.close()
        return answer

    assert asyncio.run(run()).response.fault == "reset"


@pytest.mark.parametrize("mode", MODES)
def test_a_handler_tells_the_client_of_its_work(mock, mode):
    progressed = []

    async def ask(client):
        async def progress(*told):
            progressed.append(told)

        return await client.call_tool("work", {}, progress_callback=progress)

    result, answers = asked(mock(PYTHON, "docs.py"), ask, mode=mode)
    assert result.content[0].text == "done"
    assert progressed == [(1, 2, "half")]
    (body,) = [answer.response.body for answer in answers if answer.operation == "work"]
    assert b'"method": "notifications/message", "params": {"level": "warning", "data": {"step": 1}' in body


@pytest.mark.parametrize(
    ("text", "told", "fix"),
    [
        ("resources: {readme: x}", "'readme' is not the URI of a resource", "docs://readme"),
        ("resources: {a://b: {}}", "a://b has no contents", "text"),
        ("resources: {a://b: {text: x, json: 1}}", "a://b has text and json", "Keep one"),
        ("resources: {a://b: {txt: x}}", "unknown key 'txt'", "text"),
        ("resources: {a://b: {blob: '?'}}", "blob is not base64", "body_file"),
        ("resources: {a://b: {body_file: none.png}}", "the file none.png cannot be read", "Put it at"),
        ("resources: {a://b: {contents: [{text: x}]}}", "is no contents of a resource", "uri"),
        ("resources: []", "resources is []", "docs://readme"),
        ("prompts: {p: {}}", "p has no messages", "Hello"),
        ("prompts: {p: {messages: [{role: usr, content: x}]}}", "is no message of a prompt", "role: user"),
        ("prompts: {p: {messages: [{role: user, content: {type: txt}}]}}", "content is", "type: text"),
        ("prompts: {p: {messages: [x], arguments: [{nme: a}]}}", "unknown key 'nme'", "name"),
        ("prompts: {p: {mesages: [x]}}", "unknown key 'mesages'", "messages"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path, text, told, fix):
    (tmp_path / "m.yaml").write_text(f"kind: mcp\nurl: {URL}\n{text}\n")
    (error,) = load(tmp_path, shown="mocks").errors
    assert told in error.message
    assert fix in error.fix
    assert error.where == "mocks/m.yaml:3"


def test_the_schema_file_describes_what_has_contents(tmp_path):
    (tmp_path / "m.yaml").write_text(
        f"kind: mcp\nurl: {URL}\nresources: {{a://b: x}}\nprompts: {{p: {{messages: [x]}}}}\n"
    )
    (tmp_path / "schemas").mkdir()
    listed = {
        "tools": [],
        "resources": [{"uri": "a://b", "name": "B", "title": "The B"}, {"uri": "a://c", "name": "C"}],
        "prompts": [{"name": "p", "description": "From there"}],
    }
    (tmp_path / "schemas" / "m.json").write_text(json.dumps(listed))
    (mock,) = load(tmp_path).mocks

    async def ask(client):
        return (await client.list_resources()).resources, (await client.list_prompts()).prompts

    (resources, prompts), _ = asked(mock, ask)
    assert [(one.uri, one.title) for one in resources] == [("a://b", "The B")]
    assert [one.description for one in prompts] == ["From there"]
