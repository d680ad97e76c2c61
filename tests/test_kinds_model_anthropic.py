"""Kind model as Anthropic: the real SDK, over real sockets."""

from __future__ import annotations

import asyncio
import functools
import json
import sys
from typing import TYPE_CHECKING, Any

import anthropic
import httpx
import model_sdks
import pydantic
import pytest
from anthropic.types import Message, MessageTokensCount, ModelInfo, RawMessageStreamEvent
from anthropic.types.shared import ErrorResponse
from model_sdks import PNG, bodies, events, statuses

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project
    from running_proxy import RunningProxy

EVENT = pydantic.TypeAdapter[Any](RawMessageStreamEvent)
TOOLS = [
    {"name": name, "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
    for name in ("weather", "time")
]


@pytest.fixture
def serve(proxy: Callable[..., RunningProxy], monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunningProxy]:
    """``serve(scripts)`` answers for Anthropic."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    return functools.partial(model_sdks.serve, proxy, monkeypatch, "anthropic")


def asked(content: Any = "hello", **given: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": content}], **given}


def create(**given: Any) -> Any:
    with anthropic.Anthropic() as client:
        return client.messages.create(**given)


def stream(**given: Any) -> Any:
    with anthropic.Anthropic() as client, client.messages.stream(**given) as events:
        return events.get_final_message()


def create_later(**given: Any) -> Any:
    async def ask() -> Any:
        async with anthropic.AsyncAnthropic() as client:
            return await client.messages.create(**given)

    return asyncio.run(ask())


def stream_later(**given: Any) -> Any:
    async def ask() -> Any:
        async with anthropic.AsyncAnthropic() as client, client.messages.stream(**given) as events:
            return await events.get_final_message()

    return asyncio.run(ask())


EACH_WAY = pytest.mark.parametrize("ask", [create, stream, create_later, stream_later])


def check(running: RunningProxy) -> None:
    """What was sent has nothing that the SDK does not know, and everything that it needs."""
    for body in bodies(running):
        if body.startswith(b"{"):
            Message.model_validate_json(body, strict=True, extra="forbid")
            continue
        for name, data in events(body):
            event = EVENT.validate_json(json.dumps(data), strict=True, extra="forbid")
            assert event.type == name


@EACH_WAY
def test_text_and_usage(serve: Callable[..., RunningProxy], ask: Callable[..., Any]) -> None:
    usage = {
        "inputTokens": 120,
        "outputTokens": 9,
        "inputTokenDetails": {"cacheReadTokens": 70, "cacheWriteTokens": 20},
        "outputTokenDetails": {"reasoningTokens": 4},
    }
    running = serve({"m": [{"$text": "One two\nthree ø ünï", "usage": usage}]})
    message = ask(**asked())
    assert [(block.type, block.text) for block in message.content] == [("text", "One two\nthree ø ünï")]
    assert (message.stop_reason, message.model) == ("end_turn", "m")
    told = message.usage
    assert (told.input_tokens, told.cache_read_input_tokens, told.cache_creation_input_tokens) == (30, 70, 20)
    assert (told.output_tokens, told.output_tokens_details.thinking_tokens) == (9, 4)
    assert told.cache_creation.ephemeral_5m_input_tokens == 20
    check(running)
    assert running.call().usage == {"inputTokens": 120, "outputTokens": 9}
    if not (body := bodies(running)[0]).startswith(b"{"):  # where some clients add up, and others take the last
        assert events(body)[0][1]["message"]["usage"]["output_tokens"] == 0


@EACH_WAY
def test_tools_are_called_at_once(serve: Callable[..., RunningProxy], ask: Callable[..., Any]) -> None:
    calls = [{"tool": "weather", "input": {"city": "Bergen ø Åsane"}}, {"tool": "time", "input": {}}]
    running = serve({"m": [{"$text": "Looking.", "$tools": calls}, {"$tools": calls[:1]}]})
    message = ask(**asked(tools=TOOLS))
    text, *uses = message.content
    assert (text.text, message.stop_reason) == ("Looking.", "tool_use")
    assert [(use.type, use.name, use.input) for use in uses] == [
        ("tool_use", "weather", {"city": "Bergen ø Åsane"}),
        ("tool_use", "time", {}),
    ]
    assert len({use.id for use in [*uses, *ask(**asked(tools=TOOLS)).content]}) == 3
    check(running)


class Score(pydantic.BaseModel):
    score: int
    why: str


class Wrapped(pydantic.BaseModel):
    result: Score


GOOD = {"score": 4, "why": "It is short, and it says what is new."}


def test_structured_output(serve: Callable[..., RunningProxy]) -> None:
    running = serve({"Score": [GOOD] * 3, "Wrapped": [GOOD]})
    expected = Score(**GOOD)
    with anthropic.Anthropic() as client:
        assert client.messages.parse(**asked(), output_format=Score).parsed_output == expected
        with client.messages.stream(**asked(), output_format=Score) as events:
            assert events.get_final_message().parsed_output == expected
        assert client.messages.parse(**asked(), output_format=Wrapped).parsed_output == Wrapped(result=expected)

    async def later() -> Any:
        async with anthropic.AsyncAnthropic() as client:
            return (await client.messages.parse(**asked(), output_format=Score)).parsed_output

    assert asyncio.run(later()) == expected
    check(running)


@pytest.mark.parametrize(
    ("choice", "tools"),
    [({"type": "tool", "name": "score"}, ["weather", "score"]), ({"type": "any"}, ["score"])],
    ids=["a tool by its name", "any of one tool"],
)
@pytest.mark.parametrize("ask", [create, stream])
def test_structured_output_by_a_tool(
    serve: Callable[..., RunningProxy], ask: Callable[..., Any], choice: Any, tools: list[str]
) -> None:
    running = serve({"m": [GOOD]})
    offered = [{"name": name, "input_schema": Score.model_json_schema()} for name in tools]
    (use,) = ask(**asked(tools=offered, tool_choice=choice)).content
    assert (use.name, use.input) == ("score", GOOD)
    check(running)


@pytest.mark.parametrize("choice", ["any", "auto"])
def test_a_tool_that_is_not_forced(serve: Callable[..., RunningProxy], choice: str) -> None:
    serve({"m": [GOOD]})
    (block,) = create(**asked(tools=TOOLS, tool_choice={"type": choice})).content
    assert json.loads(block.text) == GOOD


def test_the_older_place_of_the_format(serve: Callable[..., RunningProxy]) -> None:
    serve({"Score": [GOOD]})
    format_ = {"type": "json_schema", "schema": Score.model_json_schema()}
    (block,) = create(**asked(extra_body={"output_format": format_})).content
    assert json.loads(block.text) == GOOD


@pytest.mark.parametrize("entry", [GOOD, {"result": {"result": GOOD}}], ids=["bare", "wrapped already"])
def test_the_input_of_a_forced_tool_is_wrapped_as_its_schema_asks(
    serve: Callable[..., RunningProxy], entry: Any
) -> None:
    serve({"m": [entry]})
    tool = {"name": "json", "input_schema": Wrapped.model_json_schema()}
    (use,) = create(**asked(tools=[tool], tool_choice={"type": "tool", "name": "json"})).content
    assert use.input == {"result": GOOD}


def test_a_function_sees_the_prompt(serve: Callable[..., RunningProxy]) -> None:
    seen: list[Any] = []

    def look(request: Any) -> str:
        seen.append(([(one.role, one.content) for one in request.messages], request.prompt, request.tools))
        return "A red pixel."

    serve({"m": [look]})
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "weather", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "Zoomed."}, image]}
            ],
        },
    ]
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    assert create(**asked(messages=messages) | {"system": system, "tools": TOOLS}).content[0].text == "A red pixel."
    ((told, prompt, tools),) = seen
    assert told == [
        ("system", "Be brief."),
        ("user", "What is this?\n[image]"),
        ("assistant", "weather({})"),
        ("tool", "Zoomed.\n[image]"),
    ]
    assert (prompt, tools) == ("What is this?\n[image]", ("weather", "time"))


OVERLOADED = {"$throw": {"status": 529}}


@EACH_WAY
def test_retries_of_the_sdk_take_one_entry(serve: Callable[..., RunningProxy], ask: Callable[..., Any]) -> None:
    running = serve({"m": [{"$throw": {"status": 429, "attempts": 1}}, "two", OVERLOADED, "four"]})
    assert ask(**asked()).content[0].text == "two"
    with pytest.raises(anthropic.InternalServerError, match="overloaded_error"):
        ask(**asked())
    assert ask(**asked()).content[0].text == "four"
    assert statuses(running, 6) == [429, 200, 529, 529, 529, 200]


@pytest.mark.parametrize(
    ("throw", "type_", "error"),
    [
        ({"status": 400}, "invalid_request_error", anthropic.BadRequestError),
        ({"status": 401}, "authentication_error", anthropic.AuthenticationError),
        ({"status": 403}, "permission_error", anthropic.PermissionDeniedError),
        ({"status": 404}, "not_found_error", anthropic.NotFoundError),
        ({"status": 429}, "rate_limit_error", anthropic.RateLimitError),
        ({}, "api_error", anthropic.InternalServerError),
        ({"status": 504}, "timeout_error", anthropic.InternalServerError),
        ({"status": 529}, "overloaded_error", anthropic.InternalServerError),
        ({"status": 400, "name": "billing_error"}, "billing_error", anthropic.BadRequestError),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors(serve: Callable[..., RunningProxy], throw: Any, type_: str, error: Any) -> None:
    running = serve({"m": [{"$throw": {**throw, "message": "as the script says"}}]})
    with anthropic.Anthropic(max_retries=0) as client, pytest.raises(error, match="as the script says") as caught:
        client.messages.create(**asked())
    assert caught.value.status_code == throw.get("status", 500)
    found = ErrorResponse.model_validate_json(bodies(running)[0], strict=True, extra="forbid")
    assert found.error.type == type_


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"messages": []}, 400),
        ({"model": "m", "messages": {"role": "user"}, "tools": 5, "tool_choice": [], "system": {"text": 1}}, 200),
        ({"model": "m", "messages": ["hello", {"content": ["hello", {"type": "tool_result"}]}], "metadata": "x"}, 200),
    ],
    ids=["no model", "no lists", "no objects"],
)
def test_a_body_that_no_sdk_sends(serve: Callable[..., RunningProxy], body: Any, status: int) -> None:
    serve({"m": ["x"]})
    with httpx.Client() as client:
        assert client.post("https://api.anthropic.com/v1/messages", json=body).status_code == status


@pytest.mark.parametrize("is_later", [False, True], ids=["sync", "async"])
def test_an_error_in_the_middle_of_a_stream(serve: Callable[..., RunningProxy], is_later: bool) -> None:
    running = serve({"m": [{"$text": "Half of it", "$throw": {"status": 529}}, "whole"]})
    heard: list[str] = []

    async def later() -> None:
        async with anthropic.AsyncAnthropic() as client, client.messages.stream(**asked()) as events:
            async for text in events.text_stream:
                heard.append(text)  # noqa: PERF401 - what came before the error counts

    def now() -> None:
        with anthropic.Anthropic() as client, client.messages.stream(**asked()) as events:
            for text in events.text_stream:
                heard.append(text)  # noqa: PERF402

    with pytest.raises(anthropic.APIStatusError) as caught:
        asyncio.run(later()) if is_later else now()
    assert caught.value.body["error"]["type"] == "overloaded_error"
    assert "".join(heard) == "Half of it"
    *told, (name, data) = events(bodies(running)[0])
    assert "".join(event["delta"]["text"] for name, event in told if name == "content_block_delta") == "Half of it"
    assert (name, ErrorResponse(**data).error.type) == ("error", "overloaded_error")
    assert create(**asked()).content[0].text == "whole"


@EACH_WAY
def test_a_refusal(serve: Callable[..., RunningProxy], ask: Callable[..., Any]) -> None:
    running = serve({"m": [{"$refusal": "I cannot help with that."}]})
    message = ask(**asked())
    assert (message.stop_reason, message.content) == ("refusal", [])
    assert message.stop_details.explanation == "I cannot help with that."
    check(running)


def test_a_refusal_of_structured_output(serve: Callable[..., RunningProxy]) -> None:
    serve({"Score": [{"$refusal": "No."}]})
    with anthropic.Anthropic() as client:
        message = client.messages.parse(**asked(), output_format=Score)
    assert (message.parsed_output, message.stop_reason) == (None, "refusal")


def test_a_loop_of_tools(serve: Callable[..., RunningProxy]) -> None:
    called: list[str] = []

    @anthropic.beta_tool
    def weather(city: str) -> str:
        """The weather in a city."""
        called.append(city)
        return "Rain."

    calls = [{"$tools": [{"tool": "weather", "input": {"city": city}}]} for city in ("Bergen", "Oslo")]
    running = serve({"m": [calls[0], "It rains in Bergen.", calls[1], "It rains in Oslo.", "Bye."]})
    with anthropic.Anthropic() as client:
        messages: list[Any] = []
        for question, answer in (("Bergen?", "It rains in Bergen."), ("Oslo?", "It rains in Oslo."), ("", "Bye.")):
            messages.append({"role": "user", "content": question or "Thanks."})
            runner = client.beta.messages.tool_runner(model="m", max_tokens=99, tools=[weather], messages=messages)
            for message in runner:
                messages.append({"role": "assistant", "content": message.content})
                if (results := runner.generate_tool_call_response()) is not None:
                    messages.append(results)
            assert message.content[0].text == answer
    assert called == ["Bergen", "Oslo"]
    assert [call.position for call in running.recorded(5)] == [0, 1, 2, 3, 4]


SCRIPTS = {key: [f"by {key}"] for key in ("header", "user", "request", "claude-x", "claude")}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"extra_headers": {"x-eve-mocks-request": "header"}, "metadata": {"user_id": "user"}}, "by header"),
        ({"metadata": {"request": "request", "user_id": "user"}}, "by request"),
        ({"metadata": {"user_id": "user"}}, "by user"),
        ({"metadata": {"user_id": "somebody"}, "model": "claude-x"}, "by claude-x"),
        ({"model": "anthropic/claude"}, "by claude"),
    ],
    ids=["header", "request", "user", "model", "plain model"],
)
def test_what_a_request_is_called(serve: Callable[..., RunningProxy], given: Any, expected: str) -> None:
    serve(SCRIPTS)
    assert create(**{**asked(), **given}).content[0].text == expected


def test_tokens_are_counted(serve: Callable[..., RunningProxy]) -> None:
    running = serve({"m": ["the one entry"]})
    with anthropic.Anthropic() as client:

        def count(content: str, **given: Any) -> int:
            messages = [{"role": "user", "content": content}]
            return client.messages.count_tokens(model="m", messages=messages, **given).input_tokens

        short = count("hello")
        assert short == count("hello") == 2
        assert count("hello " * 20) == 30
        assert count("hello", system="Be brief.") > short
        assert count("hello", tools=TOOLS) > short
    assert create(**asked()).content[0].text == "the one entry"
    MessageTokensCount.model_validate_json(bodies(running)[0], strict=True, extra="forbid")


def test_models(serve: Callable[..., RunningProxy]) -> None:
    running = serve({"claude-a": ["x"]}, models=["claude-b"])
    with anthropic.Anthropic() as client:
        assert [model.id for model in client.models.list()] == ["claude-b", "claude-a"]
        found = client.models.retrieve("claude-a")
    assert (found.id, found.type, found.created_at.year) == ("claude-a", "model", 2026)
    listed, one = bodies(running, 2)
    for model in (*json.loads(listed)["data"], json.loads(one)):
        ModelInfo.model_validate_json(json.dumps(model), strict=True, extra="forbid")


def test_a_script_that_ran_dry_fails_the_run(project: Project) -> None:
    project.file("mocks/claude.yaml", 'kind: model\nprovider: anthropic\nscripts: {claude: ["one"]}')
    project.file(
        "agent.py",
        """
        import anthropic
        client = anthropic.Anthropic(api_key="none")
        ask = dict(model="claude", max_tokens=9, messages=[{"role": "user", "content": "hello"}])
        with client.messages.stream(**ask) as events:
            print(events.get_final_text())
        try:
            client.messages.create(**ask)
        except anthropic.BadRequestError as error:
            print(error.body["error"]["details"])
        """,
    )
    done = project.eve_mocks("run", "--", sys.executable, "agent.py")
    assert done.stdout.splitlines() == ["one", "{'error_code': 'seam-script-exhausted'}"]
    assert (done.returncode, project.report()["childExitCode"]) == (1, 0), done.stderr
    assert [call["status"] for call in project.calls()] == [200, 400]
