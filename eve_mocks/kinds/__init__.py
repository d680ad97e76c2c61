"""The families of mocks. A new one is one file here and one line in ``KINDS``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from eve_mocks.kinds import allow, http, mcp, model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eve_mocks.document import Document
    from eve_mocks.model import Mock, Passage

# By the word under ``kind:``, what makes a mock of a name and a document. Each raises ``MockError``.
KINDS: Mapping[str, Callable[[str, Document], Mock | Passage]] = {
    "http": http.from_document,
    "mcp": mcp.from_document,
    "model": model.from_document,
    "allow": functools.partial(allow.from_document, "allow"),
    "block": functools.partial(allow.from_document, "block"),
}
