"""A value for a schema, the same every time: what is required, the first of each choice, recursion cut short."""

from __future__ import annotations

import base64
import dataclasses
import itertools
import math
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from eve_mocks.openapi.merge import absolute, merged, type_of
from eve_mocks.openapi.texts import of_format, of_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eve_mocks.openapi.node import Node
    from eve_mocks.response import Json

    type Check = Callable[[Node, Json], bool]

_DEEPEST = 40
# So many options of a choice are tried.
_MOST_OPTIONS = 20
# No value is made larger than that, whatever a schema asks for.
_MOST = 10_000


class TooDeep(Exception):
    """A schema that requires itself."""


class Sampler:
    """Makes values for schemas. ``fits`` is asked whether one is valid; ``skipped`` are keywords of properties to leave
    out, such as ``writeOnly`` in an answer.
    """

    def __init__(self, fits: Check, skipped: str = "writeOnly") -> None:
        self._fits = fits
        self._skipped = skipped

    def sample(self, schema: Node) -> Json:
        """A value; the best that can be made where none is valid."""
        try:
            return self._sample(schema, ())
        except TooDeep:
            return None

    def _sample(self, schema: Node, above: tuple[str, ...]) -> Json:
        node = schema.follow()
        if not isinstance(node.value, dict):
            return {}
        if above.count(node.ref) > 1 or len(above) > _DEEPEST:
            raise TooDeep
        above = (*above, node.ref)
        first: Json = ...
        for value in itertools.islice(self._candidates(node, above), _MOST_OPTIONS):
            if self._fits(node, value):
                return value
            first = value if first is ... else first
        if first is ...:
            raise TooDeep
        return first

    def _candidates(self, node: Node, above: tuple[str, ...]) -> Iterator[Json]:
        """Values that the schema itself gives, then those of its options, then one that is made."""
        value = node.value
        if "const" in value:
            yield value["const"]
        if "example" in value:
            yield value["example"]
        examples = value.get("examples")
        yield from examples if isinstance(examples, list) else ()
        if "default" in value:
            yield value["default"]
        if isinstance(value.get("enum"), list):
            yield from value["enum"]
            return
        whole = merged(node)
        options = [option for key in ("oneOf", "anyOf") for _, option in _options(whole, key)]
        for option in options:
            try:
                yield self._combined(whole, option, above)
            except TooDeep:
                continue
        try:
            yield self._made(whole, above)
        except TooDeep:
            if not options:
                raise

    def _combined(self, whole: Node, option: Node, above: tuple[str, ...]) -> Json:
        followed = option.follow()
        if above.count(followed.ref) > 1 or len(above) > _DEEPEST:
            raise TooDeep
        rest = {key: part for key, part in whole.value.items() if key not in ("oneOf", "anyOf")}
        both = {**rest, "allOf": [absolute(followed).value]}
        inside = (*above, followed.ref)
        value = next(self._candidates(merged(dataclasses.replace(whole, value=both)), inside))
        name = whole.mapping("discriminator").get("propertyName") or whole.text("discriminator")
        if isinstance(value, dict) and isinstance(name, str):
            value = {**value, name: _discriminating(whole, option, name, value.get(name))}
        return value

    def _made(self, node: Node, above: tuple[str, ...]) -> Json:
        makers: dict[str, Callable[[Node, tuple[str, ...]], Json]] = {
            "object": self._object,
            "array": self._array,
            "string": lambda node, _: _text(node.value),
            "integer": lambda node, _: _number(node.value, whole=True),
            "number": lambda node, _: _number(node.value, whole=False),
            "boolean": lambda _node, _: True,
            "null": lambda _node, _: None,
        }
        make = makers.get(type_of(node.value) or "object")
        return {} if make is None else make(node, above)

    def _object(self, node: Node, above: tuple[str, ...]) -> Json:
        given = node.value.get("required")
        required = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
        properties = node.get("properties")
        described = properties.value if properties is not None and isinstance(properties.value, dict) else {}
        known = {} if properties is None else {name: properties.child(name) for name in described}
        found: dict[str, Json] = {}
        for name in required:
            if name in known:
                if not self._is_skipped(known[name]):
                    found[name] = self._sample(known[name], above)
            else:
                found[name] = self._extra(node, above)
        least = _count(node.value, "minProperties")
        for name, schema in known.items():
            if len(found) < least and name not in found and not self._is_skipped(schema):
                try:
                    found[name] = self._sample(schema, above)
                except TooDeep:
                    continue
        for number in itertools.count(1):
            if len(found) >= least:
                return found
            found[f"key{number}"] = self._extra(node, above)
        return found

    def _is_skipped(self, schema: Node) -> bool:
        followed = schema.follow().value
        return isinstance(followed, dict) and followed.get(self._skipped) is True

    def _extra(self, node: Node, above: tuple[str, ...]) -> Json:
        """A property that only ``additionalProperties`` describes."""
        more = node.get("additionalProperties")
        return self._sample(more, above) if more is not None and isinstance(more.value, dict) else "value"

    def _array(self, node: Node, above: tuple[str, ...]) -> Json:
        items = node.get("items")
        tuple_ = "items" if items is not None and isinstance(items.value, list) else "prefixItems"  # as in draft 4
        found = [self._sample(one, above) for _, one in _options(node, tuple_)]
        items = None if tuple_ == "items" else items
        least = _count(node.value, "minItems")
        most = _count(node.value, "maxItems") if "maxItems" in node.value else 1
        wanted = max(least, len(found) or 1) if most > 0 else 0
        if items is None or items.value is False:
            return [*found, *(["value"] * (wanted - len(found)) if least > len(found) else [])]
        try:
            made = self._sample(items, above)
        except TooDeep:
            if least > len(found):
                raise
            return found
        while len(found) < wanted:
            found.append(made)
        if node.value.get("uniqueItems") is True and len(found) > 1:
            return _different(found, items)
        return found


def _count(schema: dict[str, Any], key: str) -> int:
    """How many there have to be: as many as can be made, and none where it is no number."""
    value = schema.get(key, 0)
    return min(int(value), _MOST) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0


def _options(node: Node, key: str) -> list[tuple[Any, Node]]:
    part = node.get(key)
    if part is None or not isinstance(part.value, list):
        return []
    return [(place, part.child(place)) for place in range(len(part.value))]


def _discriminating(whole: Node, option: Node, name_of: str, value: Json) -> Json:
    """What the discriminating property of an option says: its name in the mapping, or that of its schema."""
    ref = option.value.get("$ref") if isinstance(option.value, dict) else None
    if not isinstance(ref, str):
        return value if value is not None else "value"
    mapping = whole.mapping("discriminator").get("mapping")
    wanted = option.follow().ref
    for name, target in mapping.items() if isinstance(mapping, dict) else ():
        if urljoin(whole.uri, str(target)) == wanted or target == ref.rpartition("/")[2]:
            return name
    properties = merged(option.follow()).mapping("properties")
    said: Any = properties.get(name_of)
    return value if isinstance(said, dict) and said.keys() & {"const", "enum"} else ref.rpartition("/")[2]


def _different(values: list[Json], items: Node) -> list[Json]:
    """Values that are not the same: numbers and texts are counted up, members of an enum are taken in turn."""
    choices = items.follow().value
    enum = choices.get("enum") if isinstance(choices, dict) else None
    if isinstance(enum, list):
        return enum[: len(values)]
    return [
        value + place
        if isinstance(value, int | float) and not isinstance(value, bool)
        else f"{value}{place or ''}"
        if isinstance(value, str)
        else value
        for place, value in enumerate(values)
    ]


def _text(schema: dict[str, Any]) -> str:
    least, most = _count(schema, "minLength"), schema.get("maxLength")
    pattern = schema.get("pattern")
    found = of_format(schema.get("format"))
    if isinstance(pattern, str) and found is None:
        found = of_pattern(pattern, least)
    if found is None:
        found = "text"
    if len(found) < least:
        found = found + "x" * (least - len(found)) if schema.get("format") != "byte" else _base64(least)
    return found[:most] if isinstance(most, int) and schema.get("format") is None else found


def _base64(length: int) -> str:
    return base64.b64encode(b"x" * length).decode()


def _number(schema: dict[str, Any], *, whole: bool) -> float:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    step: float = 1 if whole else 0.5
    if isinstance(above, bool):
        above, low = (low, None) if above else (None, low)
    if isinstance(below, bool):
        below, high = (high, None) if below else (None, high)
    if isinstance(above, int | float):
        low = max(low, above + step) if isinstance(low, int | float) else above + step
    if isinstance(below, int | float):
        high = min(high, below - step) if isinstance(high, int | float) else below - step
    value: float = 1
    if isinstance(low, int | float):
        value = max(value, low)
    if isinstance(high, int | float) and value > high:
        value = high if not isinstance(low, int | float) or high >= low else (low + high) / 2
    multiple = schema.get("multipleOf")
    if isinstance(multiple, int | float) and multiple > 0:
        value = math.ceil(value / multiple) * multiple
        if isinstance(high, int | float) and value > high:
            value = math.floor(high / multiple) * multiple
    return math.ceil(value) if whole and value != int(value) else int(value) if whole else value
