"""Kind ``http``: any HTTP service, answered from routes and handlers by method and path."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eve_mocks.document import Document
    from eve_mocks.model import Mock


def from_document(name: str, document: Document) -> Mock:
    raise NotImplementedError
