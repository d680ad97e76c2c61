"""The resources of one mock: how each is described, and what it holds (MCP 2026-07-28, Resources)."""

from __future__ import annotations

import base64
import dataclasses
import re
from typing import TYPE_CHECKING, Any

from eve_mocks import snapshot
from eve_mocks.errors import Collecting, MockError, as_written
from eve_mocks.outcome import read_file
from eve_mocks.response import encode_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eve_mocks.document import Document
    from eve_mocks.handler import Handler
    from eve_mocks.response import Json

type Definition = dict[str, Any]

BODIES = ("text", "json", "blob", "body_file", "contents")
KEYS = ("name", "title", "description", "mimeType", "size", "annotations", "icons", "_meta", *BODIES)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# RFC 6570, sections 3.2.2 and 3.2.3.
_PARAMETER = re.compile(r"\{(\+?)(\w+)\}")
_EXAMPLE = 'docs://readme: {mimeType: text/plain, text: "Hello"}'


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """``uri`` may be a template. ``value`` is what a handler would return for what it always holds."""

    uri: str
    definition: Definition
    value: Any = None
    handler: Handler | None = None

    @property
    def is_template(self) -> bool:
        return _is_template(self.uri)

    def match(self, uri: str) -> dict[str, str] | None:
        """The parameters of a URI that this is, or None for another one."""
        pattern, end = "", 0
        for found in _PARAMETER.finditer(self.uri):
            pattern += re.escape(self.uri[end : found.start()])
            pattern += f"(?P<{found[2]}>{'.+' if found[1] else '[^/?#]+'})"
            end = found.end()
        matched = re.fullmatch(pattern + re.escape(self.uri[end:]), uri)
        return None if matched is None else matched.groupdict()

    def complete(self, uri: str, value: Any) -> list[Json]:
        """The contents that carry a value: text, bytes, JSON, or contents as they are. Raises ``MockError``."""
        if isinstance(value, dict) and isinstance(value.get("contents"), list):
            return [_checked(one) for one in value["contents"]]
        media_type = self.definition.get("mimeType")
        if isinstance(value, bytes):
            content = {"blob": base64.b64encode(value).decode(), "mimeType": media_type or "application/octet-stream"}
        elif isinstance(value, str):
            content = {"text": value, "mimeType": media_type or "text/plain"}
        else:
            content = {"text": encode_json(value).decode(), "mimeType": media_type or "application/json"}
        return [{"uri": uri, **content}]


def read_resources(pulled: Document | None, document: Document, handlers: Mapping[str, Handler]) -> dict[str, Resource]:
    """The resources that hold something, by URI; ``pulled`` describes those of the upstream.

    Raises ``MockError``, or ``Mistakes``.
    """
    described = {
        **snapshot.listed(pulled, "resources", "uri"),
        **snapshot.listed(pulled, "resourceTemplates", "uriTemplate"),
    }
    found: dict[str, Resource] = {}
    mistakes = Collecting()
    if "resources" in document:
        document.part("resources").mapping(example=f"resources: {{{_EXAMPLE}}}")
        for uri, part in document.part("resources").parts():
            with mistakes, part.placing():
                found[uri] = _resource(uri, part, described.get(uri, {}))
    for uri, handler in handlers.items():
        fixed = found.get(uri) or Resource(uri=uri, definition={**_named(uri), **described.get(uri, {})})
        found[uri] = dataclasses.replace(fixed, handler=handler)
    mistakes.tell()
    return found


def check_uri(uri: str) -> None:
    """Raise ``MockError`` for what is no URI, nor a template of one."""
    if not _SCHEME.match(uri):
        raise MockError(
            f"{as_written(uri)} is not the URI of a resource",
            why="a URI begins with a scheme (RFC 3986, section 3.1); {name} stands for a segment, {+name} for several",
            fix="Write for example docs://readme, or docs://pages/{id}",
        )


def _is_template(uri: str) -> bool:
    return _PARAMETER.search(uri) is not None


def _named(uri: str) -> Definition:
    """What is told of a resource that nothing describes: it has to have a name."""
    name = re.sub(r"[{}+]", "", uri.rstrip("/").rpartition("/")[2]) or uri
    return {"uriTemplate" if _is_template(uri) else "uri": uri, "name": name}


def _resource(uri: str, part: Document, described: Definition) -> Resource:
    check_uri(uri)
    if isinstance(part.value, str):
        return Resource(uri=uri, definition={**_named(uri), **described}, value=part.value)
    given = part.mapping(KEYS, example=_EXAMPLE)
    bodies = [key for key in BODIES if key in given]
    if len(bodies) != 1:
        raise part.error(
            f"{part.label} has {' and '.join(bodies) or 'no contents'}",
            *bodies[1:2],
            why=f"a resource has one of {', '.join(BODIES)}",
            fix="Keep one of them." if bodies else f"Write for example {_EXAMPLE}",
        )
    value, media_type = _READ[bodies[0]](part.part(bodies[0]))
    definition = {**_named(uri), **described, **{key: value for key, value in given.items() if key not in BODIES}}
    if media_type is not None:
        definition.setdefault("mimeType", media_type)
    return Resource(uri=uri, definition=definition, value=value)


def _text(body: Document) -> tuple[Any, str | None]:
    return body.text(example="text: Hello"), None


def _blob(body: Document) -> tuple[Any, str | None]:
    try:
        return base64.b64decode(body.text(example="blob: iVBORw0KGgo="), validate=True), None
    except ValueError as error:
        raise body.error(
            f"blob is not base64: {error}",
            why="bytes are written in base64 (RFC 4648, section 4)",
            fix="Encode them, or name their file: body_file: files/logo.png",
        ) from error


def _file(body: Document) -> tuple[Any, str | None]:
    content, media_type = read_file(body)
    try:
        return (content.decode() if (media_type or "text/").startswith("text/") else content), media_type
    except UnicodeDecodeError:
        return content, media_type


def _as_given(body: Document) -> tuple[Any, str | None]:
    body.sequence(example='contents: [{uri: "docs://readme", text: Hello}]')
    for _, one in body.parts():
        with one.placing():
            _checked(one.value)
    return {"contents": body.value}, None


def _json(body: Document) -> tuple[Any, str | None]:
    return encode_json(body.value).decode(), "application/json"


_READ = {"text": _text, "json": _json, "blob": _blob, "body_file": _file, "contents": _as_given}


def _checked(content: Json) -> Json:
    is_whole = isinstance(content, dict) and isinstance(content.get("uri"), str)
    if not is_whole or sum(isinstance(content.get(key), str) for key in ("text", "blob")) != 1:
        raise MockError(
            f"{as_written(content)} is no contents of a resource",
            why="contents have a uri, and a text or a blob in base64 (MCP, ResourceContents)",
            fix='Write for example {uri: "docs://readme", text: Hello}',
        )
    return content
