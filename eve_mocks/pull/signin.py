"""Signing in to an MCP server in the browser: OAuth 2.1 with PKCE by the MCP SDK, and its answer on loopback.

Source: RFC 8252, section 7.3 (loopback redirects), and MCP 2026-07-28, Authorization.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
import socket
import webbrowser
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import anyio
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyUrl

from eve_mocks.pull.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from eve_mocks.pull.limits import Limits

_PATH = "/callback"
_PAGE = "<!doctype html><meta charset=utf-8><title>eve-mocks</title><p>{0} You can close this page."
_MOST_HEAD = 65536


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Whoever signs in: ``tell`` says where, ``browse`` opens it there, and is true where it could."""

    tell: Callable[[str], None]
    browse: Callable[[str], bool] = webbrowser.open
    turn: asyncio.Lock = dataclasses.field(default_factory=asyncio.Lock)


class _Provider(OAuthClientProvider):
    """Refreshes a token that is too old, where the SDK would take each that it finds for a new one."""

    async def _initialize(self) -> None:
        await super()._initialize()
        storage = self.context.storage
        if isinstance(storage, Tokens):
            storage.restore(self.context)


@contextlib.asynccontextmanager
async def signing_in(
    url: str, person: Person, scope: anyio.CancelScope, limits: Limits
) -> AsyncIterator[OAuthClientProvider]:
    """What authenticates requests to a server. While a person is waited for, the clock of ``scope`` stands still."""
    tokens = Tokens(url)
    answers: asyncio.Queue[str] = asyncio.Queue()
    server = await asyncio.start_server(
        lambda reader, writer: _receive(reader, writer, answers), sock=_socket(tokens), limit=_MOST_HEAD
    )
    left = 0.0

    async def redirect(address: str) -> None:
        nonlocal left
        left, scope.deadline = scope.deadline - anyio.current_time(), math.inf
        await person.turn.acquire()
        person.tell(address)
        await asyncio.to_thread(person.browse, address)

    async def answered() -> AuthorizationCodeResult:
        try:
            async with asyncio.timeout(limits.sign_in):
                found = parse_qs(urlsplit(await answers.get()).query)
        except TimeoutError as error:
            raise OAuthFlowError(f"nobody did within {limits.sign_in:g} s") from error
        finally:
            scope.deadline = anyio.current_time() + left
            person.turn.release()
        if "error" in found:
            raise OAuthFlowError(" ".join([*found["error"], *found.get("error_description", ())])[:200])
        first = {key: values[0] for key, values in found.items()}
        return AuthorizationCodeResult(code=first.get("code", ""), state=first.get("state"), iss=first.get("iss"))

    try:
        yield _Provider(
            server_url=url,
            client_metadata=OAuthClientMetadata(
                client_name="eve-mocks",
                redirect_uris=[AnyUrl(f"http://127.0.0.1:{tokens.port}{_PATH}")],
                grant_types=["authorization_code", "refresh_token"],
                response_types=["code"],
                token_endpoint_auth_method="none",  # noqa: S106 - a public client
            ),
            storage=tokens,
            redirect_handler=redirect,
            callback_handler=answered,
        )
    finally:
        server.close()


def _socket(tokens: Tokens) -> socket.socket:
    """Where the browser comes back to: the port that we are registered with, if it is free."""
    for port in dict.fromkeys((tokens.port, 0)):
        with contextlib.suppress(OSError):
            sock = socket.create_server(("127.0.0.1", port))
            tokens.register_at(sock.getsockname()[1])
            return sock
    raise OAuthFlowError("no port on loopback is free")


async def _receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answers: asyncio.Queue[str]) -> None:
    with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, _ = head.split(" ", 2)
        is_answer = method == "GET" and urlsplit(target).path == _PATH
        said = "There is nothing here."
        if is_answer:
            answers.put_nowait(target)
            said = "Signing in failed." if "error" in parse_qs(urlsplit(target).query) else "You are signed in."
        body = _PAGE.format(said).encode()
        status = "200 OK" if is_answer else "404 Not Found"
        writer.write(
            f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {len(body)}\r\n"
            "connection: close\r\n\r\n".encode()
            + body
        )
        await writer.drain()
    writer.close()
