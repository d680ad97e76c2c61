"""Every example in the documentation does what it says.

A page is one project: its blocks that begin with ``# mocks/…`` or another file's name are written, and
its console blocks are run in order. In what a command is to print, ``…`` stands for any text in a line, and alone for
any lines.
"""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Project

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:#|//) ([\w./-]+\.(?:yaml|py|mjs|ts))\n")
LINK = re.compile(r"\]\(([^)#:]+)\)")
# What they take from a clone, the tests of the scripts run.
SCRIPTS = {"scripts/setup", "scripts/demo"}


@dataclasses.dataclass(frozen=True)
class Step:
    """A command of a console block, and the lines that it is to print."""

    command: str
    expected: str

    @classmethod
    def all(cls, block: str) -> Iterator[Step]:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            yield cls(command, expected)

    def pattern(self) -> str:
        lines = self.expected.splitlines(keepends=True)
        return "".join("(?:.*\n)*" if line == "…\n" else ".*".join(map(re.escape, line.split("…"))) for line in lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples(page: Path, project: Project, needs: Callable[..., str]) -> None:
    needs("curl")
    folders = [Path(sys.executable).parent, Path(needs("node")).parent]
    path = os.pathsep.join([*map(str, folders), project.environment["PATH"]])
    for language, block in FENCE.findall(page.read_text()):
        if language in ("yaml", "python", "javascript", "typescript"):
            if found := FILE.match(block):
                project.file(found[1], block)
            else:
                assert block.startswith("# yaml-language-server:"), block
        elif language == "sh":
            assert set(block.split("\n")) - {""} <= SCRIPTS
        elif language == "console":
            for step in Step.all(block):
                done = subprocess.run(
                    ["bash", "-c", f"exec 2>&1; {step.command}"],
                    cwd=project.root,
                    env=project.environment | {"PATH": path},
                    capture_output=True,
                    text=True,
                    timeout=60,
                    check=False,
                )
                assert re.fullmatch(step.pattern(), done.stdout), f"$ {step.command}\n{done.stdout}"
        else:
            assert language == ""
    if (project.root / "mocks").exists():
        assert project.eve_mocks("check").returncode == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize(
    "option", ["--dir", "--live", "--fail-on-block", "--contain", "--session", "--stubs", "--seed", "--fail-on-unused"]
)
def test_every_option_of_run_is_told(option: str) -> None:
    assert f"`{option}" in (ROOT / "docs" / "runs.md").read_text()


def test_every_dependency_has_a_reason() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = [re.split(r"[<>=;]", requirement)[0].strip() for requirement in declared]
    table = re.findall(r"^\| (\w[\w., -]*) \|", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sorted(", ".join(table[1:]).split(", "), key=str.lower) == sorted(names, key=str.lower)
