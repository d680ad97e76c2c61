"""Kind ``mcp``: an MCP server, in a mock file."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, overload

from eve_mocks.declared import Declared
from eve_mocks.document import Document
from eve_mocks.errors import Collecting, MockError, Problem
from eve_mocks.handler import Handler
from eve_mocks.kinds.mcp import tools as tool_list
from eve_mocks.kinds.mcp.mock import McpMock
from eve_mocks.match import parse_claim
from eve_mocks.stubs.names import find
from eve_mocks.stubs.rules import read_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eve_mocks.folder import Folder
    from eve_mocks.response import Json
    from eve_mocks.stubs.rules import Rules

KEYS = ("kind", "url", "results", "stubs", "tools", "mcp_sessions")
OFFERED = ("args", "request", "state", "session")


def from_document(name: str, document: Document) -> McpMock:
    """A mock of a YAML or JSON file. Raises ``MockError``, or ``Mistakes``."""
    return _mock(name, document, handlers={}, docs={}, seed=None, mistakes=Collecting(), problems=())


def mcp_mock(
    url: str,
    *,
    state: Any = None,
    tools: Sequence[Mapping[str, Json]] | Mapping[str, Mapping[str, Json]] | None = None,
    results: Mapping[str, Json] | None = None,
    stubs: Sequence[Mapping[str, Json]] | None = None,
    mcp_sessions: bool = False,
) -> McpDeclaration:
    """Mock the MCP server at a URL.

    ``results`` gives tools a fixed answer, ``.tool`` a function, and ``stubs`` are rules that come before both.
    ``tools`` describes them as ``tools/list`` does; what it leaves out is taken from the schema file. Each session has
    its own copy of ``state``, or its own call of it.
    """
    parse_claim(url)
    given = {"url": url, "tools": tools, "results": results, "stubs": stubs, "mcp_sessions": mcp_sessions}
    return McpDeclaration({key: value for key, value in given.items() if value is not None}, state)


class McpDeclaration(Declared):
    """What ``mcp_mock`` returns: the place to register handlers."""

    def __init__(self, given: dict[str, Any], seed: Any) -> None:
        super().__init__()
        self._given = given
        self._seed = dict if seed is None else seed
        self._functions: list[tuple[str, Callable[..., Any]]] = []

    @overload
    def tool[F: Callable[..., Any]](self, function: F, /) -> F: ...
    @overload
    def tool[F: Callable[..., Any]](self, name: str | None = None, /) -> Callable[[F], F]: ...
    def tool(self, given: Callable[..., Any] | str | None = None, /) -> Any:
        """Answer the tool of the function's name, or of the name given, with the function."""

        def register[F: Callable[..., Any]](function: F) -> F:
            self.applied(register)
            name = given if isinstance(given, str) else getattr(function, "__name__", type(function).__name__)
            self._functions.append((name, function))
            return function

        if callable(given):
            return register(given)
        self.waits(register, given or "a tool")
        return register

    def named(self, name: str, folder: Folder) -> McpMock:
        handlers: dict[str, Handler] = {}
        mistakes = Collecting()
        for tool, function in self._functions:
            with mistakes:
                handler = Handler(function, OFFERED, folder)
                if tool in handlers:
                    raise MockError(
                        f"the tool {tool} has two handlers",
                        why=f"only one could answer; the other is at {handlers[tool].file}:{handlers[tool].line}",
                        fix='Take one of them out, or give it the name of another tool: @mock.tool("name").',
                        file=handler.file,
                        line=handler.line,
                    )
                handlers[tool] = handler
        docs = {tool: inspect.getdoc(function) or "" for tool, function in self._functions}
        document = Document.from_python(self._given, file=folder.show(self.file), line=self.line, folder=folder)
        return _mock(
            name,
            document,
            handlers=handlers,
            docs=docs,
            seed=self._seed,
            mistakes=mistakes,
            problems=self.unapplied(folder),
        )


def _mock(
    name: str,
    document: Document,
    *,
    handlers: Mapping[str, Handler],
    docs: Mapping[str, str],
    seed: Any,
    mistakes: Collecting,
    problems: Sequence[Problem],
) -> McpMock:
    described: Mapping[str, Any] = {}
    tools: Mapping[str, Any] = {}
    sessions = False
    with mistakes:
        document.mapping(KEYS)
    if "url" in document or not mistakes.errors:  # else it may be the key that is misspelt
        with mistakes:
            _check_url(document)
    with mistakes:
        described = tool_list.describe(name, document)
        tools = tool_list.build(described, document, handlers, docs)
    with mistakes:
        sessions = "mcp_sessions" in document and document.part("mcp_sessions").boolean()
    mistakes.tell()
    mock = McpMock(
        name=name,
        url=document.value["url"],
        file=document.file,
        line=document.line_of("url"),
        described=described,
        tools=tools,
        seed=seed,
        sessions=sessions,
        problems=tuple(problems),
    )
    if "stubs" in document:
        mock.stubs = _read_stubs(mock, document.part("stubs"))
    if not (mock.operations() or problems):
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
