"""Which file a command's first word names, and why one cannot be started."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING

from eve_mocks.errors import MockError

if TYPE_CHECKING:
    from collections.abc import Sequence


class CannotStart(MockError):
    """The command cannot be executed (126) or is not found (127)."""

    def __init__(self, message: str, *, why: str, fix: str, exit_code: int) -> None:
        super().__init__(message, why=why, fix=fix)
        self.exit_code = exit_code


def as_script(argv: Sequence[str]) -> list[str] | None:
    """What runs a file that the system cannot: a shell, as execvp(3) has it, where the file is text; else None."""
    path = _file(argv[0])
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a word, not yet a path
            start = file.read(256)
    except OSError:
        return None
    is_binary = start.startswith(b"\x7fELF") or b"\0" in start.partition(b"\n")[0]
    return None if is_binary else ["/bin/sh", path, *argv[1:]]


def _file(program: str) -> str:
    if "/" not in program:
        for folder in os.get_exec_path():
            path = os.path.join(folder, program)  # noqa: PTH118
            if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113
                return path
    return program


def cannot_start(program: str, error: OSError) -> CannotStart:
    """What the system's refusal means."""
    reason = error.strerror or str(error)
    if error.errno not in (errno.ENOENT, errno.ENOTDIR):
        why, fix = "the system refused to run it", "Correct the command or its arguments."
        if os.path.isdir(program):  # noqa: PTH112
            why, fix = "it is a folder", "Name a program in it."
        elif error.errno == errno.EACCES:
            fix = f"Make it executable (chmod +x), or put an interpreter before it: -- sh {program}"
        elif error.errno == errno.ENOEXEC:
            why = "it is neither a script nor a program for this kind of machine, or it is damaged"
            fix = "Install or build it for this machine."
        message = f"the command {program} cannot be executed: {reason}"
        return CannotStart(message, why=why, fix=fix, exit_code=126)
    if os.path.exists(program) and "/" in program:  # noqa: PTH110
        return CannotStart(
            f"the command {program} cannot be executed: its interpreter is not found",
            why="the file is there, but what its first line names, or the loader it was built for, is not",
            fix="Correct its first line, or install that interpreter.",
            exit_code=127,
        )
    return CannotStart(
        f"the command {program} is not found",
        why="there is no such file" if "/" in program else "no folder of the PATH holds it",
        fix=_nearest_program(program),
        exit_code=127,
    )


def _nearest_program(program: str) -> str:
    import difflib

    folder, _, name = program.rpartition("/")
    names: set[str] = set()
    for place in [folder or "/"] if "/" in program else os.get_exec_path():
        with contextlib.suppress(OSError):
            names.update(os.listdir(place))  # noqa: PTH208 - names are all that is needed
    # A PATH holds thousands of short names: only a very near one is worth telling.
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.8)
    return f"Did you mean {program.removesuffix(name)}{near[0]}?" if near else "Correct its name, or install it."
