"""What one session has used of its stubs: the position of each sequence, and what is told of them afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eve_mocks.errors import MockError
from eve_mocks.outcome import Outcome
from eve_mocks.patience import together
from eve_mocks.response import Response
from eve_mocks.stubs.limits import CALLS
from eve_mocks.stubs.rules import NO_RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eve_mocks.response import Json
    from eve_mocks.stubs.names import Target
    from eve_mocks.stubs.rules import Rule, Rules


_ASKED = Outcome(Response(204))  # stands in until the callback has told


# Of a rule: the file that it is from, its origin and its id.
type Key = tuple[str, str, str]


class Played(NamedTuple):
    """What a call gets: the entry of a rule's sequence, counted from 0."""

    rule: Rule
    position: int
    outcome: Outcome


class NearMiss(NamedTuple):
    """The stub that nearly answered, and what differed."""

    stub: str
    difference: str

    @property
    def fix(self) -> str:
        return f"Let the stub {self.stub} match this call too, or add an answer that is asked after it."


class Playback:
    """``front`` are lists of rules that come before a mock's own, in their order; they stay as they are.

    A pin comes before all of them, one for each operation. ``error`` is the first failure of a stub. It stays, so that
    an eval fails even if its agent recovered. ``asking`` names the mocks that wait for a callback.
    """

    __slots__ = ("_calls", "_front", "_pins", "_used", "asking", "error")

    def __init__(self, *front: Rules) -> None:
        self._front = tuple(rules for rules in front if rules)
        self._pins: dict[Target, Rule] | None = None
        self.asking: set[str] = set()
        self.error: str | None = None
        self._calls = 0
        # By key rather than by rule: a file that is loaded again goes on where it was.
        self._used: dict[Key, int] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing comes before the mocks' own rules."""
        return not (self._front or self._pins)

    def pin(self, rule: Rule) -> None:
        """Put a rule in front, in the place of an earlier pin of its operation; its sequence begins anew."""
        self._pins = {**(self._pins or {}), rule.target: rule}
        if self._used is not None:
            self._used.pop(_key(rule), None)

    def rules(self, target: Target, behind: Rules = NO_RULES) -> Sequence[Rule]:
        """The rules for an operation, from first to last; ``behind`` are those of the mock."""
        if self.is_empty:
            return behind.of(target)
        pins = [self._pins[target]] if self._pins and target in self._pins else []
        return [*pins, *(rule for rules in (*self._front, behind) for rule in rules.of(target))]

    def play(self, rules: Sequence[Rule], given: Json) -> Played | None:
        """The outcome of the first rule that matches, which alone advances. Raises ``MockError`` after 10,000 calls.

        A call counts where an operation has rules, whether or not one matches.
        """
        if not rules:
            return None
        if self._calls >= CALLS:
            error = MockError(
                f"the session has made more than {CALLS:,} calls to operations with stubs",
                why="eve records up to that many calls of a session",
                fix="Start a new session, or answer with a route, a result or a handler.",
            )
            self.fail(error)
            raise error
        self._calls += 1
        return self._choose(rules, given)

    async def answer(self, rules: Sequence[Rule], given: Json) -> Played | None:
        """As ``play``, and asks the callbacks of pins. Raises ``MockError``, also where such a one fails."""
        played = self.play(rules, given)
        while played is not None and played.rule.ask is not None:
            self.asking.add(played.rule.target.mock)
            try:
                outcome = await played.rule.ask(given)
            except MockError as error:
                self.fail(error)
                raise
            finally:
                self.asking.discard(played.rule.target.mock)
            if outcome is not None:
                return played._replace(outcome=outcome)
            rules = rules[rules.index(played.rule) + 1 :]
            played = self._choose(rules, given)
        return played

    def _choose(self, rules: Sequence[Rule], given: Json) -> Played | None:
        try:
            with together():
                rule = next((rule for rule in rules if rule.matches(given)), None)
        except MockError as error:  # a pattern that takes too long
            self.fail(error)
            raise
        if rule is None:
            return None
        used = self._used = {} if self._used is None else self._used
        key = _key(rule)
        position = used.get(key, 0)
        used[key] = position + 1
        if rule.ask is not None:
            return Played(rule, position, _ASKED)
        position = min(position, len(rule.outcomes) - 1)
        return Played(rule, position, rule.outcomes[position])

    def fail(self, error: MockError) -> None:
        """Keep an error for ``verification``."""
        if self.error is None:
            self.error = f"{error.where}: {error.message}" if error.where else error.message

    def verification(self) -> dict[str, Json]:
        """What eve's endpoint tells: the rules that were used, and of the rules in front those that were not."""
        used = self._used or {}
        in_front = [*(self._pins or {}).values(), *(rule for rules in self._front for rule in rules.all)]
        return {
            "error": self.error,
            "matchedRuleIds": [f"{origin}:{id_}" if origin else id_ for _, origin, id_ in used],
            "unusedRuleIds": [rule.label for rule in in_front if _key(rule) not in used],
        }


def _key(rule: Rule) -> Key:
    """What stays the same of a rule when its file is loaded again; a mock may be called like a file, or ``pin``."""
    return rule.place.file, rule.origin, rule.id


def nearest_miss(rules: Sequence[Rule], given: Json) -> NearMiss:
    """Of rules that do not match, the one with the fewest differences, and what they are."""
    missed: list[tuple[list[object], Rule]] = []
    with together():
        for rule in rules:
            try:
                missed.append((list(rule.differences(given)), rule))
            except MockError as error:  # a pattern that takes too long, and that matching did not come to
                missed.append(([error.message], rule))
    differences, rule = min(missed, key=lambda each: len(each[0]))
    return NearMiss(rule.label, "; ".join(map(str, differences)))
