"""What a session uses of its stubs, beside a plain model of the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eve_mocks.document import Document
from eve_mocks.errors import MockError
from eve_mocks.folder import Folder
from eve_mocks.session import Sessions
from eve_mocks.stubs.limits import CALLS
from eve_mocks.stubs.names import Target
from eve_mocks.stubs.playback import Playback, nearest_miss
from eve_mocks.stubs.rules import NO_RULES, Rules, read_rules

FOLDER = Folder.at(Path(__file__).parent, "tests")


def rules(*given_rules: Any, origin: str = "", file: str = "stubs.json") -> Rules:
    document = Document.from_python(list(given_rules), file=file, line=1, folder=FOLDER)
    return read_rules(document, origin, lambda name: Target("m", name), strict=True)


def rule(id_: str, *responses: Any, tool: str = "t", **match: Any) -> dict[str, Any]:
    return {"id": id_, "tool": tool, "match": match, "outcomes": [{"response": response} for response in responses]}


def play(playback: Playback, tool: str = "t", behind: Rules = NO_RULES, /, **arguments: Any) -> tuple[str, int] | None:
    played = playback.play(playback.rules(Target("m", tool), behind), arguments)
    return played and (played.rule.label, played.position)


def test_rules_in_front_come_before_those_of_the_mock() -> None:
    own, shared, behind = (
        rules(rule("a", 1, x={"const": 1})),
        rules(rule("a", 2, x=True), origin="f"),
        rules(rule("c", 3)),
    )
    playback = Playback(own, shared)
    assert play(playback, "t", behind, x=1) == ("a", 0)
    assert play(playback, "t", behind, x=2) == ("f:a", 0)
    assert play(playback, "t", behind) == ("c", 0)
    assert play(playback, "other", behind) is None


def test_a_list_that_is_loaded_again_goes_on_where_it_was() -> None:
    playback = Playback()
    assert play(playback, "t", rules(rule("a", 1, 2, 3), origin="m")) == ("m:a", 0)
    assert play(playback, "t", rules(rule("b", 1), rule("a", 1), origin="m")) == ("m:b", 0)
    assert play(playback, "t", rules(rule("a", 1, 2, 3), origin="m")) == ("m:a", 1)


def test_what_is_called_alike_in_two_files_has_positions_of_its_own() -> None:
    playback = Playback(rules(rule("a", 1, 2), origin="m", file="m"))
    assert play(playback) == ("m:a", 0)
    behind = rules(rule("a", 1, 2), origin="m", file="mocks/m.yaml")
    assert play(Playback(), "t", behind) == ("m:a", 0)
    playback.pin(rules(rule("a", 1, 2), origin="m", file="a pin").all[0])
    assert play(playback) == ("m:a", 0)


def test_a_near_miss_does_not_fail_for_what_was_not_matched() -> None:
    slow = rule("slow", 1, id={"const": "q"}, text={"pattern": "(a+)+$"})
    given = {"id": "z", "text": "a" * 40 + "!"}
    playback = Playback(rules(slow))
    assert play(playback, **given) is None
    miss = nearest_miss(rules(slow).all, given)
    assert (miss.stub, playback.error) == ("slow", None)
    assert "takes too long" in miss.difference


def test_verification_tells_what_was_used() -> None:
    playback = Playback(rules(rule("a", 1, x=True), rule("b", 1)))
    play(playback, x=1)
    play(playback, "t", rules(rule("c", 1), origin="m"), x=1)
    assert playback.verification() == {"error": None, "matchedRuleIds": ["a"], "unusedRuleIds": ["b"]}
    play(playback)
    assert playback.verification() == {"error": None, "matchedRuleIds": ["a", "b"], "unusedRuleIds": []}


def test_the_first_failure_is_kept() -> None:
    playback = Playback()
    for message, file in (("broke", "mocks/m.yaml"), ("broke again", None)):
        playback.fail(MockError(message, why="", fix="", file=file, line=3 if file else None))
    assert playback.verification()["error"] == "mocks/m.yaml:3: broke"


def test_a_pattern_that_takes_too_long_is_a_broken_stub() -> None:
    session = Sessions("run", rules(rule("slow", 1, x={"pattern": "^(a+)+$"}), rule("behind", 2))).get()
    with pytest.raises(MockError, match="takes too long"):
        play(session.stubs, "t", x="a" * 40 + "!")
    assert "takes too long" in session.stubs.verification()["error"]
    played = play(session.stubs, "t", x="b")
    assert played == ("behind", 0)


def test_a_session_records_10000_calls() -> None:
    playback = Playback(rules(rule("a", 1, x=True)))
    for _ in range(CALLS // 2):
        assert play(playback, x=1)
        assert play(playback) is None  # matches no rule, and counts
        assert play(playback, "without_rules") is None  # is not recorded
    for _ in range(2):
        with pytest.raises(MockError, match="more than 10,000 calls"):
            play(playback, x=1)
    assert play(playback, "without_rules") is None
    assert "more than 10,000 calls" in playback.verification()["error"]


def test_sessions_share_rules_and_not_positions() -> None:
    sessions = Sessions("run", rules(rule("a", 1, 2)))
    assert [play(sessions.get(name).stubs) for name in ("x", "x", "y", "x", "y")] == [
        ("a", 0),
        ("a", 1),
        ("a", 0),
        ("a", 1),
        ("a", 1),
    ]


def test_the_nearest_miss_has_the_fewest_differences() -> None:
    found = rules(
        rule("far", 1, x={"const": 1}, y={"const": 2}, z=True),
        rule("near", 1, x={"const": 5}, y={"type": "object", "required": ["k"]}),
        rule("also-near", 1, x={"const": 5}, y={"const": 9}),
        origin="m",
    )
    miss = nearest_miss(found.of(Target("m", "t")), {"x": 4, "y": {}})
    assert miss == ("m:near", "x is 4, not 5; y.k is missing")


# A plain model: what the contract says, in the fewest words.

TOOLS = st.sampled_from(["t", "u"])
VALUES = st.sampled_from([0, 1, "0", True, None])
PROPERTIES = st.sampled_from(["x", "y"])
CONSTRAINTS = st.one_of(
    st.booleans(),
    st.builds(lambda value: {"const": value}, VALUES),
    st.builds(lambda value: {"not": {"const": value}}, VALUES),
)
RULES = st.lists(
    st.tuples(TOOLS, st.dictionaries(PROPERTIES, CONSTRAINTS, max_size=2), st.integers(1, 3)), min_size=1, max_size=6
)
CALLS_MADE = st.lists(st.tuples(st.sampled_from("abc"), TOOLS, st.dictionaries(PROPERTIES, VALUES)), max_size=30)


def _fits(constraint: Any, value: Any) -> bool:
    if isinstance(constraint, bool):
        return constraint
    if "not" in constraint:
        return not _fits(constraint["not"], value)
    wanted = constraint["const"]
    return type(wanted) is type(value) and wanted == value


def _model(made: list[Any], session: str, tool: str, arguments: Any, seen: dict[Any, int]) -> tuple[str, int] | None:
    for number, (for_tool, match, length) in enumerate(made):
        if for_tool == tool and all(name in arguments and _fits(each, arguments[name]) for name, each in match.items()):
            count = seen.get((session, number), 0)
            seen[session, number] = count + 1
            return f"r{number}", min(count, length - 1)
    return None


@settings(max_examples=400, deadline=None)
@given(RULES, CALLS_MADE)
def test_any_rules_and_calls_go_as_in_the_model(made: list[Any], calls: list[Any]) -> None:
    listed = [rule(f"r{n}", *range(length), tool=tool, **match) for n, (tool, match, length) in enumerate(made)]
    sessions = Sessions("run", rules(*listed))
    seen: dict[Any, int] = {}
    for session, tool, arguments in calls:
        played = play(sessions.get(session).stubs, tool, **arguments)
        assert played == _model(made, session, tool, arguments, seen)
    for session in "abc":
        told = sessions.get(session).stubs.verification()
        used = {f"r{number}" for name, number in seen if name == session}
        assert (set(told["matchedRuleIds"]), set(told["unusedRuleIds"])) == (
            used,
            {f"r{number}" for number in range(len(made))} - used,
        )
