"""What a request says, read by the types of its operation's schemas, and what in it breaks the document."""

from __future__ import annotations

import email.parser
import email.policy
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from eve_mocks.model import BadRequest
from eve_mocks.openapi.merge import merged, type_of
from eve_mocks.openapi.operation import JSON_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eve_mocks.model import Request
    from eve_mocks.openapi.dialect import Dialect
    from eve_mocks.openapi.node import Node
    from eve_mocks.openapi.operation import Operation, Parameter
    from eve_mocks.response import Json

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
_FORM = "application/x-www-form-urlencoded"
_MISSING: Any = ...


def parameters(operation: Operation, request: Request, params: Mapping[str, str]) -> dict[Parameter, Json]:
    """The parameters that a request has, as values of their schemas' types."""
    query = parse_qsl(request.target.query, keep_blank_values=True)
    found = {}
    for parameter in operation.parameters:
        value = _value(parameter, request, params, query)
        if value is not _MISSING:
            found[parameter] = value
    return found


def _value(parameter: Parameter, request: Request, params: Mapping[str, str], query: list[tuple[str, str]]) -> Json:
    schema = None if parameter.schema is None else merged(parameter.schema.follow()).value
    kind = type_of(schema) if isinstance(schema, dict) else None
    if parameter.location == "query":
        return _of_query(parameter, kind, schema, query)
    if parameter.location == "path":
        text = params.get(parameter.name)
    elif parameter.location == "header":
        text = request.headers.get(parameter.name)
    else:
        text = _cookies(request.headers.get("cookie", "")).get(parameter.name)
    if text is None:
        return _MISSING
    if parameter.location == "path" and parameter.style in ("label", "matrix"):
        text = text.removeprefix("." if parameter.style == "label" else f";{parameter.name}=")
    return _parsed(parameter, kind, schema, text.split(",") if kind in ("array", "object") else [text])


def _of_query(parameter: Parameter, kind: str | None, schema: Any, query: list[tuple[str, str]]) -> Json:
    name = parameter.name
    values = [value for key, value in query if key in (name, f"{name}[]")]
    if kind == "object" and parameter.media_type is None and (pairs := _pairs(parameter, schema, query)) is not None:
        return _typed_object(pairs, schema) if pairs else _MISSING
    if not values:
        return _MISSING
    if parameter.media_type is None and kind in ("array", "object") and not parameter.explode and len(values) == 1:
        values = values[0].split(_SEPARATORS.get(parameter.style, ",")) if values[0] else []
    return _parsed(parameter, kind, schema, values)


def _pairs(parameter: Parameter, schema: Any, query: list[tuple[str, str]]) -> dict[str, str] | None:
    """The properties of an object that are parameters by themselves; None where all of it is in one."""
    if parameter.style == "deepObject":
        inside = re.compile(rf"{re.escape(parameter.name)}\[([^\]]*)\]")
        return {found[1]: value for key, value in query if (found := inside.fullmatch(key))}
    if parameter.explode and isinstance(schema, dict):
        known = schema.get("properties", {})
        return {key: value for key, value in query if key in known}
    return None


def _parsed(parameter: Parameter, kind: str | None, schema: Any, values: list[str]) -> Json:
    if parameter.media_type is not None and JSON_TYPE.fullmatch(parameter.media_type):
        return _json(",".join(values))
    if kind == "array":
        items = schema.get("items") if isinstance(schema, dict) else None
        return [_typed(value, items, parameter.schema) for value in values]
    if kind == "object":
        pairs = [value.partition("=")[::2] for value in values] if parameter.explode else zip(values[::2], values[1::2])  # noqa: B905
        return _typed_object(dict(pairs), schema)
    return _typed(values[-1], schema, parameter.schema)


def _typed_object(pairs: Mapping[str, str], schema: Any) -> Json:
    known = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return {name: _typed(value, known.get(name), None) for name, value in pairs.items()}


def _typed(text: str, schema: Any, owner: Node | None) -> Json:
    """A text as the type that its schema asks for; as it is where it is none of that type."""
    if isinstance(schema, dict) and "$ref" in schema and owner is not None:
        schema = merged(owner.at(_absolute(owner, schema["$ref"])).follow()).value
    if not isinstance(schema, dict):
        return text
    types = schema.get("type")
    wanted = types if isinstance(types, list) else [types]
    for part in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        wanted += [part.get("type")] if isinstance(part, dict) else []
    if "string" in wanted:
        return text
    if ("integer" in wanted or "number" in wanted) and _NUMBER.fullmatch(text):
        return float(text) if set(text) & set(".eE") else int(text)
    if "boolean" in wanted and text in ("true", "false"):
        return text == "true"
    if ("null" in wanted or schema.get("nullable") is True) and text in ("", "null"):
        return None
    if type_of(schema) in ("object", "array"):
        return _json(text)
    return text


def _absolute(owner: Node, ref: str) -> str:
    from urllib.parse import urljoin

    return urljoin(owner.uri, ref)


def _json(text: str) -> Json:
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _cookies(header: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in header.split(";") if "=" in pair)
    return {name.strip(): unquote(value.strip().strip('"')) for name, _, value in pairs}


def body(operation: Operation, request: Request) -> Json:
    """The body by its type: JSON, or the fields of a form, or text; ``...`` for none. Raises ``BadRequest``."""
    if not request.body:
        return _MISSING
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if JSON_TYPE.fullmatch(media_type):
        return request.json()
    known = None if operation.body is None else _describedof(operation, media_type)
    if media_type == _FORM:
        return _fields(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True), known)
    if media_type == "multipart/form-data":
        return _fields(list(_multipart(request)), known)
    return request.body.decode("utf-8", "replace")


def _fields(pairs: list[tuple[str, str]], schema: Node | None) -> Json:
    properties = None if schema is None else merged(schema.follow()).get("properties")
    known = {} if properties is None else {name: merged(part) for name, part in properties.parts()}
    found: dict[str, Json] = {}
    for name, value in pairs:
        plain = name.removesuffix("[]") if name not in known else name
        wanted = known.get(plain)
        described = None if wanted is None else wanted.value
        if wanted is not None and isinstance(described, dict) and type_of(described) == "array":
            items = wanted.get("items")
            found.setdefault(plain, [])
            found[plain].append(_typed(value, None if items is None else merged(items).value, None))
        elif plain in found:
            found[plain] = [*(found[plain] if isinstance(found[plain], list) else [found[plain]]), value]
        else:
            found[plain] = _typed(value, described, None)
    return found


def _multipart(request: Request) -> Iterator[tuple[str, str]]:
    """The parts of a form by their names (RFC 7578). Raises ``BadRequest``."""
    head = f"content-type: {request.headers.get('content-type', '')}\r\n\r\n".encode("latin-1", "replace")
    parsed = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + request.body)
    if not parsed.is_multipart():
        raise BadRequest("the body is no multipart/form-data")
    for part in parsed.iter_parts():
        name = part.get_param("name", header="content-disposition")
        if isinstance(name, str):
            content = part.get_payload(decode=True)
            yield name, content.decode("utf-8", "replace") if isinstance(content, bytes) else ""


def _describedof(operation: Operation, media_type: str) -> Node | None:
    content = {} if operation.body is None else operation.body.content
    lowered = {type_.partition(";")[0].strip().lower(): schema for type_, schema in content.items()}
    for wanted in (media_type, f"{media_type.partition('/')[0]}/*", "*/*"):
        if wanted in lowered:
            return lowered[wanted]
    return None


def problems(
    operation: Operation, request: Request, given: Mapping[Parameter, Json], content: Json, dialect: Dialect
) -> Iterator[tuple[str, str]]:
    """Where and why a request breaks the document."""
    for parameter in operation.parameters:
        where = f"{parameter.location} {parameter.name}"
        if parameter not in given:
            if parameter.required:
                yield where, "it is required, and missing"
        elif parameter.schema is not None:
            for problem in dialect.problems(parameter.schema, given[parameter]):
                yield where, problem.removeprefix("$: ")
    yield from _problems_of_body(operation, request, content, dialect)


def _problems_of_body(
    operation: Operation, request: Request, content: Json, dialect: Dialect
) -> Iterator[tuple[str, str]]:
    described = operation.body
    if described is None:
        return
    if content is _MISSING:
        if described.required:
            yield "body", "it is required, and missing"
        return
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    known = {type_.partition(";")[0].strip().lower() for type_ in described.content}
    schema = _describedof(operation, media_type)
    wild = {media_type, f"{media_type.partition('/')[0]}/*", "*/*"}
    if known and not known & wild:
        yield "body", f"its type is {media_type or 'not said'}, not {' or '.join(sorted(known))}"
    elif schema is not None and (JSON_TYPE.fullmatch(media_type) or isinstance(content, dict)):
        for problem in dialect.problems(schema, content):
            yield "body", problem
