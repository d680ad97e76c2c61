"""The JSON Schema of each version of OpenAPI: what in a value breaks a schema of a document.

The dialects are those of ``openapi-schema-validator``; Swagger 2.0 is draft 4 with the common ``x-nullable``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from eve_mocks.schema import ECMASCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eve_mocks.openapi.node import Documents, Node
    from eve_mocks.response import Json


class Dialect:
    """Checks values against the schemas of one document. ``answers`` is whether they are answers, or else requests."""

    def __init__(self, version: str, documents: Documents) -> None:
        self._version = version
        self._documents = documents

    def problems(self, schema: Node, value: Json, *, answers: bool = False) -> list[str]:
        """What is wrong, each with where; nothing where the value is valid."""
        found = {"$ref": schema.ref} if schema.is_in_place else schema.value
        errors = self._validator(answers=answers).evolve(schema=found).iter_errors(value)
        return [_told(error) for error in sorted(errors, key=lambda error: [str(part) for part in error.path])]

    @functools.lru_cache(maxsize=2)  # noqa: B019 - as long as the mock
    def _validator(self, *, answers: bool) -> Any:
        from jsonschema.validators import extend
        from referencing import Registry
        from referencing.jsonschema import DRAFT4, DRAFT202012

        specification = DRAFT202012 if self._version == "3.1" else DRAFT4

        def retrieve(uri: str) -> Any:
            resource: Any = specification.create_resource(self._documents.get(uri))
            return resource

        class_: Any = extend(_class(self._version, answers=answers), ECMASCRIPT)  # type: ignore[no-untyped-call]
        registry: Any = Registry(retrieve=retrieve)  # type: ignore[call-arg]  # attrs makes it
        return class_({}, registry=registry)


def _class(version: str, *, answers: bool) -> Any:
    if version == "2.0":
        from jsonschema.validators import Draft4Validator, extend

        return extend(  # type: ignore[no-untyped-call]
            Draft4Validator, {"type": _nullable, "enum": _enum_or_null(Draft4Validator.VALIDATORS["enum"])}
        )
    import openapi_schema_validator

    if version == "3.1":
        return openapi_schema_validator.OAS31Validator
    return openapi_schema_validator.OAS30ReadValidator if answers else openapi_schema_validator.OAS30WriteValidator


def _nullable(validator: Any, types: Any, instance: Json, schema: Any) -> Iterator[Any]:
    from jsonschema.validators import Draft4Validator

    if types == "file" or (instance is None and schema.get("x-nullable") is True):
        return
    yield from Draft4Validator.VALIDATORS["type"](validator, types, instance, schema)


def _enum_or_null(check: Any) -> Any:
    def enum(validator: Any, values: Any, instance: Json, schema: Any) -> Iterator[Any]:
        if not (instance is None and schema.get("x-nullable") is True):
            yield from check(validator, values, instance, schema)

    return enum


def _told(error: Any) -> str:
    where = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    message = str(error.message)
    return f"{where}: {message if len(message) < 300 else message[:296] + ' ...'}"
