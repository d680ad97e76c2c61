"""Errors and problems as a person, or a program, reads them on stderr: what, why, and how to fix it."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
from typing import TYPE_CHECKING

import click

from eve_mocks.errors import MockError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eve_mocks.errors import Problem

# Set to 1, it adds the traceback of an error that is none of the user's.
DEBUG = "EVE_MOCKS_DEBUG"


def of(error: Exception) -> list[MockError]:
    """What there is to tell of an exception: of the mistakes in a group, of the system's refusal, or of a bug."""
    if isinstance(error, MockError):
        return [error]
    if isinstance(error, ExceptionGroup):
        return [told for each in error.exceptions for told in of(each)]
    if os.environ.get(DEBUG) == "1":
        import traceback

        traceback.print_exception(error)
    return [_of_the_system(error) if isinstance(error, OSError) else _of_us(error)]


def _of_the_system(error: OSError) -> MockError:
    reason = error.strerror or str(error) or type(error).__name__
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return MockError(
            f"there are too few open files: {reason}",
            why="a run needs about twenty of them, and one for each connection of the command",
            fix="Raise the limit, such as ulimit -n 1024, or close other programs.",
        )
    where = f"{os.fsdecode(error.filename)} cannot be used" if error.filename else "the output cannot be written"
    return MockError(
        f"{where}: {reason}",
        why="the system refused it",
        fix="Make room, or give the permission; then run it again.",
    )


def _of_us(error: Exception) -> MockError:
    return MockError(
        f"eve-mocks itself failed: {type(error).__name__}: {error}",
        why="this is a mistake in eve-mocks, and none of yours",
        fix=f"Report it to its authors, with what is shown where {DEBUG}=1 is set.",
    )


def show(errors: Sequence[MockError], args: Sequence[str]) -> int:
    """Write errors to stderr, and return the exit code.

    One JSON document where ``--json`` is among the arguments that are ours, else three lines each.
    """
    ours = itertools.takewhile(lambda argument: argument not in ("run", "--"), args)
    if "--json" in ours:
        told = [error.as_json() for error in errors]
        _tell(json.dumps({"error": told[0], **({"errors": told} if len(told) > 1 else {})}, ensure_ascii=False))
    else:
        for error in errors:
            where = f"{error.where}: " if error.file else ""
            _tell(_three_lines(f"eve-mocks: {where}{error.message}", error.why, error.fix))
    return errors[-1].exit_code


def show_problems(problems: Sequence[Problem], *, as_json: bool) -> None:
    """Write problems to stderr, which stop nothing: as one JSON document, or three lines each."""
    if as_json:
        told = [{"message": problem.message, "why": problem.why, "fix": problem.fix} for problem in problems]
        if told:
            _tell(json.dumps({"problems": told}, ensure_ascii=False))
        return
    for problem in problems:
        _tell(_three_lines(f"eve-mocks: problem: {problem.message}", problem.why, problem.fix))


def _three_lines(message: str, why: str, fix: str) -> str:
    from eve_mocks.render import clean

    why, fix = ("\n       ".join(map(clean, part.splitlines())) for part in (why, fix))
    return f"{clean(message)}\n  why: {why}\n  fix: {fix}"


def _tell(text: str) -> None:
    with contextlib.suppress(OSError):  # whoever read it has gone
        click.echo(text, err=True)
