"""Schema files, ``schemas/<name>.json`` in the mocks folder: what an upstream says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eve_mocks.document import Document
from eve_mocks.errors import MockError
from eve_mocks.json_text import read_json

if TYPE_CHECKING:
    from eve_mocks.folder import Folder


def read(name: str, folder: Folder) -> Document | None:
    """What an MCP server lists: ``tools``, and maybe ``resources``, ``resourceTemplates`` and ``prompts``.

    None where there is no file. Raises ``MockError``.
    """
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
    for key in ("resources", "resourceTemplates", "prompts"):
        if not isinstance(value.get(key, []), list):
            raise _unusable(file, f"has {key} that are no list")
    return Document(value, file, folder, lines)


def listed(pulled: Document | None, key: str, by: str) -> dict[str, dict[str, Any]]:
    """The entries of a list of a schema file, by what names them."""
    entries = [] if pulled is None else pulled.value.get(key, [])
    return {entry[by]: entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get(by), str)}


def _unusable(file: str, wrong: str) -> MockError:
    return MockError(
        f"the schema file {file} {wrong}",
        why="the tools of an mcp mock are described by what its upstream answers to tools/list",
        fix='Put that answer there, {"tools": [...]}, or delete the file and describe the tools in the mock.',
        file=file,
        line=1,
    )
