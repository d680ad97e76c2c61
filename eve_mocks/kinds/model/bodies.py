"""What the bodies of all providers have in common when they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eve_mocks.model import BadRequest
from eve_mocks.scripts import REQUEST_HEADER

if TYPE_CHECKING:
    from eve_mocks.model import Request
    from eve_mocks.response import Json


def body_of(request: Request) -> dict[str, Json]:
    """The body, which has to be an object. Raises ``BadRequest``."""
    body = request.json()
    if not isinstance(body, dict):
        raise BadRequest("the body is not a JSON object")
    return body


def model_of(body: dict[str, Json], params: Any) -> str:
    """The model, in the body or in the path. Raises ``BadRequest``."""
    model = body.get("model", params.get("model"))
    if not isinstance(model, str) or not model:
        raise BadRequest("the body has no model")
    return model


def header_names(request: Request) -> tuple[str, ...]:
    """The name of a request in its header."""
    name = request.headers.get(REQUEST_HEADER)
    return (name,) if name else ()


def metadata_names(body: dict[str, Json], key: str = "request") -> tuple[str, ...]:
    """The name of a request in its metadata."""
    name = dig(body, "metadata", key)
    return (name,) if isinstance(name, str) and name else ()


def dig(value: Json, *keys: str) -> Json:
    """What is under keys within each other; None where one of them is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value: Json, *keys: str) -> str | None:
    """As ``dig``, where what is there is text."""
    found = dig(value, *keys)
    return found if isinstance(found, str) else None


def object_at(body: dict[str, Json], key: str) -> dict[str, Json]:
    """An object that may be left out. Raises ``BadRequest`` for what is none."""
    value = body.get(key)
    if value is not None and not isinstance(value, dict):
        raise BadRequest(f"{key} is not an object")
    return value or {}


def objects(value: Json) -> list[dict[str, Json]]:
    """The objects of a list; none where it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def texts(values: list[Json]) -> tuple[str, ...]:
    """Those of the values that are text."""
    return tuple(value for value in values if isinstance(value, str))


def only(names: tuple[str, ...]) -> str | None:
    """The one name, where there is one."""
    return names[0] if len(names) == 1 else None
