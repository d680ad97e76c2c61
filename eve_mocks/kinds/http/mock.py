"""The mock of an HTTP service: which route answers a request, and what is told where none does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from eve_mocks.errors import MockError
from eve_mocks.handler import Handler
from eve_mocks.http_input import arguments
from eve_mocks.model import Answer, BadRequest, Fault, Request, Throw, ToolError
from eve_mocks.outcome import thrown
from eve_mocks.response import Json, Response
from eve_mocks.routes import METHODS, Miss, RouteTable
from eve_mocks.stubs.names import Target
from eve_mocks.stubs.playback import nearest_miss

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eve_mocks.errors import Problem
    from eve_mocks.match import Claim
    from eve_mocks.paths import PathTemplate
    from eve_mocks.session import Session
    from eve_mocks.stubs.playback import NearMiss
    from eve_mocks.stubs.rules import Rule, Rules


class Operation(NamedTuple):
    """A method and path, and what answers it after the stubs."""

    target: Target
    answer: Response | Handler | None

    @classmethod
    def of(cls, mock: str, method: str, template: PathTemplate, answer: Response | Handler | None = None) -> Operation:
        return cls(Target(mock, f"{method} {template.text}"), answer)


class Http:
    """A finished mock."""

    kind: ClassVar[str] = "http"

    def __init__(
        self,
        *,
        name: str,
        claim: Claim,
        url: str,
        file: str,
        line: int | None,
        routes: RouteTable[Operation],
        stubs: Rules,
        seed: object,
        problems: tuple[Problem, ...],
    ) -> None:
        self.name = name
        self.url = url
        self.file = file
        self.line = line
        self.problems = problems
        self.stubs = stubs
        self._routes = routes
        self._claim = claim
        self.seed = seed

    def operations(self) -> list[str]:
        return self._routes.operations()

    def names(self) -> dict[str, str]:
        return {operation: operation for operation in self.operations()}

    def entries(self) -> list[str]:
        return []

    def check(self, rule: Rule) -> None:
        """Accept any: whatever an outcome is, HTTP carries it."""

    def reads_body(self, request: Request) -> bool:
        return any(
            (isinstance(answer, Handler) and not answer.names.keys().isdisjoint(("args", "request")))
            or any("body" in rule.match for rule in self.stubs.of(target))
            for _, _, (target, answer) in self._routes.find(request.method, self._claim.relative(request.path))
        )

    async def answer(self, request: Request, session: Session) -> Answer:
        path = self._claim.relative(request.path)
        missed: tuple[Sequence[Rule], Json] | None = None
        async with session.turn(self.name):
            for template, params, (target, answer) in self._routes.find(request.method, path):
                operation = f"{request.method} {template.text}"
                if rules := session.stubs.rules(target, self.stubs):
                    given = arguments(request, params) if any(rule.match or rule.ask for rule in rules) else {}
                    if played := await session.stubs.answer(rules, given):
                        return Answer(
                            response=played.outcome.over_http,
                            operation=operation,
                            stub=played.rule.label,
                            position=played.position,
                        )
                    missed = missed or (rules, given)
                response = await self._ask(answer, params, request, session) if isinstance(answer, Handler) else answer
                if response is not None:
                    return Answer(response=response, operation=operation)
        return self._not_found(request.method, path, nearest_miss(*missed) if missed else None)

    async def _ask(
        self, handler: Handler, params: dict[str, str], request: Request, session: Session
    ) -> Response | None:
        """The handler's answer; None where it passes to the next."""
        values: dict[str, Callable[[], object]] = {
            "args": lambda: arguments(request, params),
            "request": lambda: request,
            "params": lambda: params,
            "state": lambda: session.state(self.name, self.seed),
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

    def _not_found(self, method: str, path: str, stub: NearMiss | None) -> Answer:
        miss = self._routes.miss(method, path)
        near: tuple[str, str] | None = stub or (miss and (miss.operation, miss.difference))
        fix = stub.fix if stub else self._fix(method, path, miss)
        error = {"message": f"the mock {self.name} has no answer for {method} {path}"}
        if near:
            error |= {"nearest": near[0], "difference": near[1]}
        return Answer(
            response=Response(404, json={"error": {**error, "fix": fix}}),
            operation=f"{method} {path}",
            nearest=": ".join(near) if near else None,
            unanswered=fix,
        )

    def _fix(self, method: str, path: str, miss: Miss | None) -> str:
        """What would answer a request that was missed."""
        if miss and miss.passed:
            return f"Let the handler of {miss.operation} answer this call too, or add an answer that is asked after it."
        word = method if method in METHODS else "ANY"
        path = miss.template.text if miss and miss.template else path
        if self.file.endswith(".py"):
            return f"Add a handler for {word} {path} to {self.file}."
        # In a flow mapping, these would end a plain scalar.
        key = json.dumps(path) if any(mark in path for mark in "{},") or path.endswith(":") else path
        return f"Add to {self.file}: routes: {{{key}: {{{word}: {{response: …}}}}}}"


def _response(result: Json | Response) -> Response:
    if isinstance(result, Response):
        return result
    return Response(204) if result is None else Response(json=result)
