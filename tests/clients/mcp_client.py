"""What the MCP Python SDK's client sees of a mock: ``mcp_client.py URL MODE``, one line of JSON.

Two sessions at a time list the tools, create an issue, list the issues, and call the counter fifty times in parallel.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def use(url, mode, session):
    async with (
        httpx2.AsyncClient(headers={"x-eve-mocks-session": session}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):

        async def call(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            return result.content[0].text

        tools = [tool.name for tool in (await client.list_tools()).tools]
        await call("create_issue", title=f"of {session}")
        issues = json.loads(await call("list_issues"))
        counts = await asyncio.gather(*(call("count") for _ in range(50)))
        refused = await client.call_tool("create_issue", {})
        return {
            "protocol": client.protocol_version,
            "tools": tools,
            "issues": issues,
            "counts": sorted(map(int, counts)),
            "refused": [refused.is_error, refused.content[0].text],
        }


async def main(url, mode):
    print(json.dumps(await asyncio.gather(*(use(url, mode, session) for session in ("a", "b")))))


asyncio.run(main(*sys.argv[1:]))
