"""What a handler tells the client while it works: log messages and progress, sent before its result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from eve_mocks.response import encode_json

if TYPE_CHECKING:
    from eve_mocks.response import Json

type Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


class Client:
    """The client of one call, as its handler sees it. Whoever does not take a stream is told nothing."""

    def __init__(self) -> None:
        self.token: str | int | None = None
        self._notes: list[bytes] = []

    def log(self, data: Json, level: Level = "info", *, logger: str | None = None) -> None:
        """Send a log message (MCP 2025-11-25, Logging)."""
        self._note("notifications/message", {"level": level, "data": data, "logger": logger})

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the call has come (MCP 2025-11-25, Progress); nothing where the client did not ask for it."""
        if self.token is not None:
            told = {"progressToken": self.token, "progress": progress, "total": total, "message": message}
            self._note("notifications/progress", told)

    def _note(self, method: str, params: dict[str, Any]) -> None:
        given = {key: value for key, value in params.items() if value is not None}
        self._notes.append(encode_json({"jsonrpc": "2.0", "method": method, "params": given}))

    def taken(self) -> list[bytes]:
        """The messages, each as JSON text."""
        return list(self._notes)


def framed(message: bytes) -> bytes:
    """A message as a server-sent event, as the SDK frames them."""
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"


def progress_token(body: bytes) -> str | int | None:
    """The token under which a client wants to be told of progress."""
    try:
        found = json.loads(body)["params"]["_meta"]["progressToken"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return found if isinstance(found, str | int) else None
