"""Scripts: envelopes, the key of a request, positions."""

from __future__ import annotations

from typing import Any

import pytest

from eve_mocks.scripts import Envelope, Positions, envelope, key_of


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("text", Envelope("text")),
        ({"score": 4}, Envelope({"score": 4})),
        ({"result": "x"}, Envelope("x")),
        ({"result": "x", "usage": {"totalTokens": 120}}, Envelope("x", usage={"totalTokens": 120})),
        ({"result": "x", "messages": [], "raw": 1}, Envelope("x", messages=[], raw=1)),
        ({"result": {"result": "x"}}, Envelope({"result": "x"})),
        ({"result": "x", "other": 1}, Envelope({"result": "x", "other": 1})),
        ({"usage": {}}, Envelope({"usage": {}})),
        (None, Envelope(None)),
    ],
    ids=repr,
)
def test_an_entry_is_an_envelope_only_by_its_own_keys(entry: Any, expected: Envelope) -> None:
    assert envelope(entry) == expected


@pytest.mark.parametrize(
    ("candidates", "key"),
    [(["draft", "gpt-5.5"], "draft"), (["other", "gpt-5.5"], "gpt-5.5"), (["other"], None), ([], None)],
    ids=["its name", "its model", "neither", "nothing"],
)
def test_the_key_of_a_request(candidates: list[str], key: str | None) -> None:
    assert key_of(candidates, {"draft": 1, "gpt-5.5": 1}) == key


def test_entries_are_taken_in_order_and_a_queue_runs_dry() -> None:
    positions = Positions()
    assert [positions.take("a", 2) for _ in range(4)] == [0, 1, None, None]
    assert positions.take("b", 1) == 0


def test_the_last_entry_repeats_where_that_is_asked_for() -> None:
    positions = Positions()
    assert [positions.take("a", 2, repeat_last=True) for _ in range(4)] == [0, 1, 1, 1]
    assert positions.take("b", 0, repeat_last=True) is None
