"""Puts a ``Response`` on the wire: honest HTTP (RFC 9110), delays, server-sent events one by one, and faults."""

from __future__ import annotations

import asyncio
import email.utils
import functools
import http
import socket
import struct
import time
from typing import TYPE_CHECKING, Protocol

import h11

from eve_mocks.encoding import is_encoded

if TYPE_CHECKING:
    from eve_mocks.dispatch import Exchange
    from eve_mocks.response import HeaderPairs, Response

# What is kept of a body for the log (contract, section 8).
KEPT = 64 * 1024
# What is written of a large body at a time, so that it is not held once more in every buffer on the way.
_PIECE = 256 * 1024
# Set by us: from the bytes that are sent.
_OURS = {"content-length", "transfer-encoding"}
_PHRASES = {status.value: status.phrase.encode() for status in http.HTTPStatus}
_NOT_HTTP = b"\x15\x03\x00 this is not HTTP \x00\xff\r\n\r\n"


class Wire(Protocol):
    """The connection that an answer is written to."""

    @property
    def conn(self) -> h11.Connection: ...
    @property
    def transport(self) -> asyncio.Transport: ...
    async def drained(self) -> None:
        """Wait until the client has taken most of what was written."""
        ...


def honest_headers(response: Response, method: str) -> HeaderPairs:
    """The fields of a response that are true of the bytes that follow them."""
    pairs = [pair for pair in response.headers if pair[0].lower() not in _OURS]
    codings = ", ".join(value for name, value in pairs if name.lower() == "content-encoding")
    if codings and not is_encoded(response.body, codings):
        pairs = [pair for pair in pairs if pair[0].lower() != "content-encoding"]
    if not any(name.lower() == "date" for name, _ in pairs):
        pairs.append(("date", _date(int(time.time()))))
    # RFC 9110, section 8.6: none with 204; a 304 would have to tell the length of a body that is not known here.
    if response.events is None and response.status not in (204, 304):
        pairs.append(("content-length", _length(response, method)))
    return tuple(pairs)


def _length(response: Response, method: str) -> str:
    if method == "HEAD" and not response.body:
        given = [value for name, value in response.headers if name.lower() == "content-length" and value.isdigit()]
        return given[0] if given else "0"
    return str(len(_body(response)))


def _body(response: Response) -> bytes:
    return b"" if response.status in (204, 205, 304) else response.body


@functools.lru_cache(maxsize=2)
def _date(now: int) -> str:
    return email.utils.formatdate(now, usegmt=True)


async def send(wire: Wire, exchange: Exchange, *, close: bool = False) -> None:
    """Send the response of an exchange, and finish the exchange. ``close`` announces that the connection ends."""
    response = exchange.response
    assert response is not None  # noqa: S101 - allowed exchanges do not come here
    try:
        if response.delay:
            await asyncio.sleep(response.delay)
        if response.fault is not None:
            await _misbehave(wire, exchange, response)
        elif response.events is not None:
            await _stream(wire, exchange, response)
        elif len(response.body) > _PIECE:
            await _in_pieces(wire, exchange, response, close=close)
        else:
            whole(wire, exchange, response, close=close)
            await wire.drained()
    except asyncio.CancelledError:
        exchange.finish(status=None, error="cancelled: the client hung up", cancelled=True)
        raise


def _head(wire: Wire, response: Response, pairs: HeaderPairs) -> bytes:
    head = h11.Response(
        status_code=response.status,
        reason=_PHRASES.get(response.status, b""),
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
    )
    return wire.conn.send(head) or b""


def whole(wire: Wire, exchange: Exchange, response: Response, *, close: bool = False) -> None:
    """Send a response whose body is small, in one piece."""
    pairs, body = _message(exchange, response, close=close)
    sent = _head(wire, response, pairs)
    if body:
        sent += wire.conn.send(h11.Data(data=body)) or b""
    sent += wire.conn.send(h11.EndOfMessage()) or b""
    wire.transport.write(sent)
    exchange.finish(status=response.status, headers=pairs, body=body[:KEPT], size=len(body))


def _message(exchange: Exchange, response: Response, *, close: bool) -> tuple[HeaderPairs, bytes]:
    """The fields and the body as they are sent."""
    method = exchange.request.method
    pairs = honest_headers(response, method)
    if close:
        pairs = (*pairs, ("connection", "close"))
    return pairs, b"" if method == "HEAD" else _body(response)


async def _in_pieces(wire: Wire, exchange: Exchange, response: Response, *, close: bool) -> None:
    pairs, body = _message(exchange, response, close=close)
    wire.transport.write(_head(wire, response, pairs))
    sent = 0
    try:
        while sent < len(body):
            piece = body[sent : sent + _PIECE]
            wire.transport.write(wire.conn.send(h11.Data(data=piece)) or b"")
            sent += len(piece)
            await _taken(wire)
    except asyncio.CancelledError:
        _cut_short(exchange, response, pairs, body[:KEPT], sent)
        raise
    wire.transport.write(wire.conn.send(h11.EndOfMessage()) or b"")
    exchange.finish(status=response.status, headers=pairs, body=body[:KEPT], size=sent)


async def _taken(wire: Wire) -> None:
    """Wait until more may be written. On a connection that has ended, this ends like one that ends meanwhile."""
    await wire.drained()
    if wire.transport.is_closing():
        raise asyncio.CancelledError


def _cut_short(exchange: Exchange, response: Response, pairs: HeaderPairs, kept: bytes, size: int) -> None:
    """Record an answer that the client did not wait for."""
    exchange.finish(
        status=response.status,
        headers=pairs,
        body=kept,
        size=size,
        error="cancelled: the client hung up",
        cancelled=True,
    )


async def _stream(wire: Wire, exchange: Exchange, response: Response) -> None:
    pairs = honest_headers(response, exchange.request.method)
    wire.transport.write(_head(wire, response, pairs))
    kept, size = bytearray(), 0
    loop = asyncio.get_running_loop()
    due = loop.time()  # counted on, so that what a timer is late does not add up
    try:
        for event in response.events or () if exchange.request.method != "HEAD" else ():
            due += event.delay
            if event.delay and (wait := due - loop.time()) > 0:
                await asyncio.sleep(wait)
            data = event.encode()
            wire.transport.write(wire.conn.send(h11.Data(data=data)) or b"")
            kept += data[: KEPT - len(kept)]
            size += len(data)
            await _taken(wire)
    except asyncio.CancelledError:
        _cut_short(exchange, response, pairs, bytes(kept), size)
        raise
    wire.transport.write(wire.conn.send(h11.EndOfMessage()) or b"")
    exchange.finish(status=response.status, headers=pairs, body=bytes(kept), size=size)


async def _misbehave(wire: Wire, exchange: Exchange, response: Response) -> None:
    """What a ``fault`` does to the connection, which is of no use afterwards."""
    if response.fault == "timeout":
        await asyncio.get_running_loop().create_future()  # ends when the client hangs up, or the run does
    elif response.fault == "truncated":
        pairs = tuple(pair for pair in honest_headers(response, "GET") if pair[0].lower() != "content-length")
        part = response.body[: len(response.body) // 2]
        wire.transport.write(_head(wire, response, (*pairs, ("content-length", str(len(response.body) + 1)))) + part)
        exchange.finish(status=response.status, headers=pairs, body=part[:KEPT], size=len(part))
        wire.transport.close()
    elif response.fault == "malformed":
        wire.transport.write(_NOT_HTTP)
        exchange.finish(status=None, body=_NOT_HTTP)
        wire.transport.close()
    elif response.fault == "reset":
        exchange.finish(status=None)
        reset(wire.transport)
    else:
        exchange.finish(status=None)
        wire.transport.close()


def reset(transport: asyncio.Transport) -> None:
    """End a connection with RST instead of FIN: SO_LINGER with no time to linger (socket(7))."""
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is not None and not transport.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
