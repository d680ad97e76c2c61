"""The JSON Schema of each version of OpenAPI: what in a value breaks a schema of a document.

The dialects are those of ``openapi-schema-validator``; Swagger 2.0 is draft 4 with the common ``x-nullable``. Answers
are held to the letter of them, requests to what their documents mean (``intent``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eve_mocks.openapi import intent
from eve_mocks.openapi.node import Unresolvable
from eve_mocks.schema import ECMASCRIPT

if TYPE_CHECKING:
    from eve_mocks.openapi.node import Documents, Node
    from eve_mocks.response import Json


class Dialect:
    """Checks values against the schemas of one document. ``answers`` is whether they are answers, or else requests."""

    def __init__(self, version: str, documents: Documents) -> None:
        self._version = version
        self._documents = documents
        self._validators: dict[bool, Any] = {}

    def problems(self, schema: Node, value: Json, *, answers: bool = False) -> list[str]:
        """What is wrong, each with where; nothing where the value is valid. Raises ``Unresolvable``."""
        from referencing.exceptions import Unresolvable as Unreferenced

        if answers not in self._validators:
            self._validators[answers] = self._validator(answers=answers)
        found = {"$ref": schema.ref} if schema.is_in_place else schema.value
        try:
            errors = list(self._validators[answers].evolve(schema=found).iter_errors(value))
        except Unreferenced as error:
            raise Unresolvable(error.ref, "leads nowhere") from error
        return [_told(error) for error in sorted(errors, key=lambda error: [str(part) for part in error.path])]

    def _validator(self, *, answers: bool) -> Any:
        from jsonschema.validators import extend
        from referencing import Registry
        from referencing.jsonschema import DRAFT4, DRAFT202012

        specification = DRAFT202012 if self._version == "3.1" else DRAFT4

        def retrieve(uri: str) -> Any:
            resource: Any = specification.create_resource(self._documents.get(uri))
            return resource

        base = _class(self._version, answers=answers)
        strict: dict[str, Any] = {**base.VALIDATORS, **ECMASCRIPT}
        of_answers = {**strict, "required": intent.required("writeOnly")}
        keywords = of_answers if answers else intent.keywords(strict)
        class_: Any = extend(base, keywords)  # type: ignore[no-untyped-call]
        registry: Any = Registry(retrieve=retrieve)  # type: ignore[call-arg]  # attrs makes it
        return class_({}, registry=registry)


def _class(version: str, *, answers: bool) -> Any:
    from jsonschema.validators import Draft4Validator, Draft202012Validator, extend

    if version == "2.0":
        plain = Draft4Validator.VALIDATORS
        nulls = {key: intent.nullable(plain[key], ("x-nullable",)) for key in ("type", "enum")}
        return extend(Draft4Validator, {**nulls, "type": _or_file(nulls["type"])})  # type: ignore[no-untyped-call]
    import openapi_schema_validator as library

    if version == "3.1":
        return library.OAS31Validator
    class_ = library.OAS30ReadValidator if answers else library.OAS30WriteValidator
    # The library follows a discriminator beside allOf, without end where that is of the schema itself, and takes names
    # in a mapping for files (OpenAPI 3.0.3, Discriminator Object). It tells twice of a null.
    plain = Draft202012Validator.VALIDATORS
    choices = {key: intent.chosen(plain[key]) for key in ("oneOf", "anyOf")}
    own = {"allOf": plain["allOf"], "type": intent.nullable(plain["type"], ("nullable",)), **choices}
    return extend(class_, own)  # type: ignore[no-untyped-call]


def _or_file(check: Any) -> Any:
    """The ``type`` of Swagger 2.0, which has one for files (Parameter Object, Response Object)."""
    return lambda validator, types, instance, schema: (
        () if types == "file" else check(validator, types, instance, schema)
    )


def _told(error: Any) -> str:
    where = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    message = str(error.message)
    return f"{where}: {message if len(message) < 300 else message[:296] + ' ...'}"
