"""Regular expressions as ECMAScript has them, which is what JSON Schema and eve mean by ``pattern``.

Python's ``re`` differs in what it accepts, such as classes of Unicode and named groups, and in what it finds.
"""

from __future__ import annotations

import functools

import regress


class BadPattern(ValueError):
    """The text is no regular expression of ECMAScript; the message says in which way."""


@functools.lru_cache(maxsize=1024)
def compile_pattern(text: str, flags: str = "u") -> Pattern:
    """Raises ``BadPattern``."""
    try:
        return Pattern(regress.Regex(text, flags))
    except regress.RegressError as error:
        raise BadPattern(str(error)) from error
    except UnicodeEncodeError as error:
        raise BadPattern("it holds a lone surrogate") from error


class Pattern:
    """A compiled pattern, found anywhere in a text, as ``RegExp.prototype.test`` does."""

    __slots__ = ("_regex",)

    def __init__(self, regex: regress.Regex) -> None:
        self._regex = regex

    def found_in(self, text: str) -> bool:
        try:
            return self._regex.find(text) is not None
        except UnicodeEncodeError:  # half a character, which the library cannot hold, is like any unknown character
            return self._regex.find(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")) is not None
