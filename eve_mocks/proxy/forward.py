"""Requests that change lanes: headers that carry what is known of them, and the form that an upstream expects.

A request that mitmproxy must not pass is sent to our own listener, so that all answers are made in one place. Where it
came from stands in headers that count only beside the token of the run, which no client has. The other way goes a
request that its mock leaves to the upstream.
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

    from eve_mocks.dispatch import Exchange
    from eve_mocks.model import URL, Headers

TOKEN = "x-eve-mocks-internal-token"  # noqa: S105 - the name of a header
_CONNECTION = "x-eve-mocks-internal-connection"
HEADERS = (TOKEN, _CONNECTION)
SEAM = "x-eve-mocks-internal-seam"


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


def to_upstream(exchange: Exchange, body: bytes, token: str) -> bytes:
    """A request whole, with what tells the passing lane that its mock lets it through."""
    request, call = exchange.request, exchange.call
    told = json.dumps({"operation": call.operation, "stub": call.stub, "position": call.position})
    headers = request.headers.without("content-length", "transfer-encoding", "expect", SEAM)
    pairs = (*headers.pairs, ("content-length", str(len(body))), (SEAM, f"{token} {told}"))
    target = request.target
    line = f"{request.method} {target.path}{f'?{target.query}' if target.query else ''} HTTP/1.1"
    return "\r\n".join([line, *(f"{name}: {value}" for name, value in pairs), "", ""]).encode("latin-1") + body


def let_through(given: str | None, token: str) -> dict[str, object] | None:
    """What the call of a request is to be told to be, where a mock lets it through; None where it does not."""
    mark, _, told = (given or "").partition(" ")
    if not hmac.compare_digest(mark.encode(), token.encode()):
        return None
    found: dict[str, object] = json.loads(told)
    return found


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
