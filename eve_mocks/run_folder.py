"""The folder of one run, in ``.eve-mocks/runs`` of the working directory (contract, section 8).

A run works wherever it is started: where that folder cannot be written, a temporary one takes its place.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from eve_mocks.errors import MockError, Problem

if TYPE_CHECKING:
    import datetime

    from eve_mocks.report import Report

KEPT = 10
NAME = Path(".eve-mocks")
RUN = re.compile(r"\d{8}T\d{6}\.\d{3}Z-(?P<pid>\d+)")


@dataclasses.dataclass(frozen=True, slots=True)
class RunFolder:
    """Where one run is kept. ``shown`` is how its report is called; ``problem`` tells why it is not the usual place."""

    path: Path
    latest: Path | None
    shown: str
    problem: Problem | None = None

    @property
    def log(self) -> Path:
        return self.path / "calls.jsonl"

    @property
    def output(self) -> Path:
        """What the mocks print, and the proxy's own complaints."""
        return self.path / "output.log"

    def write(self, report: Report) -> None:
        """Write the report of this run. Raises ``OSError``."""
        text = json.dumps(report, ensure_ascii=False, indent=2).encode("utf-8", "replace") + b"\n"
        _replace(self.path / "report.json", text)
        if report["exitCode"] is not None and self.latest is not None:
            _replace(self.latest, text)


def open_run(started: datetime.datetime) -> RunFolder:
    """Make the folder of a run that starts. Raises ``MockError`` where not even a temporary one can be made."""
    name = f"{started:%Y%m%dT%H%M%S}.{started.microsecond // 1000:03d}Z-{os.getpid()}"
    try:
        top = NAME.absolute()
        top.mkdir(exist_ok=True)
        ignore = top / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        path = top / "runs" / name
        path.parent.mkdir(exist_ok=True)
        path.mkdir(mode=0o700)
    except OSError as error:
        try:
            return elsewhere(error)
        except OSError as other:
            raise MockError(
                f"the run has nowhere to be kept: {error.strerror}",
                why=f"neither the working directory nor the temporary one can be written: {other.strerror}",
                fix="Make room on the disk, or set TMPDIR to a folder that you may write.",
            ) from other
    return RunFolder(path, top / "report.json", str(NAME / "report.json"))


def elsewhere(error: OSError) -> RunFolder:
    """A temporary folder in place of one that cannot be written. Raises ``OSError``."""
    import tempfile

    path = Path(tempfile.mkdtemp(prefix="eve-mocks-"))
    problem = Problem(
        message=f"the report is in {path}, a temporary folder",
        why=f"{NAME} in the working directory cannot be written: {error.strerror or error}",
        fix="Run in a folder that exists and that you may write.",
    )
    return RunFolder(path, None, str(path / "report.json"), problem)


def save(run: RunFolder, report: Report) -> tuple[Report, str]:
    """Write the report of a run that has ended, somewhere. Return it as it was written, and where that is."""
    with contextlib.suppress(OSError):
        if run.output.stat().st_size == 0:
            run.output.unlink()
        else:
            report = {**report, "output": str(run.output)}
    if not run.log.exists():
        report = {**report, "log": None}
    try:
        run.write(report)
        prune(run)
    except OSError as error:
        problem = Problem(
            message="the report is not written",
            why=f"{error.strerror or error}: {error.filename}",
            fix="Make room on the disk, or run in a folder that you may write.",
        )
        with contextlib.suppress(OSError):
            place = elsewhere(error)
            told = _telling(report, place.problem)
            place.write(told)
            return told, place.shown
        return _telling(report, problem), "not written"
    return report, run.shown


def _telling(report: Report, problem: Problem | None) -> Report:
    from eve_mocks.report import with_calls

    return with_calls(report, report, [] if problem is None else [problem])


def discard(run: RunFolder) -> None:
    """Remove the folder of a run whose command could not be started."""
    import shutil

    shutil.rmtree(run.path, ignore_errors=True)


def prune(run: RunFolder) -> None:
    """Remove all but the last runs; one whose process still lives is kept."""
    if run.latest is None:
        return
    with contextlib.suppress(OSError):
        names = sorted(name for name in os.listdir(run.path.parent) if RUN.fullmatch(name))  # noqa: PTH208
        for name in names[:-KEPT]:
            if not lives(int(name.rpartition("-")[2])):
                import shutil

                shutil.rmtree(run.path.parent / name, ignore_errors=True)


def lives(pid: int) -> bool:
    """Whether this process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it lives, and is another user's
        return True
    return True


def _replace(path: Path, text: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(file, "wb") as stream:  # noqa: PTH123 - the descriptor carries the mode
            stream.write(text)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
