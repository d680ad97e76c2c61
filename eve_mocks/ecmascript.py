"""Regular expressions as ECMAScript has them, which is what JSON Schema and eve mean by ``pattern``.

Python's ``re`` differs in what it accepts, such as classes of Unicode and named groups, and in what it finds.
"""

from __future__ import annotations

import functools

import regress

from eve_mocks.errors import MockError
from eve_mocks.patience import matches

# A pattern without a choice is one comparison at each place, and one with a single choice needs at most the square of
# the text's length: so much is done here.
_CHOICES = "*+?{|"
_SHORT = 1000
# The library compiles by recursion, and some hundred thousand parts end the process.
_LONGEST = 10_000


class BadPattern(ValueError):
    """The text is no regular expression of ECMAScript; the message says in which way."""


@functools.lru_cache(maxsize=1024)
def compile_pattern(text: str, flags: str = "u") -> Pattern:
    """Raises ``BadPattern``."""
    if len(text) > _LONGEST:
        raise BadPattern(f"it has {len(text):,} characters, and {_LONGEST:,} are the most")
    try:
        return Pattern(text, flags)
    except regress.RegressError as error:
        raise BadPattern(str(error)) from error
    except UnicodeEncodeError as error:
        raise BadPattern("it holds a lone surrogate") from error


class Pattern:
    """A compiled pattern, found anywhere in a text, as ``RegExp.prototype.test`` does."""

    __slots__ = ("_choices", "_flags", "_regex", "_text")

    def __init__(self, text: str, flags: str) -> None:
        self._regex = regress.Regex(text, flags)
        self._text = text
        self._flags = flags
        self._choices = sum(map(text.count, _CHOICES))

    def found_in(self, text: str) -> bool:
        """Raises ``MockError`` where finding out takes too long."""
        # Half a character, which the library cannot hold, is like any unknown character.
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _is_broken(text) else text
        if not self._choices or (self._choices == 1 and len(text) <= _SHORT):
            return self._regex.find(whole) is not None
        found = matches(self._text, self._flags, whole)
        if found is None:
            raise MockError(
                f"the pattern {self._text[:200]!r} takes too long for a text of {len(text)} characters",
                why="it can match the same text in very many ways, and each of them is tried before it fails",
                fix="Let no repetition stand in another, nor two beside each other that take the same characters.",
            )
        return found


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
