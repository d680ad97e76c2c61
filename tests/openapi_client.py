"""A client that is made of a document: for each operation a request that the document allows."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from eve_mocks.match import parse_url
from eve_mocks.model import Headers, Request
from eve_mocks.openapi.operation import JSON_TYPE
from eve_mocks.openapi.sample import Sampler

if TYPE_CHECKING:
    from eve_mocks.openapi.spec import Described

_SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}


@dataclasses.dataclass
class Asked:
    path: str
    query: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    headers: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    cookies: list[str] = dataclasses.field(default_factory=list)
    body: bytes = b""


def request(described: Described, url: str, *, optional: bool = False) -> Request:
    """A request with what is required, or with all that there is."""
    operation, dialect = described.operation, described.spec.dialect
    sampler = Sampler(lambda schema, value: not dialect.problems(schema, value), skipped="readOnly")
    asked = Asked(described.path)
    for parameter in operation.parameters:
        if not (parameter.required or optional):
            continue
        value = "value" if parameter.schema is None else sampler.sample(parameter.schema)
        if parameter.media_type is not None:
            value = json.dumps(value)
        put(asked, parameter.name, parameter.location, parameter.style, value, explode=parameter.explode)
    body = operation.body
    if body is not None and (body.required or optional):
        media_type = next((one for one in body.content if JSON_TYPE.fullmatch(one)), next(iter(body.content)))
        schema = body.content[media_type]
        value = {} if schema is None else sampler.sample(schema)
        asked.body, media_type = encoded(value, media_type)
        asked.headers.append(("content-type", media_type))
    if asked.cookies:
        asked.headers.append(("cookie", "; ".join(asked.cookies)))
    target = url.rstrip("/") + asked.path + (f"?{urlencode(asked.query, quote_via=quote)}" if asked.query else "")
    return Request(method=operation.method, target=parse_url(target), headers=Headers(asked.headers), body=asked.body)


def put(asked: Asked, name: str, location: str, style: str, value: Any, *, explode: bool) -> None:
    if location == "query":
        asked.query += list(pairs(name, style, value, explode=explode))
    elif location == "path":
        prefix = {"label": ".", "matrix": f";{name}="}.get(style, "")
        asked.path = asked.path.replace(f"{{{name}}}", prefix + quote(flat(value, explode=explode), safe=","))
    elif location == "header":
        asked.headers.append((name, flat(value, explode=explode)))
    else:
        asked.cookies.append(f"{name}={quote(flat(value, explode=explode))}")


def pairs(name: str, style: str, value: Any, *, explode: bool) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        if style == "deepObject":
            return [(f"{name}[{key}]", text(part)) for key, part in value.items()]
        if explode:
            return [(key, text(part)) for key, part in value.items()]
        return [(name, ",".join(f"{key},{text(part)}" for key, part in value.items()))]
    if isinstance(value, list):
        if explode:
            return [(name, text(part)) for part in value]
        return [(name, _SEPARATORS.get(style, ",").join(map(text, value)))]
    return [(name, text(value))]


def flat(value: Any, *, explode: bool) -> str:
    if isinstance(value, dict):
        return ",".join(f"{key}{'=' if explode else ','}{text(part)}" for key, part in value.items())
    return ",".join(map(text, value)) if isinstance(value, list) else text(value)


def text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def encoded(value: Any, media_type: str) -> tuple[bytes, str]:
    """The body, and the type that is said of it."""
    if JSON_TYPE.fullmatch(media_type):
        return json.dumps(value).encode(), "application/json" if "*" in media_type else media_type
    fields = [
        (name, text(one))
        for name, part in (value.items() if isinstance(value, dict) else ())
        for one in (part if isinstance(part, list) else [part])
    ]
    if media_type == "multipart/form-data":
        parts = "".join(
            f'--b\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{one}\r\n' for name, one in fields
        )
        return f"{parts}--b--\r\n".encode(), "multipart/form-data; boundary=b"
    if media_type == "application/x-www-form-urlencoded":
        return urlencode(fields).encode(), media_type
    return text(value).encode(), media_type
