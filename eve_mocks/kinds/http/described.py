"""What a document says of an operation, as HTTP: the answer that it describes, and the requests that break it."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

from eve_mocks.errors import MockError, Problem
from eve_mocks.model import BadRequest
from eve_mocks.openapi import requests
from eve_mocks.openapi.node import Unresolvable
from eve_mocks.openapi.operation import JSON_TYPE
from eve_mocks.response import Response

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.model import Request
    from eve_mocks.openapi.operation import Told
    from eve_mocks.openapi.spec import Described
    from eve_mocks.response import Json

_MOST_TOLD = 20


@contextlib.contextmanager
def _placed(described: Described) -> Iterator[None]:
    """Tell a reference that leads nowhere, or a schema that is none, at its operation."""

    def wrong(what: str, why: str, fix: str) -> MockError:
        message = f"{described.operation.method} {described.operation.path}: {what}"
        return MockError(message, why=why, fix=fix, file=described.file, line=described.line)

    try:
        yield
    except (MockError, BadRequest):
        raise
    except Unresolvable as error:
        fix = "Correct the document, or put what it names into the mocks folder."
        raise wrong(str(error), "the document is read as it is, and nothing is downloaded", fix) from error
    except Exception as error:
        told = str(error).partition("\n")[0]
        why = f"reading it failed: {type(error).__name__}: {told}"
        raise wrong("one of its schemas is none", why, "Correct it in the document.") from error


def typed(described: Described, request: Request, params: Mapping[str, str]) -> dict[str, Json]:
    """The parameters and the body, as the types of their schemas. Raises ``BadRequest`` or ``MockError``."""
    with _placed(described):
        given = requests.parameters(described.operation, request, params)
        content = requests.body(described.operation, request)
    found = {parameter.name: value for parameter, value in given.items()}
    return found if content is ... else {**found, "body": content}


def refusal(described: Described, request: Request, params: Mapping[str, str]) -> Response | None:
    """The 400 of a request that breaks the document. Raises ``BadRequest`` or ``MockError``."""
    operation = described.operation
    with _placed(described):
        given = requests.parameters(operation, request, params)
        content = requests.body(operation, request)
        found = list(requests.problems(operation, request, given, content, described.spec.dialect))
    if not found:
        return None
    told = [{"where": where, "why": why} for where, why in found[:_MOST_TOLD]]
    first = f"{found[0][0]}: {found[0][1]}"
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    message = f"the request breaks {described.file}: {first}{more}"
    return Response(400, json={"error": {"message": message, "problems": told}})


@functools.lru_cache(maxsize=10_000)
def answer(described: Described) -> Response | None:
    """What the document says is answered; None where it says nothing. Raises ``MockError``."""
    with _placed(described):
        told = described.operation.told
        if told is None:
            return None
        sample = described.spec.sampler.sample
        headers = {name: _as_text(sample(schema)) for name, schema in told.headers.items() if name != "content-type"}
        if told.media_type is None:
            return Response(told.status, headers=headers)
        value = _value(described, told)
    if JSON_TYPE.fullmatch(told.media_type.partition(";")[0].strip()):
        return Response(told.status, json=value, headers={"content-type": told.media_type, **headers})
    body = _as_text(value).encode()
    return Response(told.status, body=body, headers={"content-type": told.media_type, **headers})


def _value(described: Described, told: Told) -> Any:
    """The first example that is valid, else one that is made."""
    if told.schema is None:
        return next(iter(told.examples), {})
    for example in told.examples:
        if not described.spec.dialect.problems(told.schema, example, answers=True):
            return example
    return described.spec.sampler.sample(told.schema)


def _as_text(value: Json) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value)


def faults(described: Described) -> Iterator[Problem]:
    """What the document itself gets wrong: references that lead nowhere, examples that break their schemas."""
    operation, dialect = described.operation, described.spec.dialect

    def problem(what: str, why: str, fix: str) -> Problem:
        message = f"{operation.method} {operation.path}: {what}"
        return Problem.of(MockError(message, why=why, fix=fix, file=described.file, line=described.line))

    try:
        with _placed(described):
            told, _, _ = operation.told, operation.parameters, operation.body
            if told is None:
                yield problem("it describes no answer", "a request to it gets 404", "Add a response, or a route.")
                return
            if told.schema is None:
                return
            for example in told.examples:
                if wrong := dialect.problems(told.schema, example, answers=True):
                    why = "an example is answered only where it is valid"
                    yield problem(
                        f"an example breaks its schema: {wrong[0]}", why, "Correct the example or the schema."
                    )
            if wrong := dialect.problems(told.schema, _value(described, told), answers=True):
                why = "no valid answer could be made of its schema"
                yield problem(f"its answer breaks its schema: {wrong[0]}", why, "Add an example, or a route for it.")
    except MockError as error:
        yield Problem.of(error.at(described.file, described.line))
