"""Content codings of HTTP bodies (RFC 9110, section 8.4.1): gzip, deflate, br and zstd, decoded within a limit."""

from __future__ import annotations

import sys
import zlib
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

# What a body may grow to when it is decoded: far above any real request, far below what would hurt.
LIMIT = 256 * 1024 * 1024
_STEP = 1024 * 1024
# So much is given to a member of a gzip body at a time; what is behind its end is copied.
_MEMBER = 16 * 1024


class BadEncoding(ValueError):
    """The bytes are not in the coding that their header names, or grow beyond the limit."""


class _Decoder(Protocol):
    """The part of ``zlib``'s decompression objects that all codings share."""

    def feed(self, data: bytes) -> bytes: ...
    def is_complete(self) -> bool: ...


class _Zlib:
    def __init__(self, window: int) -> None:
        self._zlib = zlib.decompressobj(window)
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        decoded = self._zlib.decompress(self._rest + data, _STEP)
        self._rest = self._zlib.unconsumed_tail
        return decoded

    def is_complete(self) -> bool:
        return self._zlib.eof and not self._zlib.unused_data


class _Gzip:
    """One member after another (RFC 1952, section 2.2)."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self._data = memoryview(b"")

    def feed(self, data: bytes) -> bytes:
        if data:
            self._data = memoryview(data)
        while self._data:
            if self._zlib.eof:
                self._zlib = zlib.decompressobj(16 + zlib.MAX_WBITS)
            piece = self._data[:_MEMBER]
            decoded = self._zlib.decompress(piece, _STEP)
            left = self._zlib.unused_data if self._zlib.eof else self._zlib.unconsumed_tail
            self._data = self._data[len(piece) - len(left) :]
            if decoded:
                return decoded
        return b"" if self._zlib.eof else self._zlib.decompress(b"", _STEP)

    def is_complete(self) -> bool:
        return self._zlib.eof and not self._data


class _Deflate(_Zlib):
    """``deflate`` is the zlib format, but many clients send it without its header."""

    def __init__(self) -> None:
        super().__init__(zlib.MAX_WBITS)
        self._began = False

    def feed(self, data: bytes) -> bytes:
        if self._began or not data:
            return super().feed(data)
        self._began = True
        try:
            return super().feed(data)
        except zlib.error:
            self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
            return super().feed(data)


class _Brotli:
    def __init__(self) -> None:
        import brotli  # type: ignore[import-untyped]

        self._brotli = brotli.Decompressor()

    def feed(self, data: bytes) -> bytes:
        return bytes(self._brotli.process(data, output_buffer_limit=_STEP))

    def is_complete(self) -> bool:
        return bool(self._brotli.is_finished())


class _Zstd:
    def __init__(self) -> None:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd

        self._zstd = zstd.ZstdDecompressor()

    def feed(self, data: bytes) -> bytes:
        return b"" if self._zstd.eof else self._zstd.decompress(data, _STEP)

    def is_complete(self) -> bool:
        return self._zstd.eof and not self._zstd.unused_data


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}


def decode(body: bytes, codings: str, *, limit: int = LIMIT) -> bytes:
    """A body without the codings of its ``content-encoding``; one that is unknown stays. Raises ``BadEncoding``."""
    for coding in reversed(codings.lower().split(",")):
        make = _DECODERS.get(coding.strip())
        if make is not None:
            body = _decode(body, coding.strip(), make(), limit=limit, whole=True)
    return body


def decode_beginning(body: bytes, codings: str, *, limit: int) -> bytes:
    """As much of the plain body as the beginning of an encoded one gives; nothing where it cannot be read."""
    try:
        for coding in reversed(codings.lower().split(",")):
            make = _DECODERS.get(coding.strip())
            if make is not None:
                body = _decode(body, coding.strip(), make(), limit=limit, whole=False)
            elif coding.strip() not in ("", "identity"):
                return b""
    except BadEncoding:
        return b""
    return body[:limit]


def is_encoded(body: bytes, codings: str) -> bool:
    """Whether bytes really are in the codings that a header names."""
    known = all(coding.strip() in _DECODERS for coding in codings.lower().split(","))
    try:
        return known and decode(body, codings) is not None
    except BadEncoding:
        return False


def _decode(body: bytes, coding: str, decoder: _Decoder, *, limit: int, whole: bool) -> bytes:
    decoded = bytearray()
    try:
        part = decoder.feed(body)
        while part and len(decoded) <= limit:
            decoded += part
            part = decoder.feed(b"")
    except Exception as error:  # each library has an exception of its own
        raise BadEncoding(f"the body is not {coding}: {error}") from error
    if whole and len(decoded) > limit:
        raise BadEncoding(f"the body is larger than {limit} bytes once its {coding} coding is removed")
    if whole and not decoder.is_complete():
        raise BadEncoding(f"the body is not {coding}: it ends too early, or too late")
    return bytes(decoded)
