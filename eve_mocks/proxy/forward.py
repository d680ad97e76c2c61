"""Requests that change lanes: headers that carry what is known of them, and the form that an upstream expects.

A request that mitmproxy must not pass is sent to our own listener, so that all answers are made in one place. Where it
came from stands in headers that count only beside the token of the run, which no client has.
"""

from __future__ import annotations

import dataclasses
import hmac
import json
from typing import TYPE_CHECKING

from eve_mocks.model import Peer
from eve_mocks.proxy.connection import Connection

if TYPE_CHECKING:
    import h11

    from eve_mocks.model import URL, Headers

TOKEN = "x-eve-mocks-internal-token"  # noqa: S105 - the name of a header
_CONNECTION = "x-eve-mocks-internal-connection"
HEADERS = (TOKEN, _CONNECTION)


def wrap(connection: Connection, token: str) -> dict[str, str]:
    """The headers that tell the answering lane where a request came from."""
    return {TOKEN: token, _CONNECTION: json.dumps(dataclasses.asdict(connection))}


def unwrap(headers: Headers, token: str) -> Connection | None:
    """The connection that a request came from, or None where a client sent it itself."""
    given = headers.get(TOKEN)
    if given is None or not hmac.compare_digest(given.encode(), token.encode()):
        return None
    known = json.loads(headers[_CONNECTION])
    peer = known["peer"] and Peer(**known["peer"])
    return Connection(**known | {"names": tuple(known["names"]), "peer": peer})


def origin_form(event: h11.Request, target: URL) -> bytes:
    """The head of a request as its server expects it from a client that knows no proxy.

    One request goes over the connection, unless it becomes a WebSocket: the next may be for another host.
    """
    fields = [(name, value) for name, value in event.headers.raw_items() if name.lower() not in _HOP]
    if not any(name.lower() == b"upgrade" for name, _ in fields):
        fields = [(name, value) for name, value in fields if name.lower() != b"connection"]
        fields.append((b"Connection", b"close"))
    query = f"?{target.query}" if target.query else ""
    line = event.method + f" {target.path}{query} HTTP/1.1".encode()
    return b"\r\n".join([line, *(name + b": " + value for name, value in fields), b"", b""])


_HOP = {b"proxy-authorization", b"proxy-connection"}
