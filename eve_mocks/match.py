"""What claims a URL, and which name was probably meant.

URLs are normalised once (RFC 3986, section 6.2.2: case, percent-encoding of unreserved characters, dot segments;
section 6.2.3: default ports), so that comparing is comparing strings. ``%2F`` is never decoded: it is data.
"""

from __future__ import annotations

import dataclasses
import functools
import ipaddress
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from eve_mocks.errors import MockError, as_written
from eve_mocks.model import URL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from urllib.parse import SplitResult

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})|%")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
PATH_SAFE = "/%:@!$&'()*+,;=-._~"
_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
# What is not HTTP is named by protocol, host and port; it can be allowed or blocked as a whole.
RAW = ("tcp", "udp")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNSEEN = re.compile(r"\A\s|\s\Z|[\x00-\x1f\x7f]")
_HOST = re.compile(r"[a-z0-9_*.-]+|[0-9a-f:.]*:[0-9a-f:.]*")


class BadURL(ValueError):
    """The text is not an absolute http(s) or ws(s) URL; the message says in which way, and quotes nothing of it."""


@functools.lru_cache(maxsize=4096)
def parse_url(text: str) -> URL:
    """Normalise an absolute URL; ``wss`` and ``ws`` become ``https`` and ``http``. Raises ``BadURL``.

    Credentials and a fragment are dropped: neither is part of what a server is asked.
    """
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise BadURL("its host cannot be read") from error
    try:
        port = parts.port
    except ValueError as error:  # quotes what may be a part of a password
        raise BadURL("its port is not a number up to 65535") from error
    scheme = _SCHEMES.get(parts.scheme.lower())
    if scheme is None or not text[len(parts.scheme) :].startswith("://"):
        raise BadURL("it does not begin with http://, https://, ws:// or wss://")
    if not parts.hostname:
        raise BadURL("it names no host")
    if "\\" in parts.netloc:  # ends the host for browsers, but not for RFC 3986
        raise BadURL("its host holds a backslash")
    return URL(
        scheme=scheme,
        host=normalise_host(parts.hostname),
        port=port if port is not None else URL.DEFAULT_PORTS[scheme],
        path=normalise_path(parts.path),
        query=parts.query,
    )


@functools.lru_cache(maxsize=4096)
def normalise_host(host: str) -> str:
    """Lower case, IDNA A-labels (UTS 46), no trailing dot, the shortest form of an IP address. Raises ``BadURL``."""
    host = unquote(host).lower().removesuffix(".").removeprefix("[").removesuffix("]")
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode()
        except idna.IDNAError as error:
            raise BadURL("its host is not a valid name") from error
    if not _HOST.fullmatch(host):
        raise BadURL("its host is not a valid name")
    if ":" not in host and _NUMBER.fullmatch(host.rpartition(".")[2]):
        return _ipv4(host)
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host


def _ipv4(host: str) -> str:
    """The address that clients take a number for: ``127.1`` and ``0x7f000001`` are 127.0.0.1 (URL Standard, 3.5)."""
    parts = host.split(".")
    try:
        *first, last = (int(part, 16) if part[:2] == "0x" else int(part, 8 if part[0] == "0" else 10) for part in parts)
        rest = last.to_bytes(4 - len(first))
        return str(ipaddress.IPv4Address(bytes(first) + rest))
    except (ValueError, IndexError, OverflowError) as error:
        raise BadURL("its host ends in a number, and is no IPv4 address") from error


def normalise_path(raw: str) -> str:
    """Decode unreserved characters, encode what must be, resolve dot segments; empty segments stay."""
    return resolve_dots(quote(decode_unreserved(raw), safe=PATH_SAFE))


def resolve_dots(path: str) -> str:
    """A path without the segments ``.`` and ``..`` (RFC 3986, section 5.2.4)."""
    segments: list[str] = []
    parts = path.split("/")[1:] if path.startswith("/") else path.split("/")
    for index, segment in enumerate(parts):
        last = index == len(parts) - 1
        if segment == "..":
            if segments:
                segments.pop()
            if last:
                segments.append("")
        elif segment == ".":
            if last:
                segments.append("")
        else:
            segments.append(segment)
    return "/" + "/".join(segments)


def decode_unreserved(text: str) -> str:
    """Text with the escapes decoded that stand for unreserved characters, and the others in capitals."""
    return _ESCAPE.sub(_canonical_escape, text)


def _canonical_escape(found: re.Match[str]) -> str:
    if found[1] is None:
        return "%25"
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else f"%{found[1].upper()}"


def is_loopback(host: str) -> bool:
    """Whether a normalised host is this machine: ``localhost`` (RFC 6761), 127.0.0.0/8, ``::1``."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback or (mapped or address).is_unspecified


def _parse_raw(text: str) -> URL:
    """Normalise ``tcp://host:port`` or ``udp://host:port``. Raises ``BadURL``."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise BadURL("its host or port cannot be read") from error
    if not parts.hostname or not port:
        raise BadURL("it needs a host and a port")
    if parts.path not in ("", "/"):
        raise BadURL("what is not HTTP has no path")
    return URL(parts.scheme, normalise_host(parts.hostname), port, "/")


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """What one ``url`` of a mock file claims: an origin and a path prefix that ends at a segment."""

    url: URL
    wildcard: bool

    @property
    def suffix(self) -> str:
        """The host without its ``*.`` label."""
        return self.url.host.removeprefix("*.")

    @property
    def prefix(self) -> str:
        return self.url.path.removesuffix("/")

    def covers(self, url: URL) -> bool:
        """Whether the claim covers a URL."""
        return (
            (self.url.scheme, self.url.port) == (url.scheme, url.port)
            and (url.host.endswith("." + self.suffix) if self.wildcard else url.host == self.url.host)
            and self.covers_path(url.path)
        )

    def covers_path(self, path: str) -> bool:
        return path == self.prefix or path.startswith(self.prefix + "/")

    def relative(self, path: str) -> str:
        """The path below the claim: what routes and OpenAPI documents speak of."""
        return path.removeprefix(self.prefix) or "/"


def parse_claim(text: object, raw: Collection[str] = ()) -> Claim:
    """Read the ``url`` of a mock, an allow or a block. Raises ``MockError``.

    ``raw`` are the protocols beside HTTP that may be claimed: of ``RAW``.
    """
    if not isinstance(text, str):
        raise MockError(
            f"url is {as_written(text)}, not text",
            why="a mock claims what is under one URL",
            fix="Write for example url: https://api.example.com/",
        )
    if "://" not in text:
        raise MockError(
            f"the url {text!r} has no scheme",
            why="http and https are different origins, so the scheme is part of what is claimed",
            fix=f"Write https://{text.lstrip('/')}",
        )
    try:
        is_raw = text.partition("://")[0].lower() in RAW
        url = _parse_raw(text) if is_raw else parse_url(text)
        parts = urlsplit(text)
    except BadURL as error:
        raise MockError(
            f"the url {text!r} is not one that can be claimed: {error}",
            why="a mock claims an http(s) or ws(s) origin and a path prefix",
            fix="Write for example https://api.example.com/v1",
        ) from error
    if is_raw and url.scheme not in raw:
        raise MockError(
            f"the url {text!r} is of a protocol that cannot be {'allowed' if raw else 'mocked'}",
            why="no datagram leaves a contained command" if raw else "mocks answer HTTP; tcp can be allowed or blocked",
            fix="Have the client use TCP, or write kind: block." if raw else "Write kind: allow, or kind: block.",
        )
    for part, named, why in (
        ("@" in parts.netloc, "credentials", "a client's credentials travel in headers, never in what a mock claims"),
        (parts.fragment or text.endswith("#"), "a fragment", "clients never send a fragment"),
        (parts.query or text.endswith("?"), "a query", "a claim is a path prefix; routes and handlers see the query"),
    ):
        if part:
            clean = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
            raise MockError(f"the url {text!r} has {named}", why=why, fix=f"Write {clean}")
    if is_loopback(url.host):
        raise MockError(
            f"the url {text!r} is on this machine",
            why="loopback passes natively and never reaches eve-mocks, so this mock could not answer",
            fix="Start a server there, or give the client the URL of the real service and mock that.",
        )
    for what, why, fix in _flaws(text, parts, url.host.removeprefix("*.")):
        raise MockError(f"the url {as_written(text)} {what}", why=why, fix=fix)
    wildcard = url.host.startswith("*.")
    if "*" in url.host.removeprefix("*."):
        raise MockError(
            f"the url {text!r} has * in a place where it means nothing",
            why="* stands for one or more whole labels at the beginning of a host",
            fix="Write for example https://*.example.com/",
        )
    return Claim(url, wildcard)


def _flaws(text: str, parts: SplitResult, host: str) -> Iterator[tuple[str, str, str]]:
    """What, why and fix of what makes a URL one that no client could call, or that claims less than was meant."""
    if _UNSEEN.search(text):
        what = "has a space or a line break at its end, or an unseen character"
        yield what, "a URL has no such thing", "Remove it."
    if parts.port == 0:
        yield "has port 0", "nothing can be reached there", "Write the port of the service, or none."
    if re.search(r"%(?![0-9A-Fa-f]{2})", parts.path):
        why = "% begins an escape of two hexadecimal digits"
        yield "has a % that is no escape", why, "Write %25 for the sign itself."
    if re.search(r"[{}]|/\*+$", parts.path):
        why = "a mock claims whatever is below its path; parameters are for routes"
        yield "has a path with a pattern", why, "End the path before the pattern."
    if not _can_be_looked_up(host):
        why = "a name is of labels up to 63 characters, 253 in all, and no label is empty, or has - at an end"
        yield "has a host that cannot exist", why, "Correct the host."


def _can_be_looked_up(host: str) -> bool:
    """Whether DNS could have a name (RFC 1035, section 2.3.4; RFC 5891, section 4.2.3); underscores are in use."""
    labels = host.split(".")
    return ":" in host or (
        len(host) <= 253 and all(0 < len(label) <= 63 and label == label.strip("-") for label in labels)
    )


def nearest(word: str, candidates: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The candidate that was probably meant, or None where nothing is near."""
    import difflib

    by_folded = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=cutoff)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """A fix that names the nearest candidate, else all of them."""
    candidates = list(candidates)
    near = nearest(word, candidates)
    return f"Did you mean {near}?" if near else f"Use one of: {', '.join(candidates)}."
