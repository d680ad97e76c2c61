"""Which handler holds up the proxy."""

from __future__ import annotations

import inspect
import threading
from typing import TYPE_CHECKING, Any

from eve_mocks.folder import Folder
from eve_mocks.proxy.stuck import held_up_by, watch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eve_mocks.errors import MockError

MOCK = """
def handler(then):
    helper(then)

def helper(then):
    then()
"""


def handler_in(folder: Path) -> Callable[[Callable[[], object]], None]:
    """A function of a mock file, that calls another of it, that calls what it is given."""
    names: dict[str, Any] = {}
    exec(compile(MOCK, folder / "pay.py", "exec"), names)
    handler: Callable[[Callable[[], object]], None] = names["handler"]
    return handler


def test_the_outermost_function_and_the_innermost_line_are_told(tmp_path: Path) -> None:
    found: list[MockError | None] = []
    handler_in(tmp_path)(lambda: found.append(held_up_by(inspect.currentframe(), Folder.at(tmp_path, "mocks"))))
    assert found[0] is not None
    assert found[0].message == "handler has not returned: it is at mocks/pay.py:6"


def test_where_no_mock_runs_nothing_is_told(tmp_path: Path) -> None:
    assert held_up_by(inspect.currentframe(), Folder.at(tmp_path, "mocks")) is None


def test_another_thread_tells_while_the_main_one_is_held_up(tmp_path: Path) -> None:
    told = threading.Event()

    def stay() -> None:
        watch(Folder.at(tmp_path, "mocks"), lambda _: told.set(), patience=0)
        told.wait(30)

    handler_in(tmp_path)(stay)
    assert told.is_set()


def test_what_ends_in_time_is_not_told(tmp_path: Path) -> None:
    told: list[object] = []
    timer = watch(Folder.at(tmp_path, "mocks"), told.append, patience=600)
    timer.cancel()
    timer.join(30)
    assert told == []
