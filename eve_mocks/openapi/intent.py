"""What documents mean where their letter says otherwise, so that no request is refused that the service would take.

Many a document of version 3.1 still says ``nullable``, or says it beside ``allOf``; requires of a request what is
``readOnly``; has options that overlap but for the value of their discriminator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from eve_mocks.response import Json

_NULLABLE = ("nullable", "x-nullable")


def keywords(strict: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a dialect as requests are held against them."""
    found = {key: nullable(check, _NULLABLE) for key, check in strict.items()}
    for key in ("oneOf", "anyOf"):
        found[key] = nullable(chosen(strict[key]), _NULLABLE)
    # Sent back by clients that change what they were given; to be ignored (OpenAPI 3.0.3, Fixed Fields of a schema).
    return {**found, "required": required("readOnly"), "readOnly": _nothing}


def nullable(check: Any, words: Collection[str]) -> Any:
    """A keyword that lets null be where its schema says so by one of the words."""

    def lenient(validator: Any, value: Any, instance: Json, schema: Any) -> Iterable[Any]:
        if instance is None and any(schema.get(word) is True for word in words):
            return ()
        return check(validator, value, instance, schema) or ()

    return lenient


def chosen(check: Any) -> Any:
    """A choice that is made by the discriminator where it names an option, and else as ever."""

    def choose(validator: Any, options: Any, instance: Json, schema: Any) -> Iterable[Any]:
        option = _named(options, instance, schema.get("discriminator"))
        if option is None:
            return check(validator, options, instance, schema) or ()
        errors: Iterable[Any] = validator.descend(instance, option)
        return errors

    return choose


def _named(options: Any, instance: Json, discriminator: Any) -> Any:
    """The option that an instance says it is, by the mapping or by the name of its schema."""
    if not isinstance(discriminator, dict) or not isinstance(instance, dict):
        return None
    name = instance.get(str(discriminator.get("propertyName")))
    mapping = discriminator.get("mapping")
    if not isinstance(name, str):
        return None
    target = mapping.get(name, name) if isinstance(mapping, dict) else name
    for option in options:
        ref = option.get("$ref") if isinstance(option, dict) else None
        if isinstance(ref, str) and target in (ref, ref.rpartition("/")[2]):
            return option
    return None


def required(but: str) -> Any:
    """The keyword ``required`` but for properties of the other direction: ``readOnly`` or ``writeOnly``."""

    def check(_validator: Any, names: Any, instance: Json, schema: Any) -> Iterator[Any]:
        from jsonschema.exceptions import ValidationError

        if not isinstance(instance, dict) or not isinstance(names, list):
            return
        known = schema.get("properties", {})
        for name in names:
            described = known.get(name)
            if name not in instance and not (isinstance(described, dict) and described.get(but) is True):
                yield ValidationError(f"{name!r} is a required property")

    return check


def _nothing(*_: Any) -> tuple[()]:
    return ()
