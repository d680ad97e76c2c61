"""A function in a mock file: it takes what it names, and what goes wrong in it is told with its own file and line."""

from __future__ import annotations

import contextlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

from eve_mocks.errors import Collecting, Mistakes, MockError
from eve_mocks.interruption import is_from_outside
from eve_mocks.match import did_you_mean, nearest
from eve_mocks.model import BadRequest, Fault, Throw, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eve_mocks.folder import Folder

# What a handler raises on purpose; each kind answers them in its own protocol.
MEANT = (ToolError, Throw, Fault, BadRequest)
_NAMELESS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Handler:
    """A plain or ``async`` function, called with those of the offered values whose names are its parameters.

    Raises ``MockError``, or ``Mistakes``, for parameters whose names are not in ``offered``.
    """

    __slots__ = ("_folder", "_function", "file", "line", "name", "names")

    def __init__(self, function: Callable[..., Any], offered: tuple[str, ...], folder: Folder) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        file, self.line = defined_at(function)
        self.file = folder.show(file)
        self._function = function
        self._folder = folder
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError) as error:
            raise self._error(f"the handler {self.name} cannot be called: {error}", "Give a function.") from error
        mistakes = Collecting()
        for parameter in parameters:
            with mistakes:
                self._check(parameter, offered)
        mistakes.tell()
        self.names = {parameter.name: parameter.kind is parameter.POSITIONAL_ONLY for parameter in parameters}

    async def call(self, values: Mapping[str, Callable[[], Any]]) -> Any:
        """Call the function; ``values`` makes each value that is named, when it is needed.

        Raises what is in ``MEANT`` as it is, and anything else as ``MockError``.
        """
        with telling(f"the handler {self.name}", self._folder, self.file, self.line):
            given = {name: values[name]() for name in self.names}
            positional = [given.pop(name) for name, is_positional in self.names.items() if is_positional]
            result = self._function(*positional, **given)
            return await result if inspect.isawaitable(result) else result

    def _check(self, parameter: inspect.Parameter, offered: tuple[str, ...]) -> None:
        if parameter.kind in _NAMELESS:
            raise self._error(
                f"the handler {self.name} takes {parameter}", f"Name what it needs: {', '.join(offered)}."
            )
        if parameter.name not in offered:
            raise self._error(
                f"the handler {self.name} takes {parameter.name!r}, which is unknown",
                did_you_mean(parameter.name, offered),
            )

    def _error(self, message: str, fix: str) -> MockError:
        why = "a handler takes what it names, and only what can be offered has a name"
        return MockError(message, why=why, fix=fix, file=self.file, line=self.line)


@contextlib.contextmanager
def telling(
    what: str,
    folder: Folder,
    file: str,
    line: int | None,
    *,
    meant: tuple[type[Exception], ...] = MEANT,
    why: str = "an exception that is not ToolError, Throw or Fault is a mistake in the mock",
    fix: str = "Correct it there; a failure that the caller is meant to see is raised as ToolError or Throw.",
) -> Iterator[None]:
    """Turn what user code raises by mistake into a ``MockError`` at the user's own file and line.

    ``file`` and ``line`` are told where no frame of the traceback lies in the folder.
    """
    untouched: tuple[type[Exception], ...] = (*meant, Mistakes)
    try:
        yield
    except untouched:
        raise
    except MockError as error:
        raise error.at(*(folder.place(error) or (file, line)))  # noqa: B904 - the same error
    except BaseException as error:
        if is_from_outside(error):
            raise
        at, number = folder.place(error) or (file, line)
        if isinstance(error, ModuleNotFoundError):
            fix = f"Install it for the Python that runs eve-mocks ({sys.executable}), or put it below {folder.shown}."
        if near := _nearest_name(error):
            fix = f"Did you mean {near}? {fix}"
        raise MockError(
            f"{what} raised {type(error).__name__}: {_one_line(error)}", why=why, fix=fix, file=at, line=number
        ) from error


def _nearest_name(error: BaseException) -> str | None:
    """The name that was probably meant by one that is not there."""
    if isinstance(error, AttributeError) and error.name:
        return nearest(error.name, (name for name in dir(error.obj) if not name.startswith("_")))
    if isinstance(error, ImportError) and error.name_from and error.name in sys.modules:
        return nearest(error.name_from, dir(sys.modules[error.name]))
    if isinstance(error, NameError) and error.name and (traceback := error.__traceback__):
        while traceback.tb_next is not None:
            traceback = traceback.tb_next
        frame = traceback.tb_frame
        return nearest(error.name, {**frame.f_builtins, **frame.f_globals, **frame.f_locals})
    return None


def _one_line(error: BaseException) -> str:
    try:
        return " ".join(str(error).split()) or "without a message"
    except Exception:  # noqa: BLE001 - the text of an exception is made by user code too
        return "with a message that cannot be made"


def defined_at(function: Callable[..., Any]) -> tuple[str, int | None]:
    """File and line of a function, under its decorators; of its class for a callable object."""
    function = inspect.unwrap(function)
    function = getattr(function, "func", function)  # functools.partial
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else ("", None)
