"""Schema files, ``schemas/<name>.json`` in the mocks folder: what an upstream says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eve_mocks.document import Document
from eve_mocks.errors import MockError
from eve_mocks.json_text import read_json

if TYPE_CHECKING:
    from eve_mocks.folder import Folder


def tools(name: str, folder: Folder) -> Document | None:
    """The ``tools`` of an MCP server's ``tools/list`` result, or None where there is no file. Raises ``MockError``."""
    path = folder.path / "schemas" / f"{name}.json"
    file = folder.show(path)
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise _unusable(file, f"is not UTF-8 text: the byte 0x{error.object[error.start]:02x}") from error
    except OSError as error:
        raise _unusable(file, f"cannot be read: {error.strerror}") from error
    if not text.strip():
        raise _unusable(file, "is empty")
    value, lines = read_json(text, file)
    if not isinstance(value, dict) or not isinstance(value.get("tools"), list):
        raise _unusable(file, 'is not a tools/list result: it has no list "tools"')
    return Document(value, file, folder, lines).part("tools")


def _unusable(file: str, wrong: str) -> MockError:
    return MockError(
        f"the schema file {file} {wrong}",
        why="the tools of an mcp mock are described by what its upstream answers to tools/list",
        fix='Put that answer there, {"tools": [...]}, or delete the file and describe the tools in the mock.',
        file=file,
        line=1,
    )
