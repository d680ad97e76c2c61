"""The package that evals of a project import is written where they do, and nowhere else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from eve_mocks.npm_package import SOURCE, ensure, is_imported

if TYPE_CHECKING:
    from pathlib import Path

IMPORT = "import { mock } from 'eve-mocks/evals';\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "a.eval.ts").write_text(IMPORT)
    return tmp_path


def test_it_is_written_and_stays_as_it_is(project: Path) -> None:
    assert ensure(project) is None
    folder = project / "node_modules" / "eve-mocks"
    package = json.loads((folder / "package.json").read_text())
    assert package["exports"] == {"./evals": {"types": "./evals.d.ts", "default": "./evals.mjs"}}
    assert (folder / "evals.mjs").read_bytes() == (SOURCE / "evals.mjs").read_bytes()
    written = {path: path.stat().st_ino for path in folder.iterdir()}
    assert ensure(project) is None
    assert {path: path.stat().st_ino for path in folder.iterdir()} == written


def test_an_older_one_is_replaced(project: Path) -> None:
    ensure(project)
    old = project / "node_modules" / "eve-mocks" / "evals.mjs"
    old.write_text("// old")
    assert ensure(project) is None
    assert old.read_bytes() == (SOURCE / "evals.mjs").read_bytes()


def test_another_package_of_the_name_is_left_alone(project: Path) -> None:
    theirs = project / "node_modules" / "eve-mocks" / "package.json"
    theirs.parent.mkdir(parents=True)
    theirs.write_text('{"name": "eve-mocks", "version": "9.9.9"}')
    problem = ensure(project)
    assert problem is not None
    assert "node_modules/eve-mocks is another package" in problem.message
    assert [path.name for path in theirs.parent.iterdir()] == ["package.json"]


def test_a_link_to_elsewhere_is_left_alone(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / "node_modules").mkdir()
    (project / "node_modules" / "eve-mocks").symlink_to(elsewhere)
    assert ensure(project) is not None
    assert list(elsewhere.iterdir()) == []


def test_where_it_cannot_be_written_the_run_goes_on(project: Path) -> None:
    (project / "node_modules").write_text("a file")
    problem = ensure(project)
    assert problem is not None
    assert "cannot be written" in problem.message


@pytest.mark.parametrize(
    ("path", "text", "is_imported_there"),
    [
        ("evals/deep/er/b.eval.mts", IMPORT, True),
        ("evals/b.eval.js", "const { mock } = await import('eve-mocks/evals');", True),
        ("evals/b.eval.ts", "import { defineEval } from 'eve/evals';", False),
        ("evals/notes.md", IMPORT, False),
        ("evals/node_modules/x/index.js", IMPORT, False),
        ("src/a.ts", IMPORT, False),
    ],
)
def test_where_it_is_imported(tmp_path: Path, path: str, text: str, is_imported_there: bool) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert is_imported(tmp_path / "evals") is is_imported_there
    ensure(tmp_path)
    assert (tmp_path / "node_modules").exists() is is_imported_there
