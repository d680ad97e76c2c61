"""What loads and does nothing is told: files that are not read, mocks that nothing holds, folders elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from eve_mocks.load import load

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "from eve_mocks import http_mock, mcp_mock, allow\n"
SHOP = HEAD + "shop = http_mock('https://shop.test/')\n@shop.get('/')\ndef home(): ...\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mocks").mkdir()
    (tmp_path / "mocks/block.yaml").write_text("kind: block\nurl: https://b.test/\nwhy: noise\n")
    return tmp_path / "mocks"


def told(folder: Path) -> list[tuple[str, str]]:
    loaded = load(folder, shown="mocks")
    assert loaded.errors == []
    assert all(problem.why for problem in loaded.problems)
    return [(problem.message, problem.fix) for problem in loaded.problems]


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("d.yamll", ".yaml"),
        ("d.ymal", ".yml"),
        ("d.YAML", ".yaml"),
        ("d.yml.bak", ".yml"),
        ("d.py.txt", ".py"),
        ("d.jsonc", ".json"),
        ("d.jsn", ".json"),
        ("d.v1.yam", ".yaml"),
    ],
)
def test_a_file_whose_ending_is_nearly_right_is_told(folder: Path, name: str, suffix: str) -> None:
    (folder / name).touch()
    ((message, fix),) = told(folder)
    assert message == f"mocks/{name} is not read"
    assert fix.startswith(f"Rename it to end in {suffix},")


@pytest.mark.parametrize(
    "name", ["README.md", "page.html", "feed.xml", "logo.png", "pay.yaml~", ".d.yamll", "Makefile", "notes.txt"]
)
def test_a_file_that_is_no_mock_is_left_alone(folder: Path, name: str) -> None:
    (folder / name).touch()
    assert told(folder) == []


PYTHON: list[tuple[str, str, list[str]]] = [
    ("a helper", "x = 1\n", ["mocks/m.py holds no mock"]),
    ("nothing", "", ["mocks/m.py holds no mock"]),
    ("all is well", SHOP, []),
    (
        "a mock that nothing holds",
        HEAD + "http_mock('https://a.test/')\n",
        ["mocks/m.py:2: a mock is made here, and nothing holds it"],
    ),
    (
        "one beside a mock that is held",
        SHOP + "allow('https://a.test/', why='x')\n",
        ["mocks/m.py:5: a mock is made here, and nothing holds it"],
    ),
    (
        "mocks in a list",
        HEAD + "mocks = [\n    mcp_mock('https://a.test/mcp'),\n]\n",
        ["mocks/m.py:3: a mock is made here, and nothing holds it"],
    ),
    (
        "a decorator above nothing",
        SHOP + "shop.post('/x')\n",
        ["mocks/m.py:5: the decorator for POST /x stands above no function"],
    ),
    (
        "a decorator that was called with a function",
        SHOP + "shop.post('/x')(home)\nboth = shop.put('/x')\nboth(home)\n",
        [],
    ),
    (
        "a tool's decorator above nothing",
        HEAD + "m = mcp_mock('https://a.test/mcp')\nm.tool('search')\nm.tool()\n",
        [
            "mocks/m.py:3: the decorator for search stands above no function",
            "mocks/m.py:4: the decorator for a tool stands above no function",
        ],
    ),
    ("no tools", HEAD + "m = mcp_mock('https://a.test/mcp')\n", ["mocks/m.py:2: the mock has no tool that answers"]),
    ("no routes", HEAD + "m = http_mock('https://a.test/')\n", ["mocks/m.py:2: the mock has no routes"]),
]


@pytest.mark.parametrize(("source", "expected"), [row[1:] for row in PYTHON], ids=[row[0] for row in PYTHON])
def test_a_python_file_that_does_less_than_it_says(folder: Path, source: str, expected: list[str]) -> None:
    (folder / "m.py").write_text(source)
    assert [message for message, _ in told(folder)] == expected


def test_a_mock_that_another_file_holds_is_held(folder: Path) -> None:
    (folder / "lib").mkdir()
    (folder / "lib/made.py").write_text(SHOP)
    (folder / "a.py").write_text("import lib.made\n" + SHOP.replace("shop.test", "a.test"))
    assert [message for message, _ in told(folder)] == [
        "mocks/lib/made.py:2: a mock is made here, and nothing holds it",
    ]
    (folder / "b.py").write_text("from lib.made import shop\n")
    assert told(folder) == []


def test_described_tools_without_an_answer_are_told(folder: Path) -> None:
    (folder / "m.yaml").write_text("kind: mcp\nurl: https://a.test/mcp\ntools: {x: {description: X}}\n")
    ((message, fix),) = told(folder)
    assert message == "mocks/m.yaml:1: the mock has no tool that answers"
    assert "results:" in fix


def test_a_folder_of_the_name_further_up_is_hinted_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = folder.parent / "packages" / "app"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    ((message, fix),) = told(below / "mocks")
    assert message == "mocks does not exist"
    assert fix == "mocks is there in ../..: run it from there, or with eve-mocks --dir ../../mocks"
    (below / "mocks").mkdir()
    ((message, fix),) = told(below / "mocks")
    assert message == "mocks holds no mocks"
    assert "--dir ../../mocks" in fix
    monkeypatch.chdir(folder)
    ((_, fix),) = told(folder / "mocks")
    assert fix == "mocks is there in ..: run it from there, or with eve-mocks --dir ."
    (folder / "block.yaml").unlink()
    ((_, fix),) = told(folder / "mocks")
    assert fix.startswith("Begin with eve-mocks add")
