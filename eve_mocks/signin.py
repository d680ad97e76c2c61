"""Unclaimed sign-ins: token requests that no mock claims are answered with a placeholder (contract, section 5).

A connection's own auth code runs as in production, and no credential is needed or sent anywhere.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qs

from eve_mocks.match import parse_url
from eve_mocks.model import Answer, BadRequest, Request
from eve_mocks.response import Response
from eve_mocks.stubs.rules import NO_RULES

if TYPE_CHECKING:
    from eve_mocks.session import Session
    from eve_mocks.stubs.rules import Rule, Rules

TOKEN = "mock-token"  # noqa: S105 - a placeholder, worth nothing anywhere
_LIFETIME = 3600
_VERCEL_CONNECT = parse_url("https://api.vercel.com/v1/connect/token/")
_BODY_TYPES = {"application/x-www-form-urlencoded", "application/json"}


def may_be_sign_in(request: Request) -> bool:
    """Whether the body has to be read to know if this is a token request."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return _is_vercel_connect(request) or (request.method == "POST" and media_type in _BODY_TYPES)


def is_sign_in(request: Request) -> bool:
    """Whether this is an OAuth 2.0 token request (RFC 6749, section 4) or one of Vercel Connect's."""
    if _is_vercel_connect(request):
        return True
    return may_be_sign_in(request) and isinstance(_grant_type(request), str)


def _is_vercel_connect(request: Request) -> bool:
    target = request.target
    return target.origin == _VERCEL_CONNECT.origin and target.path.startswith(_VERCEL_CONNECT.path)


def _grant_type(request: Request) -> object:
    if "json" in request.headers.get("content-type", ""):
        try:
            body = request.json()
        except BadRequest:
            return None
        return body.get("grant_type") if isinstance(body, dict) else None
    return next(iter(parse_qs(request.body.decode("utf-8", "replace")).get("grant_type", ())), None)


class SignIn:
    """The mock that stands behind every unclaimed token request."""

    kind: ClassVar[str] = "oauth"
    name: ClassVar[str] = "sign-in"
    url: ClassVar[str] = ""
    file: ClassVar[str] = ""
    line: ClassVar[None] = None
    problems: ClassVar[tuple[()]] = ()

    @property
    def stubs(self) -> Rules:
        return NO_RULES

    @property
    def seed(self) -> None:
        return None

    def operations(self) -> list[str]:
        return ["token"]

    def names(self) -> dict[str, str]:
        return {}  # it belongs to no upstream, so there is nothing to stub

    def entries(self) -> list[str]:
        return []

    def check(self, rule: Rule) -> None:
        """Accept any: there are none."""

    def reads_body(self, request: Request) -> bool:
        return may_be_sign_in(request)

    async def answer(self, request: Request, session: Session) -> Answer:  # noqa: ARG002 - the same in every session
        if _is_vercel_connect(request):
            connector = request.target.path.removeprefix(_VERCEL_CONNECT.path).strip("/")
            body = {
                "token": TOKEN,
                "expiresAt": int((time.time() + _LIFETIME) * 1000),
                "connector": {"id": connector, "uid": connector},
            }
        else:
            body = {"access_token": TOKEN, "token_type": "Bearer", "expires_in": _LIFETIME}
        # RFC 6749, section 5.1: a token response is not to be stored.
        return Answer(response=Response(json=body, headers={"cache-control": "no-store"}), operation="token")
