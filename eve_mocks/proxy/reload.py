"""Loads the mocks again when a file of theirs is edited while the command runs (contract, section 1)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from eve_mocks.errors import MockError
from eve_mocks.folder import SUFFIXES
from eve_mocks.load import load
from eve_mocks.router import Router

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from eve_mocks.dispatch import Dispatcher

_PERIOD = 0.25
_MAX_PROBLEMS = 20

# Of each file: its path, when it was written, and its size.
type Stamp = frozenset[tuple[str, int, int]]


def stamp_of(folder: Path, also: Iterable[Path] = ()) -> Stamp | None:
    """What an edit changes; None where the folder, or another file of mocks, is gone: that is no edit."""
    try:
        files = [entry for entry in folder.iterdir() if entry.suffix in SUFFIXES] if folder.exists() or not also else []
        stats = [(str(file), file.stat()) for file in (*files, *also)]
    except OSError:
        return None
    return frozenset((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)


class Reloading:
    """Watches a folder; an edit counts for calls to come, a broken one for none. ``problems`` tells of those.

    ``loaded`` is the stamp of the folder from before it was loaded: what is edited meanwhile is an edit too.
    ``taken`` is called after each edit that counts.
    """

    def __init__(
        self,
        folder: Path,
        shown: str,
        dispatcher: Dispatcher,
        loaded: Stamp | None,
        taken: Callable[[Router], object] = lambda _: None,
        *,
        also: Sequence[Path] = (),
    ) -> None:
        self.problems: list[dict[str, str]] = []
        self._folder = folder
        self._shown = shown
        self._also = also
        self._dispatcher = dispatcher
        self._taken = taken
        self._loaded = self._seen = loaded

    async def watch(self) -> None:
        """Look again and again. An edit is taken once nothing changed for a while, so that it is whole."""
        while True:
            await asyncio.sleep(_PERIOD)
            stamp = stamp_of(self._folder, self._also)
            settled, self._seen = stamp == self._seen, stamp
            if stamp is not None and settled and stamp != self._loaded:
                self._loaded = stamp
                self._load()

    def _load(self) -> None:
        try:
            mocks = load(self._folder, shown=self._shown, also=self._also)
            if mocks.errors:
                raise mocks.errors[0]
            self._dispatcher.router = router = Router(mocks.mocks, mocks.passages)
            self._taken(router)
        except MockError as error:
            problem = {
                "message": f"an edit of the mocks was not taken: {error.where}: {error.message}",
                "why": error.why,
                "fix": f"{error.fix} Until then the mocks answer as before the edit.",
            }
            if problem not in self.problems and len(self.problems) < _MAX_PROBLEMS:
                self.problems.append(problem)
