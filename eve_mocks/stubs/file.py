"""A file of eve's stub rules, as ``--stubs`` takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eve_mocks.data_file import read_documents
from eve_mocks.errors import MockError
from eve_mocks.folder import Folder
from eve_mocks.stubs.rules import read_for

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from eve_mocks.model import Mock
    from eve_mocks.stubs.rules import Rules


def load_stubs(file: Path, mocks: Iterable[Mock], *, shown: str) -> Rules:
    """The rules of a file. ``shown`` is how the user calls it, also in reports. Raises ``MockError``."""
    documents = read_documents(file, shown, Folder.at(file.parent))
    if len(documents) != 1:
        raise MockError(
            f"{shown} {'holds more than one document' if documents else 'is empty'}",
            why="a file of stubs is one list of rules",
            fix="Write for example [{id: tasks, tool: list_tasks, outcome: {response: {tasks: []}}}]",
            file=shown,
            line=1,
        )
    return read_for(mocks, documents[0], shown)
