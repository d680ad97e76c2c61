"""What of a call is written to disk: credentials never, bodies in part (contract, section 8).

A name decides, not a value: names of headers and parameters by what they contain, names of body fields by a list,
since a body is full of harmless names such as ``max_tokens``.
"""

from __future__ import annotations

import base64
import functools
import json
import re
import zlib
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eve_mocks.model import HeaderPairs, Json

REDACTED = "[redacted]"
BODY_LIMIT = 64 * 1024

_SECRET_NAME = re.compile(
    r"authori[sz]ation|cookie|key|token|secret|passw|credential|signature|^sig$|^x-auth|assertion"
)
# Compared without case, "-" and "_": accessToken is access_token.
_FIELDS = """
    access_token api_key api_token apikey assertion auth_token authorization bearer_token bot_token client_assertion
    client_secret code_verifier cookie credential credentials device_code id_token jwt passphrase passwd password
    private_key refresh_token secret secret_access_key secret_key session_token signing_secret subject_token token
    webhook_secret
""".split()  # noqa: SIM905 - a word list reads better than a column of strings
_FIELD_NAMES = frozenset(name.replace("_", "") for name in _FIELDS)
_FIELD_PATTERN = "|".join(name.replace("_", "[-_]?") for name in sorted(_FIELDS, key=len, reverse=True))
# In text that is not (whole) JSON: a cut document, server-sent events, JSON inside of JSON.
# Quotes inside of a string have as many backslashes as its depth asks for; the closing one has those of the opening.
_MEMBER = re.compile(
    rf'((\\{{0,8}})"(?:{_FIELD_PATTERN})\2"\s*:\s*\2").*?(?=(?<!\\)\2"|$)', re.IGNORECASE | re.MULTILINE
)
_PART = re.compile(
    rf'(name="?(?:{_FIELD_PATTERN})"?(?:\r?\n[^\r\n]+){{0,8}}\r?\n\r?\n).*?(?=\r?\n--|\Z)', re.IGNORECASE | re.DOTALL
)
_PARAMETER = re.compile(r"(?<=[?&#;])([^?&#=\s;]{1,200})=[^&#\s\"'<>\\]*")
_ARGUMENT = re.compile(r"(?P<name>-*[\w.-]+)(?P<mark>[:=]\s*)(?P<value>.+)", re.DOTALL)
_USERINFO = re.compile(r"(?<=://)[^/\s@\"']+@")


@functools.lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Whether a header or a parameter of this name may carry a credential."""
    return bool(_SECRET_NAME.search(name.lower()))


def headers(pairs: HeaderPairs) -> dict[str, str | list[str]]:
    """Header fields by name, in their order; a repeated one has a list."""
    found: dict[str, str | list[str]] = {}
    names: dict[str, str] = {}
    for name, value in pairs:
        shown = REDACTED if is_secret(name) else url(value)
        key = names.setdefault(name.lower(), name)
        before = found.get(key)
        found[key] = shown if before is None else [*([before] if isinstance(before, str) else before), shown]
    return found


def url(text: str) -> str:
    """A URL, or text that may hold one, without its user name and password and its secret parameters."""
    if "@" in text:
        text = _USERINFO.sub(f"{REDACTED}@", text)
    return _PARAMETER.sub(_parameter, text) if "=" in text and ("?" in text or "#" in text) else text


def _parameter(found: re.Match[str]) -> str:
    return f"{found[1]}={REDACTED}" if is_secret(unquote_plus(found[1])) else found[0]


def command(arguments: Iterable[str]) -> list[str]:
    """A command line whose headers, options and URLs hold no credential."""
    shown: list[str] = []
    hide = False
    for argument in arguments:
        named = _ARGUMENT.fullmatch(argument)
        if hide and not argument.startswith("-"):
            shown.append(REDACTED)
        elif named and is_secret(named["name"]):
            shown.append(f"{named['name']}{named['mark']}{REDACTED}")
        else:
            shown.append(text(argument))
        hide = argument.startswith("-") and not named and is_secret(argument)
    return shown


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
    try:
        # A cut may have split a character; nothing else may be wrong with text.
        shown = kept.decode("utf-8", "replace" if multipart else "strict")
    except UnicodeDecodeError as error:
        if not (cut and error.start > len(kept) - 4):
            if encoding and encoding != "identity":
                return f"[not recorded: content-encoding {encoding}]", True
            return f"data:{media_type or 'application/octet-stream'};base64,{base64.b64encode(kept).decode()}", cut
        shown = kept[: error.start].decode()
    if not cut and (media_type.endswith("json") or shown[:1] in ("{", "[")):
        try:
            return value(json.loads(shown)), False
        except (ValueError, RecursionError):
            pass
    if media_type == "application/x-www-form-urlencoded":
        shown = form(shown)
    return text(_PART.sub(rf"\g<1>{REDACTED}", shown) if multipart else shown), cut


def _gunzip(content: bytes) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(content, BODY_LIMIT + 1)
    except zlib.error:
        return content


def value(given: Json) -> Json:
    """A JSON value whose well-known secret fields are replaced."""
    if isinstance(given, dict):
        secret = _FIELD_NAMES | {"code"} if "grant_type" in given else _FIELD_NAMES
        return {
            key: _blank(part) if key.lower().replace("_", "").replace("-", "") in secret else value(part)
            for key, part in given.items()
        }
    if isinstance(given, list):
        return [value(part) for part in given]
    return text(given) if isinstance(given, str) else given


def _blank(given: Json) -> Json:
    if isinstance(given, list):
        return [_blank(part) for part in given]
    return value(given) if isinstance(given, dict | bool | None) else REDACTED


def form(shown: str) -> str:
    """A URL-encoded form; its ``code`` is a credential where it is a token request (RFC 6749, section 4.1.3)."""
    grant = "grant_type=" in shown
    return "&".join(
        f"{name}={REDACTED}" if is_secret(unquote_plus(name)) or (grant and name == "code") else f"{name}{mark}{rest}"
        for name, mark, rest in (pair.partition("=") for pair in shown.split("&"))
    )


def text(shown: str) -> str:
    """Text in which the members and parameters with a secret name are replaced."""
    if '"' in shown:
        shown = _MEMBER.sub(rf"\g<1>{REDACTED}", shown)
    return url(shown) if "://" in shown else shown
