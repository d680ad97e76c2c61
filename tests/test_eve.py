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


def test_an_unknown_operation_fails_the_eval(evaluate: Callable[..., CompletedProcess[str]]) -> None:
    ended = evaluate("unknown")
    assert ended.returncode == 1
    assert re.search(
        r"'list_task' names no operation.*Did you mean list_tasks\?", ended.stdout + ended.stderr, re.DOTALL
    )
