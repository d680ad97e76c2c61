"""Where a document's paths begin, seen from the URL that a mock claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from eve_mocks.match import BadURL, parse_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.match import Claim


def bases(document: Mapping[str, Any], claim: Claim) -> list[str]:
    """The paths of the document's servers that are the mock's: at its host, or at none, for that is wherever it is."""
    return [path.rstrip("/") for url, path in _servers(document) if _is_at(url, path, claim)]


def _servers(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The origin, which may be empty, and the path of each server."""
    if "swagger" in document:
        host, path = document.get("host"), document.get("basePath")
        yield f"https://{host}" if isinstance(host, str) else "", path if isinstance(path, str) else ""
        return
    servers = document.get("servers")
    for server in servers if isinstance(servers, list) else ():
        url = server.get("url") if isinstance(server, dict) else None
        if isinstance(url, str):
            variables = server.get("variables")
            for name, variable in variables.items() if isinstance(variables, dict) else ():
                if isinstance(variable, dict):
                    url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
            try:
                parts = urlsplit(url)
            except ValueError:
                continue
            yield f"{parts.scheme or 'https'}://{parts.netloc}" if parts.netloc else "", parts.path


def _is_at(origin: str, path: str, claim: Claim) -> bool:
    if not origin:
        return path.rstrip("/") != ""  # one that is only / says nothing: it is the default
    try:
        url = parse_url(origin)
    except BadURL:
        return False
    if claim.wildcard:
        return url.host.endswith(f".{claim.suffix}")
    return (url.host, url.port) == (claim.url.host, claim.url.port)


def below(path: str, base: str, prefix: str) -> str | None:
    """The path of an operation below the prefix of the mock's URL; None for one that is not below it."""
    whole = base + path
    return whole.removeprefix(prefix) or "/" if whole == prefix or whole.startswith(f"{prefix}/") else None


def nearest(found: list[str], prefix: str) -> list[str]:
    """The bases to try, the likeliest first: the prefix itself, one below it, one above it, and again the prefix.

    The last is for a document that has no server here: then its paths are relative to the mock's URL, as routes are.
    """
    under = [base for base in found if base.startswith(f"{prefix}/")]
    above = [base for base in found if prefix.startswith(f"{base}/")]
    return [prefix] if prefix in found else [*under, *above, prefix]
