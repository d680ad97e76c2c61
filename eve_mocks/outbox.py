"""Sends records over a socket, in order, from a thread of its own: who hands one in does not wait.

The other end may be busy for as long as a mock's handler runs, and whoever tells of a connection holds up all others.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket


class Outbox:
    """What is put in goes out once the outbox is opened; what the other end does not take any more is dropped."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._records: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._sending = threading.Thread(target=self._send, name="outbox", daemon=True)

    def open(self) -> None:
        self._sending.start()

    def put(self, record: bytes) -> None:
        self._records.put(record)

    def flush(self, timeout: float) -> None:
        """Wait until all is sent, for so many seconds at most; what is put in later is not."""
        self._records.put(None)
        self._sending.join(timeout)

    def _send(self) -> None:
        try:
            while (record := self._records.get()) is not None:
                self._sock.send(record)
        except OSError:  # the process at the other end is gone, and so are the connections
            return
