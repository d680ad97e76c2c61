"""The mock of an HTTP service: which route answers a request, and what is told where none does."""

from __future__ import annotations

import dataclasses
import json
from types import MappingProxyType
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
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from eve_mocks.errors import Problem
    from eve_mocks.match import Claim
    from eve_mocks.openapi.spec import Described
    from eve_mocks.paths import PathTemplate
    from eve_mocks.routes import Found
    from eve_mocks.session import Session
    from eve_mocks.stubs.playback import NearMiss
    from eve_mocks.stubs.rules import Rule, Rules


_NONE: Mapping[str, Path] = MappingProxyType({})


class Operation(NamedTuple):
    """A method and path, what answers it after the stubs, and what a document says of it."""

    target: Target
    answer: Response | Handler | None
    described: Described | None = None

    @classmethod
    def of(cls, mock: str, method: str, template: PathTemplate, answer: Response | Handler | None = None) -> Operation:
        return cls(Target(mock, f"{method} {template.text}"), answer)


def names_of(table: RouteTable[Operation]) -> dict[str, str]:
    """The operations by what they are called: as they are, and by the ``operationId`` of a document that one has."""
    found = {operation: operation for operation in table.operations()}
    operations = list(table.values())
    shared = sharing(one.described for one in operations if one.described is not None)
    for operation in operations:
        if operation.described is not None and (id_ := operation.described.operation.id) and id_ not in shared:
            found.setdefault(id_, operation.target.operation)
    return found


def sharing(described: Iterable[Described]) -> dict[str, list[Described]]:
    """The operations that share an ``operationId``, which no document may have twice, by it."""
    found: dict[str, list[Described]] = {}
    for one in described:
        if id_ := one.operation.id:
            found.setdefault(id_, []).append(one)
    return {id_: named for id_, named in found.items() if len(named) > 1}


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
        validates: bool = True,
        skipped: tuple[Problem, ...] = (),
        copies: Mapping[str, Path] = _NONE,
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
        self._validates = validates
        self.copies = copies  # documents that were pulled, by where they are from
        self.skipped = skipped  # what no request could ask for, as a document has it

    def described(self) -> list[Described]:
        """What documents say of its operations."""
        return [operation.described for operation in self._routes.values() if operation.described is not None]

    def operations(self) -> list[str]:
        return self._routes.operations()

    def names(self) -> dict[str, str]:
        return names_of(self._routes)

    def entries(self) -> list[str]:
        return []

    def check(self, rule: Rule) -> None:
        """Accept any: whatever an outcome is, HTTP carries it."""

    def reads_body(self, request: Request) -> bool:
        return any(
            (isinstance(answer, Handler) and not answer.names.keys().isdisjoint(("args", "request")))
            or any("body" in rule.match for rule in self.stubs.of(target))
            or (described is not None and self._validates)
            for _, _, (target, answer, described) in self._routes.find(
                request.method, self._claim.relative(request.path)
            )
        )

    async def answer(self, request: Request, session: Session) -> Answer:
        path = self._claim.relative(request.path)
        missed: tuple[Sequence[Rule], Json] | None = None
        fitting = list(self._routes.find(request.method, path))
        document = next((one for one in fitting if one.value.described is not None), None)
        if document is not None and self._validates and (refused := _refusal(document, request)) is not None:
            return Answer(response=refused, operation=f"{request.method} {document.template.text}")
        async with session.turn(self.name):
            for template, params, (target, answer, described) in fitting:
                operation = f"{request.method} {template.text}"
                if rules := session.stubs.rules(target, self.stubs):
                    is_asked = any(rule.match or rule.ask for rule in rules)
                    given = _arguments(request, params, described) if is_asked else {}
                    if played := await session.stubs.answer(rules, given):
                        return Answer(
                            response=played.outcome.over_http,
                            operation=operation,
                            stub=played.rule.label,
                            position=played.position,
                        )
                    missed = missed or (rules, given)
                response = (
                    await self._ask(answer, params, request, session, described)
                    if isinstance(answer, Handler)
                    else answer
                )
                if response is not None:
                    return Answer(response=response, operation=operation)
        if document is not None and (told := _told(document)) is not None:
            return Answer(response=told, operation=f"{request.method} {document.template.text}")
        return self._not_found(request.method, path, nearest_miss(*missed) if missed else None)

    async def _ask(
        self,
        handler: Handler,
        params: dict[str, str],
        request: Request,
        session: Session,
        described: Described | None,
    ) -> Response | None:
        """The handler's answer; None where it passes to the next."""
        values: dict[str, Callable[[], object]] = {
            "args": lambda: _arguments(request, params, described),
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


def _arguments(request: Request, params: dict[str, str], described: Described | None) -> dict[str, Json]:
    """The input as stubs and handlers see it: typed, where a document tells the types."""
    if described is None:
        return arguments(request, params)
    from eve_mocks.kinds.http.described import typed

    found = typed(described, request, params)
    return {**arguments(dataclasses.replace(request, body=b""), params), **found}


def _refusal(found: Found[Operation], request: Request) -> Response | None:
    from eve_mocks.kinds.http.described import refusal

    assert found.value.described is not None  # noqa: S101 - chosen for it
    return refusal(found.value.described, request, found.params)


def _told(found: Found[Operation]) -> Response | None:
    from eve_mocks.kinds.http.described import answer

    assert found.value.described is not None  # noqa: S101 - chosen for it
    return answer(found.value.described)


def _response(result: Json | Response) -> Response:
    if isinstance(result, Response):
        return result
    return Response(204) if result is None else Response(json=result)
