"""Kind model as OpenAI, Chat Completions and Responses: the real SDK, over real sockets."""

from __future__ import annotations

import asyncio
import functools
import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import model_sdks
import openai
import pydantic
import pytest
from model_sdks import PNG, bodies, statuses
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseErrorEvent, ResponseStreamEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project
    from running_proxy import RunningProxy

EVENT = pydantic.TypeAdapter[Any](ResponseStreamEvent)
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}


@pytest.fixture
def serve(proxy: Callable[..., RunningProxy], monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunningProxy]:
    """``serve(scripts)`` answers for OpenAI."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return functools.partial(model_sdks.serve, proxy, monkeypatch, "openai")


class Way(NamedTuple):
    """How the SDK is asked."""

    api: str
    streams: bool = False
    is_later: bool = False


def named(way: Way) -> str:
    return " ".join([way.api, "streamed" if way.streams else "whole", "async" if way.is_later else "sync"])


CHAT, RESPONSES = Way("chat"), Way("responses")
WAYS = [
    Way(api, streams, later) for api in ("chat", "responses") for streams in (False, True) for later in (False, True)
]
EACH_WAY = pytest.mark.parametrize("way", WAYS, ids=named)
EACH_API = pytest.mark.parametrize("way", [CHAT, RESPONSES], ids=["chat", "responses"])


def asked(way: Way, content: Any = "hello", *, output: Any = None, tools: Any = (), **given: Any) -> dict[str, Any]:
    """The arguments that ask the same of either API; ``output`` is a pydantic model."""
    given = {"model": "m", **given}
    if way.api == "chat":
        given.setdefault("messages", [{"role": "user", "content": content}])
        if way.streams:
            given["stream_options"] = {"include_usage": True}
        if output is not None:
            given["response_format"] = output
        if tools:
            given["tools"] = [{"type": "function", "function": tool} for tool in tools]
    else:
        given.setdefault("input", content)
        if output is not None:
            given["text_format"] = output
        if tools:
            given["tools"] = [{"type": "function", **tool} for tool in tools]
    return given


def offering(*names: str, parameters: Any = PARAMETERS) -> list[dict[str, Any]]:
    return [{"name": name, "parameters": parameters, "strict": False} for name in names]


class Said(NamedTuple):
    """What the SDK makes of an answer."""

    text: str | None
    calls: list[tuple[str, Any]]
    ids: list[str]
    refusal: str | None
    parsed: Any
    usage: Any
    end: str | None
    model: str


def said(answer: Any) -> Said:
    if isinstance(answer, ChatCompletion):
        (choice,) = answer.choices
        message, calls = choice.message, choice.message.tool_calls or []
        functions = [(call.function.name, json.loads(call.function.arguments)) for call in calls]
        ids, parsed = [call.id for call in calls], getattr(message, "parsed", None)
        end = choice.finish_reason
        return Said(message.content, functions, ids, message.refusal, parsed, answer.usage, end, answer.model)
    calls = [item for item in answer.output if item.type == "function_call"]
    functions = [(call.name, json.loads(call.arguments)) for call in calls]
    parts = [part for item in answer.output if item.type == "message" for part in item.content]
    refusal = next((part.refusal for part in parts if part.type == "refusal"), None)
    text, parsed = answer.output_text or None, getattr(answer, "output_parsed", None)
    ids = [call.call_id for call in calls]
    return Said(text, functions, ids, refusal, parsed, answer.usage, answer.status, answer.model)


def ask(way: Way, content: Any = "hello", **given: Any) -> Said:
    given = asked(way, content, **given)
    if way.is_later:
        return said(asyncio.run(_later(way, given)))
    with openai.OpenAI() as client:
        resource: Any = client.chat.completions if way.api == "chat" else client.responses
        if not way.streams:
            return said(_whole(resource, given)(**given))
        with resource.stream(**given) as events:
            return said(events.get_final_completion() if way.api == "chat" else events.get_final_response())


async def _later(way: Way, given: dict[str, Any]) -> Any:
    async with openai.AsyncOpenAI() as client:
        resource: Any = client.chat.completions if way.api == "chat" else client.responses
        if not way.streams:
            return await _whole(resource, given)(**given)
        async with resource.stream(**given) as events:
            return await (events.get_final_completion() if way.api == "chat" else events.get_final_response())


def _whole(resource: Any, given: dict[str, Any]) -> Any:
    return resource.parse if given.keys() & {"response_format", "text_format"} else resource.create


def events(body: bytes) -> list[tuple[str | None, Any]]:
    """The events of a stream; the word that ends one of Chat Completions is left out."""
    rest, done, end = body.partition(b"data: [DONE]\n\n")
    assert not end, body
    found = model_sdks.events(rest)
    assert bool(done) == found[-1][1].get("object", "").startswith("chat"), body
    return found


def check(running: RunningProxy) -> None:
    """What was sent has nothing that the SDK does not know, and everything that it needs."""
    for body in bodies(running):
        if body.startswith(b"{"):
            value = json.loads(body)
            model = ChatCompletion if value["object"] == "chat.completion" else Response
            model.model_validate(value, strict=True, extra="forbid")
            continue
        found = events(body)
        if found[0][0] is None:
            for name, data in found:
                assert name is None
                ChatCompletionChunk.model_validate(data, strict=True, extra="forbid")
            continue
        for number, (name, data) in enumerate(found):
            event = EVENT.validate_python(data, strict=True, extra="forbid")
            assert (event.type, event.sequence_number) == (name, number)


@EACH_WAY
def test_text_and_usage(serve: Callable[..., RunningProxy], way: Way) -> None:
    usage = {
        "inputTokens": 120,
        "outputTokens": 9,
        "inputTokenDetails": {"cacheReadTokens": 70},
        "outputTokenDetails": {"reasoningTokens": 4},
    }
    running = serve({"m": [{"$text": "One two\nthree ø ünï", "usage": usage}]})
    found = ask(way)
    assert (found.text, found.calls, found.refusal, found.model) == ("One two\nthree ø ünï", [], None, "m")
    told = found.usage
    if way.api == "chat":
        assert found.end == "stop"
        assert (told.prompt_tokens, told.completion_tokens, told.total_tokens) == (120, 9, 129)
        details = told.prompt_tokens_details.cached_tokens, told.completion_tokens_details.reasoning_tokens
    else:
        assert found.end == "completed"
        assert (told.input_tokens, told.output_tokens, told.total_tokens) == (120, 9, 129)
        details = told.input_tokens_details.cached_tokens, told.output_tokens_details.reasoning_tokens
    assert details == (70, 4)
    check(running)
    assert running.call().usage == {"inputTokens": 120, "outputTokens": 9}


@pytest.mark.parametrize("options", [{"include_usage": True}, {"include_usage": False}, None], ids=str)
def test_usage_of_a_streamed_chat_where_it_is_asked_for(serve: Callable[..., RunningProxy], options: Any) -> None:
    running = serve({"m": [{"$text": "One two", "usage": {"totalTokens": 7}}]})
    with openai.OpenAI() as client:
        *chunks, last = client.chat.completions.create(**asked(CHAT), stream=True, stream_options=options)
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)
    if options == {"include_usage": True}:
        assert (last.choices, last.usage.total_tokens, chunks[-1].choices[0].finish_reason) == ([], 7, "stop")
    else:
        assert (last.usage, last.choices[0].finish_reason) == (None, "stop")
    check(running)


@EACH_WAY
def test_tools_are_called_at_once(serve: Callable[..., RunningProxy], way: Way) -> None:
    calls = [{"tool": "weather", "input": {"city": "Bergen ø Åsane"}}, {"tool": "time", "input": {}}]
    running = serve({"m": [{"$text": "Looking.", "$tools": calls}, {"$tools": calls[:1]}]})
    tools = offering("weather", "time")
    both, one = ask(way, tools=tools), ask(way, tools=tools)
    expected = [("weather", {"city": "Bergen ø Åsane"}), ("time", {})]
    assert (both.text, both.calls) == ("Looking.", expected)
    assert (one.text, one.calls) == (None, expected[:1])
    assert both.end == one.end == ("tool_calls" if way.api == "chat" else "completed")
    assert len({*both.ids, *one.ids}) == 3
    check(running)


def test_the_events_of_a_response(serve: Callable[..., RunningProxy]) -> None:
    running = serve({"m": [{"$text": "One two", "$tools": [{"tool": "weather"}]}]})
    ask(Way("responses", streams=True))
    found = events(bodies(running)[0])
    assert [(name.removeprefix("response."), data.get("output_index")) for name, data in found] == [
        ("created", None),
        ("in_progress", None),
        ("output_item.added", 0),
        ("content_part.added", 0),
        ("output_text.delta", 0),
        ("output_text.delta", 0),
        ("output_text.done", 0),
        ("content_part.done", 0),
        ("output_item.done", 0),
        ("output_item.added", 1),
        ("function_call_arguments.delta", 1),
        ("function_call_arguments.done", 1),
        ("output_item.done", 1),
        ("completed", None),
    ]
    responses = [data["response"] for _, data in found if "response" in data]
    assert [(one["status"], len(one["output"])) for one in responses] == [
        *[("in_progress", 0)] * 2,
        ("completed", 2),
    ]
    items = [data["item"] for _, data in found if "item" in data]
    assert [(item["status"], item.get("content", item.get("arguments"))) for item in items] == [
        ("in_progress", []),
        ("completed", items[1]["content"]),
        ("in_progress", ""),
        ("completed", "{}"),
    ]
    assert responses[-1]["output"] == [items[1], items[3]]


def test_a_response_repeats_what_was_asked(serve: Callable[..., RunningProxy]) -> None:
    running = serve({"m": ["one"]})
    given: dict[str, Any] = {
        "instructions": "Be brief.",
        "temperature": 0.5,
        "metadata": {"run": "7"},
        "tools": [{"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": False}],
        "tool_choice": {"type": "function", "name": "weather"},
        "reasoning": {"effort": "low"},
        "previous_response_id": "resp_0",
    }
    with openai.OpenAI() as client:
        told = client.responses.create(model="m", input="hello", **given).model_dump(exclude_unset=True)
    given["tools"][0]["description"] = None
    given["reasoning"]["summary"] = None
    assert {key: told[key] for key in given} == given
    check(running)


class Score(pydantic.BaseModel):
    score: int
    why: str


class Wrapped(pydantic.BaseModel):
    result: Score


GOOD = {"score": 4, "why": "It is short, and it says what is new."}


@EACH_WAY
def test_structured_output(serve: Callable[..., RunningProxy], way: Way) -> None:
    running = serve({"Score": [GOOD], "Wrapped": [GOOD, {"result": {"result": GOOD}}]})
    expected = Score(**GOOD)
    assert ask(way, output=Score).parsed == expected
    assert [ask(way, output=Wrapped).parsed for _ in range(2)] == [Wrapped(result=expected)] * 2
    check(running)


FORCED = [
    (CHAT, {"type": "function", "function": {"name": "score"}}, ("weather", "score")),
    (CHAT, "required", ("score",)),
    (RESPONSES, {"type": "function", "name": "score"}, ("weather", "score")),
    (RESPONSES, "required", ("score",)),
    (
        RESPONSES,
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "score"}]},
        ("weather", "score"),
    ),
]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("way", "choice", "tools"),
    FORCED,
    ids=[
        "chat: by name",
        "chat: the only one",
        "responses: by name",
        "responses: the only one",
        "the only one allowed",
    ],
)
def test_structured_output_by_a_tool(
    serve: Callable[..., RunningProxy], way: Way, choice: Any, tools: tuple[str, ...], streams: bool
) -> None:
    running = serve({"m": [GOOD]})
    offered = offering(*tools, parameters=Score.model_json_schema())
    found = ask(way._replace(streams=streams), tools=offered, tool_choice=choice)
    assert (found.calls, found.text) == ([("score", GOOD)], None)
    check(running)


@pytest.mark.parametrize("entry", [GOOD, {"result": {"result": GOOD}}], ids=["bare", "wrapped already"])
def test_the_input_of_a_forced_tool_is_wrapped_as_its_schema_asks(
    serve: Callable[..., RunningProxy], entry: Any
) -> None:
    serve({"m": [entry]})
    tools = offering("json", parameters=Wrapped.model_json_schema())
    assert ask(RESPONSES, tools=tools, tool_choice="required").calls == [("json", {"result": GOOD})]


URL = f"data:image/png;base64,{PNG}"
PROMPTS: dict[Way, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    CHAT: (
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What is this?"},
                        {"type": "image_url", "image_url": {"url": URL}},
                    ],
                },
                {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": "t", "type": "function", "function": {"name": "weather", "arguments": '{"city": "x"}'}}
                    ],
                },
                {"role": "tool", "tool_call_id": "t", "content": "Zoomed."},
            ],
        },
        [
            ("system", "Be brief."),
            ("user", "What is this?\n[image]"),
            ("assistant", 'weather({"city": "x"})'),
            ("tool", "Zoomed."),
        ],
    ),
    RESPONSES: (
        {
            "instructions": "Be brief.",
            "input": [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "What is this?"},
                        {"type": "input_image", "image_url": URL, "detail": "auto"},
                    ],
                },
                {"type": "function_call", "call_id": "t", "name": "weather", "arguments": '{"city": "x"}'},
                {
                    "type": "function_call_output",
                    "call_id": "t",
                    "output": [
                        {"type": "input_text", "text": "Zoomed."},
                        {"type": "input_image", "image_url": URL},
                    ],
                },
            ],
        },
        [
            ("system", "Be brief."),
            ("user", "What is this?\n[image]"),
            ("assistant", 'weather({"city": "x"})'),
            ("tool", "Zoomed.\n[image]"),
        ],
    ),
}


@EACH_API
def test_a_function_sees_the_prompt(serve: Callable[..., RunningProxy], way: Way) -> None:
    seen: list[Any] = []

    def look(request: Any) -> str:
        seen.append(([(one.role, one.content) for one in request.messages], request.prompt, request.tools))
        return "A red pixel."

    running = serve({"m": [look]})
    given, expected = PROMPTS[way]
    assert ask(way, tools=offering("weather"), **given).text == "A red pixel."
    assert seen == [(expected, expected[1][1], ("weather",))]
    check(running)


def test_a_prompt_that_is_a_text(serve: Callable[..., RunningProxy]) -> None:
    serve({"m": [lambda request: f"{request.prompt}, and {len(request.messages)} message"]})
    assert ask(RESPONSES, "hello").text == "hello, and 1 message"


OVERLOADED = {"$throw": {"status": 503}}


@EACH_WAY
def test_retries_of_the_sdk_take_one_entry(serve: Callable[..., RunningProxy], way: Way) -> None:
    running = serve({"m": [{"$throw": {"status": 429, "attempts": 1}}, "two", OVERLOADED, "four"]})
    assert ask(way).text == "two"
    with pytest.raises(openai.InternalServerError, match="503"):
        ask(way)
    assert ask(way).text == "four"
    assert statuses(running, 6) == [429, 200, 503, 503, 503, 200]
    assert [call.position for call in running.recorded(6)] == [0, 1, 2, 2, 2, 3]


@EACH_API
@pytest.mark.parametrize(
    ("throw", "type_", "error"),
    [
        ({"status": 400}, "invalid_request_error", openai.BadRequestError),
        ({"status": 401}, "authentication_error", openai.AuthenticationError),
        ({"status": 403}, "permission_error", openai.PermissionDeniedError),
        ({"status": 404}, "not_found_error", openai.NotFoundError),
        ({"status": 422}, "invalid_request_error", openai.UnprocessableEntityError),
        ({"status": 429}, "rate_limit_error", openai.RateLimitError),
        ({}, "server_error", openai.InternalServerError),
        ({"status": 429, "name": "insufficient_quota"}, "insufficient_quota", openai.RateLimitError),
    ],
    ids=["400", "401", "403", "404", "422", "429", "500", "by name"],
)
def test_errors(serve: Callable[..., RunningProxy], way: Way, throw: Any, type_: str, error: Any) -> None:
    running = serve({"m": [{"$throw": {**throw, "message": "as the script says"}}]})
    with openai.OpenAI(max_retries=0) as client, pytest.raises(error, match="as the script says") as caught:
        client.post(f"/{way.api.replace('chat', 'chat/completions')}", body=asked(way), cast_to=dict)
    assert (caught.value.status_code, caught.value.type) == (throw.get("status", 500), type_)
    assert caught.value.body == json.loads(bodies(running)[0])["error"]


HALF = {"$text": "Half of it", "$throw": {"status": 500, "message": "it broke off"}}


@pytest.mark.parametrize("way", [way for way in WAYS if way.streams], ids=named)
def test_an_error_in_the_middle_of_a_stream(serve: Callable[..., RunningProxy], way: Way) -> None:
    running = serve({"m": [HALF, "whole"]})
    heard: list[str] = []

    def hear(event: Any) -> None:
        if way.api == "responses":
            heard.append(event.delta if event.type == "response.output_text.delta" else "")
        else:
            heard.append(event.choices[0].delta.content or "")

    async def later() -> None:
        async with openai.AsyncOpenAI() as client:
            resource: Any = client.chat.completions if way.api == "chat" else client.responses
            async for event in await resource.create(**asked(way), stream=True):
                hear(event)

    def now() -> None:
        with openai.OpenAI() as client:
            resource: Any = client.chat.completions if way.api == "chat" else client.responses
            for event in resource.create(**asked(way), stream=True):
                hear(event)

    with pytest.raises(openai.APIError, match="it broke off") as caught:
        asyncio.run(later()) if way.is_later else now()
    assert "".join(heard) == "Half of it"
    assert caught.value.type == "server_error"
    # As the reference has the event; the SDK raises before it reads it.
    ending = bodies(running)[0].decode().strip().rpartition("\n\n")[2]
    if way.api == "responses":
        name, data = ending.split("\n", 1)
        assert name == "event: error"
        told = ResponseErrorEvent.model_validate_json(data.removeprefix("data: "), strict=True)
        assert (told.message, told.sequence_number) == ("it broke off", len(heard))
    else:
        assert json.loads(ending.removeprefix("data: "))["error"] == caught.value.body
    assert ask(way).text == "whole"


@pytest.mark.parametrize("way", [way for way in WAYS if not way.streams], ids=named)
def test_half_an_answer_that_is_not_streamed_is_an_error(serve: Callable[..., RunningProxy], way: Way) -> None:
    serve({"m": [HALF]})
    with pytest.raises(openai.InternalServerError, match="it broke off"):
        ask(way)


@EACH_WAY
@pytest.mark.parametrize("output", [None, Score], ids=["of a text", "of structured output"])
def test_a_refusal(serve: Callable[..., RunningProxy], way: Way, output: Any) -> None:
    running = serve({"m": [{"$refusal": "I cannot help."}]})
    found = ask(way, output=output)
    assert (found.refusal, found.text, found.parsed) == ("I cannot help.", None, None)
    check(running)


@EACH_API
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_a_loop_of_tools(serve: Callable[..., RunningProxy], way: Way, streams: bool) -> None:
    way = way._replace(streams=streams)
    cities = [{"$tools": [{"tool": "weather", "input": {"city": city}}]} for city in ("Bergen", "Oslo")]
    running = serve({"m": [cities[0], "It rains in Bergen.", cities[1], "It rains in Oslo.", "Bye."]})
    history: list[Any] = []
    heard: list[Any] = []
    for question in ("Bergen?", "Oslo?", "Thanks."):
        history.append({"role": "user", "content": question})
        while True:
            given = {"messages" if way.api == "chat" else "input": history}
            found = ask(way, tools=offering("weather"), **given)
            heard.append(found.text or found.calls)
            history += turn_of(way, found)
            if not found.calls:
                break
    assert heard == [
        [("weather", {"city": "Bergen"})],
        "It rains in Bergen.",
        [("weather", {"city": "Oslo"})],
        "It rains in Oslo.",
        "Bye.",
    ]
    assert [call.position for call in running.recorded(5)] == [0, 1, 2, 3, 4]
    check(running)


def turn_of(way: Way, found: Said) -> list[Any]:
    """What a client adds to its history: the answer, and what its calls came to."""
    if not found.calls:
        return [{"role": "assistant", "content": found.text}]
    (name, given), id_ = found.calls[0], found.ids[0]
    told = json.dumps(given)
    if way.api == "chat":
        call = {"id": id_, "type": "function", "function": {"name": name, "arguments": told}}
        return [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": id_, "content": "Rain."}]
    return [
        {"type": "function_call", "call_id": id_, "name": name, "arguments": told},
        {"type": "function_call_output", "call_id": id_, "output": "Rain."},
    ]


SCRIPTS = {key: [f"by {key}"] for key in ("header", "request", "told", "long", "gpt-x", "gpt")} | {"Score": [GOOD]}
REQUESTS = {
    "told": {"tools": ["search"]},
    "long": {"match": {"user": {"const": "somebody"}}},
}


@EACH_API
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"extra_headers": {"x-eve-mocks-request": "header"}, "metadata": {"request": "request"}, "model": "gpt"},
            "by header",
        ),
        ({"metadata": {"request": "request"}, "tools": offering("search")}, "by request"),
        ({"tools": offering("other", "search"), "user": "somebody"}, "by told"),
        ({"user": "somebody"}, "by long"),
        ({"output": Score, "model": "gpt-x"}, json.dumps(GOOD)),
        ({"model": "gpt-x", "metadata": {"request": "unknown"}, "tools": offering("other")}, "by gpt-x"),
        ({"model": "openai/gpt"}, "by gpt"),
    ],
    ids=["header", "metadata", "tools", "match", "schema", "model", "plain model"],
)
def test_what_a_request_is_called(serve: Callable[..., RunningProxy], way: Way, given: Any, expected: str) -> None:
    serve(SCRIPTS, requests=REQUESTS)
    assert ask(way, **given).text == expected


@EACH_API
def test_a_client_that_leaves_a_stream(serve: Callable[..., RunningProxy], way: Way) -> None:
    running = serve({"m": ["word " * 10_000]}, tokens_per_second=50)
    with openai.OpenAI() as client:
        resource: Any = client.chat.completions if way.api == "chat" else client.responses
        with resource.create(**asked(way), stream=True) as events:
            assert "word" in "".join(next(events).to_json() for _ in range(6))
    call = running.call()
    assert (call.cancelled, call.status, call.operation, call.position) == (True, 200, "m", 0)
    assert b"word" in call.response_body


def test_a_script_that_ran_dry_fails_the_run(project: Project) -> None:
    project.file(
        "mocks/ai.py",
        """
        from eve_mocks import model_mock

        def draft(request, session):
            return f"{request.name} of {request.model} in {session}: {request.prompt}"

        ai = model_mock("openai", scripts={"draftEmail": [draft, draft]})
        """,
    )
    project.file(
        "agent.py",
        """
        import openai

        client = openai.OpenAI()
        ask = dict(model="gpt", metadata={"request": "draftEmail"})
        messages = [{"role": "user", "content": "hello"}]
        print(client.chat.completions.create(messages=messages, **ask).choices[0].message.content)
        print(client.responses.create(input="hello again", **ask).output_text)
        for lack in (lambda: client.chat.completions.create(messages=messages, **ask),
                     lambda: client.responses.create(input="and again", stream=True, **ask)):
            try:
                lack()
            except openai.BadRequestError as error:
                print(error.code)
        """,
    )
    done = project.eve_mocks("run", "--", sys.executable, "agent.py")
    assert done.stdout.splitlines() == [
        "draftEmail of gpt in run: hello",
        "draftEmail of gpt in run: hello again",
        *["seam-script-exhausted"] * 2,
    ], done.stderr
    assert (done.returncode, project.report()["childExitCode"]) == (1, 0), done.stderr
    assert "the script of draftEmail ran dry after 2 entries" in done.stderr
    assert [call["status"] for call in project.calls()] == [200, 200, 400, 400]
