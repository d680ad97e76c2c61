"""What the tests share: a project folder, the real command line, and tools that a machine may lack."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import machine
import pytest
from island import Island
from running_proxy import ca, proxy  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Under nohup it would be ignored by all that is started here.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

EVE_MOCKS = str(Path(sys.executable).with_name("eve-mocks"))


@pytest.fixture(scope="session")
def needs() -> Callable[..., str]:
    """``needs(tool, ...)`` is the path of the first tool; where one is missing the test is skipped, in CI it fails."""

    def need(*tools: str) -> str:
        found = {tool: machine.find(tool) for tool in tools}
        missing = ", ".join(tool for tool, path in found.items() if path is None)
        if missing:
            refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
            refuse(f"{missing} is missing: scripts/test or scripts/clients --install installs it")
        return str(found[tools[0]])

    return need


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of the tests' own, so that a person's CA is neither used nor made."""
    return tmp_path_factory.mktemp("home")


@dataclasses.dataclass(frozen=True)
class Project:
    """A folder with mocks in which the real command line runs."""

    root: Path
    environment: dict[str, str]

    def file(self, name: str, text: str) -> Path:
        """Write a file, given as indented text."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).removeprefix("\n"))
        return path

    def eve_mocks(
        self,
        *arguments: str,
        prefix: list[str] | None = None,
        env: dict[str, str] | None = None,
        stdin: str = "",
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Run ``eve-mocks`` with the arguments; ``prefix`` is put before it."""
        return subprocess.run(
            [*(prefix or ()), EVE_MOCKS, *arguments],
            cwd=self.root,
            env=self.environment | (env or {}),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def report(self) -> dict[str, Any]:
        """The last run's report."""
        found: dict[str, Any] = json.loads((self.root / ".eve-mocks" / "report.json").read_text())
        return found

    def calls(self) -> list[dict[str, Any]]:
        """The last run's calls."""
        log = self.root / self.report()["log"]
        return [json.loads(line) for line in log.read_text().split("\n")[:-1]]


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Project:
    """An empty project."""
    return Project(tmp_path, machine.environment(home))


@pytest.fixture(scope="session")
def island(needs: Callable[..., str]) -> Iterator[Island]:
    """A machine without a way out, on which whatever is looked up or dialled elsewhere is seen."""
    needs("unshare", "nsenter", "ip")
    if os.geteuid() != 0:
        pytest.skip("a network namespace takes root")
    with Island() as made:
        yield made
