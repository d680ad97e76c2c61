"""What a run came to: calls folded into counts, counts into a report, a report into one exit code.

A ``Tally`` holds a bounded number of names whatever is called, so its size does not grow with the run.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from eve_mocks import calls
from eve_mocks.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from eve_mocks.model import Call

type Report = dict[str, Any]
type FailOnBlock = Literal["unexpected", "all", "none"]

_MAX_TARGETS = 1_000
_MAX_OPERATIONS = 100
_MAX_SESSIONS = 10_000
_MAX_PROBLEMS = 20
_MAX_STUBS = 100_000
_MAX_ERRORS = 5
OTHERS = "(others)"  # stands for the names beyond these


@dataclasses.dataclass(slots=True)
class Target:
    """What was asked of one mock, of one allow or block entry, or of one host that nothing claims."""

    outcome: str
    target: str
    kind: str
    url: str
    expected: bool | None = None
    reason: str | None = None
    suggestion: Mapping[str, str] | None = None
    pid: int | None = None
    program: str | None = None
    calls: int = 0
    unanswered: int | None = None  # of the calls, those that the mock had no answer for
    operations: dict[str, int] = dataclasses.field(default_factory=dict)
    errors: list[dict[str, str]] = dataclasses.field(default_factory=list)  # the first different ones

    def note(self, call: Call) -> None:
        """Keep why a call got no answer, unless it is known, or there is enough."""
        if call.error is None or call.outcome == "allowed" or len(self.errors) >= _MAX_ERRORS:
            return
        error = {"why": call.error} if call.fix is None else {"why": call.error, "fix": call.fix}
        if error not in self.errors:
            self.errors.append(error)

    def as_json(self) -> dict[str, Any]:
        return {key: value for key, value in dataclasses.asdict(self).items() if value not in (None, [])}


class Tally:
    """Calls, counted as they come. ``lost`` are those that could not be written to the log."""

    def __init__(self) -> None:
        self.counts = {"mocked": 0, "allowed": 0, "blocked": 0, "error": 0}
        self.lost = 0
        self.lost_why: str | None = None
        self._targets: dict[tuple[object, ...], Target] = {}
        self._sessions: dict[str, int] = {}
        self._problems: dict[str, dict[str, Any]] = {}
        self._stubs: set[str] = set()
        self._entries: set[str] = set()  # of scripts
        self._usage: dict[str, dict[str, int]] = {}  # tokens, by session

    @classmethod
    def from_log(cls, path: Path) -> Tally:
        """Fold a log into what its run would have counted. Raises ``OSError``."""
        tally = cls()
        for line in calls.read(path):
            try:
                tally.add(calls.as_call(line))
            except (TypeError, KeyError):  # not a line of ours
                tally.lost += 1
                tally.lost_why = "a line of the log is not a call"
        return tally

    def add(self, call: Call) -> None:
        self.counts[call.outcome] += 1
        origin = "/".join(call.url.split("/", 3)[:3]) + "/"
        blocked = (origin, call.reason, call.suggestion and call.suggestion["url"])
        key = (call.outcome, call.target, call.expected, call.outcome == "blocked" and blocked)
        target = self._targets.get(key)
        if target is None:
            target = self._target(key, call, origin)
        target.calls += 1
        target.note(call)
        if call.unanswered is not None:
            target.unanswered = (target.unanswered or 0) + 1
        _count(target.operations, call.operation, _MAX_OPERATIONS)
        _count(self._sessions, call.session, _MAX_SESSIONS)
        if call.stub is not None and len(self._stubs) < _MAX_STUBS:
            self._stubs.add(call.stub)
            self._entries.add(f"{call.stub}[{call.position}]")
        if call.usage is not None:
            self._spend(call.session, call.usage)
        if call.unanswered is not None or call.outcome == "error":
            self._note(call)
        elif call.doubt is not None:
            self._note_doubt(call)
        elif call.outcome == "allowed" and call.reason == "upstream":
            self._note_failure(call, origin)

    def _spend(self, session: str, usage: Mapping[str, int]) -> None:
        spent = self._usage.setdefault(session if session in self._sessions else OTHERS, {})
        for name, tokens in usage.items():
            spent[name] = spent.get(name, 0) + tokens

    def _target(self, key: tuple[object, ...], call: Call, origin: str) -> Target:
        name = call.target
        if len(self._targets) >= _MAX_TARGETS:
            name, key = OTHERS, (call.outcome, OTHERS, call.expected)
        return self._targets.setdefault(
            key,
            Target(
                outcome=call.outcome,
                target=name,
                kind=call.kind,
                url=call.target_url or origin,
                expected=call.expected if call.outcome == "blocked" else None,
                reason=call.reason if call.outcome == "blocked" else None,
                suggestion=call.suggestion,
                pid=call.pid,
                program=call.program,
            ),
        )

    def _note(self, call: Call) -> None:
        if call.outcome == "error":
            message, why = f"the mock {call.target} broke: {call.operation}", call.error or "it gave no answer"
            fix = call.fix or (
                "Correct the mock; a failure that the agent is meant to see is raised as ToolError or Throw."
            )
        else:
            message = f"the mock {call.target} has no answer for {call.operation}"
            why = f"the nearest is {call.nearest}" if call.nearest else "it has nothing that is near"
            fix = call.unanswered or ""
        problem: dict[str, Any] = {"message": message, "why": why, "fix": fix}
        if call.outcome == "error":
            problem["fails"] = True
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems.setdefault(f"{message}\n{why}", problem)

    def _note_doubt(self, call: Call) -> None:
        message = f"the mock {call.target} may not answer {call.operation} as it was meant"
        if len(self._problems) < _MAX_PROBLEMS:
            fix = "Correct the script, unless the agent is meant to be misled."
            self._problems.setdefault(
                f"{message}\n{call.doubt}", {"message": message, "why": call.doubt or "", "fix": fix}
            )

    def _note_failure(self, call: Call, origin: str) -> None:
        message = f"eve-mocks could not reach {origin.removesuffix('/')}, which {call.target} allows"
        if len(self._problems) < _MAX_PROBLEMS:
            problem = {"message": message, "why": call.error or "", "fix": call.fix or ""}
            self._problems.setdefault(f"{message}\n{call.error}", problem)

    def as_json(self) -> Report:
        """The part of a report that the calls alone tell."""
        problems = list(self._problems.values())
        if self.lost:
            problems.append(
                {
                    "message": f"the log lacks {self.lost} of the calls",
                    "why": self.lost_why or "they could not be written",
                    "fix": "Make room on the disk or set the permissions; the counts here are whole.",
                }
            )
        return {
            "counts": dict(self.counts),
            "targets": [target.as_json() for target in sorted(self._targets.values(), key=_order)],
            "sessions": [
                {"id": id_, "calls": count, **({"usage": self._usage[id_]} if id_ in self._usage else {})}
                for id_, count in self._sessions.items()
            ],
            "problems": problems,
            "stubs": sorted(self._stubs),
            "entries": sorted(self._entries),
        }


def _count(counts: dict[str, int], name: str, limit: int) -> None:
    if name not in counts and len(counts) >= limit:
        name = OTHERS
    counts[name] = counts.get(name, 0) + 1


def _order(target: Target) -> tuple[object, ...]:
    return ("mocked", "allowed", "blocked", "error").index(target.outcome), -target.calls, target.target


def begin(
    *,
    command: list[str],
    started_at: str,
    not_contained: str | None,
    mocks: Iterable[str],
    stubs: Iterable[str] = (),
    scripts: Iterable[str] = (),
    log: str | None,
) -> Report:
    """The report of a run that has not ended: what is known before its first call.

    ``not_contained`` tells why the command is not contained; None where it is.
    """
    begun = {
        "version": 1,
        "command": command,
        "startedAt": started_at,
        "durationMs": None,
        "exitCode": None,
        "childExitCode": None,
        "contained": not_contained is None,
        **({} if not_contained is None else {"notContained": not_contained}),
        "unused": {"stubs": list(stubs), "scripts": list(scripts), "mocks": list(mocks)},
        "log": log,
    }
    return with_calls(begun, Tally().as_json())


def with_calls(report: Report, tally: Report, problems: Iterable[Problem] = ()) -> Report:
    """A report that was begun, with what was called, and problems beside those that the calls show.

    ``unused`` of the tally, where it has one, is what there was to use, after all edits.
    """
    used = {target["target"] for target in tally["targets"] if target["outcome"] in ("mocked", "error")}
    played, taken = set(tally.get("stubs", ())), set(tally.get("entries", ()))
    there = {**report["unused"], **tally.get("unused", {})}
    unused = {
        **there,
        "stubs": [label for label in there["stubs"] if label not in played],
        "scripts": [entry for entry in there.get("scripts", ()) if entry not in taken],
        "mocks": [name for name in there["mocks"] if name not in used],
    }
    told = [{key: value for key, value in dataclasses.asdict(one).items() if value is not False} for one in problems]
    counted = {key: value for key, value in tally.items() if key not in ("stubs", "entries")}
    return {**report, **counted, "unused": unused, "problems": [*told, *tally["problems"]]}


def end(
    report: Report, *, child_exit: int, duration_ms: float, fail_on_block: FailOnBlock, fail_on_unused: bool = False
) -> Report:
    """A report with its exit code."""
    if fail_on_unused:
        report = {**report, "problems": [*report["problems"], *_unused(report)]}
    ended = {**report, "childExitCode": child_exit, "durationMs": round(duration_ms)}
    return {**ended, "exitCode": exit_code(ended, child_exit, fail_on_block)}


_UNUSED = (
    ("stubs", "stub was", "stubs were", "no call matched", "Correct what the stub matches, or take it out."),
    ("scripts", "script entry was", "script entries were", "no request came to", "Take out what no request comes to."),
)


def _unused(report: Report) -> Iterator[dict[str, Any]]:
    """A problem for what was never used, and should have been."""
    for key, one, several, missed, fix in _UNUSED:
        if unused := report["unused"].get(key):
            yield {
                "message": f"{len(unused)} {one if len(unused) == 1 else several} never used",
                "why": f"{missed} {', '.join(unused)}, and --fail-on-unused asks for one",
                "fix": fix,
                "fails": True,
            }


def fold(report: Report, log: Path) -> Report:
    """The report of a run that was killed, or still runs: its beginning, and the calls of its log."""
    try:
        tally = Tally.from_log(log)
    except FileNotFoundError:
        tally = Tally()
    problem = Problem(
        message="the run did not end",
        why="eve-mocks was killed, or the command still runs: this is what its log holds",
        fix="Run the command again to its end for an exit code.",
    )
    return with_calls(report, tally.as_json(), [problem])


def exit_code(report: Report, child_exit: int, fail_on_block: FailOnBlock) -> int:
    """The one reduction of a run to its exit code (contract, section 1)."""
    if child_exit != 0:
        return child_exit
    blocked = [target for target in report["targets"] if target["outcome"] == "blocked"]
    failed = (
        report["counts"]["error"] > 0,
        fail_on_block == "all" and bool(blocked),
        fail_on_block == "unexpected" and not all(target.get("expected") for target in blocked),
        any(problem.get("fails") for problem in report["problems"]),
    )
    return int(any(failed))
