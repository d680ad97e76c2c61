"""What a person reads: the summary of a run, and tables."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, TextIO

import click

from eve_mocks import advice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eve_mocks.report import Report

_WIDTH = 62
_MAX_BLOCKED = 10
_MAX_OPERATIONS = 5
_MAX_NAMES = 20
_COLOURS = {"mocked": "green", "allowed": "cyan", "blocked": "red", "error": "red", "problem": "yellow"}
# What a host, a path or a program is called is not ours to choose, and a terminal obeys escapes.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

type Style = Callable[..., str]


def colours(stream: TextIO | None) -> bool:
    """Whether a stream shows colours (contract, section 1); there is none where the caller has closed it."""
    return stream is not None and stream.isatty() and not os.environ.get("NO_COLOR")


def summary(report: Report, *, shown: str, colour: bool, folder: str = "mocks") -> str:
    """The summary, a line for each thing to know. ``shown`` is where the report is."""
    style: Style = click.style if colour else _plain
    lines = [
        _headline(report, style),
        *_answered(report, style),
        *_blocked(report, style, folder),
        *_errors(report, style),
    ]
    asked = any(report["counts"].values())
    if asked and report["unused"]["mocks"]:
        lines.append(_row("unused", None, _some(report["unused"]["mocks"], _MAX_NAMES), style))
    for problem in report["problems"]:
        lines += [_row("problem", None, problem["message"], style), *_below(why=problem["why"], fix=problem["fix"])]
    if report.get("output"):  # what the mocks printed
        lines.append(_row("output", None, os.path.relpath(report["output"]), style))
    if asked or report["problems"]:
        lines.append(_row("report", None, shown, style))
    return "\n".join(lines)


def _plain(text: str, **_: Any) -> str:
    return text


def _row(word: str, count: int | None, text: str, style: Style) -> str:
    head = style(f"{word:<7}", fg=_COLOURS.get(word))
    return f"  {head}  {clean(text)}" if count is None else f"  {head} {count:>3}   {clean(text)}"


def _below(**told: str) -> Iterator[str]:
    """What a row says below itself: a word, and one or more lines of text."""
    for word, text in told.items():
        for number, line in enumerate(text.splitlines()):
            yield f"    {word.replace('_', ' ') if number == 0 else '':<11}{clean(line)}"


def _some(parts: Sequence[str], most: int) -> str:
    more = len(parts) - most
    return ", ".join([*parts[:most], *([f"{more} more"] if more > 0 else [])])


def clean(text: str) -> str:
    """Text that a terminal shows as it is."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _headline(report: Report, style: Style) -> str:
    counts = report["counts"]
    total = sum(counts.values())
    said = f"{total} call{'' if total == 1 else 's'}"
    said += "".join(
        f", {counts[word]} {name}" for word, name in (("blocked", "blocked"), ("error", "broken")) if counts[word]
    )
    exit_code, child_exit = report["exitCode"], report["childExitCode"]
    failed = exit_code != child_exit
    if failed:
        said += f": exit {exit_code}, the command's was {child_exit}"
    contained = "contained" if report["contained"] else f"not contained: {report['notContained']}"
    name = style("eve-mocks", bold=True)
    return f"{name}  {style(said, fg='red') if failed else said}{' ' * max(3, _WIDTH - 11 - len(said))}{contained}"


def _answered(report: Report, style: Style) -> Iterator[str]:
    for word in ("mocked", "allowed"):
        targets = [target for target in report["targets"] if target["outcome"] == word]
        if targets:
            yield _row(word, report["counts"][word], _some([*map(_target, targets)], _MAX_NAMES), style)


def _target(target: dict[str, Any]) -> str:
    operations = [f"{name} {count}" for name, count in _most(target["operations"])] if target["kind"] == "mcp" else []
    told = f" ({_some(operations, _MAX_OPERATIONS)})" if operations else ""
    return f"{target['target']} {target['calls']}{told}"


def _most(operations: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(operations.items(), key=lambda item: -item[1])


def _blocked(report: Report, style: Style, folder: str) -> Iterator[str]:
    targets = [target for target in report["targets"] if target["outcome"] == "blocked"]
    targets.sort(key=lambda target: bool(target.get("expected")))
    for target in targets[:_MAX_BLOCKED]:
        operations = [f"{name} {count}" if count > 1 else name for name, count in _most(target["operations"])]
        said = f"{target['target']}  {_some(operations, _MAX_OPERATIONS)}"
        said += f"   by {target['program']} (pid {target['pid']})" if target.get("program") else ""
        said += "   (expected)" if target.get("expected") else ""
        yield _row("blocked", target["calls"], said, style)
        if target.get("suggestion"):
            suggestion = advice.Suggestion(**target["suggestion"])
            yield from _below(mock_it=suggestion.command, allow_it=suggestion.allow_line(folder))
        elif not target.get("expected"):
            for error in target.get("errors", ()):
                yield from _below(**error)
    if len(targets) > _MAX_BLOCKED:
        yield f"    and {len(targets) - _MAX_BLOCKED} more in the report"


def _errors(report: Report, style: Style) -> Iterator[str]:
    for target in report["targets"]:
        if target["outcome"] == "error":
            names = [name for name, _ in _most(target["operations"])]
            yield _row("error", target["calls"], f"{target['target']}  {_some(names, _MAX_OPERATIONS)}", style)


def table(rows: list[dict[str, Any]], columns: tuple[str, ...], *, colour: bool) -> str:
    """Rows as aligned columns, the first of them coloured by its word; what a row lacks is left empty."""
    style: Style = click.style if colour else _plain
    cells = [[clean(str(row.get(column, ""))) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for first, *others in ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in cells):
        lines.append("   ".join((style(first, fg=_COLOURS.get(first.strip())), *others)).rstrip())
    return "\n".join(lines)
