"""A real app of eve, with evals of its own that import eve-mocks/evals, run offline and without credentials."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from machine import NODE_MODULES

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

    from conftest import Project

APP = Path(__file__).parent / "eve"
ENVIRONMENT = {"AI_GATEWAY_API_KEY": "none", "EVE_TELEMETRY_DISABLED": "1", "NO_COLOR": "1"}


@pytest.fixture
def app(project: Project, needs: Callable[..., str]) -> Project:
    needs("npm:eve", "npm:ai")
    shutil.copytree(APP, project.root, dirs_exist_ok=True)
    installed = project.root / "node_modules"
    installed.mkdir()
    for package in NODE_MODULES.iterdir():
        (installed / package.name).symlink_to(package)
    return project


@pytest.fixture
def evaluate(app: Project, needs: Callable[..., str]) -> Callable[..., CompletedProcess[str]]:
    node = needs("node")

    def run(*evals: str, contain: str = "auto") -> CompletedProcess[str]:
        eve = [node, "node_modules/eve/bin/eve.js", "eval", *evals]
        path = {"PATH": f"{Path(node).parent}:{app.environment['PATH']}"}
        return app.eve_mocks("run", "--contain", contain, "--", *eve, env={**ENVIRONMENT, **path}, timeout=120)

    return run


@pytest.mark.parametrize("contain", ["auto", "off"])
def test_evals_side_by_side_have_pins_and_state_of_their_own(
    app: Project, evaluate: Callable[..., CompletedProcess[str]], contain: str
) -> None:
    ended = evaluate("one", "two", contain=contain)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "2 passed" in ended.stdout
    listed = {call["session"]: call for call in app.calls() if call["operation"] == "list_tasks"}
    assert len(listed) == 2
    assert {call["stub"] for call in listed.values()} == {"pin:tasks:list_tasks"}
    assert {json.dumps(call["responseBody"]).count("Walk dog") > 0 for call in listed.values()} == {True, False}


def test_what_is_pinned_later_is_in_place_before_the_next_turn(evaluate: Callable[..., CompletedProcess[str]]) -> None:
    ended = evaluate("later")
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.fixture
def documented(app: Project) -> None:
    """The example of the documentation as one of the evals."""
    page = (APP.parent.parent / "docs" / "evals.md").read_text()
    (example,) = re.findall(r"^```typescript\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    app.file("evals/documented.eval.ts", example)


@pytest.mark.usefixtures("documented")
def test_the_example_of_the_documentation(evaluate: Callable[..., CompletedProcess[str]]) -> None:
    ended = evaluate("documented")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_an_unknown_operation_fails_the_eval(evaluate: Callable[..., CompletedProcess[str]]) -> None:
    ended = evaluate("unknown")
    assert ended.returncode == 1
    assert re.search(
        r"'list_task' names no operation.*Did you mean list_tasks\?", ended.stdout + ended.stderr, re.DOTALL
    )


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
