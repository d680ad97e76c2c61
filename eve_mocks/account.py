"""What a run tells of itself: a report that is begun when its command has started, and ended with a summary.

Imported once the command runs, which does not wait for what only a report needs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from eve_mocks import render, report, run_folder, secret_arguments

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Sequence

    from eve_mocks.errors import Problem
    from eve_mocks.report import FailOnBlock, Report
    from eve_mocks.run_folder import RunFolder


class Account:
    """The report of one run. Making one writes its beginning, which is all that is left of a run that is killed."""

    def __init__(
        self,
        folder: RunFolder,
        *,
        command: Sequence[str],
        started: datetime.datetime,
        not_contained: str | None,
        mocks: Iterable[str],
        stubs: Iterable[str],
        scripts: Iterable[str],
    ) -> None:
        self._folder = folder
        self._started = started
        self._begun = report.begin(
            command=secret_arguments.hide(command),
            started_at=started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            not_contained=not_contained,
            mocks=mocks,
            stubs=stubs,
            scripts=scripts,
            log=str(folder.log),
        )
        with contextlib.suppress(OSError):  # told at the end, if it is still so
            folder.write(self._begun)

    def end(
        self,
        tally: Report | None,
        failure: Problem | None,
        problems: Iterable[Problem],
        *,
        child_exit: int,
        duration: float,
        fail_on_block: FailOnBlock,
        fail_on_unused: bool,
        shown: str,
    ) -> int:
        """Write the report, print the summary, and return the exit code.

        ``tally`` is None where the proxy gave none, ``failure`` tells why; ``duration`` is in seconds, ``shown`` is
        how the user calls the mocks folder.
        """
        told = [*filter(None, (failure, self._folder.problem)), *problems]
        ended = report.end(
            report.with_calls(self._begun, self._calls(tally, failure), told),
            child_exit=child_exit,
            duration_ms=duration * 1000,
            fail_on_block=fail_on_block,
            fail_on_unused=fail_on_unused,
        )
        ended, place = run_folder.save(self._folder, ended)
        colour, width = render.colours(sys.stderr), render.width(sys.stderr)
        _tell(render.summary(ended, shown=place, colour=colour, width=width, folder=shown))
        if os.environ.get("GITHUB_ACTIONS") == "true":
            from eve_mocks.annotations import commands

            _tell(commands(ended, shown).rstrip("\n"))
        return int(ended["exitCode"])

    def _calls(self, tally: Report | None, failure: Problem | None) -> Report:
        if tally is not None:
            return tally
        if failure is not None:
            with contextlib.suppress(OSError):
                return report.Tally.from_log(self._folder.log).as_json()
        return report.Tally().as_json()


def _tell(text: str) -> None:
    if text and sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # whoever read it has gone
            # On a terminal, the command's last line may not have ended.
            sys.stderr.write(f"{'\n' if sys.stderr.isatty() else ''}{text}\n")
            sys.stderr.flush()
