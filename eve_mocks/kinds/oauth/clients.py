"""Who may ask: clients that the mock declares, and those that register themselves (RFC 7591)."""

from __future__ import annotations

import base64
import dataclasses
import hmac
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus, urlsplit

from eve_mocks.kinds.oauth.errors import OAuthError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eve_mocks.response import Json

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MOST = 10_000
# Set by the server alone (RFC 7591, section 3.2.1).
_OURS = ("client_id", "client_secret", "client_id_issued_at", "client_secret_expires_at")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """``secret`` is None for a public client; without ``redirect_uris`` any is taken."""

    id: str
    secret: str | None = None
    redirect_uris: tuple[str, ...] = ()

    def takes(self, uri: str) -> bool:
        """Whether a code may be sent there. The port of loopback is chosen when the client starts (RFC 8252, 7.3)."""
        return is_usable(uri) and (not self.redirect_uris or any(_same(uri, known) for known in self.redirect_uris))


class Clients:
    """Without declared ones, whoever asks is a client: there is nothing to hold it against."""

    def __init__(self, declared: Mapping[str, Client] | None) -> None:
        self._declared = declared
        self._registered: dict[str, Client] = {}

    def find(self, id_: str | None) -> Client:
        """The client of an id. Raises ``OAuthError`` for one that is unknown."""
        if not id_:
            raise OAuthError("invalid_request", "client_id is missing")
        known = self._registered.get(id_) or (self._declared or {}).get(id_)
        if known is not None:
            return known
        if self._declared is not None:
            raise OAuthError("invalid_client", f"there is no client {id_[:80]!r}", status=401)
        return Client(id=id_)

    def authenticate(self, form: Mapping[str, str], authorization: str) -> Client:
        """The client of a token request, by either of its ways (RFC 6749, section 2.3.1). Raises ``OAuthError``."""
        id_, secret = form.get("client_id"), form.get("client_secret")
        if authorization.lower().startswith("basic "):
            try:
                user, _, password = base64.b64decode(authorization[6:], validate=True).decode().partition(":")
            except ValueError:
                raise OAuthError("invalid_client", "the Authorization header is not Basic", status=401) from None
            if secret is not None or id_ not in (None, unquote_plus(user)):
                raise OAuthError("invalid_request", "the client says who it is in more than one way")
            id_, secret = unquote_plus(user), unquote_plus(password)
        client = self.find(id_)
        if client.secret is not None and not hmac.compare_digest((secret or "").encode(), client.secret.encode()):
            raise OAuthError("invalid_client", "the client's secret is missing or wrong", status=401)
        return client

    def register(self, metadata: Json) -> dict[str, Any]:
        """Register a client; what it asked for is told back. Raises ``OAuthError``."""
        if not isinstance(metadata, dict):
            raise OAuthError("invalid_client_metadata", "the body is not a JSON object")
        uris = metadata.get("redirect_uris", [])
        if not isinstance(uris, list) or not all(isinstance(uri, str) and is_usable(uri) for uri in uris):
            raise OAuthError("invalid_redirect_uri", "redirect_uris are a list of URLs without a fragment")
        if len(self._registered) >= _MOST:
            raise OAuthError("invalid_client_metadata", f"{_MOST} clients have registered already")
        method = metadata.get("token_endpoint_auth_method", "client_secret_basic")
        secret = None if method == "none" else secrets.token_urlsafe(32)
        client = Client(id=secrets.token_urlsafe(16), secret=secret, redirect_uris=tuple(uris))
        self._registered[client.id] = client
        kept = {key: value for key, value in metadata.items() if key not in _OURS}
        told = {**kept, "client_id": client.id, "client_id_issued_at": 0, "token_endpoint_auth_method": method}
        told.setdefault("grant_types", ["authorization_code"])
        told.setdefault("response_types", ["code"])
        return told if secret is None else {**told, "client_secret": secret, "client_secret_expires_at": 0}


def is_usable(uri: str) -> bool:
    """Whether a code can be sent to a URI (RFC 6749, section 3.1.2)."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return False
    is_plain = uri.isascii() and uri.isprintable() and " " not in uri and "#" not in uri
    return is_plain and bool(parts.scheme) and parts.scheme not in ("javascript", "data")


def _same(uri: str, known: str) -> bool:
    if uri == known:
        return True
    try:
        one, other = urlsplit(uri), urlsplit(known)
        is_here = one.hostname in _LOOPBACK and one.hostname == other.hostname
    except ValueError:
        return False
    return is_here and (one.scheme, one.path, one.query) == (other.scheme, other.path, other.query)
