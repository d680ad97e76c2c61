"""What an eval asserts on: each call of a log as an operation with an input that failed or did not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eve_mocks.advice import MCP_METHOD
from eve_mocks.errors import MockError
from eve_mocks.http_input import arguments
from eve_mocks.match import BadURL, parse_claim, parse_url
from eve_mocks.model import BadRequest, Headers, Request
from eve_mocks.paths import PathTemplate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.response import Json

type Line = dict[str, Any]


def told(line: Line) -> Line:
    """A line of the log with ``input``, which is what ``match`` saw, ``failed``, and whether it ``isAction``."""
    return {**line, "input": input_of(line), "failed": has_failed(line), "isAction": is_action(line)}


def is_action(line: Line) -> bool:
    """Whether something was asked for: no sign-in, no model, and of MCP calls of tools alone."""
    if line.get("kind") == "mcp":
        message = line.get("requestBody")
        if isinstance(message, str):  # of a call that is too long for the log
            return MCP_METHOD.fullmatch(line["operation"]) is None
        return isinstance(message, dict) and message.get("method") == "tools/call"
    return line.get("kind") not in ("model", "oauth")


def input_of(line: Line) -> dict[str, Json]:
    """The arguments of a tool; the parameters and the body of an http operation; without what the log leaves out."""
    if line.get("kind") == "mcp":
        message = line.get("requestBody")
        params = message.get("params") if isinstance(message, dict) else None
        given = params.get("arguments") if isinstance(params, dict) else None
        return given if isinstance(given, dict) else {}
    if line.get("kind") == "model":
        body = line.get("requestBody")
        return body if isinstance(body, dict) else {}
    try:
        request = request_of(line)
        found = arguments(request, _params(line, request.path))
    except (BadURL, BadRequest, KeyError):
        return {}
    return {**found, "body": line["requestBody"]} if "requestBody" in line else found


def request_of(line: Line) -> Request:
    """The request of a line, as far as the log has it. Raises ``BadURL``, or ``KeyError``."""
    body = json.dumps(line["requestBody"]).encode() if "requestBody" in line else b""
    headers = Headers(_pairs(line.get("requestHeaders", {})))
    return Request(method=line["method"], target=parse_url(line["url"]), headers=headers, body=body)


def _params(line: Line, path: str) -> dict[str, str]:
    """The parameters of the path, which the operation names relative to the mock's url."""
    try:
        relative = parse_claim(line["targetUrl"]).relative(path)
        return PathTemplate(line["operation"].partition(" ")[2]).match(relative) or {}
    except (KeyError, MockError):
        return {}


def _pairs(headers: Mapping[str, str | list[str]]) -> Iterator[tuple[str, str]]:
    for name, value in headers.items():
        for one in [value] if isinstance(value, str) else value:
            yield name, one


def has_failed(line: Line) -> bool:
    """Whether the agent was told of a failure: by HTTP, or by an error or a failed result of MCP."""
    status = line.get("status")
    if line["outcome"] in ("blocked", "error") or status is None or status >= 400:
        return True
    return line.get("kind") == "mcp" and any(map(_is_error, _messages(line.get("responseBody"))))


def _messages(body: Json) -> list[Json]:
    """The messages of an answer, which is JSON or a stream of server-sent events."""
    if not isinstance(body, str):
        return [body]
    found = []
    for field in body.splitlines():
        if field.startswith("data:"):
            try:
                found.append(json.loads(field.removeprefix("data:")))
            except ValueError:  # cut short in the log
                continue
    return found


def _is_error(message: Json) -> bool:
    if not isinstance(message, dict):
        return False
    result = message.get("result")
    return "error" in message or (isinstance(result, dict) and result.get("isError") is True)
