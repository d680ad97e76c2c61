"""What the supervisor tells: connections that were redirected, attempts that were refused.

Pure values with a line format of their own, so that they can cross a socket to the process that logs them.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

LONGEST = 65536
"""Bytes of a record, more than any has: a name has 255, a session's id is cut."""


class Process(NamedTuple):
    """Who asked: process id, name of the program, and the value of ``EVE_MOCKS_SESSION`` in its environment."""

    pid: int
    program: str
    session: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {"pid": self.pid, "program": self.program, "session": self.session}


class Redirect(NamedTuple):
    """A TCP connection that arrives at the proxy from ``source`` and was meant for ``host`` and ``port``.

    ``source`` is the peer's address as the proxy's listener sees it. ``host`` is the name that was looked up, or
    the address if none was.
    """

    source: tuple[str, int]
    host: str
    port: int
    process: Process

    def as_json(self) -> dict[str, Any]:
        process = self.process.as_json()
        return {"redirect": {"source": self.source, "host": self.host, "port": self.port, "process": process}}


class Refused(NamedTuple):
    """An attempt that ended in the kernel. ``host`` is empty and ``port`` 0 where a socket could not even be made."""

    protocol: str
    host: str
    port: int
    process: Process
    reason: str

    def as_json(self) -> dict[str, Any]:
        target = {"protocol": self.protocol, "host": self.host, "port": self.port}
        return {"refused": {**target, "process": self.process.as_json(), "reason": self.reason}}


def encode(record: Redirect | Refused) -> bytes:
    """One line of JSON."""
    return json.dumps(record.as_json(), separators=(",", ":")).encode() + b"\n"


def decode(line: bytes | str) -> Redirect | Refused:
    """The record of a line that :func:`encode` wrote."""
    ((kind, fields),) = json.loads(line).items()
    process = Process(**fields.pop("process"))
    if kind == "refused":
        return Refused(process=process, **fields)
    host, port = fields.pop("source")
    return Redirect(source=(host, port), process=process, **fields)
