"""What is kept of an allowed request while it streams by: sizes, and the beginning of both bodies."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mitmproxy import http

from eve_mocks.encoding import decode_beginning
from eve_mocks.errors import MockError
from eve_mocks.model import Headers
from eve_mocks.proxy.reply import KEPT

if TYPE_CHECKING:
    from eve_mocks.dispatch import Exchange

# What an upstream's failure is called -> what can be done. The texts are OpenSSL's and the C library's.
_FIXES = (
    (r"certificate|TLS|SSL", "If it is signed by a CA of your own, name that in SSL_CERT_FILE before the run."),
    (r"Name or service|name resolution|nodename|getaddrinfo", "Check the host's name, and that this machine has DNS."),
    (r"proxy", "Check HTTP_PROXY and HTTPS_PROXY of the shell that started the run."),
)


class Body:
    """One direction of a request: bytes are counted as they pass, the first of them kept."""

    __slots__ = ("kept", "size")

    def __init__(self) -> None:
        self.kept = bytearray()
        self.size = 0

    def take(self, data: bytes) -> bytes:
        """Note a piece, and give it back for the wire."""
        self.size += len(data)
        if len(self.kept) < KEPT:
            self.kept += data[: KEPT - len(self.kept)]
        return data

    def plain(self, headers: Headers) -> bytes:
        codings = headers.get("content-encoding")
        return decode_beginning(bytes(self.kept), codings, limit=KEPT) if codings else bytes(self.kept)


class Recording:
    """An allowed exchange on its way; ``among`` holds those of one connection that are not finished."""

    def __init__(self, exchange: Exchange, among: set[Recording]) -> None:
        self.exchange = exchange
        self.request = Body()
        self.response = Body()
        self._among = among
        among.add(self)

    def finish(self, response: http.Response | None, *, error: str | None = None, cancelled: bool = False) -> None:
        self._among.discard(self)
        self.exchange.note(
            request_bytes=self.request.size, request_body=self.request.plain(self.exchange.request.headers)
        )
        fields = response.headers.fields if response is not None else ()
        headers = Headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in fields)
        if response is not None and response.raw_content and not self.response.size:
            self.response.take(response.raw_content)
        self.exchange.finish(
            status=response.status_code if response is not None else None,
            headers=headers.pairs,
            body=self.response.plain(headers),
            size=self.response.size,
            error="cancelled: the client hung up" if cancelled else error,
            cancelled=cancelled,
        )


def failure(exchange: Exchange, message: str) -> http.Response:
    """The answer where an allowed upstream cannot be reached; the exchange says the same."""
    fix = next((fix for pattern, fix in _FIXES if re.search(pattern, message)), "Check that it is up, or mock it.")
    error = MockError(f"eve-mocks could not reach {exchange.request.target.origin}", why=f"{message}.", fix=fix)
    exchange.note(reason="upstream", error=error.why, fix=fix)
    body = {"title": "upstream failed", "status": 502, "detail": error.message, **error.as_json()}
    headers = {"content-type": "application/problem+json", "eve-mocks": "upstream-failed"}
    return http.Response.make(502, json.dumps(body), headers)
