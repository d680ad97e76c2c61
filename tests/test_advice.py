"""What is suggested for a blocked call: what to mock, as which kind, under a name that can be typed and is free."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eve_mocks.advice import Advisor, Suggestion, mock_name
from eve_mocks.match import BadURL, parse_url
from eve_mocks.model import Headers, Request
from eve_mocks.scaffold import _NAME as VALID_NAME

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}


def request(url: str, body: object = None, **headers: str) -> Request:
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    content = b"" if body is None else json.dumps(body).encode()
    return Request(method="POST", target=parse_url(url), headers=Headers(pairs), body=content)


@pytest.mark.parametrize(
    ("asked", "command"),
    [
        pytest.param(request("https://logs.a.test/v1/x?y"), "logs --url https://logs.a.test/", id="http"),
        pytest.param(request("https://a.test/v1/mcp?key=x"), "a --url https://a.test/v1/mcp", id="path"),
        pytest.param(request("https://a.test/sse/"), "a --url https://a.test/sse/", id="sse"),
        pytest.param(request("https://a.test/v1", INITIALIZE), "a --url https://a.test/v1 --kind mcp", id="initialize"),
        pytest.param(
            request("https://a.test/v1", [{"jsonrpc": "2.0", "method": "notifications/initialized"}]),
            "a --url https://a.test/v1 --kind mcp",
            id="batch",
        ),
        pytest.param(
            request("https://a.test/v1", mcp_protocol_version="2025-06-18"),
            "a --url https://a.test/v1 --kind mcp",
            id="header",
        ),
        pytest.param(
            request("https://eth.a.test/v1", {"jsonrpc": "2.0", "id": 1, "method": "eth_call"}),
            "eth --url https://eth.a.test/",
            id="other-json-rpc",
        ),
        pytest.param(request("https://a.test/v1", {"method": "initialize"}), "a --url https://a.test/", id="json"),
        pytest.param(request("https://a.test/x/mcp/y"), "a --url https://a.test/", id="mcp-in-the-middle"),
        pytest.param(
            request("https://api.openai.com/v1/responses", {"model": "gpt-5-mini"}),
            "openai --url https://api.openai.com/",
            id="a model",
        ),
        pytest.param(
            request("https://generativelanguage.googleapis.com/v1beta/models/g:generateContent", {}),
            "gemini --url https://generativelanguage.googleapis.com/",
            id="a model of another provider",
        ),
        pytest.param(
            request("https://a.test/it's/mcp"), "a --url 'https://a.test/it'\"'\"'s/mcp'", id="quoted-for-a-shell"
        ),
    ],
)
def test_what_is_suggested(asked: Request, command: str) -> None:
    assert Advisor().suggest(asked).command == f"eve-mocks add {command}"


def test_the_allow_line() -> None:
    suggestion = Suggestion(name="a", url="https://a.test/mcp", kind="mcp")
    assert suggestion.allow_line("my mocks") == ('my mocks/a.yaml: {kind: allow, url: "https://a.test/mcp", why: "…"}')


@pytest.mark.parametrize(
    ("asked", "model"),
    [
        (request("https://api.openai.com/v1/responses", {"model": "gpt-5-mini"}), "gpt-5-mini"),
        (request("https://api.openai.com/v1/models"), "gpt-5.5"),
        (request("https://api.openai.com/v1/responses", {"model": "a b\n"}), "gpt-5.5"),
        (request("https://generativelanguage.googleapis.com/v1beta/models/g-2:generateContent", {}), "g-2"),
        (request("https://ai-gateway.vercel.sh/v4/ai/language-model", {}, ai_language_model_id="a/b"), "a/b"),
        (request("https://logs.a.test/", {"model": "x"}), None),
    ],
    ids=["in the body", "none", "not a name", "in the path", "in a header", "no model"],
)
def test_the_model_that_was_asked_for(asked: Request, model: str | None) -> None:
    suggestion = Advisor().suggest(asked)
    assert suggestion.model == model
    assert ("Script it, in mocks/" in suggestion.fix("mocks")) is (model is not None)


def test_a_name_is_free_and_stays() -> None:
    urls = [
        *(
            "https://api.openai.com/v2/x",
            "http://api.openai.com/",
            "https://api.openai.com:8443/",
            "https://openai.com/",
        ),
        *("https://www.openai.com/", "https://api.openai.com/mcp", "https://eu.openai.com/"),
    ]
    advisor = Advisor(lambda: {"openai", "eu"})
    names = [advisor.suggest(request(url)).name for url in urls]
    assert names == [
        *("api-openai-com", "openai-http", "openai-8443", "openai-com"),
        *("www-openai-com", "openai-mcp", "eu-openai-com"),
    ]
    assert [advisor.suggest(request(url)).name for url in urls] == names
    assert Advisor(lambda: {"a", "a-test"}).suggest(request("https://a.test/")).name == "a-2"


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.notion.com", "notion"),
        ("bbc.co.uk", "bbc"),
        ("api.com", "api"),
        ("com", "com"),
        ("10.0.0.1", "ip-10-0-0-1"),
        ("2001:db8::1", "ip-2001-db8-1"),
        ("_dmarc.a.test", "dmarc"),
        ("__.a.test", "a"),
        ("_", "upstream"),
        ("x" * 63 + ".test", "x" * 48),
        ("xn--bcher-kva.test", "xn-bcher-kva"),
    ],
)
def test_names(host: str, name: str) -> None:
    assert mock_name(host) == name


@given(
    st.lists(
        st.from_regex(r"(https?|wss)://([a-z0-9_.*-]{1,80}|\[[0-9a-f:]{2,40}\])(:[1-9]\d{0,3})?/(mcp)?", fullmatch=True)
    )
)
def test_every_name_can_be_typed_and_no_two_are_one(urls: list[str]) -> None:
    advisor, names = Advisor(), {}
    for url in urls:
        try:
            found = advisor.suggest(request(url))
        except BadURL:
            continue
        assert VALID_NAME.fullmatch(found.name)
        assert names.setdefault(found.name, found.url) == found.url
        assert shlex.split(found.command)[:5] == ["eve-mocks", "add", found.name, "--url", found.url]
        assert re.fullmatch(r"[^\"\\]*", found.url), "it stands in a quoted scalar"
