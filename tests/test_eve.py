"""A real app of eve: evals that import eve-mocks/evals, info, build and dev, offline and without credentials.

It has two connections (MCP and OpenAPI), one whose URL is another in each session, a tool of its own, and a subagent.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import EVE_MOCKS
from machine import NODE_MODULES

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

    from conftest import Project

APP = Path(__file__).parent / "eve"
DOCS = APP.parent.parent / "docs"
BLOCK = re.compile(r"^```(?:yaml|python|typescript)\n(?:#|//) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def app(project: Project, needs: Callable[..., str]) -> Project:
    needs("npm:eve", "npm:ai")
    shutil.copytree(APP, project.root, dirs_exist_ok=True)
    installed = project.root / "node_modules"
    installed.mkdir()
    for package in NODE_MODULES.iterdir():
        (installed / package.name).symlink_to(package)
    node = Path(needs("node")).parent
    return dataclasses.replace(
        project, environment=project.environment | {"NO_COLOR": "1", "PATH": f"{node}:{project.environment['PATH']}"}
    )


@pytest.fixture
def eve(app: Project) -> Callable[..., CompletedProcess[str]]:
    """``eve(…)`` in a run, without a credential."""

    def run(*arguments: str, contain: str = "auto") -> CompletedProcess[str]:
        return app.eve_mocks("run", "--contain", contain, "--", *EVE, *arguments, timeout=120)

    return run


EVE = ("node", "node_modules/eve/bin/eve.js")


@pytest.mark.parametrize("contain", ["auto", "off"])
def test_evals_side_by_side(app: Project, eve: Callable[..., CompletedProcess[str]], contain: str) -> None:
    """With what each of them has pinned, and what it left in the state of a mock."""
    ended = eve("eval", contain=contain)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{len(list(APP.glob('evals/*.eval.ts')))} passed" in ended.stdout
    assert app.report()["counts"]["blocked"] == 0
    calls = app.calls()

    def answered(operation: str, text: str) -> list[dict[str, Any]]:
        told = [call for call in calls if call["operation"] == operation]
        return [call for call in told if text in json.dumps(call["responseBody"])]

    one, two = answered("list_tasks", "Buy milk"), answered("list_tasks", "Buy bread")
    assert [(call["stub"], len({call["session"]})) for call in (*one, *two)] == [("pin:tasks:list_tasks", 1)] * 2
    assert one[0]["session"] != two[0]["session"]

    researcher = [call for call in calls if call["operation"] == "researcher"]
    assert len(researcher) == 2
    root, child = researcher[0]["session"], researcher[0]["agent"]
    assert root != child
    assert root in {call["session"] for call in calls if call["operation"] == "gpt-5.5"}
    (asked,) = answered("list_tasks", "Feed the cat")
    assert (asked["session"], asked["agent"]) == (root, child)

    (customer,) = [call for call in calls if call["operation"] == "find_customer"]
    assert customer["url"].split(".")[0] == "https://" + customer["session"].lower().replace("_", "-")


def examples(page: str, app: Project) -> list[str]:
    """Write the files of a page of the documentation into the app; the names of its evals."""
    files = dict(BLOCK.findall((DOCS / page).read_text()))
    for name, text in files.items():
        app.file(name, text)
    return [Path(name).name.removesuffix(".eval.ts") for name in files if name.endswith(".eval.ts")]


ECHO = """
from eve_mocks import model_mock

LOOK = {"$tools": [{"tool": "tasks__list_tasks"}]}


def echo(request):
    return request.messages[-1].content


model = model_mock("ai-gateway", scripts={"gpt-5.5": [LOOK, echo, LOOK, echo]})
"""


@pytest.fixture
def documented(app: Project) -> None:
    """The example of the documentation of evals, as one of the app's, with a model that says what it was told."""
    (example,) = re.findall(r"^```typescript\n(.*?)^```$", (DOCS / "evals.md").read_text(), re.MULTILINE | re.DOTALL)
    app.file("evals/documented.eval.ts", example)
    (app.root / "mocks/model.yaml").unlink()
    app.file("mocks/model.py", ECHO)


UNKNOWN = """
import { defineEval } from 'eve/evals';
import { mock } from 'eve-mocks/evals';

export default defineEval({
  async test(t) {
    mock(t, 'list_task', { tasks: [] });
    await t.send('What is there to do?');
  },
});
"""


@pytest.mark.usefixtures("documented")
def test_the_example_of_the_documentation(app: Project, eve: Callable[..., CompletedProcess[str]]) -> None:
    """It passes beside an eval that fails, as no mock has the operation that it names."""
    app.file("evals/unknown.eval.ts", UNKNOWN)
    ended = eve("eval", "documented", "unknown")
    assert ended.returncode == 1
    assert "✓  documented" in ended.stdout, ended.stdout + ended.stderr
    assert re.search(r"'list_task' names no operation.*Did you mean list_tasks\?", ended.stdout, re.DOTALL)


def test_the_examples_of_the_page_about_eve(app: Project, eve: Callable[..., CompletedProcess[str]]) -> None:
    evals = examples("eve.md", app)
    assert evals
    ended = eve("eval", *evals, "customer")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{len(evals) + 1} passed" in ended.stdout


def test_info_and_a_model_that_is_missing(app: Project, eve: Callable[..., CompletedProcess[str]]) -> None:
    """The catalog, without which eve does not compile, has the models of scripts, and what `models:` names."""
    assert "Compile       ready" in eve("info").stdout
    shutil.rmtree(app.root / ".eve")
    mock = app.root / "mocks/model.yaml"
    mock.write_text(mock.read_text().replace("gpt-5.5:", "other:"))
    missing = eve("info")
    assert missing.returncode == 1
    assert 'model "openai/gpt-5.5" does not have known AI Gateway' in missing.stdout + missing.stderr
    shutil.rmtree(app.root / ".eve")
    mock.write_text(f"{mock.read_text()}models: [openai/gpt-5.5]\n")
    assert "Compile       ready" in eve("info").stdout


def test_build(app: Project, eve: Callable[..., CompletedProcess[str]]) -> None:
    ended = eve("build", "--skip-sandbox-prewarm")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (app.root / ".output/.eve/compile/compiled-agent-manifest.json").exists()
    assert app.report()["counts"] == {"mocked": 1, "allowed": 0, "blocked": 0, "error": 0}


def test_dev(app: Project) -> None:
    """Until Ctrl-C."""
    command = [EVE_MOCKS, "run", "--", *EVE, "dev", "--no-ui", "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(
        command, cwd=app.root, env=app.environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as served:
        try:
            url = next((found[1] for line in served.stdout or () if (found := READY.search(line))), None)
            assert url is not None
            answer = subprocess.run(
                [*EVE, "remote", "invoke", "--url", url, "What is there to do?"],
                cwd=app.root,
                env=app.environment | {"EVE_TELEMETRY_DISABLED": "1"},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            os.killpg(served.pid, signal.SIGINT)
            served.communicate(timeout=30)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(served.pid, signal.SIGKILL)
    assert "the plants want water" in answer.stdout, answer.stderr
    assert [call["position"] for call in app.calls() if call["operation"] == "gpt-5.5"] == [0, 1]


READY = re.compile(r"server listening at (http://127\.0\.0\.1:\d+/)")


# After these lines of an eval; nothing for what is right.
TYPES = {
    "an operation that is no text": ("mock(t, 1, {});", "TS2769"),
    "the state of an eval": ("await getState(t, 'notes');", "TS2345"),
    "an outcome without an answer": ("mock(t, 'list_tasks', outcome());", "TS2555"),
    "a function that answers nothing": ("mock(t, 'list_tasks', () => {});", "TS2769"),
    "what is no JSON": ("seed(t, 'notes', { at: new Date() });", "TS2769"),
    "a function": ("mock(t, 'list_tasks', async ({ q }) => (q === 'x' ? pass : { tasks: [q] }));", None),
    "a session": (
        "await mock(await t.session(), 'list_tasks', outcome({ status: 500 }, { throw: { message: 'x' } }));",
        None,
    ),
}


@pytest.mark.usefixtures("documented")
def test_the_types(app: Project, needs: Callable[..., str]) -> None:
    """As the compiler sees them in an app of eve, with the package in its place."""
    needs("npm:typescript")
    lines = "\n".join(code for code, _ in TYPES.values())
    app.file(
        "evals/types.eval.ts",
        f"""
        import {{ defineEval }} from 'eve/evals';
        import {{ getState, mock, outcome, pass, seed }} from 'eve-mocks/evals';
        export default defineEval({{
        async test(t) {{
{lines}
        }} }});
        """,
    )
    tsc = [needs("node"), "node_modules/typescript/bin/tsc", "--project", "."]
    said = app.eve_mocks("run", "--", *tsc, timeout=120).stdout
    found = dict(re.findall(r"^evals/types\.eval\.ts\((\d+),\d+\): error (TS\d+)", said, re.MULTILINE))
    first = 1 + (app.root / "evals/types.eval.ts").read_text().split("\n").index(next(iter(TYPES.values()))[0])
    assert found == {str(first + place): code for place, (_, code) in enumerate(TYPES.values()) if code}, said
    assert set(re.findall(r"^(evals/.*?)\(", said, re.MULTILINE)) == {"evals/types.eval.ts"}
