"""Secrets in URLs and URL-encoded forms: user names with their passwords, and parameters with a secret name."""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

from eve_mocks import known_tokens
from eve_mocks.secret_names import REDACTED, is_count, is_secret

_PARAMETER = re.compile(r"(?<=[?&#;])([^?&#=\s;]{1,200})=[^&#\s\"'<>\\]*")
# What else is asked where OAuth gives or takes a code (RFC 6749, section 4.1).
_BESIDE_CODE = re.compile(r"(?:^|[?&#])(?:state|grant_type|redirect_uri|client_id)=")
_USERINFO = re.compile(r"(?<=://)[^/\s@\"']+@")


def url(shown: str, *, with_code: bool = False) -> str:
    """A URL, or text that may hold one, without its user name and password, its secret parameters and known tokens.

    ``with_code``: it is where a client was sent, so a ``code`` is one of OAuth.
    """
    shown = known_tokens.hide(shown)
    if "@" in shown:
        shown = _USERINFO.sub(f"{REDACTED}@", shown)
    if "=" not in shown or not ("?" in shown or "#" in shown or ";" in shown):
        return shown
    with_code = with_code or bool(_BESIDE_CODE.search(shown))

    def parameter(found: re.Match[str]) -> str:
        return f"{found[1]}={REDACTED}" if _hides(found[1], found[0], with_code=with_code) else found[0]

    return _PARAMETER.sub(parameter, shown)


def _hides(name: str, pair: str, *, with_code: bool) -> bool:
    """Whether the value of a parameter is a credential; ``pair`` is how it stands there."""
    plain = unquote_plus(name)
    if plain == "code":
        return with_code
    return is_secret(plain) and not is_count(plain, pair[len(name) + 1 :])


def form(shown: str) -> str:
    """A URL-encoded form without the values of its secret names."""
    with_code = bool(_BESIDE_CODE.search(shown))
    return "&".join(
        f"{pair.partition('=')[0]}={REDACTED}"
        if "=" in pair and _hides(pair.partition("=")[0], pair, with_code=with_code)
        else pair
        for pair in shown.split("&")
    )
