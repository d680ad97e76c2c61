"""Which clients trust the certificates of a run: told by what each does once it has seen one.

Most say in an alert what they do not like. Node.js hangs up without a word, before or after the end of the handshake;
so does whoever opened a connection in advance, and did not need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eve_mocks.proxy.untrusted import checks_itself, explain, is_distrust

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from eve_mocks.proxy.connection import Connection

_MAX_PROBLEMS = 20


class Trust:
    """Judges clients, by process. ``block`` records a connection; ``problems`` are what is not sure enough for that."""

    def __init__(self, block: Callable[[Connection, str, str, str], None]) -> None:
        self.problems: list[dict[str, str]] = []
        self._block = block
        self._trusting: set[int] = set()

    def proven(self, connection: Connection) -> None:
        """The client has sent something under our certificate."""
        if connection.peer is not None and connection.peer.pid is not None:
            self._trusting.add(connection.peer.pid)

    def failed(self, connection: Connection, error: ssl.SSLError | None) -> None:
        """TLS could not be negotiated; ``error`` is None where the client just hung up."""
        if error is None:
            self.left(connection)
        else:
            self._distrusted(connection, error)

    def left(self, connection: Connection, error: ssl.SSLError | None = None, *, cleanly: bool = False) -> None:
        """The client ended a connection without a request; ``cleanly`` where it said so (RFC 8446, section 6.1)."""
        peer = connection.peer
        if error is not None and is_distrust(error):
            self._distrusted(connection, error)
        elif cleanly or (peer is not None and peer.pid in self._trusting):
            return
        elif peer is not None and checks_itself(peer.program):
            self._distrusted(connection, None)
        else:
            self._doubt(connection)

    def _distrusted(self, connection: Connection, error: ssl.SSLError | None) -> None:
        program = connection.peer.program if connection.peer is not None else None
        self._block(connection, "tls", *explain(error, program))

    def _doubt(self, connection: Connection) -> None:
        program = connection.peer.program if connection.peer is not None else None
        problem = {
            "message": f"{program or 'a client'} opened a connection to {connection.url.origin} and did not use it",
            "why": "It may not trust the certificate of the run, or only have opened the connection in advance.",
            "fix": f"If a call is missing there: {explain(None, program)[1]}",
        }
        if problem not in self.problems and len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(problem)
