"""The scripts of the repository do what their first lines say."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted(path for path in (ROOT / "scripts").iterdir() if not path.suffix)


@pytest.mark.parametrize("script", [*SCRIPTS, ROOT / ".ci" / "run"], ids=lambda path: path.name)
def test_a_script_can_be_run_and_says_what_it_is_for(script: Path) -> None:
    assert os.access(script, os.X_OK)
    first, second, *_ = script.read_text().splitlines()
    assert re.match(r"#!/usr/bin/env (bash|python3)$", first)
    assert re.match(r'# \w|"""\w', second)


def test_ci_runs_the_tests() -> None:
    assert "../scripts/test" in (ROOT / ".ci" / "run").read_text()


def test_demo(home: Path) -> None:
    """It exits 0 only when each line that its agent says is the expected one, and the run exits 1."""
    done = subprocess.run(
        [ROOT / "scripts" / "demo"],
        env=os.environ | {"XDG_DATA_HOME": str(home / "data")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "blocked   1   logs.example.com  GET /v1/tail" in done.stderr


def test_setup_tells_what_to_install_where_there_is_no_python(tmp_path: Path) -> None:
    """In a copy, on a PATH with everything but a Python."""
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/setup", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("bash", "dirname", "sha256sum", "cat", "ls", "sort"):
        (tools / tool).symlink_to(f"/usr/bin/{tool}")
    done = subprocess.run(
        ["/usr/bin/bash", "scripts/setup"],
        cwd=tmp_path,
        env={"PATH": str(tools), "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert "no Python 3.12 or newer with venv was found" in done.stderr
    assert "apt-get install" in done.stderr
    assert not (tmp_path / ".venv").exists()
