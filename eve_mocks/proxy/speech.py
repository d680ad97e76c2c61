"""Finds out from the first bytes of a connection what it speaks, and puts the protocol that does in its place.

Whatever cannot be read as HTTP or TLS ends here: it is reset and recorded as blocked.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import re
from typing import TYPE_CHECKING, Literal

from eve_mocks.proxy import head
from eve_mocks.proxy.http1 import Http1, broken_inside
from eve_mocks.proxy.reply import reset

if TYPE_CHECKING:
    from eve_mocks.proxy.connection import Connection
    from eve_mocks.proxy.listener import Listener
    from eve_mocks.proxy.tls import ServerSide

log = logging.getLogger(__name__)

# How long a client may be silent before it is taken to wait for the server to speak (contract, section 2).
_SILENCE = 1.0
# A client that checks the certificate after the handshake hangs up so soon, without a word (Node.js does).
_SECOND_THOUGHTS = 1.0

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"  # RFC 9113, section 3.4
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,40}"
_REQUEST_LINE = re.compile(_TOKEN + rb" [^\n]* HTTP/\d\.\d\r?")
_BEGUN_REQUEST_LINE = re.compile(_TOKEN + rb"( [^\n]*)?")

type Speech = Literal["tls", "http/1.1", "h2", "unknown"]


def speech(data: bytes) -> Speech | None:
    """What a client speaks, by its first bytes; None while they do not tell."""
    if data[:1] == b"\x16":  # a TLS record with a handshake message (RFC 8446, section 5.1)
        return None if len(data) < 2 else "tls" if data[1] == 3 else "unknown"
    if data[: len(_PREFACE)] == _PREFACE[: len(data)] and len(data) > 3:
        return "h2" if len(data) >= len(_PREFACE) else None
    line, ended, _ = data.lstrip(b"\r\n").partition(b"\n")
    if ended:
        return "http/1.1" if _REQUEST_LINE.fullmatch(line) else "unknown"
    begun = not line or _BEGUN_REQUEST_LINE.fullmatch(line.removesuffix(b"\r"))
    if begun and len(data) <= head.LIMIT:
        return None
    return "http/1.1" if begun else "unknown"  # the former knows what to answer to one that is too long


class FirstBytes(asyncio.Protocol):
    """Waits for enough of a connection to know what it speaks. ``secure`` is the TLS it is already inside of."""

    def __init__(self, listener: Listener, connection: Connection, *, secure: ServerSide | None = None) -> None:
        self._listener = listener
        self._connection = connection
        self._secure = secure
        self._data = b""
        self._began = listener.loop.time()
        self._silence: asyncio.TimerHandle | None = None
        self._refused = False
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self._transport = transport
        if self._secure is None:
            self._wait()

    def data_received(self, data: bytes) -> None:
        self._stop_waiting()
        self._data += data
        try:
            self._go_on()
        except Exception as error:
            log.exception("a connection was dropped because of an error inside eve-mocks")
            self._listener.block(self._connection, *broken_inside(error))
            self._transport.abort()

    def _go_on(self) -> None:
        if self._secure is not None:
            self._listener.trust.proven(self._connection)
        found = speech(self._data)
        if found is None:
            self._wait()
        elif found == "http/1.1":
            hand_over(self._transport, Http1(self._listener, self._connection), self._data)
        elif found == "tls" and self._secure is None and self._connection.host is not None:
            self._listener.decrypt(self._transport, self._connection, self._data)
        elif found == "h2" and self._connection.host is not None:
            self._listener.pass_on(self._transport, self._connection, self._data, alpn="h2")
        else:
            self._refuse("Its first bytes are neither HTTP nor TLS.")  # they may be a password, so they are not told

    def _wait(self) -> None:
        """Give the client a while to say (more of) what it speaks.

        It is no hurry toward the proxy itself, nor where it will be answered: clients connect ahead of their requests.
        """
        if self._connection.host is not None and not self._listener.knows(self._connection):
            self._silence = self._listener.loop.call_later(_SILENCE, self._give_up)

    def _stop_waiting(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _give_up(self) -> None:
        said = "went silent before it was clear what it speaks" if self._data else "sent nothing"
        self._refuse(f"It {said}: a protocol in which the server speaks first is not HTTP.")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._stop_waiting()
        if self._refused or self._connection.host is None:
            return
        soon = self._listener.loop.time() - self._began < _SECOND_THOUGHTS
        if self._secure is None:
            self._listener.left(self._connection)
        elif not self._data and soon:
            self._listener.trust.left(self._connection, self._secure.error, cleanly=self._secure.ended_cleanly)

    def _refuse(self, why: str) -> None:
        self._silence = None
        self._refused = True
        scheme = "tls" if self._secure is not None else "tcp"
        self._listener.block(dataclasses.replace(self._connection, scheme=scheme), "protocol", why)
        reset(self._transport)


def hand_over(transport: asyncio.Transport, protocol: asyncio.Protocol, data: bytes) -> None:
    """Let another protocol have a connection, and what was already read of it."""
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    if data:
        protocol.data_received(data)
