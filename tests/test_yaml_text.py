"""YAML 1.2's core schema, and everything that is refused, with its line."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eve_mocks.errors import MockError
from eve_mocks.yaml_text import MOST_CHARACTERS, read_yaml


def values(text: str) -> list[Any]:
    return [value for value, _ in read_yaml(text, "m.yaml")]


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("NO", "NO"),
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("12:30", "12:30"),
        ("190:20:30", "190:20:30"),
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("012", 12),
        ("0o14", 12),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("-7", -7),
        ("+7", 7),
        ("12345678901234567890", 12345678901234567890),
        ("1.10", 1.1),
        (".5", 0.5),
        ("1.", 1.0),
        ("-1.5e-3", -0.0015),
        ("1e400x", "1e400x"),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("null", None),
        ("~", None),
        ("", None),
        ("nil", "nil"),
        ("=", "="),
        ("'012'", "012"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("!!float 3", 3),
        ("|-\n  12", "12"),
        ("1.2.3", "1.2.3"),
        ("café ☕", "café ☕"),
    ],
)
def test_scalars_are_those_of_the_core_schema(scalar: str, value: object) -> None:
    (found,) = values(f"v: {scalar}\n")
    assert found == {"v": value}
    assert type(found["v"]) is type(value)


def test_the_wire_form_of_numbers_is_what_was_written() -> None:
    (found,) = values("{a: 12345678901234567890, b: 1.10, c: 1e3, d: 1e22, e: 1.0}")
    assert json.dumps(found) == '{"a": 12345678901234567890, "b": 1.1, "c": 1000, "d": 1e+22, "e": 1.0}'


@pytest.mark.parametrize("key", ["404", "on", "null", "1.10", "2026-01-01", "true"])
def test_keys_are_text_as_it_is_written(key: str) -> None:
    assert values(f"{key}: 1") == [{key: 1}]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a: 1", 1),
        ("a: 1\n---\nb: 2", 2),
        ("---\n---\na: 1\n---\n", 1),
        ("# only\n", 0),
        ("", 0),
        ("%YAML 1.2\n---\n{}", 1),
    ],
)
def test_documents_that_are_not_empty_are_read(text: str, count: int) -> None:
    assert len(values(text)) == count


def test_aliases_are_written_out() -> None:
    assert values("a: &x {b: [1]}\nc: *x\nd: *x") == [{"a": {"b": [1]}, "c": {"b": [1]}, "d": {"b": [1]}}]


BOMB = "a: &a [" + ",".join(["1"] * 10) + "]\n"
for _n in range(1, 9):
    BOMB += f"x{_n}: &{'a' * (_n + 1)} [{','.join(['*' + 'a' * _n] * 10)}]\n"


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("a: 1\n\tb: 2", 2, "does not indent with tabs"),
        ("a:\n\t- b", 2, "does not indent with tabs"),
        ("a: 1\nb: 2\na: 3", 3, "'a' stands twice"),
        ('404: 1\n"404": 2', 2, "'404' stands twice"),
        ("a:\n  b: 1\n  b: 2", 3, "'b' stands twice"),
        (BOMB, 7, f"{MOST_CHARACTERS:,} characters"),
        ("a: &a [*a]", 1, "an alias of itself"),
        ("a: *nope", 1, "undefined alias"),
        ("a:\n " + "[" * 300 + "]" * 300, 2, "nested more than 200"),
        ("a:\n " + "[" * 5000, 2, "exceeded maximum nesting depth"),
        ("a: &l0 [1]\n" + "".join(f"a{n}: &l{n} [*l{n - 1}]\n" for n in range(1, 3000)), 198, "nested more than 200"),
        ("a:\n  ? [b]\n  : 1", 2, "a key is a list or a mapping"),
        ("a: &a {b: 1}\nc:\n  <<: *a", 3, "merge key"),
        ("a: .nan", 1, "not a number that JSON has"),
        ("a:\n- -.inf", 2, "not a number that JSON has"),
        ("a: 1e999", 1, "larger than a number"),
        ("a: " + "9" * 5000, 1, "too long"),
        ("a: !!python/object/apply:os.system ['exit 3']", 1, "python/object"),
        ("!!python/name:os.system\na: 1", 1, "python/name"),
        ("a: !!int x", 1, "!!int"),
        ("a: !!binary aGk=", 1, "!!binary"),
        ("a: !!set {b}", 1, "!!set"),
        ("a: 'x", 1, "unexpected end of stream"),
        ("a: b: c", 1, "mapping values are not allowed"),
        ("a: b\nc: \x01", 2, "U+0001"),
        ('a: "\\ud800"', 1, "invalid Unicode"),
        ("a: @x", 1, "cannot start any token"),
    ],
)
def test_mistakes_are_told_with_their_line(text: str, line: int, told: str) -> None:
    with pytest.raises(MockError) as caught:
        values(text)
    assert (caught.value.file, caught.value.line) == ("m.yaml", line)
    assert told in f"{caught.value.message} {caught.value.why}"


def test_lines_are_those_of_keys_and_items() -> None:
    ((_, lines),) = read_yaml("# first\na:\n  - 1\n  - b:\n      c: 2\n", "m.yaml")
    found = [lines(path) for path in ((), ("a",), ("a", 0), ("a", 1, "b"), ("a", 1, "b", "c"), ("a", 9), ("z", 1))]
    assert found == [2, 2, 3, 4, 5, 2, 2]


@given(st.text() | st.text(alphabet="ab:-?[]{}&*!|>'\"%@#, \n\t~.0e<", max_size=60))
def test_any_text_gives_json_or_an_error_with_a_line(text: str) -> None:
    try:
        found, line = values(text), 1
    except MockError as error:
        found, line = [], error.line or 0
    json.dumps(found, allow_nan=False)
    # libyaml counts a line at each of these characters
    assert 1 <= line <= 2 + sum(text.count(end) for end in "\n\r\x85\u2028\u2029")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda key: key != "<<"), inner),
    max_leaves=10,
)


@given(JSON)
def test_ascii_json_of_one_line_is_yaml(value: Any) -> None:
    """But for surrogate pairs, which YAML's escapes do not have."""
    text = json.dumps(value)
    if "\\ud" in text or len(text) > 900:  # a key is at most 1024 characters from its colon
        return
    found = list(read_yaml(text, "m.yaml"))
    assert (found[0][0] if found else None) == value or math.isclose(found[0][0], value)
