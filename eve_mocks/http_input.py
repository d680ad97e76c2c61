"""The input of an http operation as eve sees it: parameters by name at the top level, and ``body``."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from eve_mocks.model import Request
    from eve_mocks.response import Json


def arguments(request: Request, params: dict[str, str]) -> dict[str, Json]:
    """Path parameters before query, header and cookie parameters of the same name.

    Raises ``BadRequest`` where the body is said to be JSON and is not.
    """
    found: dict[str, Json] = {
        **_cookies(request.headers.get("cookie", "")),
        **{name: value for name, value in request.headers.items() if name != "cookie"},
        **request.query,
        **params,
    }
    if request.body:
        found["body"] = _body(request)
    return found


def _cookies(header: str) -> dict[str, str]:
    """RFC 6265, section 4.2.1: pairs that are separated by semicolons."""
    pairs = (pair.partition("=") for pair in header.split(";") if "=" in pair)
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}


def _body(request: Request) -> Json:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == "application/json" or media_type.endswith("+json"):
        return request.json()
    text = request.body.decode("utf-8", "replace")
    if media_type != "application/x-www-form-urlencoded":
        return text
    fields: dict[str, list[str]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        fields.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}
