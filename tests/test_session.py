"""Sessions: whose state it is, and whose turn."""

from __future__ import annotations

import asyncio

import pytest

from eve_mocks.session import BadSession, Session, Sessions, session_id


@pytest.mark.parametrize("text", ["run", "a", "_x", "A-1:b@c+d=e~f.g", "x" * 200])
def test_what_can_be_an_id(text: str) -> None:
    assert session_id(text) == text


@pytest.mark.parametrize(
    "text", ["", " ", "a b", "a\nb", "a\n", "x" * 201, "x" * 10_000, "../..", ".", "-x", "a/b", "é", "a\0", "~"]
)
def test_what_cannot_be_an_id_is_told(text: str) -> None:
    with pytest.raises(BadSession) as caught:
        session_id(text)
    assert len(str(caught.value)) < 300
    assert f"a text of {len(text)} characters" in str(caught.value)


def test_what_cannot_be_an_id_is_not_quoted() -> None:
    with pytest.raises(BadSession) as caught:
        session_id("Bearer hunter2")
    assert "hunter2" not in str(caught.value)


def test_an_identity_is_one_session_and_none_is_the_default() -> None:
    sessions = Sessions("mine")
    assert sessions.get("a") is sessions.get("a")
    assert sessions.get("a") is not sessions.get("b")
    assert sessions.get() is sessions.get("mine")
    with pytest.raises(BadSession):
        sessions.get("../..")
    with pytest.raises(BadSession):
        Sessions("no good")


def test_state_is_copied_for_each_session_and_kept_in_it() -> None:
    seed = {"orders": {"a": [1]}}
    one, two = Session("one"), Session("two")
    one.state("shop", seed)["orders"]["a"].append(2)
    assert one.state("shop", seed) == {"orders": {"a": [1, 2]}}
    assert two.state("shop", seed) == seed == {"orders": {"a": [1]}}
    assert one.state("other", seed) == seed


def test_a_seed_function_is_called_once_for_each_session() -> None:
    made: list[dict[str, int]] = []

    def seed() -> dict[str, int]:
        made.append({})
        return made[-1]

    sessions = Sessions()
    for name in ("a", "b", "a", "b"):
        sessions.get(name).state("shop", seed)
    assert len(made) == 2


def test_turns_are_taken_in_arrival_order_and_apart() -> None:
    async def run() -> list[list[str]]:
        session, other = Session("a"), Session("b")
        begun: asyncio.Queue[str] = asyncio.Queue()
        gate = asyncio.Event()

        async def take(name: str, whose: Session, mock: str) -> None:
            async with whose.turn(mock):
                begun.put_nowait(name)
                await gate.wait()

        async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
            for n in range(5):
                tasks.create_task(take(f"shop {n}", session, "shop"))
            tasks.create_task(take("other mock", session, "pay"))
            tasks.create_task(take("other session", other, "shop"))
            together = [await begun.get() for _ in range(3)]
            gate.set()
            return [together, [await begun.get() for _ in range(4)]]

    assert asyncio.run(run()) == [["shop 0", "other mock", "other session"], [f"shop {n}" for n in range(1, 5)]]


def test_a_turn_that_is_cancelled_is_given_on() -> None:
    async def run() -> bool:
        session = Session("a")
        async with session.turn("shop"):
            waiting = asyncio.create_task(session.turn("shop").acquire())
            await asyncio.sleep(0)
            waiting.cancel()
        async with asyncio.timeout(5), session.turn("shop"):
            return True

    assert asyncio.run(run())
