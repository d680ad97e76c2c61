"""The values that pass between the parts: what was asked, what is answered, what is recorded.

Everything here is immutable and does no I/O.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol
from urllib.parse import parse_qsl

from eve_mocks.response import FAULTS, FaultKind, HeaderPairs, Json, Response

if TYPE_CHECKING:
    from eve_mocks.errors import Problem
    from eve_mocks.session import Session
    from eve_mocks.stubs.rules import Rule, Rules

type OutcomeWord = Literal["mocked", "allowed", "blocked", "error"]


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
class Answer:
    """A mock's answer to one request, and what the log tells of how it came about.

    Without a ``response``, the upstream is to be asked in place of the mock.
    """

    response: Response | None
    operation: str
    stub: str | None = None
    position: int | None = None
    nearest: str | None = None
    unanswered: str | None = None  # what would answer, where the mock had no answer
    error: str | None = None  # set where the mock broke: the call is recorded as error
    fix: str | None = None  # of that error, where it is not the usual one
    doubt: str | None = None  # what can hardly be meant, and yet was answered
    usage: Mapping[str, int] | None = None  # tokens of a model


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

    def entries(self) -> list[str]:
        """What a report calls the entries of its scripts: ``model:draftEmail[1]``."""
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
    doubt: str | None = None
    usage: Mapping[str, int] | None = None
    pid: int | None = None
    program: str | None = None
    error: str | None = None
    cancelled: bool | None = None
    request_headers: HeaderPairs = ()
    response_headers: HeaderPairs = ()
    request_body: bytes = b""
    response_body: bytes = b""
