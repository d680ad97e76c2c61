"""Kind ``mcp``: an MCP server, in a mock file."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import TYPE_CHECKING, Any, overload

from eve_mocks import snapshot
from eve_mocks.declared import Declared
from eve_mocks.document import Document
from eve_mocks.errors import Collecting, MockError, Problem
from eve_mocks.handler import Handler
from eve_mocks.kinds.mcp import tools as tool_list
from eve_mocks.kinds.mcp.mock import Auth, McpMock
from eve_mocks.kinds.mcp.prompts import Prompt, read_prompts
from eve_mocks.kinds.mcp.resources import Resource, check_uri, read_resources
from eve_mocks.match import parse_claim
from eve_mocks.stubs.names import find
from eve_mocks.stubs.rules import read_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eve_mocks.folder import Folder
    from eve_mocks.response import Json
    from eve_mocks.stubs.rules import Rules

KEYS = ("kind", "url", "results", "stubs", "tools", "resources", "prompts", "mcp_sessions", "auth")
OFFERED = ("args", "request", "state", "session", "client")
_TO_READ = ("params", "request", "state", "session")


def from_document(name: str, document: Document) -> McpMock:
    """A mock of a YAML or JSON file. Raises ``MockError``, or ``Mistakes``."""
    return _mock(name, document, _Handlers(), seed=None, mistakes=Collecting(), problems=())


def mcp_mock(
    url: str,
    *,
    state: Any = None,
    tools: Sequence[Mapping[str, Json]] | Mapping[str, Mapping[str, Json]] | None = None,
    results: Mapping[str, Json] | None = None,
    stubs: Sequence[Mapping[str, Json]] | None = None,
    resources: Mapping[str, Json] | None = None,
    prompts: Mapping[str, Json] | None = None,
    mcp_sessions: bool = False,
    auth: str | Mapping[str, str] | None = None,
) -> McpDeclaration:
    """Mock the MCP server at a URL.

    ``results`` gives tools a fixed answer, ``.tool`` a function, and ``stubs`` are rules that come before both.
    ``tools`` describes them as ``tools/list`` does; what it leaves out is taken from the schema file. ``resources`` and
    ``prompts`` are as in a YAML file; ``.resource`` and ``.prompt`` answer with functions. Each session has its own
    copy of ``state``, or its own call of it.
    """
    parse_claim(url)
    given = {"url": url, "tools": tools, "results": results, "stubs": stubs, "mcp_sessions": mcp_sessions}
    given |= {"resources": resources, "prompts": prompts, "auth": auth}
    return McpDeclaration({key: value for key, value in given.items() if value is not None}, state)


class McpDeclaration(Declared):
    """What ``mcp_mock`` returns: the place to register handlers."""

    def __init__(self, given: dict[str, Any], seed: Any) -> None:
        super().__init__()
        self._given = given
        self._seed = dict if seed is None else seed
        self._functions: dict[str, list[tuple[str, Callable[..., Any]]]] = {"tool": [], "resource": [], "prompt": []}

    @overload
    def tool[F: Callable[..., Any]](self, function: F, /) -> F: ...
    @overload
    def tool[F: Callable[..., Any]](self, name: str | None = None, /) -> Callable[[F], F]: ...
    def tool(self, given: Callable[..., Any] | str | None = None, /) -> Any:
        """Answer the tool of the function's name, or of the name given, with the function."""
        return self._registering("tool", given)

    @overload
    def prompt[F: Callable[..., Any]](self, function: F, /) -> F: ...
    @overload
    def prompt[F: Callable[..., Any]](self, name: str | None = None, /) -> Callable[[F], F]: ...
    def prompt(self, given: Callable[..., Any] | str | None = None, /) -> Any:
        """Answer the prompt of the function's name, or of the name given: with a message, or a list of them."""
        return self._registering("prompt", given)

    def resource[F: Callable[..., Any]](self, uri: str, /) -> Callable[[F], F]:
        """Answer a URI, or those of a template such as ``docs://pages/{id}``: with text, bytes, JSON or contents."""
        check_uri(uri)
        found: Callable[[F], F] = self._registering("resource", uri)
        return found

    def _registering(self, kind: str, given: Callable[..., Any] | str | None) -> Any:
        def register[F: Callable[..., Any]](function: F) -> F:
            self.applied(register)
            name = given if isinstance(given, str) else getattr(function, "__name__", type(function).__name__)
            self._functions[kind].append((name, function))
            return function

        if callable(given):
            return register(given)
        self.waits(register, given or f"a {kind}")
        return register

    def named(self, name: str, folder: Folder) -> McpMock:
        mistakes = Collecting()
        handlers = _Handlers(
            tools=_handlers(self._functions["tool"], "tool", OFFERED, folder, mistakes),
            resources=_handlers(self._functions["resource"], "resource", _TO_READ, folder, mistakes),
            prompts=_handlers(self._functions["prompt"], "prompt", OFFERED[:-1], folder, mistakes),
            docs={kind: _docs(functions) for kind, functions in self._functions.items()},
        )
        document = Document.from_python(self._given, file=folder.show(self.file), line=self.line, folder=folder)
        problems = self.unapplied(folder)
        return _mock(name, document, handlers, seed=self._seed, mistakes=mistakes, problems=problems)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Handlers:
    """The functions of a Python mock, by what they answer for; ``docs`` are by kind, and then by name."""

    tools: Mapping[str, Handler] = dataclasses.field(default_factory=dict)
    resources: Mapping[str, Handler] = dataclasses.field(default_factory=dict)
    prompts: Mapping[str, Handler] = dataclasses.field(default_factory=dict)
    docs: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)


def _handlers(
    functions: Sequence[tuple[str, Callable[..., Any]]],
    kind: str,
    offered: tuple[str, ...],
    folder: Folder,
    mistakes: Collecting,
) -> dict[str, Handler]:
    found: dict[str, Handler] = {}
    for name, function in functions:
        with mistakes:
            handler = Handler(function, offered, folder)
            if name in found:
                other = f'@mock.{kind}("{"docs://other" if kind == "resource" else "name"}")'
                raise MockError(
                    f"the {kind} {name} has two handlers",
                    why=f"only one could answer; the other is at {found[name].file}:{found[name].line}",
                    fix=f"Take one of them out, or give it the name of another {kind}: {other}.",
                    file=handler.file,
                    line=handler.line,
                )
            found[name] = handler
    return found


def _docs(functions: Sequence[tuple[str, Callable[..., Any]]]) -> dict[str, str]:
    return {name: inspect.getdoc(function) or "" for name, function in functions}


def _mock(
    name: str,
    document: Document,
    handlers: _Handlers,
    *,
    seed: Any,
    mistakes: Collecting,
    problems: Sequence[Problem],
) -> McpMock:
    described: Mapping[str, Any] = {}
    tools: Mapping[str, Any] = {}
    sessions = False
    auth: Auth | None = None
    with mistakes:
        document.mapping(KEYS)
    if "url" in document or not mistakes.errors:  # else it may be the key that is misspelt
        with mistakes:
            _check_url(document)
    pulled: Document | None = None
    is_readable = False
    resources: Mapping[str, Resource] = {}
    prompts: Mapping[str, Prompt] = {}
    with mistakes:
        pulled = snapshot.read(name, document.folder)
        is_readable = True
    if is_readable:
        with mistakes:
            described = tool_list.describe(pulled, document)
            tools = tool_list.build(described, document, handlers.tools, handlers.docs.get("tool", {}))
        with mistakes:
            resources = read_resources(pulled, document, handlers.resources)
        with mistakes:
            prompts = read_prompts(pulled, document, handlers.prompts, handlers.docs.get("prompt", {}))
    with mistakes:
        sessions = "mcp_sessions" in document and document.part("mcp_sessions").boolean()
    if "auth" in document:
        with mistakes:
            auth = _auth(document.part("auth"))
    mistakes.tell()
    mock = McpMock(
        name=name,
        url=document.value["url"],
        file=document.file,
        line=document.line_of("url"),
        described=described,
        tools=tools,
        resources=resources,
        prompts=prompts,
        seed=seed,
        sessions=sessions,
        auth=auth,
        problems=tuple(problems),
    )
    if "stubs" in document:
        mock.stubs = _read_stubs(mock, document.part("stubs"))
    if not (mock.operations() or resources or prompts or problems):
        mock.problems = (_toolless(document),)
    return mock


def _read_stubs(mock: McpMock, stubs: Document) -> Rules:
    mistakes = Collecting()
    rules = read_rules(stubs, mock.name, functools.partial(find, names={mock.name: mock.names()}))
    for rule in rules.all:
        with mistakes, rule.telling():
            mock.check(rule)
    mistakes.tell()
    return rules


def _auth(auth: Document) -> Auth:
    """``oauth``, or an object that names the authorization server: another mock, by its name or URL."""
    if auth.value == "oauth":
        return Auth(None, auth)
    auth.mapping(("server",), example="auth: {server: sign-in}")
    server = auth.required("server", why="it is the mock that issues the tokens", example="sign-in")
    return Auth(server.text(example="server: sign-in"), server)


def _check_url(document: Document) -> None:
    url = document.required("url", why="a mock claims what is under one URL", example="https://mcp.example.com/mcp")
    with url.placing():
        parse_claim(url.value)


def _toolless(document: Document) -> Problem:
    return Problem.of(
        document.error(
            "the mock has no tool that answers",
            why="a tool is listed where it has a result, a handler or a stub",
            fix="Add for example results: {list_issues: {issues: []}}",
        )
    )
