"""One operation of a document, whichever version it is of: parameters, body, and the answer that it describes."""

from __future__ import annotations

import dataclasses
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from eve_mocks.openapi.node import Node

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The style of a parameter where none is said, by where it stands (OpenAPI 3.1, Parameter Object).
_STYLES = {"query": "form", "cookie": "form", "path": "simple", "header": "simple"}
# What Swagger 2.0 calls them (collectionFormat): the style, and whether each value has its own name.
_COLLECTIONS = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "tsv": ("tabDelimited", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}
# Headers that are described elsewhere (OpenAPI 3.1, Parameter Object, name).
_NOT_PARAMETERS = ("accept", "content-type", "authorization")
JSON_TYPE = re.compile(r"application/json|[\w.+-]+/[\w.+-]*\+json|\*/\*|application/\*", re.IGNORECASE)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parameter:
    """``schema`` may be None; with ``media_type``, the text is of that type, as JSON is."""

    name: str
    location: str
    required: bool
    schema: Node | None
    style: str
    explode: bool
    media_type: str | None = None


class Body(NamedTuple):
    """What a request may carry: the schema of each media type."""

    required: bool
    content: Mapping[str, Node | None]
    encodings: Mapping[str, Mapping[str, Any]]


class Told(NamedTuple):
    """The answer that the document describes. ``examples`` are in its order, ``schema`` is None for no body."""

    status: int
    media_type: str | None
    schema: Node | None
    examples: list[Any]
    headers: Mapping[str, Node]


class Operation:
    """``path`` is as the document has it, ``item`` the path's entry and ``root`` the whole document."""

    def __init__(self, method: str, path: str, item: Node, root: Node) -> None:
        self.method = method
        self.path = path
        self.node = item.child(method.lower()).follow()
        self._item = item
        self._root = root
        self._version = version_of(root.value)

    @property
    def id(self) -> str | None:
        """Its ``operationId``."""
        return self.node.text("operationId")

    @cached_property
    def parameters(self) -> list[Parameter]:
        """Those of the path and of the operation itself, which come before those. Raises ``Unresolvable``."""
        found: dict[tuple[str, str], Parameter] = {}
        for owner in (self._item, self.node):
            parameters = owner.get("parameters")
            for _, one in parameters.parts() if parameters is not None else ():
                name, location = one.text("name"), one.text("in")
                if name is None or location not in _STYLES:
                    continue
                if location == "header" and name.lower() in _NOT_PARAMETERS:
                    continue
                found[name, location] = self._parameter(one, name, location)
        return list(found.values())

    def _parameter(self, node: Node, name: str, location: str) -> Parameter:
        required = node.value.get("required") is True or location == "path"
        if self._version == "2.0":
            style, explode = _COLLECTIONS.get(node.text("collectionFormat") or "csv", _COLLECTIONS["csv"])
            schema: Node | None = node
            return Parameter(
                name=name, location=location, required=required, schema=schema, style=style, explode=explode
            )
        style = node.text("style") or _STYLES[location]
        explode = node.value.get("explode", style == "form") is True
        schema, media_type = node.get("schema"), None
        content = node.get("content")
        for type_, media in content.parts() if content is not None else ():
            schema, media_type = media.get("schema"), type_
        return Parameter(
            name=name,
            location=location,
            required=required,
            schema=schema,
            style=style,
            explode=explode,
            media_type=media_type,
        )

    @cached_property
    def body(self) -> Body | None:
        """What a request carries. Raises ``Unresolvable``."""
        if self._version == "2.0":
            return self._body_of_2()
        node = self.node.get("requestBody")
        content = None if node is None else node.get("content")
        if node is None or content is None:
            return None
        media = dict(content.parts())
        return Body(
            required=node.value.get("required") is True,
            content={type_: one.get("schema") for type_, one in media.items()},
            encodings={type_: one.mapping("encoding") for type_, one in media.items()},
        )

    def _body_of_2(self) -> Body | None:
        consumes = self.node.value.get("consumes", self._root.value.get("consumes"))
        types = consumes if isinstance(consumes, list) and consumes else ["application/json"]
        form: list[Node] = []
        for owner in (self._item, self.node):
            parameters = owner.get("parameters")
            for _, one in parameters.parts() if parameters is not None else ():
                if one.text("in") == "body":
                    required = one.value.get("required") is True
                    return Body(required, dict.fromkeys(types, one.get("schema")), {})
                if one.text("in") == "formData":
                    form.append(one)
        if not form:
            return None
        fields = {one.value["name"]: one.value for one in form if "name" in one.value}
        schema = Node(
            self.node.documents,
            self.node.uri,
            f"{self.node.pointer}/x-eve-mocks-form",
            {
                "type": "object",
                "properties": {
                    name: {key: value for key, value in field.items() if key not in ("required", "in", "name")}
                    for name, field in fields.items()
                },
                "required": [name for name, field in fields.items() if field.get("required") is True],
            },
        )
        self.node.value["x-eve-mocks-form"] = schema.value  # where references to it look
        is_form = [one for one in types if "form" in one]
        content = dict.fromkeys(is_form or ["application/x-www-form-urlencoded", "multipart/form-data"], schema)
        return Body(bool(schema.value["required"]), content, {})

    @cached_property
    def told(self) -> Told | None:
        """The lowest 2xx, else ``default``, else the lowest of all. Raises ``Unresolvable``."""
        responses = self.node.get("responses")
        found = {} if responses is None else {str(code).lower(): node for code, node in responses.parts()}
        codes = sorted(code for code in found if re.fullmatch(r"2[\dx]{2}", code))
        others = sorted(code for code in found if re.fullmatch(r"[1-5][\dx]{2}", code))
        code = next(iter([*codes, *(["default"] if "default" in found else []), *others]), None)
        if code is None:
            return None
        node = found[code]
        status = 200 if code == "default" else int(code.replace("x", "0"))
        status = max(status, 200)
        if self._version == "2.0":
            return self._told_by_2(node, status)
        headers = {name.lower(): header for name, header in _parts(node, "headers")}
        schemas = {name: header.get("schema") for name, header in headers.items() if header.value.get("required")}
        needed = {name: schema for name, schema in schemas.items() if schema is not None}
        content = node.get("content")
        media = {} if content is None else dict(content.parts())
        if not media:
            return Told(status, None, None, [], needed)
        type_ = next((type_ for type_ in media if JSON_TYPE.fullmatch(type_)), next(iter(media)))
        return Told(status, _concrete(type_), media[type_].get("schema"), list(_examples(media[type_])), needed)

    def _told_by_2(self, node: Node, status: int) -> Told:
        schema = node.get("schema")
        examples = node.mapping("examples")
        produces = self.node.value.get("produces", self._root.value.get("produces"))
        types = produces if isinstance(produces, list) and produces else list(examples) or ["application/json"]
        type_ = next((one for one in types if JSON_TYPE.fullmatch(one)), types[0])
        if schema is None and not examples:
            return Told(status, None, None, [], {})
        return Told(status, _concrete(type_), schema, [examples[one] for one in (type_,) if one in examples], {})


def version_of(document: Mapping[str, Any]) -> str:
    """``2.0``, ``3.0`` or ``3.1``; empty for what is no document that can be read."""
    if document.get("swagger") in ("2.0", 2.0):
        return "2.0"
    version = document.get("openapi")
    found = re.match(r"3\.[0-2]", version) if isinstance(version, str) else None
    return "" if found is None else "3.0" if found[0] == "3.0" else "3.1"


def _parts(node: Node, key: str) -> Iterator[tuple[Any, Node]]:
    part = node.get(key)
    return iter(()) if part is None else part.parts()


def _examples(media: Node) -> Iterator[Any]:
    """The ``example`` of a media type, then its ``examples``."""
    if "example" in media:
        yield media.value["example"]
    for _, example in _parts(media, "examples"):
        if "value" in example:
            yield example.value["value"]


def _concrete(media_type: str) -> str:
    """A type that an answer can have, of one with a star."""
    return {"*/*": "application/json", "application/*": "application/json", "text/*": "text/plain"}.get(
        media_type, media_type
    )
