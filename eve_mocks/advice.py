"""What to type when a call is blocked: the same words in the 403, in Node's error, in the summary and the report."""

from __future__ import annotations

import re

from eve_mocks.errors import MockError

# Labels that say nothing about which service it is.
_GENERIC = {"api", "www", "mcp", "gateway", "rest", "v1", "v2", "app", "cloud", "service", "services", "public"}


def mock_name(host: str) -> str:
    """A short name for a host: ``api.notion.com`` is notion, ``logs.example.com`` is logs, an address itself."""
    if re.fullmatch(r"[\d.]+|[0-9a-f]*:[0-9a-f:.]*", host):
        return "ip-" + re.sub(r"[^0-9a-f]+", "-", host).strip("-")
    labels = [label for label in host.split(".") if label and label != "*"]
    telling = [label for label in labels[:-1] if label not in _GENERIC] or labels
    return re.sub(r"[^a-z0-9-]+", "-", telling[0]).strip("-") or "upstream"


def add_command(origin: str, host: str) -> str:
    """The command that scaffolds a mock for an origin."""
    return f"eve-mocks add {mock_name(host)} --url {origin}/"


def allow_line(origin: str, host: str, folder: str = "mocks") -> str:
    """The file and the text that let an origin through."""
    return f'{folder}/{mock_name(host)}.yaml: {{kind: allow, url: "{origin}/", why: "…"}}'


def blocked(what: str, origin: str, host: str, *, why: str, folder: str = "mocks") -> MockError:
    """The error of a blocked call. ``what`` is the method and URL as a person knows them."""
    return MockError(
        f"eve-mocks blocked {what}",
        why=why,
        fix=f"Mock it: {add_command(origin, host)}\nOr allow it, in {allow_line(origin, host, folder)}",
    )
