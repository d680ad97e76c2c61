"""What mock files say of their upstreams, also where the mocks do not load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eve_mocks import sources
from eve_mocks.folder import Folder

if TYPE_CHECKING:
    from pathlib import Path


def test_every_form_of_a_mock(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: mcp\nurl: https://a.test/mcp\nresults: {no_such: 1}\n")
    (tmp_path / "b.yaml").write_text(
        "kind: http\nurl: https://b.test/\nspec: [x.yaml, https://b.test/o.json]\n---\nkind: allow\nurl: https://c.test/\n"
    )
    (tmp_path / "d.json").write_text('{"kind": "http", "url": "https://d.test/", "spec": "https://d.test/o.yaml"}')
    (tmp_path / "e.py").write_text(
        "from eve_mocks import http_mock, mcp_mock, allow, model_mock\n"
        "one = mcp_mock('https://e.test/mcp')\n"
        "two = http_mock('https://f.test/', spec='https://f.test/o.json')\n"
        "three = allow('https://g.test/', why='x')\n"
    )
    (tmp_path / "m.yaml").write_text("kind: model\nprovider: openai\n")
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas/a.json").write_text("nonsense")
    (tmp_path / "bad.yaml").write_text("kind: [")
    (tmp_path / "list.yaml").write_text("- 1\n")
    (tmp_path / "boom.py").write_text("1 / 0\n")
    found, errors = sources.read(Folder.at(tmp_path, "mocks"))
    assert [(each.name, each.kind, each.url, each.specs, each.is_pulled) for each in found] == [
        ("a", "mcp", "https://a.test/mcp", (), True),
        ("b.1", "http", "https://b.test/", ((2, "https://b.test/o.json"),), True),
        ("b.2", "allow", "https://c.test/", (), False),
        ("d", "http", "https://d.test/", ((1, "https://d.test/o.yaml"),), True),
        ("e.one", "mcp", "https://e.test/mcp", (), True),
        ("e.two", "http", "https://f.test/", ((1, "https://f.test/o.json"),), True),
        ("e.three", "allow", "", (), False),
        ("m", "model", "", (), False),
    ]
    assert [(each.file, each.line) for each in found[:1]] == [("mocks/a.yaml", 2)]
    assert [error.file for error in errors] == ["mocks/bad.yaml", "mocks/boom.py"]


def test_no_folder(tmp_path: Path) -> None:
    assert sources.read(Folder.at(tmp_path / "none")) == ([], [])
