"""Embeddings without a model: the same text always has the same vector, and texts that share words have near ones."""

from __future__ import annotations

import hashlib
import math
import re
from typing import TYPE_CHECKING

from eve_mocks.errors import MockError, as_written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eve_mocks.response import Json

_WORD = re.compile(r"\w+")
# How many dimensions a word counts in: one alone would make too many words equal to each other.
_PLACES = 4


def unit_vector(text: str, dimensions: int) -> list[float]:
    """A vector of length 1. Each word adds to a few of the dimensions, and so does the text as a whole."""
    found = [0.0] * dimensions
    for word in (*_WORD.findall(text.lower()), text):
        digest = hashlib.blake2b(word.encode(errors="surrogatepass"), digest_size=4 * _PLACES).digest()
        for start in range(0, len(digest), 4):
            number = int.from_bytes(digest[start : start + 4])
            found[(number >> 1) % dimensions] += 1.0 if number & 1 else -1.0
    length = math.hypot(*found)
    if not length:  # all of it has cancelled out, which happens where dimensions are few
        return [1.0] + [0.0] * (dimensions - 1)
    return [value / length for value in found]


def vectors(given: Json, count: int) -> Sequence[Sequence[float]]:
    """The vectors of an entry, one for each text; one alone is that of all. Raises ``MockError``."""
    if _is_vector(given):
        return [given] * count
    if isinstance(given, list) and len(given) == count and all(map(_is_vector, given)):
        return given
    raise MockError(
        f"the entry for {count} {'text' if count == 1 else 'texts'} is {as_written(given)}",
        why="embeddings are answered with a vector for each text, or one for them all",
        fix="Write for example [0.1, 0.2], or [[0.1, 0.2], [0.3, 0.4]] for two texts.",
    )


def _is_vector(value: Json) -> bool:
    is_list = isinstance(value, list) and bool(value)
    return is_list and all(isinstance(one, int | float) and not isinstance(one, bool) for one in value)
