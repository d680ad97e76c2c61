"""The one error a user is meant to see: what is wrong, why, how to fix it, and where."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Sequence


class MockError(Exception):
    """A mistake that a person can mend.

    ``file`` is a path as the user knows it, ``line`` counts from 1. ``exit_code`` is what the command ends
    with when this error ends it (contract, section 1).
    """

    exit_code = 2

    def __init__(self, message: str, *, why: str, fix: str, file: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.why = why
        self.fix = fix
        self.file = file
        self.line = line

    @property
    def where(self) -> str:
        """``file:line``, or as much of it as is known."""
        if self.file is None:
            return ""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def at(self, file: str, line: int | None) -> MockError:
        """Return this error with a place, unless it has a nearer one already."""
        if self.file is None:
            self.file, self.line = file, line
        return self

    def as_json(self) -> dict[str, Any]:
        """The object of ``--json``: message, why, fix, and file and line where they are known."""
        found = {"message": self.message, "why": self.why, "fix": self.fix, "file": self.file, "line": self.line}
        return {key: value for key, value in found.items() if value is not None}

    def __str__(self) -> str:
        where = f"{self.where}: " if self.file else ""
        return f"{where}{self.message}\n{self.why}\n{self.fix}"


class Mistakes(ExceptionGroup[MockError]):
    """Several mistakes, each with its own place, that are told together."""

    exceptions: tuple[MockError, ...]

    def __new__(cls, errors: Sequence[MockError]) -> Self:
        return super().__new__(cls, "mistakes", errors)


class Collecting:
    """``with collecting:`` keeps the mistakes of its block and goes on; ``tell`` raises what was kept."""

    def __init__(self) -> None:
        self.errors: list[MockError] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> bool:
        if isinstance(error, MockError):
            self.errors.append(error)
        elif isinstance(error, Mistakes):
            self.errors.extend(error.exceptions)
        else:
            return False
        return True

    def tell(self) -> None:
        """Raise ``MockError`` for one mistake, ``Mistakes`` for several, in the order of their lines."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise Mistakes(sorted(self.errors, key=lambda error: error.line or 0))


def as_written(value: object) -> str:
    """A value as a mock file has it, cut short."""
    if value is None:
        return "nothing (null)"
    text = json.dumps(value, ensure_ascii=False, default=repr) if isinstance(value, bool | dict | list) else repr(value)
    return text if len(text) < 60 else f"{text[:56]} ..."


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A finding that stops nothing by itself: a warning of a run, a line of ``check`` or ``info``.

    One that ``fails`` makes a run exit with 1.
    """

    message: str
    why: str
    fix: str
    fails: bool = False

    @classmethod
    def of(cls, error: MockError) -> Self:
        """What is told of an error that stops nothing."""
        where = f"{error.where}: " if error.file else ""
        return cls(message=where + error.message, why=error.why, fix=error.fix)
