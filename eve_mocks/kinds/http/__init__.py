"""Kind ``http``, in a mock file: any HTTP service, answered from routes and handlers by method and path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eve_mocks.declared import Declared
from eve_mocks.document import Document
from eve_mocks.errors import Collecting, MockError, Problem
from eve_mocks.handler import Handler
from eve_mocks.kinds.http.mock import Http, Operation
from eve_mocks.match import parse_claim
from eve_mocks.outcome import read_outcome
from eve_mocks.paths import PathTemplate
from eve_mocks.routes import METHODS, RouteTable
from eve_mocks.stubs.names import Target, find
from eve_mocks.stubs.rules import NO_RULES, Rules, read_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eve_mocks.folder import Folder
    from eve_mocks.match import Claim
    from eve_mocks.response import Json

KEYS = ("kind", "url", "spec", "routes", "stubs")
OFFERED = ("args", "request", "params", "state", "session")

type Routes = RouteTable[Operation]


class _Handled(NamedTuple):
    method: str
    template: PathTemplate
    function: Callable[..., Any]


def from_document(name: str, document: Document) -> Http:
    """The mock of a YAML or JSON file. Raises ``MockError``, or ``Mistakes``."""
    return _mock(name, document, (), seed=None, problems=[])


def _mock(
    name: str, document: Document, handled: Sequence[_Handled], *, seed: object, problems: Sequence[Problem]
) -> Http:
    routes: Routes = RouteTable()
    mistakes = Collecting()
    with mistakes:
        document.mapping(KEYS)
    if "url" in document or not mistakes.errors:  # else it may be the key that is misspelt
        with mistakes:
            _claim(document)
    for key, read in (("spec", _check_spec), ("routes", lambda part: _add_routes(name, routes, part))):
        if key in document:
            with mistakes:
                read(document.part(key))
    for each in handled:
        with mistakes:
            _add_handler(name, routes, each, document.folder)
    stubs = NO_RULES
    if "stubs" in document:
        with mistakes:
            stubs = _read_stubs(name, routes, document.part("stubs"))
    mistakes.tell()
    claim = _claim(document)
    return Http(
        name=name,
        claim=claim,
        url=document.value["url"],
        file=document.file,
        line=document.line_of("url"),
        routes=routes,
        stubs=stubs,
        seed=seed,
        problems=(*problems, *_doubts(document, claim, routes, unapplied=bool(problems))),
    )


def _claim(document: Document) -> Claim:
    url = document.required("url", why="a mock claims what is under one URL", example="https://api.example.com/")
    with url.placing():
        return parse_claim(url.value)


def _check_spec(spec: Document) -> None:
    parts = [part for _, part in spec.parts()] if isinstance(spec.value, list) else [spec]
    mistakes = Collecting()
    for part in parts:
        with mistakes, part.placing():
            text = part.text(example="spec: schemas/shop.json")
            if "://" in text:
                continue
            path = spec.folder.file(text)
            if not path.is_file():
                raise part.error(
                    f"there is no file {text}",
                    why="spec names documents that describe the service: a URL, or a path from the mocks folder",
                    fix=f"Put it at {spec.folder.show(path)}.",
                )
    mistakes.tell()


def _add_routes(name: str, table: Routes, routes: Document) -> None:
    routes.mapping(example="routes: {/v1/pages: {GET: {response: {ok: true}}}}")
    mistakes = Collecting()
    for path, methods in routes.parts():
        template = None
        with mistakes, methods.placing():
            template = PathTemplate(path)
        with mistakes:
            methods.mapping(METHODS, example="GET: {response: {ok: true}}")
        if not isinstance(methods.value, dict):
            continue
        for method, outcome in methods.parts():
            with mistakes, outcome.placing():
                if method in METHODS:
                    response = read_outcome(outcome).over_http
                    if template is not None:
                        table.add(method, template, Operation.of(name, method, template, response))
    mistakes.tell()


def _add_handler(name: str, table: Routes, handled: _Handled, folder: Folder) -> None:
    handler = Handler(handled.function, OFFERED, folder)
    try:
        table.add(*handled[:2], Operation.of(name, *handled[:2], handler))
    except MockError as error:
        raise error.at(handler.file, handler.line)  # noqa: B904 - the same error


def _read_stubs(name: str, table: Routes, stubs: Document) -> Rules:
    def resolve(tool: str) -> Target:
        """An operation of the routes, else one that the stub itself describes: nothing else lists them."""
        method, _, path = tool.removeprefix(f"{name}__").removeprefix(f"{name}:").partition(" ")
        if method in METHODS and path.startswith("/"):
            template = PathTemplate(path)
            if not table.holds(method, template):
                table.add(method, template, Operation.of(name, method, template))
        operations = table.operations()
        return find(tool, {name: dict(zip(operations, operations, strict=True))})

    return read_rules(stubs, name, resolve)


def _doubts(document: Document, claim: Claim, routes: Routes, *, unapplied: bool) -> Iterator[Problem]:
    """What is valid, and yet cannot be what was meant."""
    if "spec" in document:
        yield Problem.of(
            document.error(
                "spec is not read",
                "spec",
                why="this version answers from routes and handlers alone, and not from schema documents",
                fix="Add a route for each call that is made.",
            )
        )
    elif not routes.operations() and not unapplied:
        yield Problem.of(
            document.error(
                "the mock has no routes",
                why="every call to it is answered with 404",
                fix="Add for example routes: {/v1/pages: {GET: {response: {ok: true}}}}",
            )
        )
    for template in routes.templates():
        if claim.prefix and claim.covers_path(template.text):
            yield Problem.of(
                document.error(
                    f"the path {template.text} repeats the path of the url",
                    *("routes", template.text),
                    why=f"paths are relative to the url: it answers {claim.url.origin}{claim.prefix}{template.text}",
                    fix=f"If that is not meant, write {claim.relative(template.text)}",
                )
            )


class HttpMock(Declared):
    """What ``http_mock`` gives to a Python file: its decorators add handlers."""

    def __init__(self, given: Mapping[str, Any], state: object) -> None:
        super().__init__()
        parse_claim(given["url"])
        self._given = {key: value for key, value in given.items() if value is not None}
        self._seed = dict if state is None else state
        self._handled: list[_Handled] = []

    def route[F: Callable[..., Any]](self, method: str, path: str) -> Callable[[F], F]:
        """Register a handler for a method (or ``ANY``) and a path relative to the mock's url."""
        template = PathTemplate(path)

        def register(function: F) -> F:
            self.applied(register)
            self._handled.append(_Handled(method.upper(), template, function))
            return function

        self.waits(register, f"{method.upper()} {path}")
        return register

    def get[F: Callable[..., Any]](self, path: str) -> Callable[[F], F]:
        return self.route("GET", path)

    def post[F: Callable[..., Any]](self, path: str) -> Callable[[F], F]:
        return self.route("POST", path)

    def put[F: Callable[..., Any]](self, path: str) -> Callable[[F], F]:
        return self.route("PUT", path)

    def patch[F: Callable[..., Any]](self, path: str) -> Callable[[F], F]:
        return self.route("PATCH", path)

    def delete[F: Callable[..., Any]](self, path: str) -> Callable[[F], F]:
        return self.route("DELETE", path)

    def named(self, name: str, folder: Folder) -> Http:
        document = Document.from_python(self._given, file=folder.show(self.file), line=self.line, folder=folder)
        return _mock(name, document, self._handled, seed=self._seed, problems=self.unapplied(folder))


def http_mock(
    url: str,
    *,
    spec: str | list[str] | None = None,
    state: object = None,
    routes: dict[str, Any] | None = None,
    stubs: Sequence[Mapping[str, Json]] | None = None,
) -> HttpMock:
    """Mock an HTTP service in Python.

    ``state`` is what each session begins with: a value, which is copied, or a function. ``routes`` are static
    answers and ``stubs`` rules that come before all others, as in a YAML file. Raises ``MockError`` for a url that
    cannot be claimed.
    """
    return HttpMock({"url": url, "spec": spec, "routes": routes, "stubs": stubs}, state)
