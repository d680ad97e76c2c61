"""A YAML or JSON file -> its documents, which know their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eve_mocks.document import Document
from eve_mocks.errors import MockError
from eve_mocks.json_text import read_json
from eve_mocks.match import nearest

if TYPE_CHECKING:
    from pathlib import Path

    from eve_mocks.folder import Folder


def read_documents(file: Path, shown: str, folder: Folder) -> list[Document]:
    """The documents of a file; none if it is empty. ``shown`` is how the user calls it. Raises ``MockError``."""
    text = _read(file, shown)
    if file.suffix == ".json" and text.strip():
        values = [read_json(text, shown)]
    else:
        from eve_mocks.yaml_text import read_yaml  # a folder of Python mocks needs no YAML

        values = list(read_yaml(text, shown))
    return [Document(value, shown, folder, lines) for value, lines in values]


def _read(file: Path, shown: str) -> str:
    """UTF-8 text, with or without a byte order mark."""
    try:
        data = file.read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise MockError(
            f"{shown} cannot be read: {error.strerror}",
            why="it is read before the command starts",
            fix=_nearest(file) if isinstance(error, FileNotFoundError) else "Make it readable, or move it away.",
            file=shown,
        ) from error
    except UnicodeDecodeError as error:
        raise MockError(
            f"{shown} is not UTF-8 text",
            why=f"the byte 0x{data[error.start]:02x} cannot stand there",
            fix="Save the file as UTF-8.",
            file=shown,
            line=data.count(b"\n", 0, error.start) + 1,
        ) from error


def _nearest(file: Path) -> str:
    try:
        near = nearest(file.name, [entry.name for entry in file.parent.iterdir()])
    except OSError:
        return f"Make the folder {file.parent}, or name another file."
    return f"Did you mean {file.with_name(near)}?" if near else "Write it, or name another file."
