"""The families of mocks. A new one is one file here and one line in ``KINDS``; it is imported where a file has it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from eve_mocks.kinds import allow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eve_mocks.document import Document
    from eve_mocks.model import Mock, Passage


def _http(name: str, document: Document) -> Mock:
    from eve_mocks.kinds import http

    return http.from_document(name, document)


def _mcp(name: str, document: Document) -> Mock:
    from eve_mocks.kinds import mcp

    return mcp.from_document(name, document)


def _model(name: str, document: Document) -> Mock:
    from eve_mocks.kinds import model

    return model.from_document(name, document)


def _oauth(name: str, document: Document) -> Mock:
    from eve_mocks.kinds import oauth

    return oauth.from_document(name, document)


# By the word under ``kind:``, what makes a mock of a name and a document. Each raises ``MockError``.
KINDS: Mapping[str, Callable[[str, Document], Mock | Passage]] = {
    "http": _http,
    "mcp": _mcp,
    "model": _model,
    "oauth": _oauth,
    "allow": functools.partial(allow.from_document, "allow"),
    "block": functools.partial(allow.from_document, "block"),
}
