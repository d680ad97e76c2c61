"""OpenAPI documents: fetched from a URL, read as JSON or YAML, and known for what they are."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from eve_mocks import secret_urls
from eve_mocks.errors import MockError, Problem, as_written
from eve_mocks.match import parse_claim
from eve_mocks.pull import web

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eve_mocks.pull.limits import Limits

_ACCEPT = "application/openapi+json, application/json, application/yaml;q=0.9, text/yaml;q=0.9, */*;q=0.5"
_HTML = re.compile(r"\s*<(?:!doctype|html|head|\?xml)", re.IGNORECASE)
_PLACE = re.compile(r"\{([^{}]+)\}")


async def fetch(
    url: str, *, headers: Sequence[tuple[str, str]] = (), limits: Limits, problems: list[Problem] | None = None
) -> dict[str, Any]:
    """The document at a URL. Raises ``MockError``. ``problems`` gets what is not kept with it."""
    content, media, _ = await web.download(url, headers=headers, limits=limits, accept=_ACCEPT)
    shown = secret_urls.url(url)
    value = parse(content, shown, media)
    if problems is not None:
        problems += alone(value, shown)
    return value


def alone(value: dict[str, Any], shown: str) -> list[Problem]:
    """What is told of a document that is kept without those that it refers to."""
    elsewhere = sorted(_elsewhere(value))
    if not elsewhere:
        return []
    return [
        Problem(
            message=f"{shown} refers to other documents, such as {elsewhere[0]}, which are not kept with it",
            why="what it says of them is not known where mocks run",
            fix="Name a document that is whole: what makes this one can often bundle it.",
        )
    ]


def _elsewhere(value: Any) -> set[str]:
    """The documents that references lead to, but for this one."""
    found = set()
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, list):
            todo.extend(each)
        elif isinstance(each, dict):
            todo.extend(each.values())
            ref = each.get("$ref")
            if isinstance(ref, str) and not ref.startswith("#"):
                found.add(ref.partition("#")[0])
    return found


def parse(content: bytes, shown: str, media: str = "") -> dict[str, Any]:
    """The document in some bytes. Raises ``MockError``; ``shown`` is how it calls them."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unusable(shown, "is not UTF-8 text") from error
    if _HTML.match(text) or "html" in media:
        raise _unusable(shown, "is a page for people (HTML)")
    value = _value(text, shown)
    if not isinstance(value, dict) or not (
        str(value.get("openapi", "")).startswith("3.") or str(value.get("swagger", "")).startswith("2")
    ):
        found = ", ".join(list(value)[:5]) if isinstance(value, dict) else as_written(value)
        raise _unusable(shown, f"is no OpenAPI document (it has {found or 'nothing'})")
    return value


def _value(text: str, shown: str) -> Any:
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise _unusable(shown, f"is not JSON: {error}") from error
    from eve_mocks.yaml_text import read_yaml

    try:
        return next((value for value, _ in read_yaml(text, shown)), None)
    except MockError as error:
        error.file = None  # it is a URL, and the message names it
        raise


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _unusable(shown: str, what: str) -> MockError:
    return MockError(
        f"{shown} {what}",
        why="an http mock is described by an OpenAPI document: JSON or YAML with openapi: 3.x, or swagger: 2.0",
        fix="Name the URL of the document itself; a page about an API often links to its openapi.json.",
    )


def server(document: dict[str, Any], place: str) -> str | None:
    """The URL that the document's paths are below; ``place`` is where it was found. None where nothing says so.

    Source: OpenAPI 3.1, Server Object (variables have defaults, a relative URL starts from the document); 2.0, host.
    """
    if "swagger" in document:
        schemes = document.get("schemes")
        scheme = "http" if isinstance(schemes, list) and "http" in schemes and "https" not in schemes else "https"
        host = document.get("host") or re.sub(r"^[a-z]+://|/.*", "", place)
        found = f"{scheme}://{host}{document.get('basePath', '/')}"
    else:
        servers = document.get("servers")
        first = servers[0] if isinstance(servers, list) and servers and isinstance(servers[0], dict) else {}
        variables = first.get("variables") if isinstance(first.get("variables"), dict) else {}
        written = _PLACE.sub(lambda part: _default(variables, part[1]) or part[0], str(first.get("url") or "/"))
        found = urljoin(place, written)
    try:
        claim = parse_claim(found)
    except MockError:
        return None
    return f"{claim.url.origin}{claim.url.path}"


def _default(variables: Any, name: str) -> str | None:
    variable = variables.get(name)
    return str(variable["default"]) if isinstance(variable, dict) and "default" in variable else None
