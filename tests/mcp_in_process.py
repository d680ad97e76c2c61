"""The MCP SDK's client, connected to a mock without a socket."""

from __future__ import annotations

import contextlib

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from eve_mocks.match import parse_url
from eve_mocks.model import Headers, Request
from eve_mocks.session import Sessions


class InProcess(httpx2.AsyncBaseTransport):
    """Carries a client's requests to the mock and keeps the answers."""

    def __init__(self, mock, session):
        self.mock = mock
        self.session = session
        self.answers = []

    async def handle_async_request(self, request):
        headers = [(name.decode(), value.decode()) for name, value in request.headers.raw]
        url = parse_url(str(request.url))
        asked = Request(method=request.method, target=url, headers=Headers(headers), body=await request.aread())
        answer = await self.mock.answer(asked, self.session)
        self.answers.append(answer)
        return httpx2.Response(answer.response.status, headers=answer.response.headers, content=answer.response.body)


@contextlib.asynccontextmanager
async def connected(mock, *, mode="auto", session=None):
    """The SDK's client, and the transport under it."""
    transport = InProcess(mock, session or Sessions().get())
    async with (
        httpx2.AsyncClient(transport=transport) as http,
        Client(streamable_http_client(mock.url, http_client=http), mode=mode) as client,
    ):
        yield client, transport
    await mock.close()
