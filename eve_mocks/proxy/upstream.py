"""How the caller reaches the outside: through which proxy, and trusting whom. Used for allowed upstreams alone."""

from __future__ import annotations

import base64
import dataclasses
import ipaddress
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCHEMES: dict[str, Literal["http", "https"]] = {"http": "http", "https": "https"}
_PORTS = {"http": 80, "https": 443}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A proxy of the caller's; ``authorization`` is what its URL's credentials come to (RFC 7617)."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    authorization: str | None = None


class UnknownProxy(ValueError):
    """The caller's proxy is of a kind that is not spoken here."""


def parse_proxy(url: str) -> Proxy:
    """Read a value of ``HTTP_PROXY``; one without a scheme is http, as curl has it. Raises ``UnknownProxy``."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise UnknownProxy("the proxy is not a URL that can be read") from error  # which may hold a password
    scheme = _SCHEMES.get(parts.scheme.lower())
    if scheme is None or not parts.hostname:
        raise UnknownProxy(f"the proxy is of the kind {parts.scheme!r}: only http and https are supported")
    authorization = None
    if parts.username is not None:
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(credentials.encode()).decode()
    return Proxy(scheme=scheme, host=parts.hostname, port=port or _PORTS[scheme], authorization=authorization)


class Upstreams:
    """``proxies`` is ``{"http": url, "https": url, "no": NO_PROXY}``; ``bundle`` is a PEM file of what is trusted."""

    def __init__(self, proxies: Mapping[str, str | None] | None = None, bundle: str | None = None) -> None:
        self._proxies = dict(proxies or {})
        self._direct = [entry.strip().lower() for entry in (self._proxies.get("no") or "").split(",") if entry.strip()]
        self.bundle = bundle

    def proxy(self, scheme: str, host: str, port: int) -> Proxy | None:
        """The proxy for an origin, or None where it is reached directly. Raises ``UnknownProxy``."""
        url = self._proxies.get(scheme)
        if not url or any(_covers(entry, host, port) for entry in self._direct):
            return None
        return parse_proxy(url)


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether an entry of ``NO_PROXY`` names a host: a name and what is under it, ``*``, an address, a network."""
    if entry == "*":
        return True
    name, colon, number = entry.rpartition(":")
    if colon and number.isdigit() and (":" not in name or name.endswith("]")):
        if int(number) != port:
            return False
        entry = name
    entry = entry.strip("[]")
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        suffix = entry.removeprefix("*").removeprefix(".").removesuffix(".")
        return host == suffix or host.endswith("." + suffix)
