"""Which program holds the other end of a loopback connection, by its port: through /proc, else unknown.

That is 60 microseconds for a process that was found lately, and nearly a millisecond for another: it is looked up
once for each TLS connection, before the client may dislike our certificate, and else for blocked calls alone.
"""

from __future__ import annotations

import itertools
import os
import socket
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from eve_mocks.model import Peer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_RECENT = 16
# linux/netlink.h, linux/sock_diag.h; struct inet_diag_msg ends with the inode, behind a header of netlink's.
_SOCK_DIAG = 4
_BY_FAMILY = 20
_INODE_AT = 16 + 68


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
    return Path("/proc/net").exists() and _inode(port, server_port) is None


def _inode(port: int, server_port: int) -> int | None:
    """The client's socket; the kernel tells of one alone in a hundredth of the time that its table takes."""
    try:
        return _ask_kernel(port, server_port) or None  # 0 is what the kernel has left of a closed connection
    except (OSError, AttributeError):  # not known to the kernel as IPv4, or a system that has none of this
        return _look_through_tables(port, server_port)


def _ask_kernel(port: int, server_port: int) -> int:
    """One request to sock_diag(7), for an IPv4 connection on this machine."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as netlink:
        local = socket.inet_aton("127.0.0.1")
        wanted = struct.pack(">HH16s16sI8s", port, server_port, local, local, 0, b"\xff" * 8)  # inet_diag_sockid
        request = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + wanted
        netlink.send(struct.pack("=IHHII", 16 + len(request), _BY_FAMILY, 1, 0, 0) + request)
        answer = netlink.recv(4096)
        if struct.unpack_from("=H", answer, 4)[0] != _BY_FAMILY:
            raise OSError("the kernel does not know it")
        return int(struct.unpack_from("=I", answer, _INODE_AT)[0])


def _look_through_tables(port: int, server_port: int) -> int | None:
    """Columns: slot, local address, remote address, …; the tenth is the inode (proc_net_tcp)."""
    local, remote = f":{port:04X}", f":{server_port:04X}"
    for table in _TABLES:
        try:
            with table.open() as lines:
                for line in lines:
                    columns = line.split()
                    if columns[1].endswith(local) and columns[2].endswith(remote) and columns[9] != "0":
                        return int(columns[9])
        except (OSError, IndexError):
            continue
    return None


def _younger_first() -> Iterator[int]:
    """All processes: the command is younger than most, so the highest number comes first."""
    try:
        yield from sorted((int(name) for name in _names("/proc") if name.isdigit()), reverse=True)
    except OSError:
        return


def _owner(inode: int, pids: Iterable[int]) -> int | None:
    wanted = f"socket:[{inode}]"
    for pid in pids:
        folder = f"/proc/{pid}/fd"
        try:
            names = _names(folder)
        except OSError:
            continue  # another user's, or gone
        if any(_link(f"{folder}/{name}") == wanted for name in reversed(names)):  # the last one opened comes last
            return pid
    return None


def _names(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


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
