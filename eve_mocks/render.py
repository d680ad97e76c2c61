"""What a person reads: the summary of a run, and tables."""

from __future__ import annotations

import contextlib
import os
import re
import textwrap
from typing import TYPE_CHECKING, Any, TextIO

import click

from eve_mocks import advice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


def width(stream: TextIO | None) -> int | None:
    """How wide a terminal is; None where there is none, and lines are as long as they are."""
    if stream is None or not stream.isatty():
        return None
    with contextlib.suppress(OSError):
        return os.get_terminal_size(stream.fileno()).columns or None
    return None


def summary(report: Report, *, shown: str, colour: bool, width: int | None = None, folder: str = "mocks") -> str:
    """The summary, a line for each thing to know. ``shown`` is where the report is."""
    page = _Page(click.style if colour else _plain, width)
    page.headline(report)
    asked = any(report["counts"].values())
    _tell_answered(page, report)
    _tell_blocked(page, report, folder)
    for target in (target for target in report["targets"] if target["outcome"] == "error"):
        names = [name for name, _ in _most(target["operations"])]
        page.row("error", f"{target['target']}  {_some(names, _MAX_OPERATIONS)}", count=target["calls"])
    if asked and report["unused"]["mocks"]:
        page.row("unused", _some(report["unused"]["mocks"], _MAX_NAMES))
    for key, what in (("stubs", "stubs"), ("scripts", "script entries")):
        if asked and report["unused"].get(key):
            page.row("unused", f"{what} {_some(report['unused'][key], _MAX_NAMES)}")
    for problem in report["problems"]:
        page.row("problem", problem["message"])
        page.below(why=problem["why"], fix=problem["fix"])
    if report.get("output"):  # what the mocks printed
        page.row("output", os.path.relpath(report["output"]))
    if asked or report["problems"]:
        page.row("report", shown)
    return "\n".join(page.lines)


def _plain(text: str, **_: Any) -> str:
    return text


class _Page:
    """Lines, of which those that are wider than the terminal go on below where their text begins."""

    def __init__(self, style: Style, width: int | None) -> None:
        self.lines: list[str] = []
        self._style = style
        self._width = width

    def headline(self, report: Report) -> None:
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
        gap = max(3, _WIDTH - 11 - len(said))
        if self._width is not None:
            gap = max(3, min(gap, self._width - 11 - len(said) - len(contained)))
        name = ("eve-mocks", {"bold": True})
        colour: dict[str, Any] = {"fg": "red"} if failed else {}
        if self._width is None or 11 + len(said) + gap + len(contained) <= self._width:
            self.lines.append(f"{self._styled(*name)}  {self._styled(said, colour)}{' ' * gap}{contained}")
        else:
            self._put(name, "  ", said, **colour)
            self._put(("", {}), " " * 11, contained)

    def row(self, word: str, text: str, *, count: int | None = None) -> None:
        gap = "  " if count is None else f" {count:>3}   "
        self._put((f"  {word:<7}", {"fg": _COLOURS.get(word)}), gap, text)

    def below(self, **told: str) -> None:
        """What a row says below itself: a word, and one or more lines of text."""
        for word, text in told.items():
            for number, line in enumerate(text.splitlines()):
                self._put(("", {}), f"    {word if number == 0 else '':<11}", line)

    def to_paste(self, word: str, text: str, *, end: str = "") -> None:
        """Text that is pasted as it is: it goes on in a new line between words alone, with ``end`` before that."""
        gap = f"    {word:<11}"
        parts = self._wrapped(clean(text), len(gap) + len(end), whole_words=True)
        ended = [*(part + end for part in parts[:-1]), parts[-1]]
        self.lines += [gap + ended[0], *(" " * len(gap) + part for part in ended[1:])]

    def more(self, count: int) -> None:
        self.lines.append(f"    and {count} more in the report")

    def _styled(self, text: str, style: dict[str, Any]) -> str:
        return self._style(text, **style) if text and style else text

    def _put(self, word: tuple[str, dict[str, Any]], gap: str, text: str, **style: Any) -> None:
        """A word in its style, a gap, and text that goes on below itself."""
        indent = len(word[0]) + len(gap)
        first, *others = (self._styled(part, style) for part in self._wrapped(clean(text), indent))
        self.lines += [self._styled(*word) + gap + first, *(" " * indent + part for part in others)]

    def _wrapped(self, text: str, taken: int, *, whole_words: bool = False) -> list[str]:
        if self._width is None:
            return [text]
        room = max(20, self._width - taken)
        return textwrap.wrap(text, room, break_long_words=not whole_words, break_on_hyphens=False) or [""]


def _some(parts: Sequence[str], most: int) -> str:
    more = len(parts) - most
    return ", ".join([*parts[:most], *([f"{more} more"] if more > 0 else [])])


def clean(text: str) -> str:
    """Text that a terminal shows as it is."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _tell_answered(page: _Page, report: Report) -> None:
    for word in ("mocked", "allowed"):
        targets = [target for target in report["targets"] if target["outcome"] == word]
        if targets:
            page.row(word, _some([*map(_target, targets)], _MAX_NAMES), count=report["counts"][word])


def _target(target: dict[str, Any]) -> str:
    told = f" ({_tools(target['operations'])})" if target["kind"] in ("mcp", "model") else ""
    return f"{target['target']} {target['calls']}{told}"


def _tools(operations: dict[str, int]) -> str:
    """The tools of an MCP server, and in one number what its protocol needs beside them."""
    messages = sum(count for name, count in operations.items() if advice.MCP_METHOD.fullmatch(name))
    tools = [f"{name} {count}" for name, count in _most(operations) if not advice.MCP_METHOD.fullmatch(name)]
    shown = _some(tools, _MAX_OPERATIONS)
    return ", ".join(filter(None, [shown, f"protocol {messages}" if messages else ""]))


def _most(operations: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(operations.items(), key=lambda item: -item[1])


def _tell_blocked(page: _Page, report: Report, folder: str) -> None:
    blocked = [target for target in report["targets"] if target["outcome"] == "blocked"]
    expected = [target for target in blocked if target.get("expected")]
    unexpected = [target for target in blocked if not target.get("expected")]
    for target in unexpected[:_MAX_BLOCKED]:
        operations = [f"{name} {count}" if count > 1 else name for name, count in _most(target["operations"])]
        said = f"{target['target']}  {_some(operations, _MAX_OPERATIONS)}"
        said += f"   by {target['program']} (pid {target['pid']})" if target.get("program") else ""
        page.row("blocked", said, count=target["calls"])
        if target.get("suggestion"):
            suggestion = advice.Suggestion(**target["suggestion"])
            page.to_paste("mock it", suggestion.command, end=" \\")  # a shell reads on in the next line
            if suggestion.kind == "model":
                page.to_paste("script it", f"{folder}/{suggestion.name}.yaml: {suggestion.script}")
            page.to_paste("allow it", suggestion.allow_line(folder))  # as YAML does inside of braces
        else:
            for error in target.get("errors", ()):
                page.below(**error)
    if len(unexpected) > _MAX_BLOCKED:
        page.more(len(unexpected) - _MAX_BLOCKED)
    if expected:
        names: dict[str, int] = {}
        for target in expected:
            names[target["target"]] = names.get(target["target"], 0) + target["calls"]
        told = _some([f"{name} {count}" for name, count in _most(names)], _MAX_NAMES)
        page.row("blocked", f"as expected: {told}", count=sum(names.values()))


def table(rows: list[dict[str, Any]], columns: tuple[str, ...], *, colour: bool) -> str:
    """Rows as aligned columns, the first of them coloured by its word; what a row lacks is left empty."""
    style: Style = click.style if colour else _plain
    cells = [[clean(str(row.get(column, ""))) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for first, *others in ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in cells):
        lines.append("   ".join((style(first, fg=_COLOURS.get(first.strip())), *others)).rstrip())
    return "\n".join(lines)
