"""The runs that are kept in ``.eve-mocks/``, and their reports, read again (contract, section 8)."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from eve_mocks.errors import MockError, Problem
from eve_mocks.match import nearest
from eve_mocks.report import fold
from eve_mocks.run_folder import NAME, RUN, lives

if TYPE_CHECKING:
    from pathlib import Path

    from eve_mocks.report import Report

_SHOWN = 3
_SHAPE = {"counts": dict, "targets": list, "sessions": list, "unused": dict, "problems": list}


def find(name: str | None) -> Report:
    """The latest report, or that of a run by its folder's name. Raises ``MockError``."""
    return read(locate(name))


def locate(name: str | None) -> Path:
    """Where a report is. Raises ``MockError`` for a name that no run has."""
    runs = NAME / "runs"
    known = sorted(entry.name for entry in runs.iterdir() if entry.is_dir()) if runs.is_dir() else []
    if name is not None and name not in known:
        raise MockError(
            f"there is no run {name}",
            why=f"{runs} holds {len(known)} run{'' if len(known) == 1 else 's'}" if known else f"{runs} holds none",
            fix=_fix(name, known),
        )
    latest = NAME / "report.json"
    if name is None and (latest.exists() or not known):
        return latest
    return runs / (name or known[-1]) / "report.json"


def _fix(name: str, known: list[str]) -> str:
    near = nearest(name, known)
    if near is not None:
        return f"Did you mean {near}?"
    last = ", ".join(reversed(known[-_SHOWN:]))
    return f"The last {'is' if len(known) == 1 else 'are'} {last}." if last else "eve-mocks run -- COMMAND makes one."


def read(path: Path) -> Report:
    """A report. Raises ``MockError``.

    A run that was killed wrote none: its log is folded into the one that it began with.
    """
    try:
        report: Report = json.loads(path.read_bytes())
        _check_shape(report)
        return report if report["exitCode"] is not None else fold(report, path.with_name("calls.jsonl"))
    except FileNotFoundError as error:
        raise MockError(
            "there is no report",
            why=f"{path} does not exist",
            fix="eve-mocks run -- COMMAND writes one, in the folder where it is started.",
        ) from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise MockError(
            f"the report {path} cannot be read",
            why=f"it has no {error}" if isinstance(error, KeyError) else str(error),
            fix="Name another run, or run the command again.",
            file=str(path),
        ) from error


def _check_shape(report: Report) -> None:
    for key, kind in _SHAPE.items():
        if not isinstance(report[key], kind):
            raise TypeError(f"its {key} cannot be {report[key]!r}")


def unfinished() -> Problem | None:
    """What is told beside the latest report, where a later run has none: it still runs, or was killed."""
    runs = NAME / "runs"
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        last = max(name for name in os.listdir(runs) if RUN.fullmatch(name))  # noqa: PTH208
        if json.loads((runs / last / "report.json").read_bytes())["exitCode"] is None:
            still = lives(int(last.rpartition("-")[2]))
            return Problem(
                message=f"this is not the last run: {last} {'still runs' if still else 'did not end'}",
                why="a run writes its report when its command has ended",
                fix=f"eve-mocks report {last} shows what it has done so far.",
            )
    return None
