"""What of a call is written to disk: credentials never, bodies in part (contract, section 8).

A name decides, not a value: ``secret_names`` knows them. They stand in headers, command lines and JSON, which are here,
in URLs and forms, which are in ``secret_urls``, and in other text, which is in ``secret_text``.
"""

from __future__ import annotations

import base64
import codecs
import functools
import json
import math
import re
import zlib
from typing import TYPE_CHECKING

from eve_mocks import secret_text
from eve_mocks.secret_names import REDACTED, is_count, is_field, is_secret
from eve_mocks.secret_urls import form, url

if TYPE_CHECKING:
    from eve_mocks.response import HeaderPairs, Json

BODY_LIMIT = 64 * 1024

FORM = re.compile(r"[^\s=&]+=[^\s&]*(?:&[^\s=&]+=[^\s&]*)*\s*")
_SHAPES = {
    "host": re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::\d*)?"),
    "x-eve-mocks-session": re.compile(r"[\w.:@+=~-]+"),
}
# Browsers have no other place for the credential of a WebSocket.
_SUBPROTOCOL = re.compile(r"((?:key|token|bearer|jwt|auth|secret)[\w-]*[.,]\s*).+", re.IGNORECASE)
_SCHEME = re.compile(r"(bearer|basic|token|apikey|negotiate|digest)[ \t]+[^\s=\"]+=*", re.IGNORECASE)
_TEXT_TYPE = re.compile(r"text/.*|.*(?:json|xml|javascript|form-urlencoded|yaml)")
_SCHEMA_TYPES = frozenset(("string", "object", "array", "number", "integer", "boolean", "null"))
_SCHEMA_WORDS = frozenset(("$ref", "anyOf", "oneOf", "allOf", "enum", "const"))


def headers(pairs: HeaderPairs) -> dict[str, str | list[str]]:
    """Header fields by name, in their order; a repeated one has a list."""
    found: dict[str, str | list[str]] = {}
    names: dict[str, str] = {}
    for name, value in pairs:
        key = names.setdefault(name.lower(), name)
        shown = REDACTED if is_secret(name) and not is_count(name, value) else _field_value(name.lower(), value)
        before = found.get(key)
        found[key] = shown if before is None else [*([before] if isinstance(before, str) else before), shown]
    return found


@functools.lru_cache(maxsize=4096)  # most fields of a connection are the same with each request
def _field_value(name: str, value: str) -> str:
    if name in _SHAPES:  # what is not of its shape could be anything
        before, at, rest = value.rpartition("@") if name == "host" else ("", "", value)
        return (REDACTED + at if before else "") + (rest if _SHAPES[name].fullmatch(rest) else REDACTED)
    if name == "sec-websocket-protocol":
        return _SUBPROTOCOL.sub(rf"\g<1>{REDACTED}", value)
    if name in ("location", "referer"):
        return url(value, with_code=True)
    if found := _SCHEME.fullmatch(value):
        return f"{found[1]} {REDACTED}"
    return text(value)


def body(content: bytes, media_type: str, encoding: str = "") -> tuple[Json, bool]:
    """The beginning of a body as the log has it, and whether it was cut.

    JSON stays JSON, text is text, anything else is a ``data:`` URL (RFC 2397). A compressed body is unpacked,
    because nothing could be redacted in it; one that cannot be is left out.
    """
    if encoding and content[:2] == b"\x1f\x8b":
        content = _gunzip(content)
    cut = len(content) > BODY_LIMIT
    kept = content[:BODY_LIMIT]
    media_type = media_type.partition(";")[0].strip().lower()
    multipart = media_type.startswith("multipart/")
    packed = encoding not in ("", "identity")
    shown = kept.decode("utf-8", "replace") if multipart else _as_text(kept, media_type, cut=cut, packed=packed)
    if shown is None:
        if packed:
            return f"[not recorded: content-encoding {encoding}]", True
        return f"data:{media_type or 'application/octet-stream'};base64,{base64.b64encode(kept).decode()}", cut
    if not cut and (media_type.endswith("json") or shown.lstrip()[:1] in ("{", "[")):
        try:
            return value(json.loads(shown, parse_constant=_refuse, parse_float=_finite)), False
        except (ValueError, RecursionError):
            pass
    if multipart or "form-data;" in shown:
        shown = secret_text.parts(shown)
    elif media_type == "application/x-www-form-urlencoded" or FORM.fullmatch(shown):
        shown = form(shown)
    return text(shown), cut


def _refuse(word: str) -> float:
    """What Python reads and JSON does not have (RFC 8259, section 6) stays text."""
    raise ValueError(word)


def _finite(word: str) -> float:
    return number if math.isfinite(number := float(word)) else _refuse(word)


def _as_text(kept: bytes, media_type: str, *, cut: bool, packed: bool) -> str | None:
    """The text of a body; None where it is none. A cut may have split a character."""
    is_text = bool(_TEXT_TYPE.fullmatch(media_type)) and not packed
    encoding = json.detect_encoding(kept) if is_text else "utf-8"
    try:
        return codecs.getincrementaldecoder(encoding)().decode(kept, final=not cut)
    except UnicodeDecodeError:
        # Names are ASCII in nearly every encoding, and nothing could be redacted in bytes.
        return kept.decode("latin-1") if is_text else None


def _gunzip(content: bytes) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(content, BODY_LIMIT + 1)
    except zlib.error:
        return content


def value(given: Json) -> Json:
    """A JSON value without what stands under a secret name."""
    if isinstance(given, dict):
        named = any(isinstance(given.get(key), str) and is_field(given[key]) for key in ("name", "key", "header"))
        return {
            key: _blank(key, part)
            if is_field(key) or (named and key == "value") or (key == "code" and "grant_type" in given)
            else value(part)
            for key, part in given.items()
        }
    if isinstance(given, list):
        return [[part[0], REDACTED] if _is_secret_pair(part) else value(part) for part in given]
    return text(given) if isinstance(given, str) else given


def _is_secret_pair(given: Json) -> bool:
    """Whether it is ``["Authorization", "…"]``, as lists of header fields have it."""
    return (
        isinstance(given, list)
        and len(given) == 2
        and all(isinstance(part, str) for part in given)
        and is_field(given[0])
    )


def _blank(name: str, given: Json) -> Json:
    """What is shown of a value with a secret name: its shape, and all of it where it is a JSON Schema."""
    if isinstance(given, list):
        return [_blank(name, part) for part in given]
    if isinstance(given, dict):
        kind = given.get("type")
        if _SCHEMA_WORDS & given.keys() or (isinstance(kind, str) and kind in _SCHEMA_TYPES) or isinstance(kind, list):
            return value(given)
        return {key: _blank(name, part) for key, part in given.items()}
    return given if given is None or isinstance(given, bool) or _is_number_of(name, given) else REDACTED


def _is_number_of(name: str, given: Json) -> bool:
    return not isinstance(given, str) and is_count(name, given)


def text(shown: str) -> str:
    """Text without the credentials that a name beside them, or a URL around them, tells of."""
    return url(secret_text.replace(shown))
