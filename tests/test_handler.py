"""Handlers: what they take, how they are called, and where their mistakes are."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eve_mocks import Fault, Throw, ToolError
from eve_mocks.errors import MockError
from eve_mocks.folder import Folder
from eve_mocks.handler import Handler
from eve_mocks.interruption import Interrupted
from eve_mocks.model import BadRequest

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Folder.at(Path(__file__).parent, "tests")
OFFERED = ("args", "request", "params", "state", "session")
VALUES: dict[str, Callable[[], object]] = {name: functools.partial(str.upper, name) for name in OFFERED}


def call(function: Any) -> Any:
    return asyncio.run(Handler(function, OFFERED, FOLDER).call(VALUES))


class Object:
    def __call__(self, state: object) -> object:
        return state

    def method(self, session: object) -> object:
        return session


async def coroutine(args: object) -> object:
    await asyncio.sleep(0)
    return args


def positional(args: object, /, state: object, *, session: object) -> object:
    return [args, state, session]


def wrapped(function: Any) -> Any:
    @functools.wraps(function)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return outer


@pytest.mark.parametrize(
    ("function", "result"),
    [
        (lambda: 1, 1),
        (lambda state, args: [state, args], ["STATE", "ARGS"]),
        (coroutine, "ARGS"),
        (functools.partial(coroutine), "ARGS"),
        (positional, ["ARGS", "STATE", "SESSION"]),
        (Object(), "STATE"),
        (Object().method, "SESSION"),
        (wrapped(coroutine), "ARGS"),
    ],
)
def test_a_handler_gets_what_it_names(function: Any, result: object) -> None:
    assert call(function) == result


def test_what_is_not_named_is_not_made() -> None:
    values = {**VALUES, "args": lambda: pytest.fail("made")}
    assert asyncio.run(Handler(lambda state: state, OFFERED, FOLDER).call(values)) == "STATE"


@pytest.mark.parametrize(
    ("function", "message", "fix"),
    [
        (lambda sesion: sesion, "'sesion'", "Did you mean session?"),
        (lambda req: req, "'req'", "request"),
        (lambda xyz=1: xyz, "'xyz'", "Use one of: args, request, params, state, session."),
        (lambda *args: args, "*args", "Name what it needs: args, request"),
        (lambda **state: state, "**state", "Name what it needs"),
        (3, "cannot be called", "Give a function"),
    ],
)
def test_a_parameter_that_nothing_offers_is_told(function: Any, message: str, fix: str) -> None:
    with pytest.raises(MockError) as caught:
        Handler(function, OFFERED, FOLDER)
    assert message in caught.value.message
    assert fix in caught.value.fix
    if callable(function):
        assert (caught.value.file, caught.value.line) == ("tests/test_handler.py", function.__code__.co_firstlineno)


@pytest.mark.parametrize("error", [ToolError("x"), Throw("x"), Fault("reset"), BadRequest("x")])
def test_what_is_raised_on_purpose_is_raised(error: Exception) -> None:
    def handler() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        call(handler)
    assert caught.value is error


def deep() -> None:
    [].index(1)


async def outer() -> None:
    await asyncio.sleep(0)
    deep()


def through_a_library() -> object:
    return list(map(int, ["x"])) and functools.reduce(lambda _a, _b: deep(), [1, 2])


@pytest.mark.parametrize(
    ("function", "text"),
    [(outer, "    [].index(1)"), (through_a_library, '    return list(map(int, ["x"])) and functools')],
)
def test_a_mistake_is_told_at_the_users_deepest_line(function: Any, text: str) -> None:
    with pytest.raises(MockError, match="ValueError") as caught:
        call(function)
    assert caught.value.file == "tests/test_handler.py"
    assert caught.value.line is not None
    assert Path(__file__).read_text().splitlines()[caught.value.line - 1].startswith(text)


def test_a_mistake_outside_the_folder_is_told_at_the_handler() -> None:
    elsewhere = Folder.at(Path(__file__).parent / "nowhere", "mocks")
    handler = Handler(outer, OFFERED, elsewhere)
    with pytest.raises(MockError) as caught:
        asyncio.run(handler.call(VALUES))
    assert (caught.value.file, caught.value.line) == (__file__, outer.__code__.co_firstlineno)


def test_an_exception_with_several_lines_or_none_is_one_line() -> None:
    def lines() -> None:
        raise ValueError("a\n  b")

    def silent() -> None:
        raise ValueError

    for function, told in ((lines, "ValueError: a b"), (silent, "ValueError: without a message")):
        with pytest.raises(MockError) as caught:
            call(function)
        assert caught.value.message == f"the handler {function.__name__} raised {told}"


async def cancels_its_own() -> None:
    inner = asyncio.create_task(asyncio.Event().wait())
    inner.cancel()
    await inner


async def raises(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda: raises(GeneratorExit()), "GeneratorExit"),
        (lambda: raises(KeyboardInterrupt()), "KeyboardInterrupt"),
        (lambda: raises(SystemExit(3)), "SystemExit"),
        (lambda: raises(asyncio.CancelledError()), "CancelledError"),
        (lambda: pytest.fail("no"), "Failed"),
        (cancels_its_own, "CancelledError"),
    ],
)
def test_what_is_no_exception_by_its_class_is_a_mistake_all_the_same(function: Any, told: str) -> None:
    with pytest.raises(MockError) as caught:
        call(function)
    assert f" raised {told}: " in caught.value.message
    assert caught.value.file == "tests/test_handler.py"


def test_the_ctrl_c_of_a_person_is_no_mistake() -> None:
    with pytest.raises(Interrupted):
        call(lambda: raises(Interrupted()))


def test_an_exception_without_a_text_is_told() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    with pytest.raises(MockError, match="raised Mute: with a message that cannot be made"):
        call(lambda: raises(Mute()))


def test_cancelling_a_handler_is_no_mistake() -> None:
    async def run() -> None:
        waiting = asyncio.create_task(Handler(lambda: asyncio.Event().wait(), OFFERED, FOLDER).call(VALUES))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run())
