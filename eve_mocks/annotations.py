"""What failed a run as annotations of GitHub Actions: lines that its runner reads from the log of a step.

Source: GitHub's documentation, Workflow commands, "Setting an error message".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eve_mocks import advice
from eve_mocks.render import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eve_mocks.report import Report

# As many of a kind does GitHub show of one step.
_MOST = 10
_PLACE = re.compile(r"(?P<file>[^\s:]+):(?P<line>\d+): ")


def commands(report: Report, folder: str) -> str:
    """The lines, each with its end; empty where there is nothing to tell. ``folder`` is the mocks folder as shown."""
    errors = [*_blocked(report, folder), *_problems(report, fails=True)][:_MOST]
    warnings = list(_problems(report, fails=False))[:_MOST]
    return "".join(f"{line}\n" for line in (*errors, *warnings))


def _blocked(report: Report, folder: str) -> Iterator[str]:
    for target in report["targets"]:
        if target["outcome"] != "blocked" or target.get("expected"):
            continue
        lines = [", ".join(target["operations"])]
        if target.get("suggestion"):
            suggestion = advice.Suggestion(**target["suggestion"])
            lines += suggestion.fix(folder).split("\n")
        else:
            lines += [error.get("fix", error["why"]) for error in target.get("errors", ())]
        yield _line("error", f"eve-mocks blocked {target['target']}", "\n".join(lines))


def _problems(report: Report, *, fails: bool) -> Iterator[str]:
    for problem in report["problems"]:
        if problem.get("fails", False) is fails:
            word = "error" if fails else "warning"
            yield _line(word, f"eve-mocks: {problem['message']}", f"{problem['why']}\n{problem['fix']}")


def _line(word: str, title: str, text: str) -> str:
    place = _PLACE.search(f"{title} {text}")
    where = f"file={_property(place['file'])},line={place['line']}," if place else ""
    return f"::{word} {where}title={_property(title)}::{_data(text)}"


def _data(text: str) -> str:
    lines = "\n".join(clean(line) for line in text.split("\n"))
    return lines.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
