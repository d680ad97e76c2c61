"""Which program holds the other end of a loopback connection, by its port: through /proc, else unknown.

Looking it up costs milliseconds on a busy machine, so it is done for blocked calls alone.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from eve_mocks.model import Peer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_RECENT = 16


class Peers:
    """Looks clients up, beginning with the processes that were found last: many calls come from few."""

    def __init__(self) -> None:
        self._recent: list[int] = []

    def find(self, port: int, server_port: int) -> Peer:
        """The process that connected from ``port`` to ``server_port``, as far as it can be seen."""
        inode = _inode(port, server_port)
        pid = None if inode is None else _owner(inode, itertools.chain(self._recent, _younger_first()))
        if pid is None:
            return Peer()
        self._recent = [pid, *(other for other in self._recent if other != pid)][:_RECENT]
        return Peer(pid=pid, program=_program(pid))


def is_gone(port: int, server_port: int) -> bool:
    """Whether no process has the client's socket any more; False where that cannot be seen."""
    return _TABLES[0].exists() and _inode(port, server_port) is None


def _inode(port: int, server_port: int) -> str | None:
    """The client's socket. Columns: slot, local address, remote address, …; the tenth is the inode (proc_net_tcp).

    It is 0 for one that the kernel has left of a closed connection.
    """
    local, remote = f":{port:04X}", f":{server_port:04X}"
    for table in _TABLES:
        try:
            with table.open() as lines:
                for line in lines:
                    columns = line.split()
                    if columns[1].endswith(local) and columns[2].endswith(remote) and columns[9] != "0":
                        return columns[9]
        except (OSError, IndexError):
            continue
    return None


def _younger_first() -> Iterator[int]:
    """All processes: the command is younger than most, so the highest number comes first."""
    try:
        yield from sorted((int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()), reverse=True)
    except OSError:
        return


def _owner(inode: str, pids: Iterable[int]) -> int | None:
    wanted = f"socket:[{inode}]"
    for pid in pids:
        try:
            with os.scandir(f"/proc/{pid}/fd") as descriptors:
                if any(_link(entry.path) == wanted for entry in descriptors):
                    return pid
        except OSError:
            continue  # another user's, or gone
    return None


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 - not a path: `socket:[123]`
    except OSError:
        return ""


def _program(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name.removesuffix(" (deleted)")
    except OSError:
        try:
            return Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            return None
