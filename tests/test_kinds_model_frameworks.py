"""Kind model under a framework for agents, which asks in its own way: Pydantic AI, over both of OpenAI's APIs."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Project

SCORE = {"score": 4, "why": "It says what is new."}
WEATHER = {"$tools": [{"tool": "weather", "input": {"city": "Bergen"}}]}
FINAL = {"$tools": [{"tool": "final_result", "input": SCORE}]}
USAGE = {"inputTokens": 120, "outputTokens": 8}

# By how the agent wants its output: as the input of a tool, or as the API's own structured output.
SCRIPTS = {
    "by tool": [WEATHER, {**FINAL, "usage": USAGE}] * 2,
    "native": [WEATHER, {"result": SCORE, "usage": USAGE}] * 2,
    "plain": [SCORE] * 2,
    "streamed": [WEATHER, "It rains in Bergen."] * 2,
}
PROGRAM = """
    import asyncio
    import json

    import pydantic
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

    class Score(pydantic.BaseModel):
        score: int
        why: str

    seen = []

    def weather(city: str) -> str:
        seen.append(city)
        return "Rain."

    async def main():
        for model in (OpenAIChatModel, OpenAIResponsesModel):
            for name, output, tools in (
                ("by tool", Score, [weather]),
                ("native", NativeOutput(Score), [weather]),
                ("plain", Score, []),
            ):
                run = await Agent(model(name), output_type=output, tools=tools).run("How is it?")
                used = run.usage
                told = [run.output.model_dump(), used.requests, used.input_tokens, used.output_tokens]
                print(json.dumps([model.__name__, name, *told]))
            agent = Agent(model("streamed"), tools=[weather])
            async with agent.run_stream("How is it?") as run:
                told = [piece async for piece in run.stream_text(delta=True, debounce_by=None)]
            print(json.dumps([model.__name__, "streamed", told]))
        print(json.dumps(seen))

    asyncio.run(main())
"""


@pytest.mark.skipif(
    importlib.util.find_spec("pydantic_ai") is None,
    reason="pydantic-ai-slim[openai] is missing: scripts/setup installs it",
)
def test_agents_of_pydantic_ai(project: Project) -> None:
    project.file("mocks/ai.json", json.dumps({"kind": "model", "provider": "openai", "scripts": SCRIPTS}))
    project.file("agent.py", PROGRAM)
    done = project.eve_mocks("run", "--fail-on-unused", "--", sys.executable, "agent.py")
    assert done.returncode == 0, done.stdout + done.stderr
    *told, seen = [json.loads(line) for line in done.stdout.splitlines()]
    assert told == [
        line
        for model in ("OpenAIChatModel", "OpenAIResponsesModel")
        for line in (
            [model, "by tool", SCORE, 2, 120, 8],
            [model, "native", SCORE, 2, 120, 8],
            [model, "plain", SCORE, 1, 0, 0],
            [model, "streamed", ["It ", "rains ", "in ", "Bergen."]],
        )
    ]
    assert seen == ["Bergen"] * 6
    assert project.report()["counts"] == {"mocked": 14, "allowed": 0, "blocked": 0, "error": 0}
