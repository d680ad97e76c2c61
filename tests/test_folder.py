"""The mocks folder: what is in it, and how it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from eve_mocks.errors import MockError
from eve_mocks.folder import Folder

FOLDER = Folder(Path("/home/me/mocks"), "mocks")


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("/home/me/mocks/a.yaml", "mocks/a.yaml"),
        ("/home/me/mocks/lib/b.py", "mocks/lib/b.py"),
        ("/home/me/mocks-old/a.yaml", "/home/me/mocks-old/a.yaml"),
        ("/usr/lib/x.py", "/usr/lib/x.py"),
        ("<string>", "<string>"),
    ],
)
def test_files_are_shown_as_the_user_knows_them(file: str, shown: str) -> None:
    assert FOLDER.show(file) == shown


@pytest.mark.parametrize(
    ("name", "path"),
    [("a.png", "a.png"), ("files/a.png", "files/a.png"), ("./files/../a.png", "a.png"), ("/home/me/mocks/a", "a")],
)
def test_files_of_a_mock_are_below_the_folder(name: str, path: str) -> None:
    assert FOLDER.file(name) == FOLDER.path / path


@pytest.mark.parametrize("name", ["../a", "files/../../a", "/etc/passwd", "../mocks-old/a", "a\0b"])
def test_files_outside_the_folder_are_refused(name: str) -> None:
    with pytest.raises(MockError, match="is not in mocks"):
        FOLDER.file(name)
