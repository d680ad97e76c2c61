"""Embeddings without a model: the same text always has the same vector, and texts that share words have near ones."""

from __future__ import annotations

import hashlib
import math
import re

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
