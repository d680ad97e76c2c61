"""Kind ``http``, in a mock file: any HTTP service, answered from routes and handlers by method and path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eve_mocks.declared import Declared
from eve_mocks.document import Document
from eve_mocks.errors import Collecting, MockError, Problem
from eve_mocks.handler import Handler
from eve_mocks.kinds.http.mock import Http, Operation, names_of, sharing
from eve_mocks.match import nearest, parse_claim
from eve_mocks.outcome import read_outcome
from eve_mocks.paths import PathTemplate
from eve_mocks.routes import METHODS, RouteTable
from eve_mocks.stubs.names import Target, find
from eve_mocks.stubs.rules import NO_RULES, Rules, read_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from eve_mocks.folder import Folder
    from eve_mocks.match import Claim
    from eve_mocks.openapi.spec import Described, Specs
    from eve_mocks.response import Json

KEYS = ("kind", "url", "spec", "routes", "stubs", "validate")
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
    is_described = False
    unread: list[Problem] = []
    copies: Mapping[str, Path] = {}
    skipped: list[Problem] = []
    if "spec" in document:
        with mistakes:
            described, is_described, unread, copies = _read_spec(name, document)
            skipped = list(_add_described(name, routes, described))
    if "routes" in document:
        with mistakes:
            _add_routes(name, routes, document.part("routes"), is_described=is_described)
    for each in handled:
        with mistakes:
            _add_handler(name, routes, each, document.folder, is_described=is_described)
    validates = True
    if "validate" in document:
        with mistakes:
            validates = document.part("validate").boolean()
    stubs = NO_RULES
    if "stubs" in document:
        with mistakes:
            stubs = _read_stubs(name, routes, document.part("stubs"), is_described=is_described)
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
        problems=(*problems, *unread, *_doubts(document, claim, routes, unapplied=bool(problems))),
        validates=validates,
        skipped=tuple(skipped),
        copies=copies,
    )


def _claim(document: Document) -> Claim:
    url = document.required("url", why="a mock claims what is under one URL", example="https://api.example.com/")
    with url.placing():
        return parse_claim(url.value)


def _read_spec(name: str, document: Document) -> Specs:
    from eve_mocks.openapi.spec import read_specs

    return read_specs(document.part("spec"), name, _claim(document))


def _add_described(name: str, table: Routes, described: Sequence[Described]) -> Iterator[Problem]:
    """Add what documents describe; a path that no request could fit is a problem, and a name that several have."""
    for id_, named in sharing(described).items():
        first, second, *_ = (f"{one.operation.method} {one.path}" for one in named)
        yield Problem.of(
            MockError(
                f"two operations are named {id_}: {first} and {second}",
                why="a stub or a pin that names it could mean either",
                fix=f"Name them in stubs and pins as {first} and {second}.",
                file=named[1].file,
                line=named[1].line,
            )
        )
    for one in described:
        try:
            template = PathTemplate(one.path)
        except MockError as error:
            yield Problem.of(error.at(one.file, one.line))
        else:
            operation = Operation.of(name, one.operation.method, template)._replace(described=one)
            table.add(one.operation.method, template, operation)


def _add(table: Routes, operation: Operation, template: PathTemplate, *, is_described: bool) -> None:
    """Add a route, beside what a document says of its operation. Raises ``MockError`` where it says nothing."""
    name = operation.target.operation
    method = name.partition(" ")[0]

    def answered(there: Operation | None) -> Operation:
        if there is not None and there.answer is not None:
            raise MockError(
                f"two routes answer {name}",
                why=f"the other is {there.target.operation}, and only one of them could answer",
                fix="Keep one of them.",
            )
        return operation if there is None else there._replace(answer=operation.answer)

    if is_described and not _is_described(table, method, template):
        raise _undescribed(table, name)
    table.amend(method, template, answered)


def _is_described(table: Routes, method: str, template: PathTemplate) -> bool:
    """Whether a document describes what a route answers: it may be for all methods, for a rest, or for one value."""
    if template.rest or method == "ANY":
        return True
    path = template.text
    return any(found.value.described is not None for found in table.find(method, path))


def _undescribed(table: Routes, operation: str) -> MockError:
    known = [one.target.operation for one in table.values() if one.described is not None]
    near = nearest(operation, known)
    return MockError(
        f"{operation} is no operation of the document",
        why="a route answers one of the service's own, and spec says which those are",
        fix=f"Did you mean {near}?" if near else "Take it out, or name it in the document.",
    )


def _add_routes(name: str, table: Routes, routes: Document, *, is_described: bool) -> None:
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
                        operation = Operation.of(name, method, template, response)
                        _add(table, operation, template, is_described=is_described)
    mistakes.tell()


def _add_handler(name: str, table: Routes, handled: _Handled, folder: Folder, *, is_described: bool) -> None:
    handler = Handler(handled.function, OFFERED, folder)
    try:
        operation = Operation.of(name, handled.method, handled.template, handler)
        _add(table, operation, handled.template, is_described=is_described)
    except MockError as error:
        raise error.at(handler.file, handler.line)  # noqa: B904 - the same error


def _read_stubs(name: str, table: Routes, stubs: Document, *, is_described: bool) -> Rules:
    def resolve(tool: str) -> Target:
        """An operation of the document or the routes, else one that the stub itself describes: nothing lists them."""
        local = tool.removeprefix(f"{name}__").removeprefix(f"{name}:")
        method, _, path = local.partition(" ")
        if not is_described and method in METHODS and path.startswith("/"):
            template = PathTemplate(path)
            if not table.holds(method, template):
                table.add(method, template, Operation.of(name, method, template))
        if named := sharing(one.described for one in table.values() if one.described).get(local):
            several = [f"{one.operation.method} {one.path}" for one in named]
            raise MockError(
                f"{tool!r} names {len(several)} operations: {', '.join(several)}",
                why="the document gives them one operationId, and a rule is for one operation",
                fix=f"Write {' or '.join(several)}.",
            )
        return find(tool, {name: names_of(table)})

    return read_rules(stubs, name, resolve)


def _doubts(document: Document, claim: Claim, routes: Routes, *, unapplied: bool) -> Iterator[Problem]:
    """What is valid, and yet cannot be what was meant."""
    if "spec" not in document and not routes.operations() and not unapplied:
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
    validate: bool | None = None,
) -> HttpMock:
    """Mock an HTTP service in Python.

    ``state`` is what each session begins with: a value, which is copied, or a function. ``routes`` are static
    answers and ``stubs`` rules that come before all others, as in a YAML file. ``spec`` names OpenAPI documents, which
    answer the rest; ``validate=False`` lets requests break them. Raises ``MockError`` for a url that cannot be claimed.
    """
    return HttpMock({"url": url, "spec": spec, "routes": routes, "stubs": stubs, "validate": validate}, state)
