"""What every session of a run begins with, as the command line names it: ``--stubs`` and ``--seed``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eve_mocks.data_file import read_documents
from eve_mocks.errors import Collecting, MockError
from eve_mocks.folder import Folder
from eve_mocks.match import did_you_mean
from eve_mocks.stubs.file import load_stubs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eve_mocks.model import Mock
    from eve_mocks.response import Json
    from eve_mocks.stubs.rules import Rules


class Beginning(NamedTuple):
    """``stubs`` come before those of the mocks, list by list; ``seeds`` are by mock."""

    stubs: tuple[Rules, ...] = ()
    seeds: dict[str, Json] = {}  # noqa: RUF012 - never changed


def read(stubs: Sequence[str], seeds: Sequence[str], mocks: Sequence[Mock]) -> Beginning:
    """Read the files; ``seeds`` are ``NAME=FILE``. Raises ``MockError``, or ``Mistakes``."""
    mistakes = Collecting()
    rules: list[Rules] = []
    states: dict[str, Json] = {}
    files: dict[str, str] = {}
    for file in stubs:
        files.setdefault(os.path.realpath(file), file)
    for file in files.values():
        with mistakes:
            rules.append(load_stubs(Path(file), mocks, shown=file))
    for given in seeds:
        with mistakes:
            name, state = _seed(given, mocks)
            if name in states:
                raise MockError(
                    f"--seed is given twice for {name}",
                    why="a mock starts from one state",
                    fix="Keep one of them.",
                )
            states[name] = state
    mistakes.tell()
    return Beginning(tuple(rules), states)


def _seed(given: str, mocks: Iterable[Mock]) -> tuple[str, Json]:
    name, mark, file = given.partition("=")
    if not (name and mark and file):
        raise MockError(
            f"--seed {given} is not NAME=FILE",
            why="a seed is for one mock, and a file holds it",
            fix="Write for example --seed linear=seeds/linear.yaml",
        )
    with_state(name, mocks)
    documents = read_documents(Path(file), file, Folder.at(Path(os.path.dirname(file) or ".")))  # noqa: PTH120 - as typed
    if len(documents) != 1:
        raise MockError(
            f"{file} {'holds more than one document' if documents else 'is empty'}",
            why="a mock starts from one state",
            fix="Write for example: {issues: []}",
            file=file,
            line=1,
        )
    return name, documents[0].value


def with_state(name: str, mocks: Iterable[Mock]) -> Mock:
    """The mock of a name, which has to have state. Raises ``MockError``."""
    by_name = {mock.name: mock for mock in mocks}
    mock = by_name.get(name)
    having = [mock.name for mock in by_name.values() if mock.seed is not None]
    if mock is None:
        raise MockError(
            f"there is no mock {name!r}",
            why="state is kept by a mock, under its name",
            fix=did_you_mean(name, having) if having else "Write the mock in Python, for only such a mock has state.",
        )
    if mock.seed is None:
        raise MockError(
            f"the mock {name} has no state",
            why=f"only a mock in Python has state, and {name} is in {mock.file}",
            fix=f"Seed one that has: {', '.join(having)}." if having else "Write it in Python, with state={…}.",
        )
    return mock
