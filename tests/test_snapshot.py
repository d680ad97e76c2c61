from __future__ import annotations

import pytest

from eve_mocks import snapshot
from eve_mocks.errors import MockError
from eve_mocks.folder import Folder


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "schemas").mkdir()
    return Folder(tmp_path, "mocks")


def test_no_file_is_no_description(folder):
    assert snapshot.read("linear", folder) is None


def test_the_tools_know_their_lines(folder):
    text = '{\n  "tools": [\n    {"name": "list_issues",\n     "description": "Lists"}\n  ]\n}\n'
    (folder.path / "schemas" / "linear.json").write_text(text)
    tools = snapshot.read("linear", folder).part("tools")
    assert tools.value == [{"name": "list_issues", "description": "Lists"}]
    assert tools.file == "mocks/schemas/linear.json"
    assert tools.part(0).line_of("description") == 4


def test_a_byte_order_mark_is_no_error(folder):
    (folder.path / "schemas" / "linear.json").write_bytes(b'\xef\xbb\xbf{"tools": []}')
    assert snapshot.read("linear", folder).value == {"tools": []}


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        pytest.param(b"", 1, "is empty", id="0 bytes"),
        pytest.param(b"\n\n", 1, "is empty", id="blank"),
        pytest.param(b'{\n "tools": [\n}', 3, "is not JSON", id="broken"),
        pytest.param(b'{"tools": [],\n "tools": []}', 2, "stands twice", id="repeated key"),
        pytest.param(b'{"tools": "\xff"}', 1, "not UTF-8", id="not text"),
        pytest.param(b'{"openapi": "3.1.0"}', 1, "no list", id="another document"),
        pytest.param(b"[]", 1, "no list", id="a list"),
        pytest.param(b'{"tools": {}}', 1, "no list", id="tools by name"),
        pytest.param(b'{"tools": [], "prompts": {}}', 1, "prompts that are no list", id="prompts by name"),
    ],
)
def test_a_file_that_describes_no_tools_is_told_with_its_line(folder, content, line, message):
    (folder.path / "schemas" / "linear.json").write_bytes(content)
    with pytest.raises(MockError, match=message) as caught:
        snapshot.read("linear", folder)
    assert (caught.value.file, caught.value.line) == ("mocks/schemas/linear.json", line)


def test_a_folder_in_place_of_the_file_is_told(folder):
    (folder.path / "schemas" / "linear.json").mkdir()
    with pytest.raises(MockError, match="cannot be read"):
        snapshot.read("linear", folder)


def test_what_else_is_listed(folder):
    text = '{"tools": [], "prompts": [{"name": "a", "title": "A"}, {"title": "nameless"}, 1]}'
    (folder.path / "schemas" / "linear.json").write_text(text)
    pulled = snapshot.read("linear", folder)
    assert snapshot.listed(pulled, "prompts", "name") == {"a": {"name": "a", "title": "A"}}
    assert snapshot.listed(pulled, "resources", "uri") == {}
    assert snapshot.listed(None, "prompts", "name") == {}
