"""Kind model as OpenAI, embeddings and lists of models: the real SDK, over real sockets."""

from __future__ import annotations

import asyncio
import functools
import json
import math
from typing import TYPE_CHECKING, Any

import model_sdks
import openai
import pytest
from model_sdks import bodies, statuses
from openai.types import CreateEmbeddingResponse, Model

if TYPE_CHECKING:
    from collections.abc import Callable

    from running_proxy import RunningProxy


@pytest.fixture
def serve(proxy: Callable[..., RunningProxy], monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunningProxy]:
    """``serve(scripts)`` answers for OpenAI."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return functools.partial(model_sdks.serve, proxy, monkeypatch, "openai")


def embed(given: Any = "hello", **more: Any) -> Any:
    with openai.OpenAI() as client:
        return client.embeddings.create(**{"model": "e", "input": given, **more})


def vectors(given: Any = "hello", **more: Any) -> list[list[float]]:
    data = embed(given, **more).data
    assert [one.index for one in data] == list(range(len(data)))
    return [one.embedding for one in data]


def likeness(one: list[float], other: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def test_embeddings_without_a_script(serve: Callable[..., RunningProxy]) -> None:
    running = serve({"m": ["the one entry"]})
    texts = ["a red apple", "a green apple", "tax law"]
    red, green, tax = vectors(texts)
    assert [len(vector) for vector in (red, green, tax)] == [1536] * 3
    assert all(math.isclose(math.hypot(*vector), 1, abs_tol=1e-6) for vector in (red, green, tax))
    assert likeness(red, green) > likeness(red, tax)
    assert vectors("a red apple") == [red]
    # By default the SDK asks for text, and here for numbers.
    assert vectors(texts, encoding_format="float") == [red, green, tax]

    async def later() -> list[float]:
        async with openai.AsyncOpenAI() as client:
            return (await client.embeddings.create(model="e", input="tax law")).data[0].embedding

    assert asyncio.run(later()) == tax
    as_text, _, as_numbers, _ = map(json.loads, bodies(running, 4))
    assert isinstance(as_text["data"][0]["embedding"], str)
    CreateEmbeddingResponse.model_validate(as_numbers, strict=True, extra="forbid")
    assert as_numbers["usage"] == {"prompt_tokens": 9, "total_tokens": 9}
    assert running.calls[0].usage == {"inputTokens": 9, "outputTokens": 0}


@pytest.mark.parametrize("encoding", [{}, {"encoding_format": "float"}], ids=["text", "numbers"])
@pytest.mark.parametrize(
    ("given", "count"),
    [("hello", 1), (["a", "b"], 2), ([1, 2, 3], 1), ([[1, 2], [3]], 2)],
    ids=["a text", "texts", "tokens", "tokens of texts"],
)
def test_dimensions(serve: Callable[..., RunningProxy], encoding: Any, given: Any, count: int) -> None:
    serve({})
    found = vectors(given, dimensions=64, **encoding)
    assert [len(vector) for vector in found] == [64] * count
    assert len({tuple(vector) for vector in found}) == count


NEAR = [0.5, -0.25]


@pytest.mark.parametrize("encoding", [{}, {"encoding_format": "float"}], ids=["text", "numbers"])
def test_embeddings_from_a_script(serve: Callable[..., RunningProxy], encoding: Any) -> None:
    usage = {"inputTokens": 7}
    running = serve(
        {
            "e": [
                NEAR,
                [NEAR, [1, 0]],
                {"result": NEAR, "usage": usage},
                {"$throw": {"status": 429, "attempts": 1}},
                NEAR,
            ],
            "lookUp": [[0.125]],
        }
    )
    assert vectors("a", **encoding) == [NEAR]
    assert vectors(["a", "b"], **encoding) == [NEAR, [1, 0]]
    both = embed(["c", "d"], **encoding)
    assert [one.embedding for one in both.data] == [NEAR, NEAR]
    assert both.usage.total_tokens == 7
    assert vectors("a", extra_headers={"x-eve-mocks-request": "lookUp"}, **encoding) == [[0.125]]
    assert vectors("e", **encoding) == [NEAR]
    assert statuses(running, 6) == [200, 200, 200, 200, 429, 200]
    with pytest.raises(openai.BadRequestError) as caught:
        embed("f", **encoding)
    assert caught.value.code == "seam-script-exhausted"
    assert len(running.recorded(7)) == 7


@pytest.mark.parametrize(
    "entry",
    ["a text", [NEAR, NEAR, NEAR], [], [True], {"$text": "a text"}, {"$tools": [{"tool": "a"}]}],
    ids=["text", "too many", "none", "no numbers", "text of the wire", "tools"],
)
def test_an_entry_that_is_no_vector_breaks_the_mock(serve: Callable[..., RunningProxy], entry: Any) -> None:
    running = serve({"e": [entry]})
    with pytest.raises(openai.InternalServerError, match="the entry for 2 texts is"):
        embed(["a", "b"])
    call = running.call()  # it is not asked again
    assert call.outcome == "error"
    assert "tests/model_sdks.py" in call.error


@pytest.mark.parametrize(
    "given",
    [
        *({"input": given} for given in ([], [None], [[]], {"a": 1}, [1, "a"])),
        *({"dimensions": given} for given in (0, -1, "two", True, 1_000_000_000)),
    ],
    ids=str,
)
def test_what_has_no_embedding(serve: Callable[..., RunningProxy], given: Any) -> None:
    running = serve({"e": [NEAR]})
    body = {"model": "e", "input": "hello", **given}
    with openai.OpenAI() as client, pytest.raises(openai.BadRequestError, match=next(iter(given))):
        client.post("/embeddings", body=body, cast_to=dict)
    assert running.call().outcome == "mocked"
    assert vectors("hello") == [NEAR]


def test_models(serve: Callable[..., RunningProxy]) -> None:
    running = serve({"gpt-a": ["x"], "draftEmail": []}, models=["gpt-b", "gpt-a"])
    with openai.OpenAI() as client:
        assert [model.id for model in client.models.list()] == ["gpt-b", "gpt-a", "draftEmail"]
        assert client.models.retrieve("gpt-a").id == "gpt-a"
        assert client.models.retrieve("ft:gpt/a b").id == "ft:gpt/a b"
    listed, *each = map(json.loads, bodies(running, 3))
    for model in (*listed["data"], *each):
        Model.model_validate(model, strict=True, extra="forbid")
