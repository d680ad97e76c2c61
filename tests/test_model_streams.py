"""Streams of a model: many at once, each whole and in its order, and each event when it is due."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Project

PYTHON_MOCK = """
    from eve_mocks import model_mock

    def say(request):
        return "".join(f"{request.prompt}-{n} " for n in range(200))

    ai = model_mock("openai", scripts={"m": [say]}, repeat_last=True)
"""
MANY = """
    import asyncio
    import openai

    async def read(client, name):
        messages = [{"role": "user", "content": name}]
        stream = await client.chat.completions.create(model="m", messages=messages, stream=True)
        chunks = [chunk async for chunk in stream]
        assert chunks[-1].choices[0].finish_reason == "stop"
        return [chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].delta.content]

    async def main():
        async with openai.AsyncOpenAI(max_retries=0) as client:
            found = await asyncio.gather(*(read(client, str(number)) for number in range(100)))
        assert found == [[f"{number}-{n} " for n in range(200)] for number in range(100)]

    asyncio.run(main())
"""


def test_a_hundred_streams_of_two_hundred_events_at_once(project: Project) -> None:
    project.file("mocks/ai.py", PYTHON_MOCK)
    ended = project.eve_mocks("run", "--", sys.executable, str(project.file("many.py", MANY)))
    assert ended.returncode == 0, ended.stderr
    assert [call["status"] for call in project.calls()] == [200] * 100


DUE = """
    import itertools, json, time, urllib.request

    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}).encode()
    asked = urllib.request.Request("https://api.openai.com/v1/chat/completions", body)
    began = time.monotonic()
    with urllib.request.urlopen(asked) as answer:
        came = [time.monotonic() - began for line in answer if line.startswith(b"data: ") and b'"content": "w' in line]
    print(json.dumps(came))
"""


def test_each_event_comes_when_it_is_due(project: Project) -> None:
    """None comes before its time, and a late one makes the others no later: they have their own times."""
    words = " ".join(f"w{n}" for n in range(20))
    model = f"{{kind: model, provider: openai, scripts: {{m: [{words}]}}, tokens_per_second: 50, delay: 200ms}}"
    project.file("mocks/ai.yaml", model)
    ended = project.eve_mocks("run", "--", sys.executable, str(project.file("due.py", DUE)))
    assert ended.returncode == 0, ended.stderr
    came = [float(text) for text in ended.stdout.strip().strip("[]").split(", ")]
    assert len(came) == 20
    early = [n for n, at in enumerate(came) if at < 0.2 + 0.02 * (n + 1) - 0.001]
    assert early == []
    assert came[0] < came[-1] - 0.3  # one by one, and not as one block at the end
