"""The mock of an authorization server: its endpoints over HTTP, and the guard of a resource that takes its tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from eve_mocks.http_input import arguments
from eve_mocks.kinds.oauth.errors import OAuthError
from eve_mocks.kinds.oauth.server import GRANTS
from eve_mocks.match import nearest
from eve_mocks.model import Answer, BadRequest
from eve_mocks.response import Response
from eve_mocks.stubs.names import Target
from eve_mocks.stubs.rules import NO_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eve_mocks.errors import Problem
    from eve_mocks.kinds.oauth.server import Server
    from eve_mocks.match import Claim
    from eve_mocks.model import Request
    from eve_mocks.response import Json
    from eve_mocks.session import Session
    from eve_mocks.stubs.rules import Rule, Rules

# By what they do, the methods and the path of each endpoint, unless the mock gives another path.
ENDPOINTS = {
    "authorize": (("GET", "POST"), "/authorize"),
    "token": (("POST",), "/token"),
    "register": (("POST",), "/register"),
    "device": (("POST",), "/device_authorization"),
    "introspect": (("POST",), "/introspect"),
    "revoke": (("POST",), "/revoke"),
    "jwks": (("GET",), "/jwks"),
    "userinfo": (("GET", "POST"), "/userinfo"),
}
METADATA = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
PROTECTED = "/.well-known/oauth-protected-resource"
# RFC 6749, sections 5.1 and 5.2.
_NOT_STORED = {"cache-control": "no-store", "pragma": "no-cache"}


class OAuth:
    """A finished mock. ``resources`` are those that take its tokens, by the path of their metadata (RFC 9728)."""

    kind: ClassVar[str] = "oauth"
    seed: ClassVar[None] = None

    def __init__(
        self,
        *,
        name: str,
        claim: Claim,
        url: str,
        file: str,
        line: int | None,
        server: Server,
        paths: Mapping[str, str],
        problems: tuple[Problem, ...] = (),
        is_beside: bool = False,
    ) -> None:
        self.is_beside = is_beside  # of another mock, and in no file
        self.name = name
        self.url = url
        self.file = file
        self.line = line
        self.problems = problems
        self.stubs: Rules = NO_RULES
        self.server = server
        self._claim = claim
        self._paths = {what: paths.get(what, path) for what, (_, path) in ENDPOINTS.items()}
        self._serve: dict[str, Callable[[Request], Response]] = {
            "authorize": self._authorize,
            "token": self._token,
            "register": self._register,
            "device": lambda request: self._told(self.server.device(_form(request), _authorization(request))),
            "introspect": lambda request: self._told(self.server.introspect(_form(request), _authorization(request))),
            "revoke": self._revoke,
            "jwks": lambda _: Response(json={"keys": [self.server.signer.key]}),
            "userinfo": self._userinfo,
        }

    def operations(self) -> list[str]:
        return ["metadata", *ENDPOINTS]

    def names(self) -> dict[str, str]:
        return {what: what for what in ENDPOINTS}

    def entries(self) -> list[str]:
        return []

    def check(self, rule: Rule) -> None:
        """Accept any: whatever an outcome is, HTTP carries it."""

    def reads_body(self, request: Request) -> bool:
        return request.method == "POST"

    async def answer(self, request: Request, session: Session) -> Answer:
        path = self._claim.relative(request.path)
        if request.method in ("GET", "HEAD") and path.startswith((*METADATA, PROTECTED)):
            told = self.metadata() if path.startswith(METADATA) else protected(self.server, _resource_of(request))
            return Answer(response=Response(json=told), operation="metadata")
        what = next((what for what, known in self._paths.items() if path.rstrip("/") == known.rstrip("/")), None)
        if what is None:
            return self._not_found(request.method, path)
        methods = ENDPOINTS[what][0]
        if request.method not in methods:
            response = Response(405, json={"error": "invalid_request"}, headers={"allow": ", ".join(methods)})
            return Answer(response=response, operation=what)
        if rules := session.stubs.rules(Target(self.name, what), self.stubs):
            played = await session.stubs.answer(rules, arguments(request, {}))
            if played is not None:
                label, position = played.rule.label, played.position
                return Answer(response=played.outcome.over_http, operation=what, stub=label, position=position)
        try:
            return Answer(response=self._serve[what](request), operation=what)
        except BadRequest as error:
            return Answer(response=_failed(OAuthError("invalid_request", str(error))), operation=what)
        except OAuthError as error:
            return Answer(response=_failed(error), operation=what)

    def metadata(self) -> Json:
        """RFC 8414, section 2; OpenID Connect Discovery 1.0, section 3."""
        issuer, rules = self.server.issuer, self.server.rules
        at = {what: f"{issuer}{path}" for what, path in self._paths.items()}
        return {
            "issuer": issuer,
            "authorization_endpoint": at["authorize"],
            "token_endpoint": at["token"],
            "registration_endpoint": at["register"],
            "device_authorization_endpoint": at["device"],
            "introspection_endpoint": at["introspect"],
            "revocation_endpoint": at["revoke"],
            "jwks_uri": at["jwks"],
            "userinfo_endpoint": at["userinfo"],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": list(GRANTS),
            "code_challenge_methods_supported": ["S256", "plain"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
            "authorization_response_iss_parameter_supported": True,
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            **({"scopes_supported": list(rules.scopes)} if rules.scopes else {}),
        }

    def _authorize(self, request: Request) -> Response:
        pairs = parse_qsl(request.target.query, keep_blank_values=True) if request.method == "GET" else _pairs(request)
        location = self.server.authorize(_once(pairs), _resources(pairs))
        return Response(302, body=b"", headers={"location": location, **_NOT_STORED})

    def _token(self, request: Request) -> Response:
        pairs = _pairs(request)
        return self._told(self.server.token(_once(pairs), _authorization(request), _resources(pairs)))

    def _register(self, request: Request) -> Response:
        return Response(201, json=self.server.clients.register(request.json()), headers=_NOT_STORED)

    def _revoke(self, request: Request) -> Response:
        self.server.revoke(_form(request), _authorization(request))
        return Response(200, body=b"")

    def _userinfo(self, request: Request) -> Response:
        claims = self.server.claims(_bearer(request) or "")
        if claims is None:
            return Response(
                401, json={"error": "invalid_token"}, headers={"www-authenticate": _challenge("invalid_token")}
            )
        return Response(json={"sub": claims["sub"], **self.server.rules.claims})

    def _told(self, value: Json) -> Response:
        return Response(json=value, headers=_NOT_STORED)

    def _not_found(self, method: str, path: str) -> Answer:
        served = [f"{' or '.join(ENDPOINTS[what][0])} {known}" for what, known in self._paths.items()]
        fix = f"Where the service has an endpoint at another path, say so: endpoints: {{token: {path}}}"
        error = {"error": "not_found", "error_description": f"there is no {path}; there are {', '.join(served)}"}
        return Answer(
            response=Response(404, json=error),
            operation=f"{method} {path}",
            nearest=nearest(path, self._paths.values()),
            unanswered=fix,
        )


def protected(server: Server, resource: str) -> Json:
    """The metadata of a resource that takes the server's tokens (RFC 9728, section 2)."""
    scopes = {"scopes_supported": list(server.rules.scopes)} if server.rules.scopes else {}
    return {
        "resource": resource,
        "authorization_servers": [server.issuer],
        "bearer_methods_supported": ["header"],
        **scopes,
    }


def guard(server: Server, url: str, request: Request) -> Response | None:
    """The 401 of a request to a resource without a token for it (RFC 6750, section 3; RFC 9728, section 5.1)."""
    parts = urlsplit(url)
    where = f"{parts.scheme}://{parts.netloc}{PROTECTED}{parts.path.rstrip('/')}"
    token = _bearer(request)
    if token is None:
        return _unauthorized(where)
    claims = server.claims(token)
    if claims is None:
        return _unauthorized(where, "invalid_token", "the token is unknown, expired or revoked")
    audience = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    if not any(_is_for(one, url, server.issuer) for one in audience):
        return _unauthorized(where, "invalid_token", f"the token is for {', '.join(audience)}")
    return None


def _is_for(audience: str, url: str, issuer: str) -> bool:
    """Whether a token may be used here: one that no resource was named for may be anywhere."""
    plain = audience.rstrip("/")
    return plain in (url.rstrip("/"), issuer) or url.startswith(f"{plain}/")


def _unauthorized(where: str, error: str | None = None, description: str = "") -> Response:
    told = {"error": error, "error_description": description} if error else {"error": "unauthorized"}
    return Response(401, json=told, headers={"www-authenticate": _challenge(error, resource_metadata=where)})


def _challenge(error: str | None, **more: str) -> str:
    told = {**({} if error is None else {"error": error}), **more}
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in told.items())


def _failed(error: OAuthError) -> Response:
    if error.redirect is not None:
        return Response(302, body=b"", headers={"location": error.redirect, **_NOT_STORED})
    headers = dict(_NOT_STORED)
    if error.error == "invalid_client" and error.status == 401:
        headers["www-authenticate"] = 'Basic realm="eve-mocks"'
    told = {"error": error.error, "error_description": error.description}
    return Response(error.status, json=told, headers=headers)


def _resource_of(request: Request) -> str:
    """The resource whose metadata is asked for: the path after the well-known one (RFC 9728, section 3.1)."""
    return f"{request.target.origin}{request.path.partition(PROTECTED)[2]}"


def _bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def _authorization(request: Request) -> str:
    return request.headers.get("authorization", "")


def _pairs(request: Request) -> list[tuple[str, str]]:
    """The fields of a body: a form, or JSON, which some clients send. Raises ``BadRequest``."""
    if "json" in request.headers.get("content-type", ""):
        body: Any = request.json()
        fields = body if isinstance(body, dict) else {}
        return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in fields.items()]
    return parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True)


def _form(request: Request) -> dict[str, str]:
    return _once(_pairs(request))


def _once(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """RFC 6749, section 3.1: a parameter comes once, and one without a value as if it were not there."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found and name != "resource":
            raise OAuthError("invalid_request", f"{name} is given more than once")
        if value:
            found[name] = value
    return found


def _resources(pairs: list[tuple[str, str]]) -> tuple[str, ...]:
    """RFC 8707, section 2: it may be given more than once, as a URL without a fragment."""
    found = tuple(value for name, value in pairs if name == "resource" and value)
    for one in found:
        if not urlsplit(one).scheme or urlsplit(one).fragment:
            raise OAuthError("invalid_target", "a resource is a URL without a fragment")
    return found
