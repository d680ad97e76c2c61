"""The one error of the protocol (RFC 6749, section 5.2)."""

from __future__ import annotations


class OAuthError(Exception):
    """``error`` is the protocol's word. With ``redirect``, the client is told there, else in the answer."""

    def __init__(self, error: str, description: str, *, status: int = 400, redirect: str | None = None) -> None:
        super().__init__(f"{error}: {description}")
        self.error = error
        self.description = description
        self.status = status
        self.redirect = redirect
