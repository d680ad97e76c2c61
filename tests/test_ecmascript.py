"""Patterns are ECMAScript's, with flag u unless it is taken away."""

from __future__ import annotations

import pytest

from eve_mocks.ecmascript import BadPattern, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\b(?i:milk)\b", "Buy MILK now", True),
        (r"\b(?i:milk)\b", "milky", False),
        ("(?i:a)b", "AB", False),
        (r"^\p{L}+$", "héé", True),
        (r"\p{Script=Greek}", "\u03b1", True),
        (r"^(?<year>\d{4})-\k<year>$", "2026-2026", True),
        (r"(?<=\$)\d+", "$42", True),
        (r"(?<!\$)\b42", "$42", False),
        (r"\u{1F600}", "😀", True),
        ("^.$", "😀", True),
        ("x$", "x\n", False),
        (r"^\d$", "٣", False),
        (r"^\w$", "é", False),
        (r"^\s$", "\ufeff", True),
        ("b", "abc", True),
        ("", "", True),
        ("^.b$", "\ud800b", True),
        ("b", "\ud800", False),
        (r"^\p{L}$", "\ud800", False),
    ],
)
def test_what_is_found(pattern: str, text: str, found: bool) -> None:
    assert compile_pattern(pattern).found_in(text) is found


@pytest.mark.parametrize(
    "pattern", ["(", "a{2,1}", r"\_", r"[\d-z]", r"\p{Foo}", "{", "]", "(?P<a>x)", "[b-a]", "(?<a>x)(?<a>y)", "\ud800"]
)
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(BadPattern):
        compile_pattern(pattern)


def test_without_flag_u_more_is_allowed() -> None:
    assert compile_pattern(r"^[\w-.]+\_$", "").found_in("a-b._")
