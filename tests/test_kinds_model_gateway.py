"""Kind model as the Vercel AI Gateway: what no installed SDK asks for, what is listed, and decisions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from eve_mocks.document import Document
from eve_mocks.folder import Folder
from eve_mocks.kinds.model import from_document
from eve_mocks.match import parse_url
from eve_mocks.model import Answer, Headers, Request
from eve_mocks.session import Session

FOLDER = Folder.at(Path(__file__).parent, "tests")
LANGUAGE = {"ai-language-model-id": "openai/m", "ai-language-model-streaming": "false"}
STREAMING = LANGUAGE | {"ai-language-model-streaming": "true"}
DECISION = {"ai-model-id": "typesafe-ai/jev"}
HELLO = {"prompt": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]}
USAGE = {"inputTokens": 12, "outputTokens": 8, "reasoningTokens": 3, "cachedInputTokens": 10}


def ask(
    path: str,
    body: Any = None,
    *,
    scripts: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
    **given: Any,
) -> Answer:
    value = {"kind": "model", "provider": "ai-gateway", "scripts": scripts or {}, **given}
    mock = from_document("ai", Document.from_python(value, file="mocks/ai.yaml", line=None, folder=FOLDER))
    request = Request(
        method="GET" if body is None else "POST",
        target=parse_url(f"https://ai-gateway.vercel.sh{path}"),
        headers=Headers((headers or {}).items()),
        body=b"" if body is None else json.dumps(body).encode(),
    )
    return asyncio.run(mock.answer(request, Session("s")))


def told(answer: Answer) -> Any:
    return json.loads(answer.response.body)


def streamed(answer: Answer) -> list[dict[str, Any]]:
    return [json.loads(event.data) for event in answer.response.events]


@pytest.mark.parametrize(
    ("path", "reason", "usage"),
    [
        *(
            (
                f"/{version}/ai/language-model",
                {"unified": "tool-calls", "raw": "tool_calls"},
                {
                    "inputTokens": {"total": 12, "noCache": 2, "cacheRead": 10, "cacheWrite": 0},
                    "outputTokens": {"total": 8, "text": 5, "reasoning": 3},
                },
            )
            for version in ("v3", "v4")
        ),
        ("/v1/ai/language-model", "tool-calls", USAGE | {"totalTokens": 20}),
    ],
    ids=["version 3", "version 4", "version 2"],
)
def test_versions_of_the_specification(path: str, reason: Any, usage: Any) -> None:
    scripts = {"m": [{"$tools": [{"tool": "a", "input": {"x": 1}}], "$text": "Looking.", "usage": USAGE}]}
    whole = told(ask(path, HELLO, scripts=scripts, headers=LANGUAGE))
    assert (whole["finishReason"], whole["usage"]) == (reason, usage)
    text, call = whole["content"]
    assert text == {"type": "text", "text": "Looking."}
    assert (call["toolName"], json.loads(call["input"])) == ("a", {"x": 1})
    parts = streamed(ask(path, HELLO, scripts=scripts, headers=STREAMING))
    assert [part["type"] for part in parts] == [
        *("stream-start", "response-metadata", "text-start", "text-delta", "text-end"),
        *("tool-input-start", "tool-input-delta", "tool-input-end", "tool-call", "finish"),
    ]
    assert parts[-1] == {"type": "finish", "finishReason": reason, "usage": usage}
    assert parts[-2] == call


def test_the_other_apis_of_the_gateway() -> None:
    scripts = {"m": ["hi"]}
    body = {"model": "openai/m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
    assert told(ask("/v1/chat/completions", body, scripts=scripts))["choices"][0]["message"]["content"] == "hi"
    assert told(ask("/v1/messages", body, scripts=scripts))["content"] == [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "a"}, {"type": "reasoning", "text": "b"}], "a\nb"),
        ([{"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": "AA=="}}], "[image]"),
        ([{"type": "file", "mediaType": "text/plain", "data": {"type": "text", "text": "inline"}}], "inline"),
        ([{"type": "tool-call", "toolName": "find", "input": {"q": 1}}], 'find({"q": 1})'),
        ([{"type": "tool-result", "output": {"type": "text", "value": "none"}}], "none"),
        ([{"type": "tool-result", "output": {"type": "json", "value": [1]}}], "[1]"),
        ([{"type": "tool-approval-response", "approved": True}], "[tool-approval-response]"),
        ("as a system prompt", "as a system prompt"),
    ],
    ids=["text", "an image", "a text file", "a call", "a result", "JSON", "an approval", "plain"],
)
def test_what_a_function_reads_of_a_prompt(content: Any, text: str) -> None:
    body = {"prompt": [{"role": "user", "content": content}]}
    answer = ask("/v4/ai/language-model", body, scripts={"m": [lambda request: request.prompt]}, headers=LANGUAGE)
    assert told(answer)["content"] == [{"type": "text", "text": text}]


@pytest.mark.parametrize(
    ("agent", "title", "expected"),
    [("eve/0.80.1 ai-sdk", "researcher", "for the agent"), ("ai/7.0.173", "researcher", "for all")],
    ids=["eve", "another program"],
)
def test_eve_tells_which_agent_asks(agent: str, title: str, expected: str) -> None:
    headers = LANGUAGE | {"user-agent": agent, "x-title": title}
    scripts = {"researcher": ["for the agent"], "m": ["for all"]}
    answer = ask("/v4/ai/language-model", HELLO, scripts=scripts, headers=headers)
    assert told(answer)["content"][0]["text"] == expected


def test_the_catalog_has_every_model_that_eve_may_compile_with() -> None:
    answer = ask("/v1/models/catalog", scripts={"gpt-5.5": [], "draftEmail": []}, models=["acme/big"])
    catalog = told(answer)
    models = {model["slug"]: model["providers"] for model in catalog["models"]}
    assert {"openai/gpt-5.5", "anthropic/gpt-5.5", "acme/big"} <= models.keys()
    assert "openai/acme/big" not in models
    (provider,) = models["acme/big"]
    assert (provider["provider"], provider["providerModelId"]) == ("acme", "big")
    assert provider["contextWindowTokens"] > provider["maxOutputTokens"] > 0
    assert catalog["providerAliases"] == {}


@pytest.mark.parametrize(
    ("path", "version"), [("/v1/ai/config", "v2"), ("/v3/ai/config", "v3"), ("/v4/ai/config", "v4")]
)
def test_the_list_of_the_sdk(path: str, version: str) -> None:
    (model,) = told(ask(path, models=["acme/big"]))["models"]
    assert model["specification"] == {"specificationVersion": version, "provider": "acme", "modelId": "acme/big"}


def test_the_list_of_the_gateway_itself() -> None:
    (model,) = told(ask("/v1/models", models=["acme/big"]))["data"]
    assert (model["id"], model["type"], model["owned_by"]) == ("acme/big", "language", "acme")


QUESTIONS = {
    "polite": {"type": "boolean", "instructions": "Is it?"},
    "tone": {"type": "choice", "criteria": {"warm": None, "cold": None}},
    "clarity": {"type": "score", "criteria": ["not", "very"]},
}
POLITE, TONE = {"polite": QUESTIONS["polite"]}, {"tone": QUESTIONS["tone"]}
REFUSED = {"type": "refusal"}


@pytest.mark.parametrize(
    ("entry", "questions", "expected"),
    [
        (True, POLITE, {"polite": {"type": "boolean", "probability": 1}}),
        ({"polite": False}, POLITE, {"polite": {"type": "boolean", "probability": 0}}),
        ({"result": {"polite": 0.9}}, POLITE, {"polite": {"type": "boolean", "probability": 0.9}}),
        ("warm", TONE, {"tone": {"type": "choice", "choice": "warm"}}),
        (
            {"tone": {"choice": "cold", "probabilities": {"warm": 0, "cold": 1}}},
            TONE,
            {"tone": {"type": "choice", "choice": "cold", "probabilities": {"warm": 0, "cold": 1}}},
        ),
        (
            {"answers": {"clarity": 0.5}},
            {"clarity": QUESTIONS["clarity"]},
            {"clarity": {"type": "score", "score": 0.5}},
        ),
        (
            {"polite": {"type": "boolean", "probability": 1}, "tone": None, "clarity": 1},
            QUESTIONS,
            {
                "polite": {"type": "boolean", "probability": 1},
                "tone": REFUSED,
                "clarity": {"type": "score", "score": 1},
            },
        ),
        ({"$refusal": "No."}, QUESTIONS, dict.fromkeys(QUESTIONS, REFUSED)),
        (
            {"polite": 1, "other": 2},
            POLITE,
            {"polite": {"type": "boolean", "probability": 1}, "other": {"type": None, "value": 2}},
        ),
    ],
    ids=[
        *("one question", "by name", "an envelope", "a choice", "in full", "as the gateway answers"),
        *("each", "refused", "one too many"),
    ],
)
def test_decisions(entry: Any, questions: Any, expected: Any) -> None:
    body = {"stateParts": [{"type": "json", "value": {"output": "Hi"}}], "questions": questions}
    answer = ask("/v4/ai/decision-model", body, scripts={"decision": [entry]}, headers=DECISION)
    assert told(answer)["answers"] == expected


def test_a_decision_without_a_script_is_dry() -> None:
    answer = ask("/v4/ai/decision-model", {"questions": POLITE}, scripts={"polit": [1]}, headers=DECISION)
    assert answer.response.status == 400
    assert told(answer)["error"]["code"] == "seam-script-exhausted"
    assert "the request is called polite, decision, typesafe-ai/jev, jev" in answer.error
    assert "Did you mean polit" in answer.fix


@pytest.mark.parametrize("key", ["values", "input"], ids=["version 4", "version 2"])
@pytest.mark.parametrize(
    ("scripts", "expected"),
    [({"e": [[0, 1]]}, [[0, 1]]), ({"e": [[[1, 0]]]}, [[1, 0]]), ({}, None)],
    ids=["one vector", "a list of vectors", "unscripted"],
)
def test_embeddings(key: str, scripts: Any, expected: Any) -> None:
    headers = {"ai-model-id": "openai/e"}
    answer = ask("/v4/ai/embedding-model", {key: ["a"], "dimensions": 8}, scripts=scripts, headers=headers)
    (vector,) = told(answer)["embeddings"]
    assert [vector] == (expected or [vector])
    assert len(vector) == (2 if expected else 8)


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/v4/ai/language-model", [], LANGUAGE),
        ("/v4/ai/language-model", HELLO, {}),
        ("/v4/ai/decision-model", {"questions": {}}, DECISION),
        ("/v4/ai/decision-model", {"questions": POLITE}, {}),
        ("/v4/ai/embedding-model", {"values": [1]}, DECISION),
    ],
    ids=["no object", "no model", "no questions", "no decision model", "no texts"],
)
def test_what_cannot_be_answered(path: str, body: Any, headers: dict[str, str]) -> None:
    answer = ask(path, body, scripts={"m": ["x"]}, headers=headers)
    assert (answer.response.status, told(answer)["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(
    ("status", "type_"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "forbidden"),
        (404, "model_not_found"),
        (424, "failed_dependency"),
        (429, "rate_limit_exceeded"),
        (500, "internal_server_error"),
        (529, "internal_server_error"),
    ],
)
def test_errors(status: int, type_: str) -> None:
    scripts = {"m": [{"$throw": {"status": status, "message": "no"}}]}
    answer = ask("/v4/ai/language-model", HELLO, scripts=scripts, headers=STREAMING)
    assert answer.response.status == status
    assert told(answer) == {"error": {"message": "no", "type": type_, "param": None, "code": None}}


def test_a_stream_breaks_with_the_status_by_which_the_sdk_asks_again() -> None:
    scripts = {"m": [{"$text": "Half", "$throw": {"status": 529, "message": "busy"}}]}
    parts = streamed(ask("/v4/ai/language-model", HELLO, scripts=scripts, headers=STREAMING))
    assert [part["type"] for part in parts[-2:]] == ["text-delta", "error"]
    error = {"message": "busy", "type": "internal_server_error", "param": None, "code": None, "statusCode": 529}
    assert parts[-1]["error"] == error
