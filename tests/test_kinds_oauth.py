"""Kind oauth: real clients sign in, and what the RFCs refuse is refused."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from eve_mocks.load import load
from eve_mocks.match import parse_url
from eve_mocks.model import Answer, Headers, Mock, Request
from eve_mocks.router import Router
from eve_mocks.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from conftest import Project

ISSUER = "https://auth.example.com"
SERVER = f"""
kind: oauth
url: {ISSUER}/
scopes: [read, write]
subject: ada
claims: {{email: ada@example.com}}
clients:
  app: {{secret: s3cret, redirect_uris: ["http://localhost:3000/callback"]}}
  public: {{redirect_uris: ["http://127.0.0.1/callback", "app://back"]}}
"""
MCP = "kind: mcp\nurl: https://tools.example.com/mcp\nresults: {ping: pong}\nauth: oauth\n"
RESOURCE = "https://tools.example.com/mcp"
VERIFIER = "a" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
CALLBACK = "http://localhost:3000/callback"


class World:
    """The mocks of a folder, asked as the router would."""

    def __init__(self, folder: Path, **files: str) -> None:
        for name, text in files.items():
            (folder / f"{name}.yaml").write_text(text)
        found = load(folder, shown="mocks")
        assert found.errors == []
        self.mocks = found.mocks
        self._router = Router(found.mocks)

    def ask(
        self, url: str, form: Mapping[str, Any] | None = None, *, method: str = "", session: str = "s", **headers: str
    ) -> Answer:
        body = b"" if form is None else urlencode(form, doseq=True).encode()
        pairs = list(headers.items())
        if body:
            pairs.append(("content-type", "application/x-www-form-urlencoded"))
        method = method or ("GET" if form is None else "POST")
        request = Request(method=method, target=parse_url(url), headers=Headers(pairs), body=body)
        mock: Any = self._router.resolve(request.target)
        answer: Answer = asyncio.run(mock.answer(request, Session(session)))
        return answer

    def told(self, url: str, form: Mapping[str, Any] | None = None, **more: Any) -> tuple[int, Any]:
        response = self.ask(url, form, **more).response
        assert response is not None
        return response.status, json.loads(response.body) if response.body else dict(response.headers)

    def authorize(self, **changes: Any) -> dict[str, str]:
        """Where the person is sent back to, as parameters."""
        asked = {"response_type": "code", "client_id": "app", "redirect_uri": CALLBACK, "state": "x y", **changes}
        given = {name: value for name, value in asked.items() if value is not None}
        status, headers = self.told(f"{ISSUER}/authorize?{urlencode(given, doseq=True)}")
        assert status == 302, headers
        return {name: values[0] for name, values in parse_qs(urlsplit(headers["location"]).query).items()}

    def token(self, authorization: str = "", **changes: Any) -> tuple[int, Any]:
        asked = {"client_id": "app", "client_secret": "s3cret", "redirect_uri": CALLBACK, **changes}
        form = {name: value for name, value in asked.items() if value is not None}
        return self.told(f"{ISSUER}/token", form, **({"authorization": authorization} if authorization else {}))

    def redeemed(self, code: str, **changes: Any) -> tuple[int, Any]:
        return self.token(grant_type="authorization_code", code=code, **changes)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, auth=SERVER)


def test_the_metadata(world: World) -> None:
    for path in ("oauth-authorization-server", "openid-configuration"):
        status, told = world.told(f"{ISSUER}/.well-known/{path}")
        assert (status, told["issuer"], told["token_endpoint"]) == (200, ISSUER, f"{ISSUER}/token")
        assert told["code_challenge_methods_supported"] == ["S256", "plain"]
        assert told["scopes_supported"] == ["read", "write"]


def test_a_code_becomes_tokens_that_are_refreshed(world: World) -> None:
    sent = world.authorize(code_challenge=CHALLENGE, code_challenge_method="S256", scope="read openid", nonce="n")
    assert (sent["state"], sent["iss"]) == ("x y", ISSUER)
    status, tokens = world.redeemed(sent["code"], code_verifier=VERIFIER)
    assert (status, tokens["token_type"], tokens["expires_in"], tokens["scope"]) == (200, "Bearer", 3600, "read openid")
    status, about = world.told(f"{ISSUER}/userinfo", authorization=f"Bearer {tokens['access_token']}")
    assert (status, about) == (200, {"sub": "ada", "email": "ada@example.com"})
    status, new = world.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
    assert status == 200
    assert new["access_token"] != tokens["access_token"]
    wrong = {"grant_type": "refresh_token", "refresh_token": new["refresh_token"]}
    assert world.token(**wrong, scope="write")[1]["error"] == "invalid_scope"
    assert world.token(**wrong, client_id="public", client_secret=None)[1]["error"] == "invalid_grant"
    assert world.token(**wrong)[0] == 200  # what was refused has used nothing


def test_a_refresh_token_that_is_used_again_takes_all_back(world: World) -> None:
    """RFC 9700, section 4.14.2."""
    _, tokens = world.redeemed(world.authorize()["code"])
    _, new = world.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])
    assert world.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])[1]["error"] == "invalid_grant"
    assert world.token(grant_type="refresh_token", refresh_token=new["refresh_token"])[1]["error"] == "invalid_grant"
    assert world.told(f"{ISSUER}/userinfo", authorization=f"Bearer {new['access_token']}")[0] == 401


def test_a_code_is_of_any_session(world: World) -> None:
    """A browser may belong to another one than the program that waits for it."""
    given = urlencode({"response_type": "code", "client_id": "app", "redirect_uri": CALLBACK})
    headers = dict(world.ask(f"{ISSUER}/authorize?{given}", session="browser").response.headers)  # type: ignore[union-attr]
    (code,) = parse_qs(urlsplit(headers["location"]).query)["code"]
    assert world.redeemed(code)[0] == 200


REFUSED_AT_AUTHORIZE = {
    "another response type (RFC 6749, 4.1.2.1)": ({"response_type": "token"}, "unsupported_response_type"),
    "a scope that is not there (RFC 6749, 4.1.2.1)": ({"scope": "read admin"}, "invalid_scope"),
    "another method (RFC 7636, 4.4.1)": ({"code_challenge": "x", "code_challenge_method": "S512"}, "invalid_request"),
    "no challenge of a public client (OAuth 2.1)": (
        {"client_id": "public", "redirect_uri": "app://back"},
        "invalid_request",
    ),
}


@pytest.mark.parametrize(("changes", "error"), REFUSED_AT_AUTHORIZE.values(), ids=REFUSED_AT_AUTHORIZE)
def test_what_the_client_is_told_at_its_redirect_uri(world: World, changes: Any, error: str) -> None:
    sent = world.authorize(**changes)
    assert (sent["error"], sent["state"], "code" in sent) == (error, "x y", False)


UNSENT = {
    "an unknown client (RFC 6749, 4.1.2.1)": {"client_id": "app2", "redirect_uri": CALLBACK},
    "no client": {"redirect_uri": CALLBACK},
    "another redirect_uri (RFC 6749, 3.1.2.4)": {
        "client_id": "app",
        "redirect_uri": "http://localhost:3000/callback/x",
    },
    "a redirect_uri that begins so": {"client_id": "app", "redirect_uri": "http://localhost:3000/callback.evil.test"},
    "a user before the host": {"client_id": "app", "redirect_uri": "http://localhost:3000@evil.test/callback"},
    "a parameter twice (RFC 6749, 3.1)": {"client_id": "app", "redirect_uri": [CALLBACK, CALLBACK]},
    "no URL": {"client_id": "app", "redirect_uri": "http://["},
    "a fragment (RFC 6749, 3.1.2)": {"client_id": "app", "redirect_uri": f"{CALLBACK}#x"},
    "a line break": {"client_id": "app", "redirect_uri": f"{CALLBACK}\r\nset-cookie: a=b"},
    "a resource that is no URL (RFC 8707, 2)": {"client_id": "app", "redirect_uri": CALLBACK, "resource": "x"},
}


@pytest.mark.parametrize("asked", UNSENT.values(), ids=UNSENT)
def test_nobody_is_sent_where_no_client_is(world: World, asked: Any) -> None:
    status, told = world.told(f"{ISSUER}/authorize?{urlencode({'response_type': 'code', **asked}, doseq=True)}")
    assert status in (400, 401)
    assert told["error"] in ("invalid_request", "invalid_client", "invalid_target")


def test_the_port_of_loopback_may_differ(world: World) -> None:
    """RFC 8252, section 7.3."""
    sent = world.authorize(
        client_id="public",
        redirect_uri="http://127.0.0.1:51234/callback",
        code_challenge=CHALLENGE,
        code_challenge_method="S256",
    )
    assert "code" in sent


REFUSED_AT_TOKEN: dict[str, tuple[dict[str, Any], int, str]] = {
    "a wrong verifier (RFC 7636, 4.6)": ({"code_verifier": "b" * 43}, 400, "invalid_grant"),
    "no verifier": ({"code_verifier": None}, 400, "invalid_grant"),
    "another redirect_uri (RFC 6749, 4.1.3)": ({"redirect_uri": "http://localhost:3000/"}, 400, "invalid_grant"),
    "another client (RFC 6749, 4.1.3)": ({"client_id": "public", "client_secret": None}, 400, "invalid_grant"),
    "a wrong secret (RFC 6749, 5.2)": ({"client_secret": "x"}, 401, "invalid_client"),
    "an unknown client": ({"client_id": "x"}, 401, "invalid_client"),
    "another grant (RFC 6749, 5.2)": ({"grant_type": "password"}, 400, "unsupported_grant_type"),
    "a code that is made up": ({"code": "x"}, 400, "invalid_grant"),
    "two ways to say who it is (RFC 6749, 2.3)": (
        {"client_id": None, "client_secret": "s3cret", "authorization": "Basic YXBwOnMzY3JldA=="},
        400,
        "invalid_request",
    ),
    "a parameter twice (RFC 6749, 3.2)": ({"code": ["x", "y"]}, 400, "invalid_request"),
}


@pytest.mark.parametrize(("changes", "status", "error"), REFUSED_AT_TOKEN.values(), ids=REFUSED_AT_TOKEN)
def test_what_is_no_grant(world: World, changes: dict[str, Any], status: int, error: str) -> None:
    code = world.authorize(code_challenge=CHALLENGE, code_challenge_method="S256")["code"]
    right = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
    found, told = world.token(**right | changes)
    assert (found, told["error"]) == (status, error)
    if "code" not in changes:  # a request that was refused has used nothing
        assert world.token(**right)[0] == 200


def test_a_code_that_is_used_again_takes_its_tokens_back(world: World) -> None:
    """RFC 6749, section 4.1.2."""
    code = world.authorize()["code"]
    _, tokens = world.redeemed(code)
    assert world.redeemed(code)[1]["error"] == "invalid_grant"
    assert world.told(f"{ISSUER}/userinfo", authorization=f"Bearer {tokens['access_token']}")[0] == 401
    assert world.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])[1]["error"] == "invalid_grant"


def test_introspection_and_revocation(world: World) -> None:
    _, tokens = world.redeemed(world.authorize(scope="read")["code"])
    basic = "Basic " + base64.b64encode(b"app:s3cret").decode()

    def active(token: str) -> Any:
        return world.told(f"{ISSUER}/introspect", {"token": token}, authorization=basic)[1]

    assert active(tokens["access_token"])["active"] is True
    assert active(tokens["access_token"])["scope"] == "read"
    assert active("x") == {"active": False}
    head, claims, signature = tokens["access_token"].split(".")
    forged = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    assert active(f"{forged}.{claims}.{signature}") == {"active": False}
    assert active(f"{forged}.{claims}.") == {"active": False}
    assert active(f"{head}.{claims}x.{signature}") == {"active": False}
    assert world.ask(f"{ISSUER}/revoke", {"token": tokens["refresh_token"]}, authorization=basic).response.status == 200  # type: ignore[union-attr]
    assert active(tokens["access_token"]) == {"active": False}
    assert world.told(f"{ISSUER}/introspect", {"token": "x"})[1]["error"] == "invalid_request"


def test_a_device(world: World) -> None:
    """RFC 8628."""
    basic = "Basic " + base64.b64encode(b"app:s3cret").decode()
    status, told = world.told(f"{ISSUER}/device_authorization", {"scope": "read"}, authorization=basic)
    assert (status, told["verification_uri"]) == (200, f"{ISSUER}/device")
    grant = "urn:ietf:params:oauth:grant-type:device_code"
    asked = {"grant_type": grant, "device_code": told["device_code"], "redirect_uri": None}
    assert world.token(**asked)[1]["scope"] == "read"
    assert world.token(**asked)[1]["error"] == "invalid_grant"


@pytest.mark.parametrize(
    ("metadata", "status", "error"),
    [
        ({"redirect_uris": ["https://app.test/cb"], "token_endpoint_auth_method": "none"}, 201, None),
        ({"redirect_uris": ["https://app.test/cb#x"]}, 400, "invalid_redirect_uri"),
        ({"redirect_uris": ["javascript:alert(1)"]}, 400, "invalid_redirect_uri"),
        ({"redirect_uris": "https://app.test/cb"}, 400, "invalid_redirect_uri"),
        ([], 400, "invalid_client_metadata"),
    ],
    ids=["a public client", "a fragment", "a script", "a text", "no object"],
)
def test_registration(world: World, metadata: Any, status: int, error: str | None) -> None:
    """RFC 7591."""
    mock = world.mocks[0]
    request = Request(
        method="POST",
        target=parse_url(f"{ISSUER}/register"),
        headers=Headers([("content-type", "application/json")]),
        body=json.dumps(metadata).encode(),
    )
    response = asyncio.run(mock.answer(request, Session("s"))).response
    assert response is not None
    told = json.loads(response.body)
    assert (response.status, told.get("error")) == (status, error)
    if error is None:
        assert "client_secret" not in told
        sent = world.authorize(
            client_id=told["client_id"],
            redirect_uri="https://app.test/cb",
            code_challenge="x" * 43,
            code_challenge_method="plain",
        )
        assert "code" in sent


@pytest.mark.parametrize(
    ("extra", "changes", "refused"),
    [
        ("", {}, False),
        ("", {"resource": RESOURCE}, False),
        ("", {"resource": "https://tools.example.com"}, False),
        ("", {"resource": "https://other.example.com/mcp"}, True),
        ("", {"resource": f"{RESOURCE}2"}, True),
        ("expires_in: 0\n", {}, True),
    ],
    ids=["no audience", "its own", "its origin", "another", "one that begins so", "expired"],
)
def test_a_resource_takes_tokens_for_itself(tmp_path: Path, extra: str, changes: Any, refused: bool) -> None:
    """RFC 6750, section 3.1; RFC 8707; RFC 9728, section 5.1."""
    world = World(tmp_path, auth=SERVER + extra, tools=MCP)
    response = world.ask(RESOURCE, {"x": 1}).response
    assert response is not None
    where = "https://tools.example.com/.well-known/oauth-protected-resource/mcp"
    assert (response.status, dict(response.headers)["www-authenticate"]) == (401, f'Bearer resource_metadata="{where}"')
    assert world.told(where)[1] == {
        "resource": RESOURCE,
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["read", "write"],
    }
    _, tokens = world.redeemed(world.authorize(**changes)["code"])
    response = world.ask(RESOURCE, {"x": 1}, authorization=f"Bearer {tokens['access_token']}").response
    assert response is not None
    assert (response.status == 401) is refused
    if refused:
        assert 'error="invalid_token"' in dict(response.headers)["www-authenticate"]


def test_a_pin_makes_a_sign_in_fail(tmp_path: Path) -> None:
    from eve_mocks.document import Document
    from eve_mocks.folder import Folder
    from eve_mocks.stubs.rules import read_pin

    world = World(tmp_path, auth=SERVER)
    session = Session("s")
    given = {"operation": "auth:token", "outcome": {"status": 503, "response": {"error": "temporarily_unavailable"}}}
    folder = Folder.at(tmp_path, "mocks")
    session.stubs.pin(
        read_pin(world.mocks, Document.from_python(given, file="p", line=None, folder=folder), pytest.fail)
    )
    request = Request(method="POST", target=parse_url(f"{ISSUER}/token"), headers=Headers())
    response = asyncio.run(world.mocks[0].answer(request, session)).response
    assert response is not None
    assert response.status == 503


PYTHON_SDK = """
    import asyncio, sys
    from urllib.parse import parse_qs, urlsplit

    import httpx2
    from mcp import Client
    from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.auth import OAuthClientMetadata

    URL = "https://tools.example.com/mcp"

    class Kept:
        tokens = client = None
        async def get_tokens(self): return self.tokens
        async def set_tokens(self, tokens): self.tokens = tokens
        async def get_client_info(self): return self.client
        async def set_client_info(self, client): self.client = client

    async def main():
        sent = {}
        async def browse(url):
            async with httpx2.AsyncClient() as browser:
                answer = await browser.get(url)
            query = parse_qs(urlsplit(answer.headers["location"]).query)
            sent.update({name: values[0] for name, values in query.items()})
        async def back():
            return AuthorizationCodeResult(code=sent["code"], state=sent["state"], iss=sent["iss"])
        metadata = OAuthClientMetadata(
            client_name="test", redirect_uris=["http://127.0.0.1:8123/callback"], token_endpoint_auth_method="none"
        )
        auth = OAuthClientProvider(URL, metadata, Kept(), browse, back)
        async with httpx2.AsyncClient(auth=auth) as http:
          async with Client(streamable_http_client(URL, http_client=http)) as client:
            print((await client.call_tool("ping", {})).content[0].text)

    asyncio.run(main())
"""


@pytest.mark.parametrize("declared", [False, True], ids=["its own server", "a server that is declared"])
def test_the_client_of_the_python_sdk_signs_in(project: Project, declared: bool) -> None:
    project.file("mocks/tools.yaml", MCP)
    if declared:
        project.file("mocks/auth.yaml", f"{{kind: oauth, url: '{ISSUER}/', scopes: [read]}}")
    ended = project.eve_mocks("run", "--", sys.executable, str(project.file("client.py", PYTHON_SDK)))
    assert (ended.returncode, ended.stdout) == (0, "pong\n"), ended.stderr
    issuer = ISSUER if declared else "https://tools.example.com"
    assert f"{issuer}/token" in {call["url"] for call in project.calls()}


TYPESCRIPT_SDK = """
    import { Client } from '@modelcontextprotocol/sdk/client/index.js';
    import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

    const url = new URL('https://tools.example.com/mcp');
    const kept = {};
    const provider = {
      redirectUrl: 'http://127.0.0.1:8123/callback',
      clientMetadata: {
        client_name: 'test',
        redirect_uris: ['http://127.0.0.1:8123/callback'],
        token_endpoint_auth_method: 'none',
      },
      clientInformation: () => kept.client,
      saveClientInformation: (client) => { kept.client = client; },
      tokens: () => kept.tokens,
      saveTokens: (tokens) => { kept.tokens = tokens; },
      codeVerifier: () => kept.verifier,
      saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
      redirectToAuthorization: async (to) => {
        const answer = await fetch(to, { redirect: 'manual' });
        kept.code = new URL(answer.headers.get('location')).searchParams.get('code');
      },
    };
    const first = new StreamableHTTPClientTransport(url, { authProvider: provider });
    await new Client({ name: 'test', version: '1' }).connect(first).catch((error) => {
      if (error.constructor.name !== 'UnauthorizedError') throw error;
    });
    await first.finishAuth(kept.code);
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }));
    console.log((await client.callTool({ name: 'ping', arguments: {} })).content[0].text);
    await client.close();
"""


def test_the_client_of_the_typescript_sdk_signs_in(project: Project, needs: Callable[..., str]) -> None:
    from machine import NODE_MODULES

    needs("npm:@modelcontextprotocol/sdk")
    project.file("mocks/tools.yaml", MCP)
    (project.root / "node_modules").symlink_to(NODE_MODULES)
    ended = project.eve_mocks("run", "--", needs("node"), str(project.file("client.mjs", TYPESCRIPT_SDK)))
    assert (ended.returncode, ended.stdout) == (0, "pong\n"), ended.stderr


AUTHLIB = """
    from urllib.parse import parse_qs, urlsplit

    import requests
    from authlib.integrations.requests_client import OAuth2Session
    from authlib.jose import jwt

    ISSUER = "https://auth.example.com"
    metadata = requests.get(f"{ISSUER}/.well-known/openid-configuration").json()
    back = {"redirect_uri": "http://localhost:3000/callback"}
    client = OAuth2Session("app", "s3cret", scope="openid read", code_challenge_method="S256", **back)
    verifier = "v" * 50
    url, state = client.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier, nonce="n1")
    back = requests.get(url, allow_redirects=False).headers["location"]
    token = client.fetch_token(metadata["token_endpoint"], authorization_response=back, code_verifier=verifier)
    claims = jwt.decode(token["id_token"], requests.get(metadata["jwks_uri"]).json())
    claims.validate()
    print(claims["iss"], claims["aud"], claims["sub"], claims["email"], claims["nonce"])
    fresh = client.refresh_token(metadata["token_endpoint"], token["refresh_token"])
    print(fresh["access_token"] != token["access_token"], client.get(metadata["userinfo_endpoint"]).json()["sub"])
    machine = OAuth2Session("app", "s3cret", scope="write")
    granted = machine.fetch_token(metadata["token_endpoint"], grant_type="client_credentials")
    print(granted["scope"], "refresh_token" in granted)
    print(machine.introspect_token(metadata["introspection_endpoint"], token=granted["access_token"]).json()["sub"])
"""


def test_authlib_completes_its_flows(project: Project) -> None:
    project.file("mocks/auth.yaml", SERVER)
    ended = project.eve_mocks("run", "--", sys.executable, "-W", "ignore", str(project.file("client.py", AUTHLIB)))
    assert ended.stdout.splitlines() == [f"{ISSUER} app ada ada@example.com n1", "True ada", "write False", "app"], (
        ended.stderr
    )
    assert ended.returncode == 0


def test_nothing_of_a_sign_in_reaches_the_disk(project: Project) -> None:
    project.file("mocks/auth.yaml", SERVER)
    kept = "[back, verifier, *map(str, token.values()), *map(str, fresh.values())]"
    code = f'{AUTHLIB}\n    print({kept}, file=open("told", "w"))\n'
    project.eve_mocks("run", "--", sys.executable, "-W", "ignore", str(project.file("client.py", code)))
    back, verifier, *tokens = eval((project.root / "told").read_text())
    secrets = [parse_qs(urlsplit(back).query)["code"][0], verifier, *[one for one in tokens if len(one) > 25]]
    assert len(secrets) >= 6
    kept = "".join(path.read_text() for path in (project.root / ".eve-mocks").rglob("*") if path.is_file())
    assert "/token" in kept
    assert [secret for secret in (*secrets, "s3cret") if secret in kept] == []


@pytest.mark.parametrize(
    ("text", "told", "fix"),
    [
        ("kind: oauth\nurl: https://*.example.com/\n", "has a wildcard", "https://auth.example.com/"),
        ("kind: oauth\nurl: https://a.test/\nscops: [a]\n", "unknown key 'scops'", "scopes"),
        ("kind: oauth\nurl: https://a.test/\nclients: {a: {secrt: x}}\n", "unknown key 'secrt'", "secret"),
        ("kind: oauth\nurl: https://a.test/\nexpires_in: soon\n", "expires_in is 'soon'", "3600"),
        ("kind: oauth\nurl: https://a.test/\nendpoints: {tokens: /t}\n", "unknown key 'tokens'", "token"),
        ("kind: oauth\nurl: https://a.test/\nendpoints: {token: t}\n", "token is 't'", "slash"),
        (
            "kind: mcp\nurl: https://a.test/mcp\nresults: {a: 1}\nauth: {server: m2}\n",
            "no authorization server 'm2'",
            "kind oauth",
        ),
        ("kind: mcp\nurl: https://a.test/mcp\nresults: {a: 1}\nauth: yes\n", "auth is 'yes'", "server"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, text: str, told: str, fix: str) -> None:
    (tmp_path / "m.yaml").write_text(text)
    (error,) = load(tmp_path, shown="mocks").errors
    assert told in error.message
    assert fix in error.fix + error.why
    assert error.where.startswith("mocks/m.yaml:")


def test_a_mock_in_python(tmp_path: Path) -> None:
    (tmp_path / "auth.py").write_text(
        f"from eve_mocks import oauth_mock\nauth = oauth_mock('{ISSUER}/', clients={{'app': None}}, expires_in=60)\n"
    )
    world = World(tmp_path)
    mock: Mock = world.mocks[0]
    assert (mock.kind, mock.name) == ("oauth", "auth")
    assert world.token(grant_type="client_credentials", client_secret=None, redirect_uri=None)[1]["expires_in"] == 60
