"""Answers to DNS questions (RFC 1035) without a network: every name exists, at an address of our own.

The addresses are of 198.18.0.0/15, which no real host has (RFC 2544); a connect to one tells which name was meant.
Pure: bytes to bytes. :mod:`eve_mocks.contain.responder` does the talking.
"""

from __future__ import annotations

import collections
import enum
import socket
import struct
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_FIRST = int.from_bytes(socket.inet_aton("198.18.0.1"))
_HEADER = struct.Struct("!6H")
_RESPONSE, _RECURSION_DESIRED, _RECURSION_AVAILABLE = 0x8000, 0x0100, 0x0080
_OPCODE = 0x7800
_INTERNET, _ANY_CLASS = 1, 255
_TTL = 1
"""Seconds. What outlives the run should not remember its addresses."""


class Type(enum.IntEnum):
    """Record types that get an answer; the rest gets an empty one."""

    A = 1
    PTR = 12
    AAAA = 28
    ANY = 255


class Code(enum.IntEnum):
    """Response codes."""

    OK = 0
    BAD_FORMAT = 1
    NO_SUCH_NAME = 3
    NOT_IMPLEMENTED = 4


class Names:
    """The address of each name, and back. The name that was not asked for the longest gives its address away."""

    def __init__(self, size: int = 65536) -> None:
        self._size = size
        self._addresses: collections.OrderedDict[str, str] = collections.OrderedDict()
        self._names: dict[str, str] = {}
        self._lock = threading.Lock()

    def address(self, name: str) -> str:
        """The address of a name, a new one if it has none."""
        with self._lock:
            address = self._addresses.pop(name, None)
            if address is None:
                if len(self._addresses) < self._size:
                    address = socket.inet_ntoa((_FIRST + len(self._addresses)).to_bytes(4))
                else:
                    _, address = self._addresses.popitem(last=False)
            self._addresses[name] = address
            self._names[address] = name
            return address

    def name(self, address: str) -> str | None:
        """The name that this address was given out for."""
        return self._names.get(address)

    def host(self, address: str) -> str:
        """What a program that connects to this address meant."""
        return self._names.get(address, address)


def search_suffixes(resolv_conf: str) -> tuple[str, ...]:
    """The domains that resolvers append to names *with* dots before they try the name itself (``ndots`` above 1).

    Where every name exists, the first try would win, and ``api.example.com`` become
    ``api.example.com.default.svc.cluster.local``.
    """
    search: Sequence[str] = ()
    dots = 1
    for line in resolv_conf.splitlines():
        match line.split():
            case ["search" | "domain", *domains]:
                search = domains
            case ["options", *options]:
                found = [option.removeprefix("ndots:") for option in options if option.startswith("ndots:")]
                dots = int(found[-1]) if found and found[-1].isdecimal() else dots
    return tuple(domain.strip(".").lower() for domain in search) if dots > 1 else ()


def answer(query: bytes, names: Names, suffixes: Sequence[str] = ()) -> bytes | None:
    """The response to a query; None for what is not one."""
    if len(query) < _HEADER.size:
        return None
    number, flags, questions, *_ = _HEADER.unpack_from(query)
    if flags & _RESPONSE:
        return None
    flags = _RESPONSE | flags & (_OPCODE | _RECURSION_DESIRED) | _RECURSION_AVAILABLE
    if flags & _OPCODE:
        return _HEADER.pack(number, flags | Code.NOT_IMPLEMENTED, 0, 0, 0, 0)
    question = _question(query) if questions == 1 else None
    if question is None:
        return _HEADER.pack(number, flags | Code.BAD_FORMAT, 0, 0, 0, 0)
    name, kind, klass, end = question
    code, records = _records(name, kind, names, suffixes) if klass in (_INTERNET, _ANY_CLASS) else (Code.OK, [])
    head = _HEADER.pack(number, flags | code, 1, len(records), 0, 0)
    # 0xc00c points at the name in the question.
    body = (
        struct.pack("!3HIH", 0xC00C, record, _INTERNET, _TTL, len(content)) + content for record, content in records
    )
    return head + query[_HEADER.size : end] + b"".join(body)


def _question(query: bytes) -> tuple[str, int, int, int] | None:
    """Name, type, class and where the question ends; None if it is malformed."""
    labels = []
    place = _HEADER.size
    while True:
        if place >= len(query):
            return None
        length = query[place]
        if length == 0:
            break
        if length > 63:  # RFC 1035, 4.1.4: a pointer; there is nothing before a question to point at
            return None
        labels.append(query[place + 1 : place + 1 + length].decode("ascii", "backslashreplace"))
        place += 1 + length
    if place - _HEADER.size > 254 or place + 5 > len(query):
        return None
    kind, klass = struct.unpack_from("!2H", query, place + 1)
    return ".".join(labels).lower(), kind, klass, place + 5


def _records(name: str, kind: int, names: Names, suffixes: Sequence[str]) -> tuple[Code, list[tuple[Type, bytes]]]:
    if kind == Type.PTR:
        found = _pointer(name, names)
        return (Code.OK, [(Type.PTR, _encode(found))]) if found else (Code.NO_SUCH_NAME, [])
    if name == "localhost" or name.endswith(".localhost"):  # RFC 6761, 6.3
        loopback = {
            Type.A: socket.inet_pton(socket.AF_INET, "127.0.0.1"),
            Type.AAAA: socket.inet_pton(socket.AF_INET6, "::1"),
        }
        return Code.OK, [(record, address) for record, address in loopback.items() if kind in (record, Type.ANY)]
    if _was_extended(name, suffixes):
        return Code.NO_SUCH_NAME, []
    if name and kind in (Type.A, Type.ANY):
        return Code.OK, [(Type.A, socket.inet_aton(names.address(name)))]
    # The name exists, without such a record: a client that asked for IPv6 goes on with IPv4.
    return Code.OK, []


def _was_extended(name: str, suffixes: Sequence[str]) -> bool:
    """Whether a resolver made this name by appending a search domain to one that has dots itself."""
    fitting = [suffix for suffix in suffixes if name.endswith(f".{suffix}")]
    return bool(fitting) and "." in name.removesuffix(f".{max(fitting, key=len)}")


def _pointer(name: str, names: Names) -> str | None:
    labels = name.removesuffix(".in-addr.arpa").split(".")
    address = ".".join(reversed(labels))
    return "localhost" if address.startswith("127.") else names.name(address)


def _encode(name: str) -> bytes:
    labels = name.encode().split(b".")
    return b"".join(bytes([len(label)]) + label for label in labels if 0 < len(label) < 64) + b"\0"
