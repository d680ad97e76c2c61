"""An authorization server without HTTP: codes, tokens, what each may be used for, and how often.

State belongs to the run, and not to a session: a code is redeemed by whoever signed in, and the browser that fetched it
may be another program. Nobody can use what he was not given.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import hmac
import secrets
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from eve_mocks.kinds.oauth.errors import OAuthError
from eve_mocks.kinds.oauth.tokens import Signer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eve_mocks.kinds.oauth.clients import Client, Clients

# RFC 6749, section 4.1.2: a code lives for a short time.
_CODE_LIVES = 600
_MOST = 100_000
_DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
GRANTS = ("authorization_code", "refresh_token", "client_credentials", _DEVICE)


@dataclasses.dataclass(slots=True, kw_only=True)
class Grant:
    """What somebody agreed to: a code, a device code, or all tokens that came of one. ``used`` is of its code."""

    client: str
    scope: str
    subject: str
    resource: tuple[str, ...] = ()
    redirect_uri: str | None = None
    challenge: str | None = None
    method: str = "plain"
    nonce: str | None = None
    expires: float = 0.0
    used: bool = False
    revoked: bool = False
    refreshes: bool = True
    rotated: set[str] = dataclasses.field(default_factory=set)  # refresh tokens that were used


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """``denies`` answers every sign-in with access_denied. ``expires_in`` is in seconds."""

    scopes: tuple[str, ...] = ()
    expires_in: int = 3600
    subject: str = "user"
    claims: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    denies: bool = False


class Server:
    """``issuer`` is its URL, without a slash at the end."""

    def __init__(self, issuer: str, clients: Clients, rules: Rules) -> None:
        self.issuer = issuer
        self.clients = clients
        self.rules = rules
        self.signer = Signer()
        self._codes: dict[str, Grant] = {}
        self._devices: dict[str, Grant] = {}
        self._refreshes: dict[str, Grant] = {}
        self._tokens: dict[str, Grant] = {}  # by the id of an access token

    # The authorization endpoint (RFC 6749, section 4.1.1; RFC 7636; RFC 9207).

    def authorize(self, asked: Mapping[str, str], resource: tuple[str, ...] = ()) -> str:
        """Where the person is sent back to, with a code. Raises ``OAuthError``."""
        client = self.clients.find(asked.get("client_id"))
        uri = asked.get("redirect_uri") or (client.redirect_uris[0] if len(client.redirect_uris) == 1 else None)
        if uri is None or not client.takes(uri):
            raise OAuthError("invalid_request", "the redirect_uri is missing, or is none of the client's")
        state = {"state": asked["state"]} if "state" in asked else {}

        def refused(error: str, description: str) -> OAuthError:
            told = {"error": error, "error_description": description, **state, "iss": self.issuer}
            return OAuthError(error, description, redirect=_with(uri, told))

        if asked.get("response_type") != "code":
            raise refused("unsupported_response_type", "response_type has to be code")
        method = asked.get("code_challenge_method", "plain")
        if "code_challenge" not in asked and "code_challenge_method" in asked:
            raise refused("invalid_request", "there is a code_challenge_method, and no code_challenge")
        if method not in ("S256", "plain"):
            raise refused("invalid_request", "code_challenge_method is S256 or plain")
        if "code_challenge" not in asked and client.secret is None and client.redirect_uris:
            raise refused("invalid_request", "a public client sends a code_challenge (RFC 7636)")
        if wrong := self._wrong_scopes(asked.get("scope", "")):
            raise refused("invalid_scope", f"there is no scope {wrong}")
        if self.rules.denies:
            raise refused("access_denied", "the mock denies every sign-in")
        code = secrets.token_urlsafe(24)
        _keep(
            self._codes,
            code,
            Grant(
                client=client.id,
                scope=asked.get("scope") or " ".join(self.rules.scopes),
                subject=self.rules.subject,
                resource=resource,
                redirect_uri=asked.get("redirect_uri"),
                challenge=asked.get("code_challenge"),
                method=method,
                nonce=asked.get("nonce"),
                expires=time.time() + _CODE_LIVES,
            ),
        )
        return _with(uri, {"code": code, **state, "iss": self.issuer})

    # The token endpoint (RFC 6749, sections 4.1.3, 4.4.2 and 6; RFC 8628, section 3.4).

    def token(self, form: Mapping[str, str], authorization: str, resource: tuple[str, ...] = ()) -> dict[str, Any]:
        """The answer to a token request. Raises ``OAuthError``."""
        client = self.clients.authenticate(form, authorization)
        grant = form.get("grant_type")
        if grant == "authorization_code":
            grant_ = self._redeem(form, client)
            return self._answer(grant_, resource, nonce=grant_.nonce)
        if grant == "refresh_token":
            return self._answer(self._refresh(form, client), resource, form.get("scope"))
        if grant == "client_credentials":
            scope = form.get("scope", "")
            if wrong := self._wrong_scopes(scope):
                raise OAuthError("invalid_scope", f"there is no scope {wrong}")
            made = Grant(client=client.id, scope=scope, subject=client.id, resource=resource, refreshes=False)
            return self._answer(made, resource)
        if grant == _DEVICE:
            return self._answer(self._take_device(form, client), resource)
        raise OAuthError("unsupported_grant_type", f"grant_type is one of {', '.join(GRANTS)}")

    def _redeem(self, form: Mapping[str, str], client: Client) -> Grant:
        grant = self._codes.get(form.get("code", ""))
        if grant is None or grant.client != client.id or grant.expires < time.time():
            raise OAuthError("invalid_grant", "the code is unknown, or of another client, or has expired")
        if grant.used:
            # RFC 6749, section 4.1.2: what was issued for it is taken back.
            grant.revoked = True
            raise OAuthError("invalid_grant", "the code has been used already")
        if form.get("redirect_uri") != grant.redirect_uri and grant.redirect_uri is not None:
            raise OAuthError("invalid_grant", "the redirect_uri is not that of the authorization request")
        if grant.challenge is not None and not _proves(form.get("code_verifier", ""), grant):
            raise OAuthError("invalid_grant", "the code_verifier is missing or wrong")
        if grant.challenge is None and "code_verifier" in form:
            raise OAuthError("invalid_grant", "there is a code_verifier, and was no code_challenge")
        grant.used = True
        return grant

    def _refresh(self, form: Mapping[str, str], client: Client) -> Grant:
        token = form.get("refresh_token", "")
        grant = self._refreshes.get(token)
        if grant is None or grant.client != client.id or grant.revoked:
            raise OAuthError("invalid_grant", "the refresh token is unknown, revoked, or of another client")
        if token in grant.rotated:
            grant.revoked = True  # RFC 9700, section 4.14.2: somebody else has it too
            raise OAuthError("invalid_grant", "the refresh token has been used already")
        if not set(form.get("scope", "").split()) <= set(grant.scope.split()):
            raise OAuthError("invalid_scope", "a scope was not granted before")
        grant.rotated.add(token)
        return grant

    def _take_device(self, form: Mapping[str, str], client: Client) -> Grant:
        grant = self._devices.get(form.get("device_code", ""))
        if grant is None or grant.client != client.id or grant.used:
            raise OAuthError("invalid_grant", "the device_code is unknown, used, or of another client")
        if grant.expires < time.time():
            raise OAuthError("expired_token", "the device_code has expired")
        if self.rules.denies:
            raise OAuthError("access_denied", "the mock denies every sign-in")
        grant.used = True
        return grant

    def _answer(
        self, grant: Grant, resource: tuple[str, ...], scope: str | None = None, *, nonce: str | None = None
    ) -> dict[str, Any]:
        if resource and grant.resource and not set(resource) <= set(grant.resource):
            raise OAuthError("invalid_target", "the resource was not granted")
        now, id_ = int(time.time()), secrets.token_urlsafe(12)
        audience = list(resource or grant.resource)
        claims = {
            "iss": self.issuer,
            "sub": grant.subject,
            "aud": (audience[0] if len(audience) == 1 else audience) if audience else self.issuer,
            "client_id": grant.client,
            "iat": now,
            "exp": now + self.rules.expires_in,
            "jti": id_,
            "scope": grant.scope if scope is None else scope,
        }
        _keep(self._tokens, id_, grant)
        told: dict[str, Any] = {
            "access_token": self.signer.sign(claims, type_="at+jwt"),
            "token_type": "Bearer",
            "expires_in": self.rules.expires_in,
        }
        if claims["scope"]:
            told["scope"] = claims["scope"]
        if grant.refreshes:
            told["refresh_token"] = secrets.token_urlsafe(24)
            _keep(self._refreshes, told["refresh_token"], grant)
        if grant.refreshes and "openid" in grant.scope.split():
            about = {key: claims[key] for key in ("iss", "sub", "iat", "exp")} | {"aud": grant.client}
            told["id_token"] = self.signer.sign(
                {**self.rules.claims, **about, **({} if nonce is None else {"nonce": nonce})}
            )
        return told

    # The others.

    def device(self, form: Mapping[str, str], authorization: str) -> dict[str, Any]:
        """RFC 8628, section 3.2. The mock's person agrees at once."""
        client = self.clients.authenticate(form, authorization)
        code, user_code = secrets.token_urlsafe(24), "-".join(secrets.token_hex(2).upper() for _ in range(2))
        if wrong := self._wrong_scopes(form.get("scope", "")):
            raise OAuthError("invalid_scope", f"there is no scope {wrong}")
        _keep(
            self._devices,
            code,
            Grant(
                client=client.id,
                scope=form.get("scope", ""),
                subject=self.rules.subject,
                expires=time.time() + _CODE_LIVES,
            ),
        )
        page = f"{self.issuer}/device"
        told = {"device_code": code, "user_code": user_code, "verification_uri": page, "interval": 1}
        return {**told, "verification_uri_complete": f"{page}?user_code={user_code}", "expires_in": _CODE_LIVES}

    def claims(self, token: str) -> dict[str, Any] | None:
        """The claims of an access token that may be used now."""
        claims = self.signer.verify(token)
        if claims is None or claims.get("exp", 0) <= time.time():
            return None
        grant = self._tokens.get(claims.get("jti", ""))
        return None if grant is None or grant.revoked else claims

    def introspect(self, form: Mapping[str, str], authorization: str) -> dict[str, Any]:
        """RFC 7662, section 2.2."""
        self.clients.authenticate(form, authorization)
        token = form.get("token", "")
        if token in self._refreshes:
            grant = self._refreshes[token]
            return {"active": not grant.revoked, "client_id": grant.client, "scope": grant.scope, "sub": grant.subject}
        claims = self.claims(token)
        return {"active": False} if claims is None else {"active": True, "token_type": "Bearer", **claims}

    def revoke(self, form: Mapping[str, str], authorization: str) -> None:
        """RFC 7009, section 2.1: also what was issued for the same agreement; an unknown token is no error."""
        client = self.clients.authenticate(form, authorization)
        token = form.get("token", "")
        claims = self.signer.verify(token) or {}
        grant = self._refreshes.get(token) or self._tokens.get(claims.get("jti", ""))
        if grant is not None and grant.client == client.id:
            grant.revoked = True

    def _wrong_scopes(self, scope: str) -> str | None:
        if not self.rules.scopes:
            return None
        return next((one for one in scope.split() if one not in (*self.rules.scopes, "openid", "offline_access")), None)


def _keep(grants: dict[str, Grant], id_: str, grant: Grant) -> None:
    """Keep a grant, and as many as a run may need."""
    grants[id_] = grant
    while len(grants) > _MOST:
        del grants[next(iter(grants))]


def _with(uri: str, told: Mapping[str, str]) -> str:
    return f"{uri}{'&' if urlsplit(uri).query else '?'}{urlencode(told)}"


def _proves(verifier: str, grant: Grant) -> bool:
    made = verifier
    if grant.method == "S256":
        made = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    return bool(verifier) and hmac.compare_digest(made.encode(), (grant.challenge or "").encode())
