"""The tools of an MCP server, by the MCP SDK's client."""

from ask import each
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def get(url):
    async with Client(streamable_http_client(url), mode="legacy") as client:
        return 200, ", ".join(tool.name for tool in (await client.list_tools()).tools)


each(get)
