"""The values that pass between the parts: what was asked, what is answered, what is recorded.

Everything here is immutable and does no I/O. ``Response`` is also what a handler in a mock file returns.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol
from urllib.parse import parse_qsl

from eve_mocks.errors import MockError, as_written

if TYPE_CHECKING:
    from eve_mocks.errors import Problem
    from eve_mocks.session import Session
    from eve_mocks.stubs.rules import Rule, Rules

type Json = Any
type HeaderPairs = tuple[tuple[str, str], ...]
type FaultKind = Literal["reset", "timeout", "empty", "truncated", "malformed"]
type OutcomeWord = Literal["mocked", "allowed", "blocked", "error"]

EVENT_KEYS = ("data", "event", "id", "delay")
FAULTS: tuple[FaultKind, ...] = ("reset", "timeout", "empty", "truncated", "malformed")
# RFC 9110, section 5.6.2: a field name is a token.
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m)")
# HTML standard, section 9.2.5: each of these ends a line of an event stream.
_LINE_END = re.compile(r"\r\n|\r|\n")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


class ToolError(Exception):
    """Raised by a handler: the tool failed in a way the agent is meant to see."""


class Throw(Exception):
    """Raised by a handler: the same as a ``throw`` outcome."""

    def __init__(self, message: str, name: str = "Error") -> None:
        super().__init__(message)
        self.message = message
        self.name = name


class Fault(Exception):
    """Raised by a handler: the connection misbehaves instead of an answer. ``kind`` is one of ``FAULTS``."""

    def __init__(self, kind: FaultKind) -> None:
        if kind not in FAULTS:
            import difflib

            near = difflib.get_close_matches(str(kind), FAULTS, n=1)
            hint = f". Did you mean {near[0]}?" if near else ""
            raise ValueError(f"a fault is one of {', '.join(FAULTS)}, not {kind!r}{hint}")
        super().__init__(kind)
        self.kind: FaultKind = kind


class Headers(Mapping[str, str]):
    """Header fields in the order and case they came in, found without regard to case.

    ``headers[name]`` joins repeated fields with ``, `` (RFC 9110, section 5.3); ``all(name)`` keeps them apart.
    """

    __slots__ = ("pairs",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs: HeaderPairs = tuple(pairs)

    def all(self, name: str) -> list[str]:
        wanted = name.lower()
        return [value for key, value in self.pairs if key.lower() == wanted]

    def __getitem__(self, name: str) -> str:
        values = self.all(name)
        if not values:
            raise KeyError(name)
        return ", ".join(values)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(key.lower() for key, _ in self.pairs))

    def __len__(self) -> int:
        return len({key.lower() for key, _ in self.pairs})

    def without(self, *names: str) -> Headers:
        dropped = {name.lower() for name in names}
        return Headers(pair for pair in self.pairs if pair[0].lower() not in dropped)

    def __repr__(self) -> str:
        return f"Headers({list(self.pairs)!r})"


@dataclasses.dataclass(frozen=True, slots=True)
class URL:
    """A normalised URL: made by ``match.parse_url``, compared part by part.

    ``path`` is still percent-encoded, so that ``%2F`` stays data; ``query`` is as the client sent it.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str = ""

    DEFAULT_PORTS: ClassVar[Mapping[str, int]] = {"http": 80, "ws": 80, "https": 443, "wss": 443}

    @property
    def origin(self) -> str:
        usual = self.port in (0, self.DEFAULT_PORTS.get(self.scheme))
        return f"{self.scheme}://{self.authority.removesuffix(f':{self.port}') if usual else self.authority}"

    @property
    def authority(self) -> str:
        """``host:port``, as CONNECT has it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.origin}{self.path}{'?' + self.query if self.query else ''}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request as a handler sees it. ``body`` is decoded from any content-encoding."""

    method: str
    target: URL
    headers: Headers
    body: bytes = b""

    @property
    def url(self) -> str:
        return str(self.target)

    @property
    def path(self) -> str:
        return self.target.path

    @property
    def query(self) -> dict[str, str | list[str]]:
        """Parameters by name; a repeated one is a list (contract, section 3)."""
        found: dict[str, list[str]] = {}
        for name, value in parse_qsl(self.target.query, keep_blank_values=True):
            found.setdefault(name, []).append(value)
        return {name: values[0] if len(values) == 1 else values for name, values in found.items()}

    def json(self) -> Json:
        """The body as JSON; the last of duplicate keys counts.

        Raises ``BadRequest`` where the body is not JSON; left alone, that is answered with 400.
        """
        try:
            text = self.body.decode("utf-8-sig")
            value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
            text.encode()  # pairs with the next line: JSON text may also spell a lone surrogate as an escape
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise BadRequest("the body holds a lone surrogate, which is not Unicode text") from error
        except (UnicodeDecodeError, ValueError, RecursionError) as error:
            raise BadRequest(f"the body is not JSON: {error}") from error  # never quoted: it may hold a credential
        return value


class BadRequest(Exception):
    """The client's request cannot be answered as it is: 400, with the reason as text."""


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError("it holds a number that is too large")
    return number


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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A mock's answer to one request, and what the log tells of how it came about."""

    response: Response
    operation: str
    stub: str | None = None
    position: int | None = None
    nearest: str | None = None
    unanswered: str | None = None  # what would answer, where the mock had no answer
    error: str | None = None  # set where the mock broke: the call is recorded as error


class Mock(Protocol):
    """What the router and the dispatcher need of a mock; the files in ``kinds/`` provide it."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int | None: ...
    @property
    def problems(self) -> tuple[Problem, ...]:
        """What loads, and yet cannot be what was meant."""
        ...

    @property
    def stubs(self) -> Rules:
        """The mock's own stubs."""
        ...

    @property
    def seed(self) -> object:
        """What the state of each session begins with: a value, or a function; None where the mock has no state."""
        ...

    def operations(self) -> list[str]:
        """The operations that have an answer: tool names, or ``METHOD /path/{param}``."""
        ...

    def names(self) -> Mapping[str, str]:
        """Every name that a stub may call an operation by, and the operation; also of those without an answer."""
        ...

    def check(self, rule: Rule) -> None:
        """Raises ``MockError`` for a stub whose outcome the operation cannot have."""
        ...

    def reads_body(self, request: Request) -> bool:
        """Whether the answer depends on the body; ``request`` has none yet."""
        ...

    async def answer(self, request: Request, session: Session) -> Answer:
        """Answer one request. Raises what a broken mock raises; the dispatcher turns it into an answer."""
        ...


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """An ``allow`` or ``block`` entry: an upstream that is named without being mocked."""

    kind: Literal["allow", "block"]
    name: str
    url: str
    why: str
    file: str = ""
    line: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Who asked: known for every call under containment, looked up for blocked ones otherwise.

    ``session`` is what its environment names as such, which only containment tells.
    """

    pid: int | None = None
    program: str | None = None
    session: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request and what became of it: a line of ``calls.jsonl`` (contract, section 8)."""

    at: str
    session: str
    outcome: OutcomeWord
    target: str
    kind: str
    operation: str
    method: str
    url: str
    status: int | None
    duration_ms: float
    request_bytes: int
    response_bytes: int
    agent: str | None = None
    target_url: str | None = None  # as the mock or the entry has it
    expected: bool | None = None
    reason: str | None = None
    suggestion: Mapping[str, str] | None = None  # what would answer it: an ``advice.Suggestion``
    fix: str | None = None  # where no mock would help
    stub: str | None = None
    position: int | None = None
    nearest: str | None = None
    unanswered: str | None = None
    pid: int | None = None
    program: str | None = None
    error: str | None = None
    cancelled: bool | None = None
    request_headers: HeaderPairs = ()
    response_headers: HeaderPairs = ()
    request_body: bytes = b""
    response_body: bytes = b""
