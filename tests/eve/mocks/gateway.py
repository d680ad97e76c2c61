"""The AI Gateway, with a model that looks the tasks up and says what it was told."""

import json

from eve_mocks import Response, http_mock

gateway = http_mock("https://ai-gateway.vercel.sh/")
USAGE = {
    "inputTokens": {"total": 1, "noCache": 1, "cacheRead": 0, "cacheWrite": 0},
    "outputTokens": {"total": 1, "text": 1, "reasoning": 0},
}
PROVIDER = {
    "provider": "openai",
    "providerModelId": "gpt-5.5",
    "contextWindowTokens": 400000,
    "maxOutputTokens": 128000,
}


@gateway.get("/v1/models/catalog")
def catalog():
    return {"models": [{"slug": "openai/gpt-5.5", "providers": [PROVIDER]}], "providerAliases": {}}


@gateway.post("/v4/ai/language-model")
def answer(request):
    last = request.json()["prompt"][-1]
    if last["role"] == "tool":
        return stream(*text(json.dumps(last["content"][-1]["output"])), finish="stop")
    call = {"toolCallId": "call-1", "toolName": "eve__tool"}
    given = json.dumps({"name": "tasks__list_tasks", "input": {}})
    return stream({"type": "tool-call", **call, "input": given}, finish="tool-calls")


def text(said):
    yield {"type": "text-start", "id": "0"}
    yield {"type": "text-delta", "id": "0", "delta": said}
    yield {"type": "text-end", "id": "0"}


def stream(*parts, finish):
    end = {"type": "finish", "finishReason": {"unified": finish, "raw": finish}, "usage": USAGE}
    return Response(events=[{"data": part} for part in ({"type": "stream-start", "warnings": []}, *parts, end)])
