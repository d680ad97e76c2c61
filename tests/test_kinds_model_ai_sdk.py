"""Kind model with the real AI SDK: the same scripts through the gateway, OpenAI and Anthropic, over real sockets.

One program asks for all there is. The cases are the names of its models, and so of the scripts.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import machine
import pytest
from conftest import Project

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = Path(__file__).parent / "clients" / "node" / "ai_sdk.mjs"
PROVIDERS = ("gateway", "chat", "responses", "anthropic")
USAGE = {"inputTokens": 120, "outputTokens": 8, "cachedInputTokens": 100}
TOLD = {"inputTokens": 120, "outputTokens": 8, "totalTokens": 128, "cacheReadTokens": 100, "reasoningTokens": 0}
TWO_TOOLS = [
    {"$tools": [{"tool": name, "input": {"city": city}} for name, city in (("weather", "Oslo"), ("time", "Rome"))]},
    "Cold, and late.",
]
STEPPED = {
    "steps": [[["weather", "Oslo", "weather of Oslo"], ["time", "Rome", "time of Rome"]], []],
    "text": "Cold, and late.",
    "finishReason": "stop",
}
LIMITED = {"$throw": {"status": 429, "attempts": 1}}
BROKEN = {"$text": "Half of ", "$throw": {"status": 500, "message": "it broke off"}}

# A case, its script, and what the SDK makes of it.
CASES: dict[str, tuple[list[Any], Any]] = {
    "text": (
        [{"result": "Hello there.", "usage": USAGE}],
        {"text": "Hello there.", "usage": TOLD, "finishReason": "stop", "toolCalls": []},
    ),
    "streamed": (
        [{"result": "Hello there.", "usage": USAGE}],
        {"pieces": ["Hello ", "there."], "usage": TOLD, "finishReason": "stop"},
    ),
    "tools": (TWO_TOOLS, STEPPED),
    "streamed tools": (TWO_TOOLS, STEPPED),
    "object": ([{"score": 4}], {"score": 4}),
    "streamed object": ([{"score": 4}], {"score": 4}),
    "generateObject": ([{"score": 4}], {"score": 4}),
    "result": ([4], {"result": 4}),
    "forced": ([{"city": "Rome"}], [["time", {"city": "Rome"}]]),
    "image": (["A red pixel."], "A red pixel."),
    "retried": ([LIMITED, "after all"], "after all"),
    "retried stream": ([LIMITED, "after all"], "after all"),
    "refused": ([{"$refusal": "I cannot."}], "content-filter"),
    "refused stream": ([{"$refusal": "I cannot."}], "content-filter"),
}
FAILING: dict[str, list[Any]] = {
    "overloaded": [{"$throw": {"status": 503, "message": "busy"}}],
    "denied": [{"$throw": {"status": 403, "message": "not for you"}}],
    "broken": [BROKEN],
}
OF_GATEWAY: dict[str, Any] = {
    "tagged": "by its tag",
    "schema name": {"score": 5},
    "another provider": "to any provider",
    "another model after a failure": ["down", "up"],
    "decided": {
        "polite": {"type": "boolean", "probability": 1},
        "tone": {"type": "choice", "choice": "warm"},
        "clarity": {"type": "score", "score": 0.5},
        "judgment": {"type": "boolean", "probability": 0.9},
        "tokens": 7,
    },
    "embedded": {"near": True, "tokens": 11},
    "models": ["openai/gpt-5.5"],
}
SCRIPTS_OF_GATEWAY = {
    "by tag": ["by its tag"],
    "Score": [{"score": 5}],
    "text": [*CASES["text"][0], "to any provider"],
    "first": [{"$throw": {"status": 500, "message": "down"}}],
    "second": ["up"],
    "polite": [
        {"result": {"polite": True, "tone": "warm", "clarity": {"score": 0.5}}, "usage": {"inputTokens": 7}},
    ],
    "decision": [0.9],
}


@dataclasses.dataclass(frozen=True)
class Ran:
    """What the program printed, by provider and case, and the calls that it made."""

    lines: dict[tuple[str, str], dict[str, Any]]
    calls: list[dict[str, Any]]

    def value(self, provider: str, case: str) -> Any:
        line = self.lines[provider, case]
        assert "value" in line, line
        return line["value"]

    def statuses(self, operation: str) -> list[int]:
        return [call["status"] for call in self.calls if call["operation"] == operation]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, home: Path, needs: Callable[..., str]) -> Ran:
    """The program, run once."""
    needs("npm:ai", "npm:@ai-sdk/openai", "npm:@ai-sdk/anthropic")
    project = Project(tmp_path_factory.mktemp("ai"), machine.environment(home))
    scripts = {name: script for name, (script, _) in CASES.items()} | FAILING
    twice = {name: [*script, *script] for name, script in scripts.items()}  # it has two APIs
    for provider, own in (("ai-gateway", scripts | SCRIPTS_OF_GATEWAY), ("openai", twice), ("anthropic", scripts)):
        mock = {"kind": "model", "provider": provider, "scripts": own}
        if provider == "ai-gateway":
            mock["models"] = ["openai/gpt-5.5"]
        project.file(f"mocks/{provider}.json", json.dumps(mock))
    done = project.eve_mocks("run", "--", needs("node"), str(PROGRAM), *PROVIDERS)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return Ran({(line["provider"], line["case"]): line for line in lines}, project.calls())


EACH = pytest.mark.parametrize("provider", PROVIDERS)


@EACH
@pytest.mark.parametrize("case", CASES)
def test_case(ran: Ran, provider: str, case: str) -> None:
    assert ran.value(provider, case) == CASES[case][1]


@EACH
def test_a_stream_that_breaks(ran: Ran, provider: str) -> None:
    told = ran.value(provider, "broken")
    assert told["text"] == "Half of "
    assert [error for error in told["errors"] if "it broke off" in error], told


@EACH
def test_errors_in_the_shape_of_the_provider(ran: Ran, provider: str) -> None:
    denied = ran.lines[provider, "denied"]["error"]
    assert (denied["statusCode"], denied["message"]) == (403, "not for you")
    overloaded = ran.lines[provider, "overloaded"]["error"]
    assert overloaded["message"].startswith("Failed after 2 attempts")
    assert overloaded["message"].endswith("busy")


def test_retries_take_no_entry(ran: Ran) -> None:
    count = len(PROVIDERS)
    assert ran.statuses("retried") == [429, 200] * count
    assert ran.statuses("overloaded") == [503, 503] * count
    assert ran.statuses("denied") == [403] * count


@pytest.mark.parametrize("case", OF_GATEWAY)
def test_what_only_the_gateway_has(ran: Ran, case: str) -> None:
    assert ran.value("gateway", case) == OF_GATEWAY[case]


def test_an_exhausted_script_is_asked_once_and_fails_the_run(project: Project, needs: Callable[..., str]) -> None:
    """Though the program catches the error."""
    needs("npm:ai", "npm:@ai-sdk/openai", "npm:@ai-sdk/anthropic")
    for provider in ("ai-gateway", "openai", "anthropic"):
        project.file(f"mocks/{provider}.yaml", f"{{kind: model, provider: {provider}, scripts: {{text: []}}}}")
    done = project.eve_mocks("run", "--", needs("node"), str(PROGRAM), "--only", "text", *PROVIDERS)
    assert done.returncode == 1
    assert [call["status"] for call in project.calls()] == [400] * len(PROVIDERS)
    for line in done.stdout.splitlines():
        assert "the script of text ran dry after 0 entries" in json.loads(line)["error"]["message"]
    assert "the script of text ran dry" in done.stderr
    assert project.report()["childExitCode"] == 0
