"""Suites of tests that run inside of eve-mocks."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Project

MOCKS = """
    kind: http
    url: https://api.openai.com/v1
    routes:
      /chat/completions:
        POST:
          response:
            id: c1
            object: chat.completion
            created: 0
            model: gpt-5.5
            choices: [{index: 0, finish_reason: stop, message: {role: assistant, content: milk}}]
"""
TASKS = """
    from eve_mocks import mcp_mock

    tasks = mcp_mock("https://tasks.test/mcp", state={"done": []})

    @tasks.tool
    def complete_task(args, state):
        state["done"].append(args["task_id"])
        return {"done": state["done"]}
"""
# An agent: it asks a model which task to complete, and completes it.
AGENT = """
    import asyncio
    import httpx2, openai
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    def agent():
        said = openai.OpenAI(api_key="x").chat.completions.create(
            model="gpt-5.5", messages=[{"role": "user", "content": "?"}]
        )
        return asyncio.run(complete(said.choices[0].message.content))

    async def complete(task):
        async with (
            httpx2.AsyncClient() as http,
            Client(streamable_http_client("https://tasks.test/mcp", http_client=http)) as client,
        ):
            return (await client.call_tool("complete_task", {"task_id": task})).content[0].text
"""
SUITE = """
    import pytest
    from agent import agent

    @pytest.mark.parametrize("before", [["dog"], ["rent"]])
    def test_state(mock_session, before):
        mock_session.seed("tasks", {"done": before})
        agent()
        mock_session.called_tool("complete_task", input={"task_id": "milk"}, count=1)
        mock_session.no_failed_actions()
        assert mock_session.state("tasks") == {"done": [*before, "milk"]}

    def test_pin(mock_session):
        mock_session.mock("complete_task", {"done": "pinned"})
        assert agent() == '{"done": "pinned"}'
        assert mock_session.state("tasks") == {"done": []}

    def test_that_has_to_fail(mock_session):
        agent()
        mock_session.called_tool("complete_task", input={"task_id": "dog"})
"""


@pytest.fixture
def suite(project: Project) -> Project:
    project.file("mocks/openai.yaml", MOCKS)
    project.file("mocks/tasks.py", TASKS)
    project.file("agent.py", AGENT)
    project.file("test_agent.py", SUITE)
    return project


def run_pytest(project: Project, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "eve_mocks.pytest_plugin", "-p", "no:cacheprovider", *options]
    return subprocess.run(
        command, cwd=project.root, env=project.environment, capture_output=True, text=True, check=False, timeout=180
    )


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_an_agent_of_real_sdks(suite: Project, options: tuple[str, ...]) -> None:
    ended = run_pytest(suite, "--eve-mocks", *options)
    assert "1 failed, 3 passed" in ended.stdout, ended.stdout + ended.stderr
    assert ended.returncode == 1
    failed = [line.removeprefix("E").strip() for line in ended.stdout.splitlines() if line.startswith("E  ")]
    assert failed == [
        'AssertionError: complete_task {"task_id": "dog"} was not called',
        'nearest is tasks:complete_task {"task_id": "milk"}: input.task_id is "milk", not "dog"',
        "called were:",
        'openai:POST /chat/completions {"body": {"model": "gpt-5.5", "messages": [{"role": "user", "content": "?"}]}}',
        'tasks:complete_task {"task_id": "milk"}',
    ]
    sessions = [session["id"] for session in suite.report()["sessions"]]
    assert len(sessions) == 4
    assert all(re.match(r"test_agent\.py::test_\w+", id_) for id_ in sessions)
    assert "eve-mocks  " in ended.stderr


def test_inside_of_a_run(suite: Project) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "eve_mocks.pytest_plugin", "-k", "state or pin"]
    ended = suite.eve_mocks("run", "--", *command, timeout=180)
    assert "3 passed" in ended.stdout
    assert ended.returncode == 0


def test_a_blocked_call_fails_its_own_test(suite: Project) -> None:
    suite.file(
        "test_blocked.py",
        """
        import httpx

        def test_one():
            assert httpx.get("https://logs.example.com/v1/tail").status_code == 403

        def test_two():
            pass
        """,
    )
    ended = run_pytest(suite, "--eve-mocks", "test_blocked.py")
    assert "1 failed, 1 passed" in ended.stdout
    for line in (
        "eve-mocks blocked GET https://logs.example.com/v1/tail",
        "Mock it: eve-mocks add logs --url https://logs.example.com/",
        'Or allow it, in mocks/logs.yaml: {kind: allow, url: "https://logs.example.com/", why: "…"}',
    ):
        assert f"\n{line}\n" in ended.stdout


def test_a_blocked_call_fails_a_test_of_unittest(suite: Project) -> None:
    suite.file(
        "test_blocked.py",
        """
        import unittest, httpx

        class Tests(unittest.TestCase):
            def test_one(self):
                httpx.get("https://logs.example.com/v1/tail")

            def test_two(self):
                pass

        class Others(unittest.IsolatedAsyncioTestCase):
            async def test_one(self):
                async with httpx.AsyncClient() as client:
                    await client.get("https://logs.example.com/v1/tail")
        """,
    )
    ended = run_pytest(suite, "--eve-mocks", "test_blocked.py")
    assert "2 failed, 1 passed" in ended.stdout, ended.stdout
    assert ended.stdout.count("\neve-mocks blocked GET https://logs.example.com/v1/tail\n") == 2


def test_without_a_run(suite: Project) -> None:
    ended = run_pytest(suite, "-k", "pin")
    assert "mock_session needs a run: pytest --eve-mocks, or eve-mocks run -- pytest" in ended.stdout
    suite.file("test_plain.py", "def test_it(): pass\n")
    assert run_pytest(suite, "test_plain.py").returncode == 0


def test_mocks_that_are_wrong(suite: Project) -> None:
    suite.file("mocks/bad.yaml", "kind: http\nurl: https://x.test/\nroute: {}\n")
    ended = run_pytest(suite, "--eve-mocks")
    assert ended.returncode == 4
    assert "mocks/bad.yaml:3: unknown key 'route'" in ended.stderr
    assert "Did you mean routes?" in ended.stderr


CONFTEST = """
    import pytest
    from helpers import REPLY
    from eve_mocks import http_mock

    weather = http_mock("https://weather.example.com/", state={"asked": 0})

    @weather.get("/today")
    def today(state):
        state["asked"] += 1
        return {**REPLY, "asked": state["asked"]}
"""


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_conftest_adds_mocks(suite: Project, options: tuple[str, ...]) -> None:
    suite.file("conftest.py", CONFTEST)
    suite.file("helpers.py", "REPLY = {'sky': 'blue'}\n")
    suite.file(
        "test_weather.py",
        """
        import httpx, pytest

        @pytest.mark.parametrize("number", range(4))
        def test_it(mock_session, number):
            answer = httpx.get("https://weather.example.com/today").json()
            assert answer == {"sky": "blue", "asked": 1}
            assert mock_session.state("conftest") == {"asked": 1}
        """,
    )
    ended = run_pytest(suite, "--eve-mocks", *options, "test_weather.py")
    assert "4 passed" in ended.stdout, ended.stdout + ended.stderr


def test_a_mistake_in_the_mock_of_a_conftest(suite: Project) -> None:
    suite.file("helpers.py", "REPLY = {}\n")
    file = suite.file("conftest.py", CONFTEST.replace("def today(state)", "def today(stat)"))
    ended = run_pytest(suite, "--eve-mocks", "test_plain.py")
    assert ended.returncode == 4
    assert f"{file}:" in ended.stderr
    assert "Did you mean state?" in ended.stderr
