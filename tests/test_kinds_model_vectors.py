"""Vectors of texts: of length 1, the same in every run, and near to each other where words are shared."""

from __future__ import annotations

import math

import pytest

from eve_mocks.kinds.model.vectors import unit_vector

TEXTS = ["", "a", "How do refunds work?", "日本語のテキスト", "word " * 5000, "\ud800"]


@pytest.mark.parametrize("dimensions", [1, 2, 3, 64, 1536])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_the_length_is_one(text: str, dimensions: int) -> None:
    found = unit_vector(text, dimensions)
    assert (len(found), math.hypot(*found)) == (dimensions, pytest.approx(1))


def test_the_same_text_has_the_same_vector_in_every_run() -> None:
    assert unit_vector("hello there", 4) == pytest.approx([-0.949, 0.0, 0.316, 0.0], abs=0.001)


def test_texts_that_share_words_are_near() -> None:
    refunds, again, rain = (unit_vector(text, 768) for text in ("How do refunds work?", "how refunds work", "It rains"))
    assert math.sumprod(refunds, again) > 0.5 > math.sumprod(refunds, rain)
    assert refunds != again


def test_what_cancels_out_is_a_vector_too() -> None:
    assert [1.0, 0.0] in (unit_vector(str(number), 2) for number in range(100))
