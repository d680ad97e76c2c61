"""Patterns are ECMAScript's, with flag u unless it is taken away."""

from __future__ import annotations

import time

import pytest

from eve_mocks import patience
from eve_mocks.ecmascript import BadPattern, compile_pattern
from eve_mocks.errors import MockError


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


def test_a_pattern_that_the_library_could_not_survive() -> None:
    with pytest.raises(BadPattern, match="400,000 characters, and 10,000 are the most"):
        compile_pattern("a|" * 200_000)
    with pytest.raises(BadPattern, match="too deeply nested"):
        compile_pattern("(" * 5_000 + ")" * 5_000)
    assert compile_pattern("a|" * 5_000).found_in("a")


def test_without_flag_u_more_is_allowed() -> None:
    assert compile_pattern(r"^[\w-.]+\_$", "").found_in("a-b._")


SLOW = {
    "a repetition in another": ("^(a+)+$", "a" * 40 + "!"),
    "two that take the same": ("^(a|a)*$", "a" * 40 + "!"),
    "a long text": ("a+b", "a" * 300_000),
}


@pytest.mark.parametrize(("pattern", "text"), SLOW.values(), ids=SLOW)
def test_what_takes_too_long_is_given_up(pattern: str, text: str) -> None:
    compiled = compile_pattern(pattern)
    before = time.process_time()
    with pytest.raises(MockError, match="takes too long for a text of"):
        compiled.found_in(text)
    assert time.process_time() - before < patience.LIMIT  # the time was another process's
    assert compiled.found_in("ab" if "b" in pattern else "aaaa")  # and that has a successor


def test_what_is_matched_together_shares_one_limit() -> None:
    """Each alone takes less."""
    patterns = [compile_pattern(f"(a|aa)+$|z{number}") for number in range(40)]
    text = "a" * 26 + "!"
    assert patterns[0].found_in(text) is False
    with patience.together(), pytest.raises(MockError, match="takes too long"):
        any(pattern.found_in(text) for pattern in patterns)
    assert patterns[0].found_in(text) is False


def test_a_slow_pattern_is_no_failure_where_it_is_fast() -> None:
    assert [compile_pattern("^(a+)+$").found_in(text) for text in ("aaa", "aab", "a" * 10_000)] == [True, False, True]
