"""How many tokens a text has, for the operations that count: no model's own number, but the same in every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CHARACTERS = 4


def tokens_of(texts: Iterable[str]) -> int:
    """One for every four characters begun, text by text."""
    return sum(-(-len(text) // _CHARACTERS) for text in texts)
