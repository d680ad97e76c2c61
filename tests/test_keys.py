"""Placeholders for the keys of providers: only where a mock answers, and nothing else defines the key."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from eve_mocks.keys import PLACEHOLDER, placeholders
from eve_mocks.load import load
from eve_mocks.router import Router

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

OPENAI = "{kind: model, provider: openai, scripts: {m: []}}"


def names(folder: Path, mock: str, given: dict[bytes, bytes] | None = None) -> list[str]:
    (folder / "mocks").mkdir(exist_ok=True)
    (folder / "mocks" / "m.yaml").write_text(mock)
    mocks = load(folder / "mocks")
    assert mocks.errors == []
    return sorted(placeholders(Router(mocks.mocks, mocks.passages), given or {}, folder))


@pytest.mark.parametrize(
    ("mock", "expected"),
    [
        (OPENAI, ["OPENAI_API_KEY"]),
        ("{kind: http, url: 'https://api.openai.com/', routes: {}}", ["OPENAI_API_KEY"]),
        ("{kind: http, url: 'https://*.vercel.sh/', routes: {}}", ["AI_GATEWAY_API_KEY"]),
        ("{kind: allow, url: 'https://api.openai.com/', why: a test}", []),
        ("{kind: http, url: 'https://api.openai.com/v1/audio', routes: {}}", []),
        ("{kind: model, url: 'https://models.example.com/v1', scripts: {m: []}}", []),
    ],
    ids=["model", "http", "a wildcard", "allowed", "another path", "another server"],
)
def test_which_providers_have_one(tmp_path: Path, mock: str, expected: list[str]) -> None:
    assert names(tmp_path, mock) == expected


def test_an_allow_entry_of_the_api_counts_more_than_a_mock_of_the_host(tmp_path: Path) -> None:
    both = f"{OPENAI}\n---\n{{kind: allow, url: 'https://api.openai.com/v1/chat', why: a test}}"
    assert names(tmp_path, both) == []


@pytest.mark.parametrize(("value", "expected"), [(b"sk-1", []), (b"", ["OPENAI_API_KEY"])], ids=["set", "empty"])
def test_what_is_set_stays(tmp_path: Path, value: bytes, expected: list[str]) -> None:
    assert names(tmp_path, OPENAI, {b"OPENAI_API_KEY": value}) == expected


@pytest.mark.parametrize(
    ("file", "text", "defined"),
    [
        (".env", "OPENAI_API_KEY=sk-1\n", True),
        (".env.local", "A=1\n  export OPENAI_API_KEY = 'sk-1'\n", True),
        (".env", "OPENAI_API_KEY=\nB=1\n", False),
        (".env", "OPENAI_API_KEY=''\n", False),
        (".env", "# OPENAI_API_KEY=sk-1\n", False),
        (".env", "MY_OPENAI_API_KEY=sk-1\n", False),
        (".env.example", "OPENAI_API_KEY=sk-1\n", False),
        ("env", "OPENAI_API_KEY=sk-1\n", False),
    ],
)
def test_a_file_of_the_project_may_define_it(tmp_path: Path, file: str, text: str, *, defined: bool) -> None:
    (tmp_path / file).write_text(text)
    assert names(tmp_path, OPENAI) == ([] if defined else ["OPENAI_API_KEY"])


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    assert names(tmp_path, OPENAI) == ["OPENAI_API_KEY"]


def test_the_command_finds_it(project: Project) -> None:
    project.file("mocks/ai.yaml", OPENAI)
    code = "import os; print(os.environ.get('OPENAI_API_KEY'), os.environ.get('ANTHROPIC_API_KEY'))"
    assert project.eve_mocks("run", "--", sys.executable, "-c", code).stdout == f"{PLACEHOLDER} None\n"
