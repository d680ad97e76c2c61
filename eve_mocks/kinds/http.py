"""Kind ``http``: any HTTP service, answered from routes and handlers by method and path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from eve_mocks.declared import Declared
from eve_mocks.document import Document
from eve_mocks.errors import MockError
from eve_mocks.handler import Handler
from eve_mocks.http_input import arguments
from eve_mocks.match import Claim, PathTemplate, parse_claim
from eve_mocks.model import Answer, BadRequest, Fault, Json, Request, Response, Throw, ToolError
from eve_mocks.outcome import read_outcome, thrown
from eve_mocks.routes import METHODS, RouteTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from eve_mocks.folder import Folder
    from eve_mocks.session import Session

KEYS = ("kind", "url", "spec", "routes")
OFFERED = ("args", "request", "params", "state", "session")


class Http:
    """A finished mock. ``seed`` is the first state of each session: a value, copied, or a function."""

    kind: ClassVar[str] = "http"

    def __init__(
        self, *, name: str, claim: Claim, url: str, file: str, line: int | None, spec: list[str], seed: object = dict
    ) -> None:
        self.name = name
        self.url = url
        self.file = file
        self.line = line
        self.spec = spec
        self.routes: RouteTable[Response | Handler] = RouteTable()
        self._claim = claim
        self._seed = seed

    def operations(self) -> list[str]:
        return self.routes.operations()

    def reads_body(self, request: Request) -> bool:
        return any(
            isinstance(found.value, Handler) and not found.value.names.keys().isdisjoint(("args", "request"))
            for found in self.routes.find(request.method, self._claim.relative(request.path))
        )

    async def answer(self, request: Request, session: Session) -> Answer:
        path = self._claim.relative(request.path)
        async with session.turn(self.name):
            for template, params, value in self.routes.find(request.method, path):
                response = value if isinstance(value, Response) else await self._ask(value, params, request, session)
                if response is not None:
                    return Answer(response=response, operation=f"{request.method} {template.text}")
        return self._not_found(request.method, path)

    async def _ask(
        self, handler: Handler, params: dict[str, str], request: Request, session: Session
    ) -> Response | None:
        """The handler's answer; None where it passes to the next."""
        values: dict[str, Callable[[], object]] = {
            "args": lambda: arguments(request, params),
            "request": lambda: request,
            "params": lambda: params,
            "state": lambda: session.state(self.name, self._seed),
            "session": lambda: session.id,
        }
        try:
            result = await handler.call(values)
            return None if result is NotImplemented else _response(result)
        except ToolError as error:
            return thrown(str(error), "ToolError")
        except Throw as error:
            return thrown(error.message, error.name)
        except Fault as error:
            return Response(fault=error.kind)
        except BadRequest as error:
            return Response(400, json={"error": {"message": str(error)}})
        except MockError as error:
            raise error.at(handler.file, handler.line)  # noqa: B904 - the same error

    def _not_found(self, method: str, path: str) -> Answer:
        miss = self.routes.miss(method, path)
        error = {"message": f"the mock {self.name} has no answer for {method} {path}"}
        if miss:
            error |= {"nearest": miss.operation, "difference": miss.difference}
        return Answer(
            response=Response(404, json={"error": error}),
            operation=f"{method} {path}",
            nearest=f"{miss.operation}: {miss.difference}" if miss else None,
        )


def _response(result: Json | Response) -> Response:
    if isinstance(result, Response):
        return result
    return Response(204) if result is None else Response(json=result)


def from_document(name: str, document: Document) -> Http:
    """The mock of a YAML or JSON file. Raises ``MockError``."""
    document.mapping(KEYS)
    url = document.required("url", why="a mock claims what is under one URL", example="https://api.example.com/")
    with url.placing():
        claim = parse_claim(url.value)
    spec = _spec(document.part("spec")) if "spec" in document else []
    mock = Http(name=name, claim=claim, url=url.value, file=document.file, line=url.line, spec=spec)
    if "routes" in document:
        _add_routes(mock, document.part("routes"))
    return mock


def _spec(spec: Document) -> list[str]:
    parts = [part for _, part in spec.parts()] if isinstance(spec.value, list) else [spec]
    return [part.text(example="spec: schemas/shop.json") for part in parts]


def _add_routes(mock: Http, routes: Document) -> None:
    routes.mapping(example="routes: {/v1/pages: {GET: {response: {ok: true}}}}")
    for path, methods in routes.parts():
        with methods.placing():
            template = PathTemplate(path)
        methods.mapping(METHODS, example="GET: {response: {ok: true}}")
        for method, outcome in methods.parts():
            with outcome.placing():
                mock.routes.add(method, template, read_outcome(outcome))


class _Handled(NamedTuple):
    method: str
    template: PathTemplate
    function: Callable[..., Any]


class HttpMock(Declared):
    """What ``http_mock`` gives to a Python file: its decorators add handlers."""

    def __init__(self, url: str, *, spec: str | list[str] | None, state: object, routes: dict[str, Any] | None) -> None:
        super().__init__()
        self._url = url
        self._claim = parse_claim(url)
        self._spec = spec
        self._seed = dict if state is None else state
        self._routes = routes
        self._handled: list[_Handled] = []

    def route[F: Callable[..., Any]](self, method: str, path: str) -> Callable[[F], F]:
        """Register a handler for a method (or ``ANY``) and a path relative to the mock's url."""
        template = PathTemplate(path)

        def register(function: F) -> F:
            self._handled.append(_Handled(method.upper(), template, function))
            return function

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
        document = Document.from_python(
            {"spec": self._spec, "routes": self._routes}, file=folder.show(self.file), line=self.line, folder=folder
        )
        mock = Http(
            name=name,
            claim=self._claim,
            url=self._url,
            file=document.file,
            line=self.line,
            spec=[] if self._spec is None else _spec(document.part("spec")),
            seed=self._seed,
        )
        if self._routes is not None:
            _add_routes(mock, document.part("routes"))
        for method, template, function in self._handled:
            handler = Handler(function, OFFERED, folder)
            try:
                mock.routes.add(method, template, handler)
            except MockError as error:
                raise error.at(handler.file, handler.line)  # noqa: B904 - the same error
        return mock


def http_mock(
    url: str,
    *,
    spec: str | list[str] | None = None,
    state: object = None,
    routes: dict[str, Any] | None = None,
) -> HttpMock:
    """Mock an HTTP service in Python.

    ``state`` is what each session begins with: a value, which is copied, or a function. ``routes`` are static
    answers, as in a YAML file. Raises ``MockError`` for a url that cannot be claimed.
    """
    return HttpMock(url, spec=spec, state=state, routes=routes)
