"""JSON as Python reads it, without what is ambiguous, and with lines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eve_mocks.errors import MockError
from eve_mocks.json_text import read_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("{'a': 1}", 1, "not JSON"),
        ('{"a": 1,\n}', 1, "not JSON"),
        ('{"a": 1}\n// no', 2, "not JSON"),
        ('{"a": 1,\n "a": 2}', 2, "'a' stands twice"),
        ('{"a": [1, "x,{", {"b": 1,\n\n "b": {"c": 1}}]}', 3, "'b' stands twice"),
        ('{"\\u0061": 1,\n "a": 2}', 2, "'a' stands twice"),
        ('{"a":\n NaN}', 2, "NaN"),
        ('{"a": "NaN",\n "b": -Infinity}', 2, "-Infinity"),
        ('{"a":\n 1e999}', 2, "1e999"),
        ('{"a":\n ' + "9" * 5000 + "}", 2, "99999"),
        ('{"a": "\\ud800"}', None, "lone surrogate"),
    ],
)
def test_mistakes_are_told_with_their_line(text: str, line: int | None, told: str) -> None:
    with pytest.raises(MockError) as caught:
        read_json(text, "m.json")
    assert (caught.value.file, caught.value.line) == ("m.json", line)
    assert told in caught.value.message


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert read_json('{"a": "\\ud83d\\ude00"}', "m.json")[0] == {"a": "😀"}


def test_lines_are_those_of_keys_and_items() -> None:
    text = '{"a": [1,\n  {"b": "}",\n   "c": []}],\n "d": -1.5}'
    _, lines = read_json(text, "m.json")
    paths = ((), ("a",), ("a", 0), ("a", 1), ("a", 1, "b"), ("a", 1, "c"), ("d",), ("d", "z"), ("a", 1, "z"))
    assert [lines(path) for path in paths] == [1, 1, 1, 2, 2, 3, 4, 4, 2]


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [path, *(found for key in keys for found in _paths(value[key], (*path, key)))]


@given(JSON)
def test_every_part_of_indented_json_has_a_line_of_its_own(value: Any) -> None:
    """Indented by Python, each key and each item begins a line, in the order of the value."""
    found, lines = read_json(json.dumps(value, indent=1), "m.json")
    assert found == value
    places = [lines(path) for path in _paths(value)]
    assert places == sorted(set(places))


@given(st.text(alphabet='{}[]",:01e-.\\ntrufalsN \n', max_size=60))
def test_any_text_gives_json_or_an_error(text: str) -> None:
    try:
        value, lines = read_json(text, "m.json")
    except MockError:
        return
    assert lines(("a",)) >= 1
    assert json.loads(text) == value
