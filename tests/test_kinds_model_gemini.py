"""Kind model as Gemini: the real SDK, over real sockets."""

from __future__ import annotations

import asyncio
import base64
import functools
import json
import math
import sys
from typing import TYPE_CHECKING, Any

import httpx
import model_sdks
import pydantic
import pytest
from google import genai
from google.genai import errors, types
from model_sdks import PNG, bodies, events, statuses

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project
    from running_proxy import RunningProxy

# The SDK's own session of aiohttp, and aiohttp's opinion of it.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession")

BASE = "https://generativelanguage.googleapis.com"
RETRYING = types.HttpOptions(
    retry_options=types.HttpRetryOptions(attempts=3, initial_delay=0.001, max_delay=0.002, jitter=0.001)
)


@pytest.fixture
def serve(proxy: Callable[..., RunningProxy], monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunningProxy]:
    """``serve(scripts)`` answers for Gemini."""
    monkeypatch.setenv("GEMINI_API_KEY", "none")
    return functools.partial(model_sdks.serve, proxy, monkeypatch, "gemini")


def asked(contents: Any = "hello", model: str = "m", **config: Any) -> dict[str, Any]:
    config.setdefault("automatic_function_calling", {"disable": True})
    return {"model": model, "contents": contents, "config": config}


def create(**given: Any) -> Any:
    with genai.Client() as client:
        return client.models.generate_content(**given)


def stream(**given: Any) -> Any:
    with genai.Client() as client:
        return joined(list(client.models.generate_content_stream(**given)))


def create_later(**given: Any) -> Any:
    async def ask() -> Any:
        async with genai.Client().aio as client:
            return await client.models.generate_content(**given)

    return asyncio.run(ask())


def stream_later(**given: Any) -> Any:
    async def ask() -> Any:
        async with genai.Client().aio as client:
            return [chunk async for chunk in await client.models.generate_content_stream(**given)]

    return joined(asyncio.run(ask()))


def joined(chunks: list[Any]) -> Any:
    """The chunks as one response: the SDK has nothing that does so."""
    last = chunks[-1]
    parts = [
        part for chunk in chunks for one in chunk.candidates for part in (one.content.parts if one.content else [])
    ]
    texts = "".join(part.text for part in parts if part.text is not None)
    rest = [part for part in parts if part.text is None]
    if parts:
        last.candidates[0].content.parts = [*([types.Part(text=texts)] if texts else []), *rest]
    return last


EACH_WAY = pytest.mark.parametrize("ask", [create, stream, create_later, stream_later])


def check(running: RunningProxy) -> None:
    """What was sent has nothing that the SDK does not know."""
    for body in bodies(running):
        for one in [json.loads(body)] if body.startswith(b"{") else [data for _, data in events(body)]:
            types.GenerateContentResponse.model_validate_json(json.dumps(one), strict=True, extra="forbid")


@EACH_WAY
def test_text_and_usage(serve: Callable[..., RunningProxy], ask: Callable[..., Any]) -> None:
    usage = {
        "inputTokens": 120,
        "outputTokens": 9,
        "cachedInputTokens": 70,
        "reasoningTokens": 4,
    }
    running = serve({"m": [{"$text": "One two\nthree ø ünï", "usage": usage}]})
    found = ask(**asked())
    assert (found.text, found.model_version) == ("One two\nthree ø ünï", "m")
    assert found.candidates[0].finish_reason is types.FinishReason.STOP
    told = found.usage_metadata
    assert (told.prompt_token_count, told.cached_content_token_count) == (120, 70)
    assert (told.candidates_token_count, told.thoughts_token_count, told.total_token_count) == (5, 4, 129)
    check(running)
    assert running.call().usage == {"inputTokens": 120, "outputTokens": 9}


def weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}."


def time() -> str:
    """The time."""
    return "noon"


@EACH_WAY
def test_tools_are_called_at_once(serve: Callable[..., RunningProxy], ask: Callable[..., Any]) -> None:
    calls = [{"tool": "weather", "input": {"city": "Bergen, Åsane"}}, {"tool": "time", "input": {}}]
    running = serve({"m": [{"$text": "Looking.", "$tools": calls}, {"$tools": calls[:1]}]})
    found = ask(**asked(tools=[weather, time]))
    assert found.candidates[0].content.parts[0].text == "Looking."
    assert [(one.name, one.args) for one in found.function_calls] == [
        ("weather", {"city": "Bergen, Åsane"}),
        ("time", {}),
    ]
    assert len({one.id for one in [*found.function_calls, *ask(**asked(tools=[weather, time])).function_calls]}) == 3
    check(running)


class Score(pydantic.BaseModel):
    score: int
    why: str


class Wrapped(pydantic.BaseModel):
    result: Score


GOOD = {"score": 4, "why": "It is short, and it says what is new."}
JSON = "application/json"


@EACH_WAY
def test_structured_output(serve: Callable[..., RunningProxy], ask: Callable[..., Any]) -> None:
    running = serve({"Score": [GOOD] * 2, "Wrapped": [GOOD]})
    expected = Score(**GOOD)
    found = ask(**asked(response_mime_type=JSON, response_schema=Score))
    assert Score.model_validate_json(found.text) == expected
    assert "stream" in ask.__name__ or found.parsed == expected
    by_json_schema = ask(**asked(response_mime_type=JSON, response_json_schema=Score.model_json_schema()))
    assert Score.model_validate_json(by_json_schema.text) == expected
    wrapped = ask(**asked(response_mime_type=JSON, response_schema=Wrapped))
    assert Wrapped.model_validate_json(wrapped.text) == Wrapped(result=expected)
    check(running)


@pytest.mark.parametrize(
    ("calling", "tools", "expected"),
    [
        ({"mode": "ANY"}, [weather], [("weather", {"city": "Oslo"})]),
        ({"mode": "ANY", "allowed_function_names": ["weather"]}, [time, weather], [("weather", {"city": "Oslo"})]),
        ({"mode": "ANY"}, [time, weather], None),
        ({"mode": "AUTO"}, [weather], None),
    ],
    ids=["any of one", "one that is allowed", "any of two", "none is forced"],
)
def test_a_forced_tool(serve: Callable[..., RunningProxy], calling: Any, tools: Any, expected: Any) -> None:
    serve({"m": [{"city": "Oslo"}]})
    found = create(**asked(tools=tools, tool_config={"function_calling_config": calling}))
    calls = found.function_calls
    assert (calls and [(one.name, one.args) for one in calls]) == expected
    assert expected is not None or json.loads(found.text) == {"city": "Oslo"}


def test_a_function_sees_the_prompt(serve: Callable[..., RunningProxy]) -> None:
    seen: list[Any] = []

    def look(request: Any) -> str:
        seen.append(([(one.role, one.content) for one in request.messages], request.prompt, request.tools))
        return "A red pixel."

    serve({"m": [look]})
    image = types.Part.from_bytes(data=base64.b64decode(PNG), mime_type="image/png")
    contents = [
        types.UserContent([types.Part(text="What is this?"), image]),
        types.ModelContent([types.Part.from_function_call(name="weather", args={})]),
        types.UserContent([types.Part.from_function_response(name="weather", response={"result": "Rain."})]),
    ]
    found = create(**asked(contents, system_instruction="Be brief.", tools=[weather, time]))
    assert found.text == "A red pixel."
    ((told, prompt, tools),) = seen
    assert told == [
        ("system", "Be brief."),
        ("user", "What is this?\n[image]"),
        ("model", "[functionCall]"),
        ("tool", '{"result": "Rain."}'),
    ]
    assert (prompt, tools) == ("What is this?\n[image]", ("weather", "time"))


UNAVAILABLE = {"$throw": {"status": 503}}


@EACH_WAY
def test_retries_of_the_sdk_take_one_entry(serve: Callable[..., RunningProxy], ask: Callable[..., Any]) -> None:
    running = serve({"m": [{"$throw": {"status": 429, "attempts": 1}}, "two", UNAVAILABLE, "four"]})
    assert ask(**asked(http_options=RETRYING)).text == "two"
    with pytest.raises(errors.ServerError, match="UNAVAILABLE"):
        ask(**asked(http_options=RETRYING))
    assert ask(**asked("another question")).text == "four"
    assert statuses(running, 6) == [429, 200, 503, 503, 503, 200]


@pytest.mark.parametrize(
    ("throw", "status", "error"),
    [
        ({"status": 400}, "INVALID_ARGUMENT", errors.ClientError),
        ({"status": 401}, "UNAUTHENTICATED", errors.ClientError),
        ({"status": 403}, "PERMISSION_DENIED", errors.ClientError),
        ({"status": 404}, "NOT_FOUND", errors.ClientError),
        ({"status": 429}, "RESOURCE_EXHAUSTED", errors.ClientError),
        ({}, "INTERNAL", errors.ServerError),
        ({"status": 503}, "UNAVAILABLE", errors.ServerError),
        ({"status": 504}, "DEADLINE_EXCEEDED", errors.ServerError),
        ({"status": 400, "name": "FAILED_PRECONDITION"}, "FAILED_PRECONDITION", errors.ClientError),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("ask", [create, stream])
def test_errors(
    serve: Callable[..., RunningProxy], ask: Callable[..., Any], throw: Any, status: str, error: Any
) -> None:
    serve({"m": [{"$throw": {**throw, "message": "as the script says"}}]})
    with pytest.raises(error) as caught:
        ask(**asked())
    found = caught.value
    assert (found.code, found.status, found.message) == (throw.get("status", 500), status, "as the script says")


@pytest.mark.parametrize("is_later", [False, True], ids=["sync", "async"])
def test_an_error_in_the_middle_of_a_stream(serve: Callable[..., RunningProxy], is_later: bool) -> None:
    serve({"m": [{"$text": "Half of it", "$throw": {"status": 529}}, "whole"]})
    heard: list[str] = []

    async def later() -> None:
        async with genai.Client().aio as client:
            async for chunk in await client.models.generate_content_stream(**asked()):
                heard.append(chunk.text)  # noqa: PERF401 - what came before the error counts

    def now() -> None:
        with genai.Client() as client:
            for chunk in client.models.generate_content_stream(**asked()):
                heard.append(chunk.text)  # noqa: PERF401

    with pytest.raises(errors.ServerError) as caught:
        asyncio.run(later()) if is_later else now()
    assert (caught.value.code, caught.value.status) == (529, "UNAVAILABLE")
    assert "".join(heard) == "Half of it"
    assert create(**asked("on")).text == "whole"


@EACH_WAY
def test_a_refusal(serve: Callable[..., RunningProxy], ask: Callable[..., Any]) -> None:
    running = serve({"Score": [{"$refusal": "I cannot help with that."}]})
    found = ask(**asked(response_mime_type=JSON, response_schema=Score))
    assert (found.text, found.parsed) == (None, None)
    assert found.candidates[0].finish_reason is types.FinishReason.SAFETY
    assert b"I cannot help with that." in bodies(running)[0]
    check(running)


def test_a_loop_of_tools(serve: Callable[..., RunningProxy]) -> None:
    called: list[str] = []

    def weather(city: str) -> str:
        """The weather in a city."""
        called.append(city)
        return "Rain."

    calls = [{"$tools": [{"tool": "weather", "input": {"city": city}}]} for city in ("Bergen", "Oslo")]
    running = serve({"m": [calls[0], "It rains in Bergen.", calls[1], "It rains in Oslo.", "Bye."]})
    with genai.Client() as client:
        chat = client.chats.create(model="m", config=types.GenerateContentConfig(tools=[weather]))
        assert chat.send_message("Bergen?").text == "It rains in Bergen."
        assert chat.send_message("Oslo?").text == "It rains in Oslo."
        assert "".join(chunk.text for chunk in chat.send_message_stream("Thanks.")) == "Bye."
    assert called == ["Bergen", "Oslo"]
    assert [call.position for call in running.recorded(5)] == [0, 1, 2, 3, 4]


SCRIPTS = {key: [f"by {key}"] for key in ("header", "Score", "gemini-x", "gemini")}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (asked(http_options={"headers": {"x-eve-mocks-request": "header"}}, response_schema=Score), "by header"),
        (asked(response_schema=Score, response_mime_type=JSON), "by Score"),
        (asked(model="gemini-x"), "by gemini-x"),
        (asked(model="models/gemini-x"), "by gemini-x"),
        (asked(model="gemini", http_options={"api_version": "v1"}), "by gemini"),
    ],
    ids=["header", "schema", "model", "model by its whole name", "the first version of the API"],
)
def test_what_a_request_is_called(serve: Callable[..., RunningProxy], given: Any, expected: str) -> None:
    serve(SCRIPTS)
    assert create(**given).text == expected


def test_tokens_are_counted(serve: Callable[..., RunningProxy]) -> None:
    serve({"m": ["the one entry"]})
    with genai.Client() as client:
        count = functools.partial(client.models.count_tokens, model="m")
        assert [count(contents="hello").total_tokens for _ in range(2)] == [2, 2]
        assert count(contents="hello " * 20).total_tokens == 30
    with httpx.Client() as client:
        inner = {"contents": [{"parts": [{"text": "hello"}]}], "system_instruction": {"parts": {"text": "Be brief."}}}
        response = client.post(f"{BASE}/v1beta/models/m:countTokens", json={"generateContentRequest": inner})
    assert response.json() == {"totalTokens": 5}
    assert create(**asked()).text == "the one entry"


def test_models(serve: Callable[..., RunningProxy]) -> None:
    serve({"gemini-a": ["x"]}, models=["gemini-b"])
    with genai.Client() as client:
        listed = list(client.models.list())
        found = client.models.get(model="gemini-a")
    assert [model.name for model in listed] == ["models/gemini-b", "models/gemini-a"]
    assert (found.name, found.display_name) == ("models/gemini-a", "gemini-a")
    assert "generateContent" in found.supported_actions


def test_embeddings(serve: Callable[..., RunningProxy]) -> None:
    serve({})
    with genai.Client() as client:

        def embed(*texts: str, **config: Any) -> list[list[float]]:
            found = client.models.embed_content(model="gemini-embedding-001", contents=list(texts), config=config)
            return [one.values for one in found.embeddings]

        refunds, again, weather = embed("How do refunds work?", "how refunds work", "Rain in Oslo")
        assert [refunds, again] == embed("How do refunds work?", "how refunds work")
        assert (len(refunds), math.isclose(math.hypot(*refunds), 1)) == (3072, True)
        assert math.sumprod(refunds, again) > 0.4 > math.sumprod(refunds, weather)
        assert [len(one) for one in embed("a", "b", output_dimensionality=64)] == [64, 64]
        with pytest.raises(errors.ClientError, match="outputDimensionality is 5000"):
            embed("a", output_dimensionality=5000)
    with httpx.Client() as client:
        body = {"content": {"parts": [{"text": "How do refunds work?"}]}, "output_dimensionality": 3072}
        response = client.post(f"{BASE}/v1beta/models/gemini-embedding-001:embedContent", json=body)
    assert response.json() == {"embedding": {"values": refunds}}


@pytest.mark.parametrize(
    ("operation", "body", "status"),
    [
        ("generateContent", [], 400),
        ("generateContent", {"contents": "hello", "tools": {}, "generationConfig": [], "toolConfig": 1}, 200),
        ("streamGenerateContent", {"contents": [{"parts": ["hello", {}]}], "systemInstruction": "x"}, 200),
        ("embedContent", {}, 400),
        ("batchEmbedContents", {}, 200),
        ("batchEmbedContents", {"requests": [{"content": {}, "outputDimensionality": True}]}, 400),
    ],
    ids=["no object", "no lists", "no parts", "no content", "nothing to embed", "no number"],
)
def test_a_body_that_no_sdk_sends(serve: Callable[..., RunningProxy], operation: str, body: Any, status: int) -> None:
    serve({"m": ["x"]})
    with httpx.Client() as client:
        response = client.post(f"{BASE}/v1beta/models/m:{operation}", json=body)
    assert response.status_code == status
    assert status == 200 or response.json()["error"]["status"] == "INVALID_ARGUMENT"


def test_a_stream_that_is_an_array(serve: Callable[..., RunningProxy]) -> None:
    serve({"m": ["One two"]})
    with httpx.Client() as client:
        response = client.post(f"{BASE}/v1/models/m:streamGenerateContent", json={"contents": {"parts": []}})
    assert response.headers["content-type"] == "application/json"
    chunks = [types.GenerateContentResponse.model_validate(one) for one in response.json()]
    assert [chunk.text for chunk in chunks] == ["One ", "two"]
    assert chunks[-1].usage_metadata.total_token_count == 0


def test_a_script_that_ran_dry_fails_the_run(project: Project) -> None:
    project.file("mocks/gemini.yaml", 'kind: model\nprovider: gemini\nscripts: {gemini: ["one"]}')
    project.file(
        "agent.py",
        """
        from google import genai
        client = genai.Client(api_key="none", http_options={"retry_options": {"attempts": 3}})
        for chunk in client.models.generate_content_stream(model="gemini", contents="hello"):
            print(chunk.text)
        try:
            client.models.generate_content(model="gemini", contents="hello")
        except genai.errors.ClientError as error:
            print(error.details["error"]["details"][0]["reason"])
        """,
    )
    done = project.eve_mocks("run", "--", sys.executable, "agent.py")
    assert done.stdout.splitlines() == ["one", "seam-script-exhausted"]
    assert (done.returncode, project.report()["childExitCode"]) == (1, 0), done.stderr
    assert [call["status"] for call in project.calls()] == [200, 400]
