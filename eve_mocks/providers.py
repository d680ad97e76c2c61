"""The providers of models: where each is, and where its SDKs look for a key. Light: every run reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eve_mocks.match import parse_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eve_mocks.model import URL


class Provider(NamedTuple):
    """``api`` is a path that every client of it asks under; ``keys`` are variables of the environment.

    ``model`` is one that it has, for examples.
    """

    url: str
    api: str
    keys: tuple[str, ...]
    model: str


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider("https://api.openai.com/", "v1/chat/completions", ("OPENAI_API_KEY",), "gpt-5.5"),
    "anthropic": Provider("https://api.anthropic.com/", "v1/messages", ("ANTHROPIC_API_KEY",), "claude-sonnet-4-5"),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/",
        "v1beta/models",
        ("GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
        "gemini-2.5-pro",
    ),
    "ai-gateway": Provider(
        "https://ai-gateway.vercel.sh/", "v4/ai/language-model", ("AI_GATEWAY_API_KEY",), "openai/gpt-5.5"
    ),
}


def provider_of(url: URL) -> str | None:
    """The name of the provider whose API a URL is of."""
    return next((name for name, provider in PROVIDERS.items() if parse_url(provider.url).origin == url.origin), None)
