"""eve's stub rules as a file or a session gives them -> ``Rules``, checked, compiled once."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from typing import TYPE_CHECKING, Any

from eve_mocks.errors import Collecting, Mistakes, MockError
from eve_mocks.outcome import KEYS as OUTCOME_KEYS
from eve_mocks.outcome import Outcome, read_outcome
from eve_mocks.stubs.constraint import compile_constraint
from eve_mocks.stubs.difference import MISSING, Difference
from eve_mocks.stubs.limits import Size
from eve_mocks.stubs.names import Target, find

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from eve_mocks.document import Document
    from eve_mocks.model import Mock
    from eve_mocks.response import Json
    from eve_mocks.stubs.assertions import Check

# The outcome of a call with this input; None where it passes to what comes next.
type Ask = Callable[[Json], Awaitable[Outcome | None]]

PIN_KEYS = ("operation", "outcome", "outcomes", "callback")
KEYS = ("id", "tool", "match", "outcome", "outcomes")
_EXAMPLE = "{id: tasks, tool: list_tasks, outcome: {response: {tasks: []}}}"
_APPROVALS = ("approval", "approvals", "approve", "approved", "needsApproval", "requireApproval")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """One stub. ``origin`` is the mock, file or session that it is from; its id is unique there."""

    origin: str
    id: str
    target: Target
    match: Mapping[str, Check]
    outcomes: tuple[Outcome, ...]
    place: Document
    ask: Ask | None = None  # gives each call's outcome, in place of those

    @property
    def label(self) -> str:
        """What a report calls it: ``linear:open-issues``."""
        return f"{self.origin}:{self.id}" if self.origin else self.id

    def differences(self, given: Json) -> Iterator[Difference]:
        """What keeps an input from matching, one for each property; nothing if it matches."""
        properties: dict[str, Any] = given if isinstance(given, dict) else {}
        for name, check in self.match.items():
            found = check(properties[name]) if name in properties else Difference(MISSING, "there")
            if found is not None:
                yield found.under(name)

    def matches(self, given: Json) -> bool:
        return next(self.differences(given), None) is None

    @contextlib.contextmanager
    def telling(self) -> Iterator[None]:
        """Give errors the rule's id and place."""
        with _telling(self.place), _located(self.place):
            yield


class Rules:
    """A list of rules in its order, found by what they are for."""

    __slots__ = ("_by_target", "all")

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.all = tuple(rules)
        self._by_target: dict[Target, tuple[Rule, ...]] = {}
        for rule in self.all:
            self._by_target[rule.target] = (*self.of(rule.target), rule)

    def of(self, target: Target) -> tuple[Rule, ...]:
        return self._by_target.get(target, ())

    def __bool__(self) -> bool:
        return bool(self.all)


NO_RULES = Rules()


def labels(lists: Iterable[Rules]) -> list[str]:
    """What a report calls all of their rules."""
    return [rule.label for rules in lists for rule in rules.all]


def read_rules(document: Document, origin: str, resolve: Callable[[str], Target], *, strict: bool = False) -> Rules:
    """The rules of a list. ``resolve`` gives the operation of a name; ``strict`` takes eve's outcomes alone.

    Raises ``MockError`` or ``Mistakes``, that name the rule's id and the JSON path.
    """
    if not isinstance(document.value, list | tuple):  # Python may share a tuple of rules
        raise document.error(
            f"{document.json_path} is not a list of stubs",
            why="rules are tried in their order",
            fix=f"Write [{_EXAMPLE}]",
        )
    size = Size()
    for _, part in document.parts():
        with _telling(part):
            size.add(part)
    rules: dict[str, Rule] = {}
    mistakes = Collecting()
    for _, part in document.parts():
        with mistakes, _telling(part), _located(part):
            rule = _rule(part, origin, resolve, strict=strict)
            if rule.id in rules:
                raise part.error(
                    "the id is taken",
                    "id",
                    why=f"an id tells rules apart, and {rules[rule.id].place.json_path} has it already",
                    fix="Give it another id.",
                )
            rules[rule.id] = rule
    mistakes.tell()
    return Rules(rules.values())


def read_for(mocks: Iterable[Mock], document: Document, origin: str) -> Rules:
    """The rules of a session or of a --stubs file, which may be for any mock. Raises ``MockError``, or ``Mistakes``."""
    by_name = {mock.name: mock for mock in mocks}
    names = {name: mock.names() for name, mock in by_name.items()}
    rules = read_rules(document, origin, lambda name: find(name, names), strict=True)
    mistakes = Collecting()
    for rule in rules.all:
        with mistakes, rule.telling():
            by_name[rule.target.mock].check(rule)
    mistakes.tell()
    return rules


def read_pin(mocks: Iterable[Mock], pin: Document, callback: Callable[[Document, str, str], Ask]) -> Rule:
    """The rule of a pin: every call of one operation. ``callback`` gives what asks its URL for a mock's operation.

    Raises ``MockError``, or ``Mistakes``.
    """
    by_name = {mock.name: mock for mock in mocks}
    with _located(pin):
        pin.mapping(PIN_KEYS, example="{operation: list_tasks, outcome: {response: []}}")
        Size().add(pin)
        name = _name(pin, "operation", why="a pin is for one operation", example="list_tasks")
        with _located(pin.part("operation")):
            target = find(name, {name: mock.names() for name, mock in by_name.items()})
        outcomes: tuple[Outcome, ...] = ()
        ask = None
        if "callback" not in pin:
            outcomes = tuple(_outcome(outcome, strict=False) for outcome in _outcomes(pin))
        elif len(pin.value) > 2:
            raise pin.error(
                "it has a callback beside an outcome",
                "callback",
                why="the callback gives the outcome of every call",
                fix="Keep one of them.",
            )
        else:
            ask = callback(pin.part("callback"), *target)
        rule = Rule(origin="pin", id=":".join(target), target=target, match={}, outcomes=outcomes, place=pin, ask=ask)
        by_name[target.mock].check(rule)
        return rule


def _rule(part: Document, origin: str, resolve: Callable[[str], Target], *, strict: bool) -> Rule:
    _check_keys(part)
    id_ = _name(part, "id", why="the id names the rule in reports, and tracks its sequence", example="tasks")
    tool = _name(part, "tool", why="a rule is for one operation", example="list_tasks")
    outcomes = _outcomes(part)
    match = part.part("match") if "match" in part else None
    if match is not None:
        with _located(match):
            match.mapping(example="match: {state: {const: open}}")
    with _located(part.part("tool")):
        target = resolve(tool)
    return Rule(
        origin=origin,
        id=id_,
        target=target,
        match={} if match is None else {name: compile_constraint(schema) for name, schema in match.parts()},
        outcomes=tuple(_outcome(outcome, strict=strict) for outcome in outcomes),
        place=part,
    )


def _check_keys(part: Document) -> None:
    for key in part.mapping(example=_EXAMPLE):
        if key in OUTCOME_KEYS or key == "responses":
            raise part.error(
                f"{key} stands beside the outcome",
                key,
                why="what is answered is inside of outcome, or of each entry of outcomes",
                fix="Write outcomes: [{response: …}, …]" if key == "responses" else f"Write outcome: {{{key}: …}}",
            )
        if key in _APPROVALS:
            raise part.error(
                f"{key} cannot be given",
                key,
                why="approvals are eve's: a mock sees a call only after it was approved",
                fix="Take it out.",
            )
    part.mapping(KEYS)


def _name(part: Document, key: str, *, why: str, example: str) -> str:
    given = part.required(key, why=why, example=example)
    with _located(given):
        if not given.text(example=example):
            raise given.error(f"{given.json_path} is empty", why=why, fix=f"Write for example {key}: {example}")
    return str(given.value)


def _outcomes(part: Document) -> list[Document]:
    given = [key for key in ("outcome", "outcomes") if key in part]
    if len(given) != 1:
        raise part.error(
            "it has both outcome and outcomes" if given else "it has neither outcome nor outcomes",
            *given[1:],
            why="outcome repeats on every matching call, outcomes are a sequence whose last entry repeats",
            fix="Keep one of them." if given else "Add for example outcome: {response: {ok: true}}",
        )
    if given == ["outcome"]:
        return [part.part("outcome")]
    outcomes = part.part("outcomes")
    if not outcomes.sequence(example="outcomes: [{response: pending}, {response: completed}]"):
        raise outcomes.error(
            f"{outcomes.json_path} is empty",
            why="a sequence has an entry to return, and its last one repeats",
            fix="Write for example outcomes: [{response: pending}, {response: completed}]",
        )
    return [outcome for _, outcome in outcomes.parts()]


def _outcome(part: Document, *, strict: bool) -> Outcome:
    with _located(part):
        return read_outcome(part, strict=strict)


@contextlib.contextmanager
def _telling(rule: Document) -> Iterator[None]:
    """Begin errors with the rule's id, or its number."""
    id_ = rule.value.get("id") if isinstance(rule.value, dict) else None
    name = json.dumps(id_, ensure_ascii=False) if isinstance(id_, str) and id_ else f"{rule.path[-1]}"
    with _retelling(lambda error: _retold(error, f"stub {name}: {error.message}")):
        yield


@contextlib.contextmanager
def _located(part: Document) -> Iterator[None]:
    """Begin errors with the JSON path of a part, unless they have a nearer one, and give them its place."""

    def locate(error: MockError) -> MockError:
        error.at(part.file, part.line)
        return error if error.message.startswith("$") else _retold(error, f"{part.json_path}: {error.message}")

    with _retelling(locate):
        yield


@contextlib.contextmanager
def _retelling(retold: Callable[[MockError], MockError]) -> Iterator[None]:
    try:
        yield
    except MockError as error:
        raise retold(error) from error
    except Mistakes as mistakes:
        raise Mistakes([retold(error) for error in mistakes.exceptions]) from mistakes


def _retold(error: MockError, message: str) -> MockError:
    return MockError(message, why=error.why, fix=error.fix, file=error.file, line=error.line)
