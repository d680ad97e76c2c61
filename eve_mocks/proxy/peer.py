"""Which program holds the other end of a loopback connection, by its port: through /proc, else unknown.

Looking it up costs milliseconds on a busy machine, so it is done for blocked calls alone.
"""

from __future__ import annotations

import os
from pathlib import Path

from eve_mocks.model import Peer

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def find_peer(port: int, server_port: int) -> Peer:
    """The process that connected from ``port`` to ``server_port``, as far as it can be seen."""
    inode = _inode(port, server_port)
    pid = None if inode is None else _owner(inode)
    return Peer() if pid is None else Peer(pid=pid, program=_program(pid))


def _inode(port: int, server_port: int) -> str | None:
    """The client's socket. Columns: slot, local address, remote address, …; the tenth is the inode (proc_net_tcp)."""
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


def _owner(inode: str) -> int | None:
    wanted = f"socket:[{inode}]"
    try:
        pids = sorted((int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()), reverse=True)
    except OSError:
        return None
    for pid in pids:  # younger processes first: the command is younger than most
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
