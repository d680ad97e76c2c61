"""What is answered: a final HTTP response, as a handler in a mock file returns it too. Immutable; no I/O."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from eve_mocks.errors import MockError, as_written

if TYPE_CHECKING:
    from collections.abc import Sequence

type Json = Any
type HeaderPairs = tuple[tuple[str, str], ...]
type FaultKind = Literal["reset", "timeout", "empty", "truncated", "malformed"]

EVENT_KEYS = ("data", "event", "id", "delay")
FAULTS: tuple[FaultKind, ...] = ("reset", "timeout", "empty", "truncated", "malformed")
# RFC 9110, section 5.6.2: a field name is a token.
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m)")
# HTML standard, section 9.2.5: each of these ends a line of an event stream.
_LINE_END = re.compile(r"\r\n|\r|\n")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One server-sent event (HTML standard, section 9.2). ``delay`` is seconds before it is sent."""

    data: str
    event: str | None = None
    id: str | None = None
    delay: float = 0.0

    def encode(self) -> bytes:
        head = [f"{name}: {value}" for name, value in (("event", self.event), ("id", self.id)) if value is not None]
        return "\n".join([*head, *(f"data: {line}" for line in _LINE_END.split(self.data)), "", ""]).encode()


@dataclasses.dataclass(frozen=True, slots=True, init=False)
class Response:
    """What a handler may return in place of plain JSON.

    At most one of ``json``, ``text``, ``body``, ``events``. ``headers`` is a mapping, whose values may be lists, or
    a list of pairs. ``delay`` is seconds or text such as ``"250ms"``. ``events`` are objects with ``data`` (text,
    or any JSON) and optional ``event``, ``id``, ``delay``. Raises ``MockError`` for values that HTTP cannot carry.
    """

    status: int
    headers: HeaderPairs
    body: bytes
    delay: float
    events: tuple[Event, ...] | None
    fault: FaultKind | None

    def __init__(
        self,
        status: int = 200,
        *,
        json: Json = ...,
        text: str | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str | Sequence[str]] | Iterable[tuple[str, str]] | None = None,
        delay: float | str = 0,
        events: Iterable[Mapping[str, Any]] | None = None,
        fault: FaultKind | None = None,
    ) -> None:
        given = [json is not ..., text is not None, body is not None, events is not None]
        if sum(given) > 1:
            raise MockError(
                "a Response has more than one body",
                why="json, text, body and events each set what is sent",
                fix="Keep one of them.",
            )
        pairs = header_pairs(headers)
        content, media_type = b"", None
        if json is not ...:
            content, media_type = encode_json(json), "application/json"
        elif text is not None:
            content, media_type = text.encode(), "text/plain; charset=utf-8"
        elif events is not None:
            media_type = "text/event-stream"
        elif body is not None:
            content = bytes(body)
        if media_type and not any(name.lower() == "content-type" for name, _ in pairs):
            pairs = (("content-type", media_type), *pairs)
        if isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 599:
            raise MockError(
                f"the status {as_written(status)} is not one an answer can have",
                why="a final HTTP status is a number from 200 to 599",
                fix="Use such a number.",
            )
        for name, value in (
            ("status", status),
            ("headers", pairs),
            ("body", content),
            ("delay", seconds(delay)),
            ("events", None if events is None else tuple(_event(event) for event in events)),
            ("fault", fault),
        ):
            object.__setattr__(self, name, value)


def _event(given: Mapping[str, Any]) -> Event:
    unknown = set(given) - set(EVENT_KEYS)
    data, name, id_ = given.get("data", ""), given.get("event"), given.get("id")
    for key, value in (("event", name), ("id", id_)):
        if value is not None and (isinstance(value, dict | list) or _LINE_END.search(str(value))):
            unknown.add(f"{key}: {value!r}")
    if unknown:
        raise MockError(
            f"an event cannot have {', '.join(sorted(unknown))}",
            why=f"an event has {', '.join(EVENT_KEYS)}; event and id are one line of text",
            fix="Correct the event.",
        )
    return Event(
        data=data if isinstance(data, str) else encode_json(data).decode(),
        event=None if name is None else str(name),
        id=None if id_ is None else str(id_),
        delay=seconds(given.get("delay", 0)),
    )


def seconds(value: float | str) -> float:
    """Seconds from a number or text such as ``250ms``, ``1.5s``, ``2m``. Raises ``MockError``."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
        return float(value)
    found = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise MockError(
            f"{as_written(value)} is not a length of time",
            why="times are seconds, or text with a unit",
            fix="Write for example 2, 0.25, 250ms, 30s or 1m.",
        )
    return float(found[1]) * _UNITS[found[2]]


def header_pairs(given: Mapping[str, Any] | Iterable[tuple[str, str]] | None) -> HeaderPairs:
    """Header fields as pairs, checked as RFC 9110 (section 5) has them. Raises ``MockError``."""
    pairs: list[tuple[str, str]] = []
    for name, value in given.items() if isinstance(given, Mapping) else given or ():
        for one in value if isinstance(value, list | tuple) else [value]:
            text = str(one).lower() if isinstance(one, bool) else str(one)
            if not isinstance(name, str) or not _TOKEN.fullmatch(name):
                raise MockError(
                    f"{name!r} is not a header name",
                    why="a header name is letters, digits and !#$%&'*+-.^_`|~",
                    fix="Correct the name.",
                )
            if any(character in text for character in "\r\n\0") or not _is_latin1(text):
                raise MockError(
                    f"the header {name} has a value that HTTP cannot carry: {text!r}",
                    why="a header value is one line of Latin-1 text",
                    fix="Take out line breaks, and encode other characters (percent-encoding, or RFC 8187).",
                )
            pairs.append((name, text.strip(" \t")))
    return tuple(pairs)


def _is_latin1(text: str) -> bool:
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def encode_json(value: Json) -> bytes:
    """JSON text of a value. Raises ``MockError`` that names the path of the first part that is not JSON."""
    found = _not_json(value, "$", set())
    if found is not None:
        path, part = found
        raise MockError(
            f"the answer is not JSON: {path} is {part}",
            why="an answer is made of dict, list, str, int, float, bool and None",
            fix="Convert it first, for example with str(), list() or .isoformat().",
        )
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate can only be sent as an escape
        return json.dumps(value, allow_nan=False).encode()


def _not_json(value: Json, path: str, above: set[int]) -> tuple[str, str] | None:
    if value is None or isinstance(value, str | bool | int):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else (path, str(value))
    if not isinstance(value, dict | list | tuple):
        return path, f"of type {type(value).__name__}"
    if id(value) in above:
        return path, "a value that contains itself"
    above.add(id(value))
    if isinstance(value, dict):
        parts: Iterable[tuple[str, Any]] = ((f"{path}.{key}", part) for key, part in value.items())
        for key in value:
            if not isinstance(key, str | int) or isinstance(key, bool):
                return path, f"a dict with the key {key!r}"
    else:
        parts = ((f"{path}[{index}]", part) for index, part in enumerate(value))
    for below, part in parts:
        found = _not_json(part, below, above)
        if found is not None:
            return found
    above.discard(id(value))
    return None
