"""What to type when nothing claimed a call: the same words in the 403, in Node's error, in the summary and by ``add``.

The mock that would answer is suggested once, under a name that is free, and kept with the call.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import shlex
from typing import TYPE_CHECKING

from eve_mocks.match import BadURL, parse_url
from eve_mocks.model import URL, BadRequest
from eve_mocks.providers import PROVIDERS, provider_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from eve_mocks.model import Request

# Labels that say nothing about which service it is.
_GENERIC = {"api", "www", "mcp", "gateway", "rest", "v1", "v2", "app", "cloud", "service", "services", "public"}
_NAME_LIMIT = 48
_MAX_SUGGESTIONS = 1_000
MCP_PATH = re.compile(r"/(mcp|sse)/?$")
# Methods of the Model Context Protocol; other protocols are JSON-RPC too.
MCP_METHOD = re.compile(
    r"initialize|ping|(server|tools|resources|prompts|notifications|completion|logging|tasks|subscriptions)/[\w/]+"
)


def entry_line(folder: str, name: str, kind: str, url: str) -> str:
    """The file and the text of an ``allow`` or ``block`` entry."""
    return f'{folder}/{name}.yaml: {{kind: {kind}, url: "{url}", why: "…"}}'


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """The mock, or the allow entry, of what was blocked. ``model`` is what was asked for at a provider of models."""

    name: str
    url: str
    kind: str
    model: str | None = None

    @property
    def command(self) -> str:
        """What scaffolds the mock."""
        told = self.kind == kind_of(self.url)
        return shlex.join(["eve-mocks", "add", self.name, "--url", self.url, *(() if told else ("--kind", self.kind))])

    def allow_line(self, folder: str) -> str:
        """The file and the text that let it through."""
        return entry_line(folder, self.name, "allow", self.url)

    def fix(self, folder: str) -> str:
        script = f"\nScript it, in {folder}/{self.name}.yaml: {self.script}" if self.kind == "model" else ""
        return f"Mock it: {self.command}{script}\nOr allow it, in {self.allow_line(folder)}"

    @property
    def script(self) -> str:
        """What a mock of the model begins with."""
        return f'scripts: {{{json.dumps(self.model)}: ["…"]}}'

    def as_json(self) -> dict[str, str]:
        return {key: value for key, value in dataclasses.asdict(self).items() if value is not None}


class Advisor:
    """Suggests a mock for each URL, the same one every time. ``taken`` tells the names of files that are there."""

    def __init__(self, taken: Callable[[], Collection[str]] = frozenset, *, folder: str = "mocks") -> None:
        self.folder = folder
        self._taken = taken
        self._suggestions: dict[str, Suggestion] = {}

    def suggest(self, request: Request) -> Suggestion:
        target = request.target
        provider = provider_of(target)
        kind = "mcp" if is_mcp(request) else "http" if provider is None else "model"
        url = f"{target.origin}{target.path if kind == 'mcp' else '/'}"
        known = self._suggestions.get(url)
        if known is None:
            taken = {*self._taken(), *(one.name for one in self._suggestions.values())}
            name = next(name for name in _names(target, kind) if name not in taken)
            model = None if provider is None else _model(request) or PROVIDERS[provider].model
            known = Suggestion(name=name, url=url, kind=kind, model=model)
            if len(self._suggestions) < _MAX_SUGGESTIONS:
                self._suggestions[url] = known
        return known

    def raw(self, url: URL) -> str:
        """What can be done about a connection, or an attempt at one, that is not HTTP."""
        if url.port == 0:
            return "Have the program do without it: only TCP can be mocked or allowed."
        kind, scheme = ("block", "udp") if url.scheme == "udp" else ("allow", "tcp")
        word = "Expect it to fail" if kind == "block" else "Allow it"
        line = entry_line(self.folder, mock_name(url.host), kind, f"{scheme}://{url.authority}")
        return f"{word}, in {line}\nOr have it use a server on this machine, which it may reach."


def kind_of(url: str) -> str:
    """The kind of mock that a URL alone tells."""
    if MCP_PATH.search(url):
        return "mcp"
    try:
        target = parse_url(url)
    except BadURL:  # a wildcard
        return "http"
    # A path below the version is a part of the API that is no model, or that somebody wants to answer otherwise.
    return "model" if provider_of(target) is not None and target.path.strip("/").count("/") == 0 else "http"


def _model(request: Request) -> str | None:
    """The model that a request is for: in its body, its path (Gemini) or a header (AI Gateway)."""
    found = re.search(r"/models/([^/:]+):", request.path)
    if found:
        return found[1]
    try:
        body = request.json() if request.body else None
    except BadRequest:
        body = None
    model = body.get("model") if isinstance(body, dict) else None
    model = model or request.headers.get("ai-language-model-id")
    return model if isinstance(model, str) and re.fullmatch(r"[\w./:@-]{1,100}", model) else None


def is_mcp(request: Request) -> bool:
    """Whether a client took the URL for an MCP server's."""
    if "mcp-protocol-version" in request.headers or MCP_PATH.search(request.path):
        return True
    if request.body.lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        message = request.json()
    except BadRequest:
        return False
    if isinstance(message, list):
        message = next(iter(message), None)
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    method = message.get("method")
    return isinstance(method, str) and MCP_METHOD.fullmatch(method) is not None


def mock_name(host: str) -> str:
    """A short name for a host: ``api.notion.com`` is notion, ``logs.example.com`` is logs, an address itself."""
    if re.fullmatch(r"[\d.]+|[0-9a-f]*:[0-9a-f:.]*", host):
        return "ip-" + _plain(host)
    labels = [label for label in host.split(".") if label and label != "*"]
    telling = [label for label in labels[:-1] if label not in _GENERIC] or labels
    return next(filter(None, map(_plain, telling)), "upstream")


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:_NAME_LIMIT].strip("-")


def _names(target: URL, kind: str) -> Iterator[str]:
    """Names for a mock, from the shortest on without end."""
    name = provider_of(target) or mock_name(target.host)
    yield name
    if kind == "mcp":
        yield f"{name}-mcp"
    if target.port != URL.DEFAULT_PORTS[target.scheme]:
        yield f"{name}-{target.port}"
    elif target.scheme == "http":
        yield f"{name}-http"
    yield _plain(target.host) or name
    yield from (f"{name}-{number}" for number in itertools.count(2))
