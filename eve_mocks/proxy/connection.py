"""What is known of a connection before its first request, and what the requests on it may therefore ask for.

The authority is that of the connection: names that disagree are an attempt, or a mistake, to be routed by one name
and answered by another (contract, section 2).
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import functools
import re
from urllib.parse import urlsplit

from eve_mocks.match import BadURL, normalise_host, normalise_path, parse_url, resolve_dots
from eve_mocks.model import URL, Peer

_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:@/?#\[\]]+)(?::(?P<port>\d{1,5})?)?")
_ABSOLUTE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://[^/?#]*")
_SCHEMES = {"http", "https", "ws", "wss"}
# Segments that are dots, or escapes of dots (RFC 3986, section 6.2.2.2).
_DOTS = re.compile(r"(?<=/)(?:\.|%2[eE]){1,2}(?=/|$)")
_NAME = re.compile(r"(?!.{254})(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}")
_REQUEST_LINE = re.compile(rb"\S{1,40} +(\S+)")
_PORTS = {**URL.DEFAULT_PORTS, "ftp": 21}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """``host`` is None where the client speaks to the proxy itself; ``sni`` is the name it asked for in TLS.

    Where the client looked its host up in a file, ``host`` is an address; ``names`` are what the file calls it.
    ``peer`` is who connected, where that was told, or looked up already.
    """

    client_port: int
    host: str | None = None
    port: int = 0
    scheme: str = "http"
    sni: str | None = None
    user: str | None = None
    names: tuple[str, ...] = ()
    peer: Peer | None = None

    @property
    def session(self) -> str | None:
        """The session of its requests, unless they name one themselves (contract, section 4)."""
        return self.user or (self.peer.session if self.peer is not None else None)

    def called(self, name: str | None) -> Connection:
        """The connection under the name that SNI or Host has for it, if that is one of its names."""
        host = None if name is None or not self.names else _host(name.partition(":")[0])
        return dataclasses.replace(self, host=host, names=()) if host in self.names else self

    @property
    def url(self) -> URL:
        return URL(self.scheme, self.host or "", self.port, "/")


# The control API, as a client of the proxy calls it (contract, section 4; RFC 2606, section 2).
CONTROL = URL("http", "eve-mocks.invalid", 80, "/")


class BadTarget(ValueError):
    """The request target cannot be read, or has no meaning here: 400."""


class NotForwarded(BadTarget):
    """The request asks for nothing beyond the proxy itself."""


class Disagreement(ValueError):
    """The names of one request disagree. ``target`` is what it would have been by the connection's name."""

    def __init__(self, why: str, target: URL) -> None:
        super().__init__(why)
        self.target = target


def parse_authority(text: str, default_port: int | None = None) -> tuple[str, int]:
    """Host and port of ``host:port``, normalised; without a default the port must be there. Raises ``BadTarget``."""
    found = _AUTHORITY.fullmatch(text)
    if found is None or (found["host"].startswith("[") and ":" not in found["host"]):
        raise BadTarget("the name is not host:port")
    try:
        host = normalise_host(found["host"])
    except BadURL as error:
        raise BadTarget(f"the name is not host:port: {error}") from error
    if ":" not in host and not _NAME.fullmatch(host):
        raise BadTarget("the host is not a valid name")
    port = int(found["port"] or default_port or 0)
    if not 0 < port < 65536:
        raise BadTarget("the name has no port from 1 to 65535")
    return host, port


_cached_authority = functools.lru_cache(maxsize=4096)(parse_authority)


def target_of(raw: str, host_header: str | None, connection: Connection) -> URL:
    """The URL that a request asks for. Raises ``BadTarget`` or ``Disagreement``."""
    if "#" in raw:  # some servers would end the path there, and resolve it without what follows
        raise BadTarget("the request target has a fragment")
    if found := _ABSOLUTE.match(raw):
        if found[1].lower() not in _SCHEMES:
            raise BadTarget("only http, https, ws and wss are forwarded")
        try:
            target = parse_url(raw)
        except BadURL as error:
            raise BadTarget(f"the request target is not a URL: {error}") from error
    elif connection.host is None:
        raise NotForwarded("this is a proxy: it takes CONNECT, and requests whose target is a whole URL")
    elif raw.startswith("/") or raw == "*":
        path, _, query = raw.partition("?")
        target = URL(connection.scheme, connection.host, connection.port, normalise_path(path), query)
    else:
        raise BadTarget("the request target is neither a path nor a URL")
    check_authority(target, host_header, connection)
    return target


def target_to_send(raw: str) -> str:
    """The path and query of a request target as a server gets them: byte for byte, except for what was decided on.

    Dot segments are resolved, and a backslash, which some servers take for a slash, is encoded.
    """
    found = _ABSOLUTE.match(raw)
    rest = raw[found.end() :] if found else raw
    path, mark, query = rest.partition("?")
    path = _DOTS.sub(lambda dots: re.sub("%2[eE]", ".", dots[0]), path.replace("\\", "%5C"))
    return (path if path == "*" else resolve_dots(path)) + mark + query


def presumed_target(head: bytes) -> URL | None:
    """Where a broken message to the proxy was to go, as far as that can be told: for the record alone."""
    found = _REQUEST_LINE.match(head)
    if found is None:
        return None
    text = found[1].decode("latin-1")
    absolute = _ABSOLUTE.match(text)
    try:
        parts = urlsplit(text if absolute else f"//{text}")
        host = normalise_host(parts.hostname or "")
        port = parts.port
    except ValueError:
        return None
    scheme = parts.scheme or "https"
    return URL(scheme, host, port or _PORTS.get(scheme, 0), normalise_path(parts.path))


def check_authority(target: URL, host_header: str | None, connection: Connection) -> None:
    """Raise ``Disagreement`` unless connection, SNI, target and Host name one origin."""
    wanted = (target.host, target.port)
    names: list[tuple[str, str]] = []
    agree = True
    if connection.host is not None:
        names.append(("the connection is to", f"{connection.url.origin}"))
        agree = connection.url.origin == target.origin
        if connection.sni is not None:
            names.append(("TLS asks for", _shown(connection.sni)))
            agree = agree and _host(connection.sni) == connection.host
    if not agree or connection.host is None:
        names.append(("the target is", target.origin))
    if host_header is not None:
        names.append(("Host is", _shown(host_header)))
        try:
            agree = agree and _cached_authority(host_header, URL.DEFAULT_PORTS[target.scheme]) == wanted
        except BadTarget:
            agree = False
    if not agree:
        why = "The names of the request disagree: " + ", ".join(f"{what} {name}" for what, name in names) + "."
        known = connection.url if connection.host is not None else target
        raise Disagreement(why, dataclasses.replace(target, scheme=known.scheme, host=known.host, port=known.port))


def _shown(name: str) -> str:
    """A name as a text may tell it: in the place of a name there may be a credential, or one before it."""
    _, at, rest = name.rpartition("@")
    try:
        _cached_authority(rest, 1)
    except BadTarget:
        return "not host:port"
    return f"{rest} with a user name" if at else rest


def _host(sni: str) -> str | None:
    try:
        return normalise_host(sni)
    except BadURL:
        return None


def host_of(field: str | None) -> str | None:
    """A Host field as text; clients that send names of other scripts as they are send UTF-8."""
    return field if field is None or field.isascii() else field.encode("latin-1").decode("utf-8", "replace")


def proxy_user(header: str | None) -> str | None:
    """The user name of ``Proxy-Authorization: Basic`` (RFC 7617); anything else is a credential, and no identity."""
    scheme, _, credentials = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user = base64.b64decode(credentials.strip(), validate=True).decode().rpartition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        return None
    return user or None
