"""Sockets that the caller has left open for the command: one that leads to another machine is a way out.

What has no destination yet is judged when it gets one, as a socket that the command makes is.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat

from eve_mocks.contain.address import is_loopback

_LOCAL = (socket.AF_UNIX, 16, 38)  # AF_NETLINK, AF_ALG
_MAPPED = "::ffff:"


def close_ways_out() -> None:
    """Let those not pass to what this process starts. Stdin, stdout and stderr are the caller's wish, and stay."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - numbers
        file = int(name)
        with contextlib.suppress(OSError):  # closed meanwhile
            if file > 2 and os.get_inheritable(file) and _leads_out(file):
                os.set_inheritable(file, False)


def _leads_out(file: int) -> bool:
    if not stat.S_ISSOCK(os.fstat(file).st_mode):
        return False
    with socket.socket(fileno=os.dup(file)) as sock:
        if sock.family not in (socket.AF_INET, socket.AF_INET6):
            return sock.family not in _LOCAL
        if sock.type not in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            return True
        try:
            host = sock.getpeername()[0]
        except OSError:  # it is not connected
            return False
        return not is_loopback(host.removeprefix(_MAPPED))
