"""The console entry: what is done before any other module is imported, and after the last one has run.

A project's PYTHONPATH comes first on the path of every Python program, this one included: without care, a ``click.py``
or ``typing.py`` of the project would be imported in place of the one that is meant. So what is imported here at the
top is part of the interpreter itself.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

_exit = os._exit  # mocks get another (see exits.py)


def main() -> "NoReturn":
    """Run the command line, and end the process, whatever the mocks have left running in it."""
    sys.path[:] = own_first(sys.path, os.environ)
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while modules are imported: no traceback
    from eve_mocks import cli, interruption

    interruption.heed_ctrl_c()
    code = cli.main()
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None where the caller has closed it
        try:
            stream.flush()
        except (OSError, ValueError):  # whoever read it has gone
            code = code or 1
    _exit(code)


def own_first(path: list[str], environment: "Mapping[str, str]") -> list[str]:
    """A path with what PYTHONPATH has put on it at the end, where mock files still find it."""
    given = environment.get("PYTHONPATH")
    if not given:
        return path
    try:  # pathlib may be the project's
        theirs = {os.path.abspath(folder) for folder in given.split(os.pathsep)}  # noqa: PTH100
        return sorted(path, key=lambda folder: os.path.abspath(folder) in theirs)  # noqa: PTH100
    except FileNotFoundError:  # there is no working directory
        return path
