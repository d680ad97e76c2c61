"""Which operations of each provider are mocked, and by which module; ``eve_mocks.providers`` says where it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from eve_mocks.kinds.model import (
    anthropic,
    gateway,
    gateway_decisions,
    gateway_lists,
    gemini,
    gemini_embeddings,
    openai_chat,
    openai_lists,
    openai_responses,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eve_mocks.kinds.model.turn import Api


class Endpoint(NamedTuple):
    """An operation by its method and the path that it ends with; a group of the pattern is a parameter."""

    method: str
    shown: str
    path: re.Pattern[str]
    api: Api


def find(endpoints: Sequence[Endpoint], method: str, path: str) -> tuple[Api, Mapping[str, str]] | None:
    """What serves a request, and the parameters of its path, relative to the url of the mock."""
    for endpoint in endpoints:
        if endpoint.method == method and (found := endpoint.path.fullmatch(path)):
            return endpoint.api, {name: value for name, value in found.groupdict().items() if value is not None}
    return None


def _endpoint(method: str, shown: str, api: Api) -> Endpoint:
    """Compile a path with parameters in braces. What is before it is another server's base path, or a version."""
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+?)", re.escape(shown))
    return Endpoint(method, shown, re.compile(rf"(?:/.*)?{pattern}/?"), api)


_OPENAI = (
    _endpoint("POST", "/chat/completions", openai_chat.API),
    _endpoint("POST", "/responses", openai_responses.API),
    _endpoint("POST", "/embeddings", openai_lists.EMBEDDINGS),
    _endpoint("GET", "/models", openai_lists.MODELS),
    _endpoint("GET", "/models/{model}", openai_lists.MODEL),
)
_ANTHROPIC = (
    _endpoint("POST", "/messages", anthropic.MESSAGES),
    _endpoint("POST", "/messages/count_tokens", anthropic.COUNT),
    _endpoint("GET", "/models", anthropic.MODELS),
    _endpoint("GET", "/models/{model}", anthropic.MODEL),
)
_GEMINI = (
    _endpoint("POST", "/models/{model}:generateContent", gemini.CONTENT),
    _endpoint("POST", "/models/{model}:streamGenerateContent", gemini.STREAM),
    _endpoint("POST", "/models/{model}:countTokens", gemini.COUNT),
    _endpoint("POST", "/models/{model}:embedContent", gemini_embeddings.ONE),
    _endpoint("POST", "/models/{model}:batchEmbedContents", gemini_embeddings.BATCH),
    _endpoint("GET", "/models", gemini.MODELS),
    _endpoint("GET", "/models/{model}", gemini.MODEL),
)
# The newest version of the AI SDK's protocol has no number before it, so that the gateway may stand behind any path.
_GATEWAY = (
    _endpoint("POST", "/v1/ai/language-model", gateway.LANGUAGE_V2),
    _endpoint("POST", "/language-model", gateway.LANGUAGE),
    _endpoint("POST", "/decision-model", gateway_decisions.API),
    _endpoint("POST", "/embedding-model", gateway_lists.EMBEDDINGS),
    _endpoint("GET", "/v1/ai/config", gateway_lists.CONFIG["v2"]),
    _endpoint("GET", "/v3/ai/config", gateway_lists.CONFIG["v3"]),
    _endpoint("GET", "/config", gateway_lists.CONFIG["v4"]),
    _endpoint("GET", "/models/catalog", gateway_lists.CATALOG),
    _endpoint("GET", "/models", gateway_lists.MODELS),
    *_OPENAI,
    *(endpoint for endpoint in _ANTHROPIC if endpoint.method == "POST"),
)

# By the name of a provider, one for each of ``PROVIDERS``.
ENDPOINTS: Mapping[str, Sequence[Endpoint]] = {
    "openai": _OPENAI,
    "anthropic": _ANTHROPIC,
    "gemini": _GEMINI,
    "ai-gateway": _GATEWAY,
}
