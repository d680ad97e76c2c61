"""What a client asks of a model and what the model answers, in the words of no provider."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eve_mocks.model import Request
    from eve_mocks.response import Json


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a prompt. ``content`` is its text; what is no text, such as an image, stands as ``[image]``."""

    role: str
    content: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request to a model, as a function entry sees it.

    ``names`` are what the client calls the request, from the most particular on; ``schema_name`` is the name of the
    structured output it asks for, and ``caller`` who asks. ``tools`` are offered, and ``forced`` is the one of them
    that has to be called.
    """

    body: Mapping[str, Json]
    model: str
    names: tuple[str, ...] = ()
    schema_name: str | None = None
    caller: str | None = None
    schema: Json = None
    tools: tuple[str, ...] = ()
    forced: str | None = None
    messages: tuple[Message, ...] = ()
    streams: bool = False

    @property
    def prompt(self) -> str:
        """The text of the last message of the user."""
        return next((one.content for one in reversed(self.messages) if one.role == "user"), "")

    @property
    def name(self) -> str | None:
        """What the client calls the request; None for one without a name."""
        return next(iter((*self.names, *([self.schema_name] if self.schema_name else []))), None)

    def as_json(self) -> dict[str, Json]:
        """What an eval reads of it."""
        return {
            "model": self.model,
            "name": self.name,
            "prompt": self.prompt,
            "messages": [{"role": one.role, "content": one.content} for one in self.messages],
            "tools": list(self.tools),
        }


class ToolUse(NamedTuple):
    """A call of a tool that the model asks for. ``id`` is what the provider's ids end with."""

    id: str
    name: str
    input: dict[str, Json]

    @property
    def arguments(self) -> str:
        """The input as JSON text."""
        return json_text(self.input)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens. ``input`` includes those that were read from or written to a cache, ``output`` those of reasoning."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output

    def as_json(self) -> dict[str, int]:
        """What a report sums up."""
        return {"inputTokens": self.input, "outputTokens": self.output}


NO_USAGE = Usage()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error in the place of an answer, or after the beginning of one that is streamed.

    ``name`` takes the place of the provider's own name for the status. With ``attempts``, the call succeeds after it
    failed so often.
    """

    status: int = 500
    name: str | None = None
    message: str = "the script says that this call fails"
    attempts: int | None = None
    code: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A model's answer. ``id`` is what the provider's ids end with, and differs from turn to turn of a session.

    ``value`` is the entry's result as it stands, for APIs that answer no text.
    """

    id: str
    text: str | None = None
    tools: tuple[ToolUse, ...] = ()
    refusal: str | None = None
    usage: Usage = NO_USAGE
    failure: Failure | None = None
    value: Json = None
    delay: float = 0.0


class Chunk(NamedTuple):
    """A server-sent event of a stream. ``is_paced`` says that it carries what the model makes token by token."""

    data: Json
    event: str | None = None
    is_paced: bool = False


class Api(Protocol):
    """One operation of a provider. The modules beside this one translate, and do nothing else."""

    @property
    def takes_entry(self) -> bool:
        """Whether each call takes an entry of a script; the others are answered by what they ask alone."""
        ...

    def read(self, request: Request, params: Mapping[str, str]) -> Asked:
        """What is asked; ``params`` are those of the path. Raises ``BadRequest``."""
        ...

    def unscripted(self, asked: Asked) -> Turn | None:
        """The answer to a request that no queue is for, where there is one nevertheless."""
        ...

    def whole(self, asked: Asked, turn: Turn) -> Json:
        """The body of an answer in one piece."""
        ...

    def stream(self, asked: Asked, turn: Turn) -> Iterator[Chunk]:
        """The events of an answer. Where the turn has a failure, the last one tells of it."""
        ...

    def failed(self, failure: Failure) -> Json:
        """The body of an error."""
        ...


# Of Unix time, which has to be the same in every run: the morning of 2026-01-01.
CREATED = 1_767_225_600


def json_text(value: Any) -> str:
    """JSON as models write it."""
    return json.dumps(value, ensure_ascii=False)


def pieces(text: str) -> Iterator[str]:
    """A text as it is streamed: by word, each with the white space after it. Nothing for an empty text."""
    start = 0
    for place, character in enumerate(text):
        if place > start and not character.isspace() and text[place - 1].isspace():
            yield text[start:place]
            start = place
    if text:
        yield text[start:]


def halves(text: str) -> Iterator[str]:
    """A JSON text as it is streamed: in pieces that are no JSON by themselves."""
    for start in range(0, len(text), 16):
        yield text[start : start + 16]


def text_of(content: Json) -> str:
    """The text of a message's content: a text, or a list of parts, those that are none by their type."""
    if isinstance(content, str):
        return content
    parts: Sequence[Json] = content if isinstance(content, list) else [content] if content else []
    return "\n".join(map(_part, parts))


def _part(part: Json) -> str:
    if not isinstance(part, dict):
        return str(part)
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if isinstance(part.get("name"), str) and ("input" in part or "arguments" in part):
        return called(part["name"], part.get("input", part.get("arguments")))
    for key in ("content", "output"):
        if isinstance(part.get(key), str | list):
            return text_of(part[key])
    type_ = str(part.get("type", "part"))
    return "[image]" if "image" in type_ else f"[{type_}]"


def called(name: Json, given: Json) -> str:
    """A call of a tool as the text of a message."""
    return f"{name}({given if isinstance(given, str) else json_text(given)})"
