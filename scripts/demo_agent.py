"""A small agent, as any program might be written: it knows nothing of eve-mocks. ``scripts/demo`` runs it."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any


def ask(method: str, url: str, body: Any = None, **headers: str) -> Any:
    """The JSON that a URL answers."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **headers}, method=method)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def call_tool(url: str, tool: str, arguments: dict[str, Any]) -> Any:
    """The JSON that a tool of an MCP server answers, in the protocol of 2026-07-28: one POST, no handshake."""
    version = "2026-07-28"
    about = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "demo", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": about}
    answer = ask(
        "POST",
        url,
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        **{
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": version,
            "mcp-method": "tools/call",
            "mcp-name": tool,
        },
    )
    return json.loads(answer["result"]["content"][0]["text"])


def complete(messages: list[dict[str, Any]]) -> Any:
    """The next message of the model, which may ask for a call of a tool."""
    tools = [{"type": "function", "function": {"name": "list_issues", "parameters": {"type": "object"}}}]
    answer = ask(
        "POST",
        "https://api.openai.com/v1/chat/completions",
        {"model": "gpt-5.5", "messages": messages, "tools": tools},
        authorization=f"Bearer {os.environ['OPENAI_API_KEY']}",
    )
    return answer["choices"][0]["message"]


page = ask("GET", "https://api.notion.com/v1/pages/p1")
print("notion   the page is called", page["properties"]["title"]["title"][0]["plain_text"])

messages: list[dict[str, Any]] = [{"role": "user", "content": "What is open?"}]
while not (message := complete(messages)).get("content"):
    messages.append(message)
    for call in message["tool_calls"]:
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
        issues = call_tool("https://mcp.linear.app/mcp", name, arguments)["issues"]
        print("linear   open issues:", ", ".join(f"{issue['id']} {issue['title']}" for issue in issues))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(issues)})
print("model   ", message["content"])

call_tool("https://tracker.example.com/mcp", "create_issue", {"title": "Write the announcement"})
issues = call_tool("https://tracker.example.com/mcp", "list_issues", {})["issues"]
print("tracker  it remembers:", ", ".join(f"{issue['id']} {issue['title']}" for issue in issues))

try:
    print("logs    ", ask("GET", "https://logs.example.com/v1/tail"))
except urllib.error.HTTPError as error:
    print("logs    ", error.code, json.load(error)["message"])
