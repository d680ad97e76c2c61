"""What one matching call gets, as a file says it: read once for routes and for stubs of every kind."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from eve_mocks.errors import Collecting, as_written
from eve_mocks.match import did_you_mean, nearest
from eve_mocks.response import EVENT_KEYS, FAULTS, FaultKind, HeaderPairs, Response, header_pairs, seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eve_mocks.document import Document
    from eve_mocks.response import Json

BODIES = ("response", "body", "body_file", "events", "throw", "fault")
KEYS = (*BODIES, "status", "headers", "delay")
_STRICT = ("response", "throw")
THROW_KEYS = ("name", "message")
# RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5: answers that say all they have to say without content.
_BODILESS = (204, 205, 304)


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """``over_http`` is the response that carries it over HTTP. ``throw`` is the name and message of an error."""

    over_http: Response
    throw: tuple[str, str] | None = None


def read_outcome(document: Document, *, strict: bool = False) -> Outcome:
    """The outcome of a mapping; ``strict`` takes eve's alone: a response or a throw.

    Raises ``MockError``, or ``Mistakes``.
    """
    known, bodies = (_STRICT, _STRICT) if strict else (KEYS, BODIES)
    value = document.mapping(example="{response: {ok: true}}")
    if value and not set(value) & set(KEYS):
        meant = [near for near in (nearest(key, bodies) for key in value) if near]
        raise document.error(
            f"{document.label} is not an outcome: it has {', '.join(map(repr, value))}",
            *list(value)[:1],
            why=f"an outcome has one of {', '.join(bodies)}",
            fix=(f"Did you mean {meant[0]}? " if meant else "")
            + f"What is answered stands under response, as in {document.label}: {{response: {{…}}}}",
        )
    mistakes = Collecting()
    with mistakes:
        if strict:
            _check_strict(document)
        document.mapping(known)
    if not mistakes.errors:  # else a key that is missing may be the one that is misspelt
        with mistakes:
            _check_body(document, bodies)
    headers: HeaderPairs = ()
    content: dict[str, Any] = {}
    delay, status = 0.0, value.get("status", 500 if "throw" in document else 200)
    with mistakes:
        headers = _headers(document)
    with mistakes:
        delay = _delay(document)
    with mistakes, (document.part("status") if "status" in document else document).placing():
        Response(status)
    with mistakes, document.placing():
        content = _content(document, headers)
    mistakes.tell()
    with document.placing():
        if "throw" in document:
            name, message = content["throw"]
            response = thrown(message, name, status=status, headers=headers, delay=delay)
            return Outcome(response, throw=(name, message))
        return Outcome(Response(status, delay=delay, **{"headers": headers, **content}))


def _content(document: Document, headers: HeaderPairs) -> dict[str, Any]:
    """What an outcome sends, as arguments of ``Response``; the name and message of a throw."""
    if "response" in document:
        return {"json": document.value["response"]}
    if "body" in document:
        return {"text": document.part("body").text(example="body: some text")}
    if "body_file" in document:
        return _file(document.part("body_file"), headers)
    if "events" in document:
        return {"events": _events(document.part("events"))}
    if "throw" in document:
        return {"throw": _throw(document.part("throw"))}
    return {"fault": _fault(document.part("fault"))} if "fault" in document else {}


def thrown(message: str, name: str, *, status: int = 500, headers: HeaderPairs = (), delay: float = 0) -> Response:
    """A ``throw`` over HTTP: the header tells the preload in the client to throw the error itself."""
    body = {"error": {"name": name, "message": message}}
    return Response(status, json=body, headers=[*headers, ("eve-mocks", "throw")], delay=delay)


def _check_strict(document: Document) -> None:
    """Eve's outcomes say what a tool returns, and nothing of HTTP."""
    for key in document.value:
        if key in KEYS and key not in _STRICT:
            raise document.error(
                f"{key} is not part of eve's outcomes",
                key,
                why=f"rules of a session or a --stubs file have one of {', '.join(_STRICT)} in an outcome",
                fix=f"Take it out, or move the rule into the mock's own stubs, where {key} is known.",
            )


def _check_body(document: Document, bodies: tuple[str, ...]) -> None:
    given = [key for key in bodies if key in document]
    if len(given) == 1 or (not given and document.value.get("status") in _BODILESS):
        return
    raise document.error(
        f"{document.label} has {' and '.join(given) or 'no answer'}",
        *given[1:2],
        why=f"an outcome has exactly one of {', '.join(bodies)}",
        fix="Keep one of them." if given else "Add for example response: {ok: true}",
    )


def _headers(document: Document) -> HeaderPairs:
    if "headers" not in document:
        return ()
    headers = document.part("headers")
    headers.mapping(example="{x-request-id: r1}")
    pairs: list[tuple[str, str]] = []
    for name, value in headers.parts():
        if isinstance(value.value, dict) or value.value is None:
            raise value.error(
                f"the header {name} is {as_written(value.value)}",
                why="a header is one line of text",
                fix="Write text, or a list.",
            )
        with value.placing():
            pairs.extend(header_pairs({name: value.value}))
    return tuple(pairs)


def _delay(document: Document) -> float:
    if "delay" not in document:
        return 0.0
    delay = document.part("delay")
    with delay.placing():
        return seconds(delay.value)


def _file(name: Document, headers: HeaderPairs) -> dict[str, Any]:
    """The bytes of a file of the mocks folder, with the content-type of its ending."""
    content, media_type = read_file(name)
    if not any(header.lower() == "content-type" for header, _ in headers):
        headers = (("content-type", media_type or "application/octet-stream"), *headers)
    return {"body": content, "headers": headers}


def read_file(name: Document) -> tuple[bytes, str | None]:
    """What ``body_file`` names, and the type that its ending tells. Raises ``MockError``."""
    import mimetypes  # it reads the system's tables

    with name.placing():
        path = name.folder.file(name.text(example="body_file: files/logo.png"))
    try:
        return path.read_bytes(), mimetypes.guess_type(path.name)[0]
    except OSError as error:
        raise name.error(
            f"the file {name.value} cannot be read: {error.strerror}",
            why="body_file is sent as it is, and is read before the command starts",
            fix=f"Put it at {name.folder.show(path)}.",
        ) from error


def _events(events: Document) -> list[Mapping[str, object]]:
    events.sequence(example="events: [{data: hello}, {data: world, delay: 250ms}]")
    for _, event in events.parts():
        event.mapping(EVENT_KEYS, example="{data: hello}")
        event.required("data", why="an event carries data", example="hello")
        with event.placing():
            Response(events=[event.value])
    return list(events.value)


def _throw(throw: Document) -> tuple[str, str]:
    """Name and message. eve: a name that is given is not empty, a message may be."""
    throw.mapping(THROW_KEYS, example="throw: {message: timed out}")
    message = throw.required("message", why="the error that is thrown has a message", example="timed out")
    if "name" not in throw:
        return "Error", message.text(example="timed out")
    name = throw.part("name")
    if not name.text(example="TimeoutError"):
        raise name.error("the name is empty", why="an error has a name", fix="Leave it out for Error.")
    return name.value, message.text(example="timed out")


def _fault(fault: Document) -> FaultKind:
    for kind in FAULTS:
        if fault.value == kind:
            return kind
    raise fault.error(
        f"unknown fault {as_written(fault.value)}",
        why=f"a fault is one of {', '.join(FAULTS)}",
        fix=did_you_mean(str(fault.value), FAULTS),
    )


def carried(response: Response) -> Json:
    """The value in a response: the JSON or text of a 200. ``NotImplemented`` for one that goes out as it is."""
    media_type = dict(response.headers).get("content-type", "").partition(";")[0]
    if response.status == 200 and response.events is None and media_type == "application/json":
        return json.loads(response.body)
    if response.status == 200 and response.events is None and media_type == "text/plain":
        return response.body.decode()
    return NotImplemented
