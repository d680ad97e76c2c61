"""What one matching call gets, as a file says it, made into the response that carries it over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eve_mocks.match import did_you_mean
from eve_mocks.model import EVENT_KEYS, FAULTS, FaultKind, HeaderPairs, Response, header_pairs, seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eve_mocks.document import Document

BODIES = ("response", "body", "body_file", "events", "throw", "fault")
KEYS = (*BODIES, "status", "headers", "delay")
THROW_KEYS = ("name", "message")
# RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5: answers that say all they have to say without content.
_BODILESS = (204, 205, 304)


def read_outcome(document: Document) -> Response:
    """The response of an outcome mapping. Raises ``MockError``."""
    value = document.mapping(example="{response: {ok: true}}")
    if value and not set(value) & set(KEYS):
        raise document.error(
            f"{document.label} is not an outcome: it has {', '.join(map(repr, value))}",
            why=f"an outcome has one of {', '.join(BODIES)}",
            fix=f"Put what is answered under response, as in {document.label}: {{response: {{…}}}}",
        )
    document.mapping(KEYS)
    _check_body(document)
    headers = _headers(document)
    fields: dict[str, object] = {"headers": headers, "delay": _delay(document)}
    if "response" in document:
        fields["json"] = value["response"]
    elif "body" in document:
        fields["text"] = document.part("body").text(example="body: some text")
    elif "body_file" in document:
        fields["body"], fields["headers"] = _file(document.part("body_file"), headers)
    elif "events" in document:
        fields["events"] = _events(document.part("events"))
    elif "fault" in document:
        fields["fault"] = _fault(document.part("fault"))
    with (document.part("status") if "status" in document else document).placing():
        if "throw" in document:
            message, name = _throw(document.part("throw"))
            return thrown(message, name, status=value.get("status", 500), headers=headers, delay=_delay(document))
        return Response(value.get("status", 200), **fields)  # type: ignore[arg-type]


def thrown(message: str, name: str, *, status: int = 500, headers: HeaderPairs = (), delay: float = 0) -> Response:
    """A ``throw`` over HTTP: the header tells the preload in the client to throw the error itself."""
    body = {"error": {"name": name, "message": message}}
    return Response(status, json=body, headers=[*headers, ("eve-mocks", "throw")], delay=delay)


def _check_body(document: Document) -> None:
    given = [key for key in BODIES if key in document]
    if len(given) == 1 or (not given and document.value.get("status") in _BODILESS):
        return
    raise document.error(
        f"{document.label} has {' and '.join(given) or 'no answer'}",
        *given[1:2],
        why=f"an outcome has exactly one of {', '.join(BODIES)}",
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
                f"the header {name} is {value.value!r}",
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


def _file(name: Document, headers: HeaderPairs) -> tuple[bytes, HeaderPairs]:
    """The bytes of a file of the mocks folder, with the content-type of its ending."""
    import mimetypes  # it reads the system's tables

    with name.placing():
        path = name.folder.file(name.text(example="body_file: files/logo.png"))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise name.error(
            f"the file {name.value} cannot be read: {error.strerror}",
            why="body_file is sent as it is, and is read before the command starts",
            fix=f"Put it at {name.folder.show(path)}.",
        ) from error
    if not any(header.lower() == "content-type" for header, _ in headers):
        headers = (("content-type", mimetypes.guess_type(path.name)[0] or "application/octet-stream"), *headers)
    return content, headers


def _events(events: Document) -> list[Mapping[str, object]]:
    events.sequence(example="events: [{data: hello}, {data: world, delay: 250ms}]")
    for _, event in events.parts():
        event.mapping(EVENT_KEYS, example="{data: hello}")
        event.required("data", why="an event carries data", example="hello")
        with event.placing():
            Response(events=[event.value])
    return list(events.value)


def _throw(throw: Document) -> tuple[str, str]:
    throw.mapping(THROW_KEYS, example="throw: {message: timed out}")
    message = throw.required("message", why="the error that is thrown has a message", example="timed out")
    name = throw.part("name").text(example="TimeoutError") if "name" in throw else "Error"
    return message.text(example="timed out"), name


def _fault(fault: Document) -> FaultKind:
    for kind in FAULTS:
        if fault.value == kind:
            return kind
    raise fault.error(
        f"unknown fault {fault.value!r}",
        why=f"a fault is one of {', '.join(FAULTS)}",
        fix=did_you_mean(str(fault.value), FAULTS),
    )
