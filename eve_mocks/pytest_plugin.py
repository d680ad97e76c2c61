"""The pytest plugin: each test of a run has a session of its own, and fails where a call of it was blocked.

``--eve-mocks`` starts the suite again inside of a run, because what stamps the calls of a Python process has to be
there when it starts.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from eve_mocks import evals
from eve_mocks.advice import Suggestion
from eve_mocks.declared import Declared
from eve_mocks.errors import MockError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_FOLDER = os.environ.get("EVE_MOCKS_DIR", "mocks")
_SESSION = pytest.StashKey[evals.Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("eve-mocks")
    group.addoption("--eve-mocks", action="store_true", help="run the suite inside of eve-mocks, with the mocks folder")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if not config.getoption("--eve-mocks") or _in_a_run():
        return None
    from eve_mocks.run import Plan, run

    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)
    program = [sys.argv[0]] if Path(sys.argv[0]).name != "__main__.py" else ["-m", "pytest"]
    command = [sys.executable, *program, *config.invocation_params.args]
    try:
        return run(Plan(command=command, folder=Path(_FOLDER).absolute(), shown=_FOLDER, also=_with_mocks(config)))
    except MockError as error:
        raise pytest.UsageError(str(error)) from error
    except ExceptionGroup as mistakes:
        raise pytest.UsageError(*map(str, mistakes.exceptions)) from mistakes


def _with_mocks(config: pytest.Config) -> list[Path]:
    """Those conftest.py files that declare mocks."""
    modules = (plugin for plugin in config.pluginmanager.get_plugins() if isinstance(plugin, ModuleType))
    files = [Path(module.__file__) for module in modules if module.__file__ and _declares(module)]
    return sorted(file for file in files if file.name == "conftest.py")


def _declares(module: ModuleType) -> bool:
    return any(isinstance(value, Declared) for value in vars(module).values())


def _in_a_run() -> bool:
    return "EVE_MOCKS_URL" in os.environ


@pytest.fixture(autouse=True)
def _eve_mocks_session(request: pytest.FixtureRequest) -> Iterator[evals.Session | None]:
    if not _in_a_run():
        yield None
        return
    readable = re.sub(r"[^A-Za-z0-9_.:@+=~-]+", "-", request.node.nodeid).lstrip(".:@+=~-")
    with evals.session(id=f"{readable[:180]}-{secrets.token_hex(4)}") as session:
        request.node.stash[_SESSION] = session
        yield session


@pytest.fixture
def mock_session(_eve_mocks_session: evals.Session | None) -> evals.Session:
    """The test's own session: pins, state, and assertions on what was called."""
    if _eve_mocks_session is None:
        pytest.fail("mock_session needs a run: pytest --eve-mocks, or eve-mocks run -- pytest", pytrace=False)
    return _eve_mocks_session


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """A test that would have passed fails where a call was blocked that no block entry expects."""
    yield
    session = item.stash.get(_SESSION, None)
    if session is not None:
        blocked = [call for call in session.calls() if call["outcome"] == "blocked" and not call.get("expected")]
        if blocked:
            pytest.fail("\n".join(dict.fromkeys(line for call in blocked for line in _told(call))), pytrace=False)


def _told(call: dict[str, Any]) -> list[str]:
    fix = Suggestion(**call["suggestion"]).fix(_FOLDER) if "suggestion" in call else call.get("fix", "")
    return [f"eve-mocks blocked {call['method']} {call['url']}", call.get("error", ""), *fix.splitlines()]
