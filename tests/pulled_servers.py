"""Upstreams for ``pull``: MCP servers made with the official SDK, and servers that fail, under a name and with TLS.

They are on loopback, and the caller's proxy leads there: a mock's url is never loopback.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import http.server
import json
import secrets
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

import uvicorn
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, TokenVerifier, construct_redirect_uri
from mcp.server.auth.routes import create_auth_routes, create_protected_resource_routes
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from mcp.shared.exceptions import MCPError
from mcp_types import ListPromptsResult, ListResourcesResult, ListResourceTemplatesResult, PaginatedRequestParams
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from test_proxy_passing import CorporateProxy
from upstream import NAME, certify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TOOLS = [
    {
        "name": f"tool_{number:02}",
        "title": f"Tool {number}",
        "description": f"Does the thing of number {number}.\nAnd tells — «so».",
        "inputSchema": {
            "type": "object",
            "properties": {"zone": {"type": ["string", "null"], "default": None}, "at": {"type": "integer"}},
            "required": ["at"],
        },
        "outputSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
        "annotations": {"readOnlyHint": number % 2 == 0, "destructiveHint": False},
    }
    for number in range(50)
]
PER_PAGE = 20


class Mcp:
    """What an MCP server lists; ``asked`` are the cursors that it was asked for, ``headers`` what came with them."""

    def __init__(self, tools: list[dict[str, Any]] = TOOLS, *, modern: bool = True) -> None:
        self.tools = tools
        self.asked: list[str | None] = []
        self.headers: list[dict[str, str]] = []
        self.cursor_of: Callable[[int], str] = str
        self.endless = False
        self.server = Server("upstream", version="1", on_list_resources=self.resources, on_list_prompts=self.prompts)
        self.server.middleware.clear()
        self.server.add_request_handler("tools/list", PaginatedRequestParams, self.page)
        self.server.add_request_handler("resources/templates/list", PaginatedRequestParams, self.templates)
        if not modern:
            self.server.add_request_handler("server/discover", PaginatedRequestParams, self.unknown)
        self.manager = StreamableHTTPSessionManager(self.server, json_response=False, stateless=not modern)

    async def unknown(self, _context: Any, _params: Any) -> Any:
        raise MCPError(-32601, "Method not found")

    async def page(self, context: Any, params: PaginatedRequestParams) -> dict[str, Any]:
        self.asked.append(params.cursor)
        self.headers.append(dict(context.request.headers))
        first = int(params.cursor.rpartition(":")[2]) if params.cursor else 0
        after = first + PER_PAGE
        more = {"nextCursor": self.cursor_of(after)} if self.endless or after < len(self.tools) else {}
        return {"tools": self.tools[first:after], **more, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def resources(self, _context: Any, _params: Any) -> ListResourcesResult:
        return ListResourcesResult.model_validate({"resources": [{"uri": "note://one", "name": "one"}]})

    async def templates(self, _context: Any, _params: Any) -> ListResourceTemplatesResult:
        listed = [{"uriTemplate": "note://{name}", "name": "note"}]
        return ListResourceTemplatesResult.model_validate({"resourceTemplates": listed})

    async def prompts(self, _context: Any, _params: Any) -> ListPromptsResult:
        return ListPromptsResult.model_validate({"prompts": [{"name": "sum_up", "arguments": [{"name": "of"}]}]})


class Authority(TokenVerifier):
    """An authorization server that lets everybody in, and the tokens that it gave."""

    def __init__(self, lasts: int = 3600) -> None:
        self.lasts = lasts
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, float] = {}
        self.refreshed = 0
        self.authorized = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: Any) -> str:
        self.authorized += 1
        code = AuthorizationCode(
            code=secrets.token_hex(20),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, _client: Any, code: str) -> AuthorizationCode | None:
        return self.codes.get(code)

    async def exchange_authorization_code(self, _client: Any, code: AuthorizationCode) -> OAuthToken:
        del self.codes[code.code]
        return self.grant()

    async def load_refresh_token(self, client: Any, token: str) -> RefreshToken | None:
        return RefreshToken(token=token, client_id=client.client_id, scopes=[]) if token == "again" else None

    async def exchange_refresh_token(self, _client: Any, _token: Any, _scopes: Any) -> OAuthToken:
        self.refreshed += 1
        return self.grant()

    def grant(self) -> OAuthToken:
        token = f"upstream-{secrets.token_hex(8)}"
        self.tokens[token] = time.time() + self.lasts
        return OAuthToken(access_token=token, token_type="Bearer", expires_in=self.lasts, refresh_token="again")

    async def load_access_token(self, token: str) -> AccessToken | None:
        return await self.verify_token(token)

    async def verify_token(self, token: str) -> AccessToken | None:
        until = self.tokens.get(token, 0)
        return (
            AccessToken(token=token, client_id="x", scopes=[], expires_at=int(until)) if until > time.time() else None
        )

    async def revoke_token(self, token: Any) -> None:
        del self.tokens[token.token]


class Failing(http.server.BaseHTTPRequestHandler):
    """By its path: statuses, redirects, silence, pages for people, and far too much."""

    protocol_version = "HTTP/1.1"
    hangs = threading.Event()
    seen: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        kind, _, rest = self.path.partition("?")[0].strip("/").partition("/")
        if kind == "status":
            self.answer(int(rest), b"no", "text/plain")
        elif kind == "to":
            self.answer(307, b"", "text/plain", location=rest if "://" in rest else f"/{rest}")
        elif kind == "hang":
            self.hangs.wait(30)
        elif kind == "html":
            self.answer(200, b"<!doctype html><title>Docs</title>", "text/html")
        elif kind == "large":
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(60 * 2**20))
            self.end_headers()
            with contextlib.suppress(OSError):
                for _ in range(60):
                    self.wfile.write(b" " * 2**20)
        else:
            content, media = self.server.documents.get(rest or kind, (b"no", "text/plain"))
            self.answer(200 if content != b"no" else 404, content, media)

    do_POST = do_GET  # noqa: N815 - the name that the library asks for

    def answer(self, status: int, body: bytes, media: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": media, "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@dataclasses.dataclass
class Upstreams:
    """``upstream.example.com`` with TLS: MCP and OAuth at its port 443, what fails at 8443."""

    mcp: Mcp
    handshake: Mcp
    protected: Mcp
    authority: Authority
    documents: dict[str, tuple[bytes, str]]
    environment: dict[str, str]
    seen: list[tuple[str, dict[str, str]]]

    def document(self, name: str, value: Any, media: str = "application/json") -> str:
        """Serve a document, and return its URL."""
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.documents[name] = (content, media)
        return f"https://{NAME}:8443/docs/{name}"


def application(mcp: Mcp, handshake: Mcp, protected: Mcp, authority: Authority) -> Starlette:
    origin = f"https://{NAME}"

    @contextlib.asynccontextmanager
    async def lifespan(_app: Any) -> Any:
        async with mcp.manager.run(), handshake.manager.run(), protected.manager.run():
            yield

    metadata = f"{origin}/.well-known/oauth-protected-resource/protected"
    guarded = RequireAuthMiddleware(Asgi(protected), required_scopes=[], resource_metadata_url=AnyHttpUrl(metadata))
    return Starlette(
        routes=[
            *create_auth_routes(
                authority,
                issuer_url=AnyHttpUrl(origin),
                client_registration_options=ClientRegistrationOptions(enabled=True),
            ),
            *create_protected_resource_routes(AnyHttpUrl(f"{origin}/protected"), [AnyHttpUrl(origin)]),
            Route("/mcp", endpoint=Asgi(mcp)),
            Route("/handshake", endpoint=Asgi(handshake)),
            Route("/protected", endpoint=AuthenticationMiddleware(guarded, backend=BearerAuthBackend(authority))),
            Mount("/", app=JSONResponse({"error": "not here"}, status_code=404)),
        ],
        lifespan=lifespan,
    )


def lenient() -> ssl.SSLContext:
    """What trusts ``SSL_CERT_FILE``, whose authority names no usage of its key."""
    context = ssl.create_default_context()
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


class Asgi:
    """An MCP server as an ASGI application: an object, which Starlette does not take for a function of a request."""

    def __init__(self, mcp: Mcp) -> None:
        self.mcp = mcp

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.mcp.manager.handle_request(scope, receive, send)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Upstreams]:
    ca = certify(folder)
    mcp, handshake, protected, authority = Mcp(), Mcp(modern=False), Mcp(TOOLS[:1]), Authority()
    config = uvicorn.Config(
        application(mcp, handshake, protected, authority),
        host="127.0.0.1",
        port=0,
        ssl_certfile=folder / "server.pem",
        log_level="critical",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    started = threading.Event()

    async def serve() -> None:
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup()
        started.set()
        await server.main_loop()
        await server.shutdown()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    failing = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Failing)
    failing.daemon_threads = True
    failing.documents = {}
    failing.socket = context.wrap_socket(failing.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=failing.serve_forever, args=(0.05,), daemon=True).start()
    assert started.wait(20)
    proxy = CorporateProxy(server.servers[0].sockets[0].getsockname()[1], 0)
    proxy.ports[8443] = failing.server_address[1]
    proxy.start()
    url = f"http://127.0.0.1:{proxy.port}"
    Failing.seen.clear()
    try:
        yield Upstreams(
            mcp,
            handshake,
            protected,
            authority,
            failing.documents,
            {"HTTPS_PROXY": url, "https_proxy": url, "SSL_CERT_FILE": str(ca)},
            Failing.seen,
        )
    finally:
        Failing.hangs.set()
        Failing.hangs.clear()
        failing.shutdown()
        failing.server_close()
        proxy.sock.close()
        server.should_exit = True
        thread.join(20)
