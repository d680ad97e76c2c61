"""Kinds ``allow`` and ``block``: an upstream that is named, with a reason, without being mocked."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

from eve_mocks.declared import Declared
from eve_mocks.errors import Collecting, MockError
from eve_mocks.match import RAW, parse_claim
from eve_mocks.model import Passage

if TYPE_CHECKING:
    from eve_mocks.document import Document
    from eve_mocks.folder import Folder

type Word = Literal["allow", "block"]

# What is not HTTP, and yet can be named: a datagram can be expected, and not let out.
_RAW = {"allow": ("tcp",), "block": RAW}
KEYS = ("kind", "url", "why")
_WHY = "a reason is what tells a later reader whether the entry may go"


def from_document(kind: Word, name: str, document: Document) -> Passage:
    """An entry of a YAML or JSON file. Raises ``MockError``, or ``Mistakes``."""
    mistakes = Collecting()
    with mistakes:
        document.mapping(KEYS)
    are_known = not mistakes.errors  # else a key that is missing may be the one that is misspelt
    if are_known or "url" in document:
        with mistakes:
            url = document.required("url", why=f"{kind} names one upstream", example="https://api.example.com/")
            _check_url(kind, url)
    if are_known or "why" in document:
        with mistakes:
            _check_why(document.required("why", why=_WHY, example="evals need a real model"))
    mistakes.tell()
    given = document.value
    return Passage(
        kind=kind, name=name, url=given["url"], why=given["why"], file=document.file, line=document.line_of("url")
    )


def _check_url(kind: Word, url: Document) -> None:
    with url.placing():
        parse_claim(url.value, raw=_RAW[kind])


def _check_why(why: Document) -> None:
    if not why.text(example="evals need a real model").strip():
        raise why.error("why is empty", why=_WHY, fix="Write the reason.")


class _Entry(Declared):
    def __init__(self, kind: Word, url: str, why: str) -> None:
        super().__init__()
        parse_claim(url, raw=_RAW[kind])
        if not isinstance(why, str) or not why.strip():
            raise MockError(f"{kind} has no reason", why=_WHY, fix=f'Write {kind}("{url}", why="…").')
        self._passage = Passage(kind=kind, name="", url=url, why=why)

    def named(self, name: str, folder: Folder) -> Passage:
        return dataclasses.replace(self._passage, name=name, file=folder.show(self.file), line=self.line)


def allow(url: str, *, why: str) -> Declared:
    """Let an upstream be reached. ``why`` is for the reader of the mocks folder."""
    return _Entry("allow", url, why)


def block(url: str, *, why: str) -> Declared:
    """Name an upstream that is known to be called and may fail."""
    return _Entry("block", url, why)
