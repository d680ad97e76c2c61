"""The head of an HTTP/1 request, found and judged in the same way in both lanes.

What is not clearly framed is refused before anything of it goes on (RFC 9112, section 11.2, on request smuggling).
"""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes

import h11

# Request line and header fields together; most servers take 8 to 64 KiB.
LIMIT = 64 * 1024
# RFC 9112, section 2.2: a server ignores at least one empty line before a request.
_EMPTY_LINES = 64
_END = re.compile(rb"\r?\n\r?\n")


class BadHead(ValueError):
    """The head of a request cannot be trusted. ``status`` is the answer to it."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


def empty_lines(data: bytes | bytearray) -> int:
    """So many bytes at the beginning are empty lines, and count for nothing. Raises ``BadHead`` for too many."""
    size = 0
    while data[size : size + 2] == b"\r\n":
        size += 2
        if size > 2 * _EMPTY_LINES:
            raise BadHead("it begins with nothing but empty lines")
    return size


def find_end(data: bytes | bytearray, scanned: int = 0) -> int | None:
    """Where the head ends, None while it is not whole; ``scanned`` bytes are known not to hold its end.

    Raises ``BadHead`` where it is too large.
    """
    found = _END.search(data, max(0, scanned - 3))
    if (found.end() if found else len(data)) > LIMIT:
        what, status = ("head", 431) if b"\n" in data[:LIMIT] else ("request line", 414)
        raise BadHead(f"the {what} of the request is larger than {LIMIT} bytes", status)
    return None if found is None else found.end()


def connection() -> h11.Connection:
    """A server's connection, for ``read``."""
    return h11.Connection(h11.SERVER, max_incomplete_event_size=LIMIT)


def read(conn: h11.Connection, data: bytes) -> h11.Request:
    """Read the head that ``data`` begins with. Raises ``BadHead``."""
    try:
        conn.receive_data(_ascii_request_line(data))
        event = conn.next_event()
    except h11.RemoteProtocolError as error:
        raise BadHead(in_own_words(error, data), 501 if error.error_status_hint == 501 else 400) from error
    if not isinstance(event, h11.Request):
        raise BadHead("there is no request line")
    if not event.http_version.startswith(b"1."):
        raise BadHead("its version is not one of HTTP/1", 505)
    names = {name for name, _ in event.headers}
    if b"transfer-encoding" in names and b"content-length" in names:
        raise BadHead("the request has both Transfer-Encoding and Content-Length")
    if b"transfer-encoding" in names and event.http_version == b"1.0":  # RFC 9112, section 6.1
        raise BadHead("the request has Transfer-Encoding, which HTTP/1.0 does not know")
    return event


def _ascii_request_line(raw: bytes) -> bytes:
    """Percent-encode what a client left unencoded in its request target, as curl does; RFC 3986 allows ASCII alone."""
    line, end, rest = raw.partition(b"\n")
    if line.isascii():
        return raw
    return quote_from_bytes(line, safe=bytes(range(128))).encode() + end + rest


# Libraries quote what they could not read, and that may be a credential: ``illegal header line: bytearray(b'…')``.
_QUOTE = re.compile(r""":? (?:bytearray\(|\[)?b?['"]""")
_FIELD = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\x00-\x08\x0a-\x1f\x7f]*")


def in_own_words(error: object, head: bytes = b"") -> str:
    """What a library says of a broken message without its quotations; of a broken field, which line of the head."""
    said = _QUOTE.split(str(error), maxsplit=1)[0]
    if said != "illegal header line":
        return said
    lines = enumerate(head.strip(b"\r\n").replace(b"\r\n", b"\n").split(b"\n")[1:], 2)
    number = next((number for number, line in lines if not _FIELD.fullmatch(line)), None)
    return said if number is None else f"{said} (line {number} of the head)"
