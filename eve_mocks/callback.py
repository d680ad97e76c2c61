"""Asks a pin's callback what a call gets: a POST of JSON to a server on loopback, which the eval that pinned runs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import h11

from eve_mocks.document import Document
from eve_mocks.errors import MockError
from eve_mocks.json_text import read_json
from eve_mocks.match import BadURL, is_loopback, parse_url
from eve_mocks.outcome import read_outcome

if TYPE_CHECKING:
    from eve_mocks.folder import Folder
    from eve_mocks.model import URL
    from eve_mocks.outcome import Outcome
    from eve_mocks.response import Json

_PATIENCE = 60.0
_TOLD = 1000
_EXAMPLE = "Write for example http://127.0.0.1:4321/call"


class Callback:
    """``what`` is told of each call beside its input."""

    def __init__(self, url: Document, what: dict[str, Json]) -> None:
        self._url = _parse(url)
        self._folder = url.folder
        self._what = what

    async def __call__(self, given: Json) -> Outcome | None:
        """The outcome of a call with this input; None where it passes to the next answer. Raises ``MockError``."""
        message = json.dumps({**self._what, "input": given}).encode()
        try:
            async with asyncio.timeout(_PATIENCE):
                status, content = await _post(self._url, message)
        except (OSError, TimeoutError, h11.RemoteProtocolError) as error:
            raise self._failed(f"gave no answer: {str(error) or type(error).__name__}") from error
        if status == 204:
            return None
        if status != 200:
            raise self._failed(f"answered {status}: {content[:_TOLD].decode('utf-8', 'replace')}")
        return _outcome(content.decode("utf-8", "replace"), self._folder)

    def _failed(self, what: str) -> MockError:
        return MockError(
            f"the callback {self._url} {what}",
            why="a pin with a callback is answered by the eval that set it",
            fix="Answer with 200 and an outcome such as {response: …} or {throw: {message: …}}, or with 204 to pass.",
        )


def _parse(url: Document) -> URL:
    try:
        found = parse_url(url.text(example="http://127.0.0.1:4321/call"))
    except BadURL as error:
        raise url.error(f"the callback is not a URL: {error}", why="it is asked for each call", fix=_EXAMPLE) from error
    if found.scheme != "http" or not is_loopback(found.host):
        raise url.error(
            f"the callback {url.value} is not on this machine",
            why="a callback is a server of the eval itself, over plain HTTP on loopback",
            fix=_EXAMPLE,
        )
    return found


def _outcome(text: str, folder: Folder) -> Outcome:
    value, lines = read_json(text, "the callback's answer")
    return read_outcome(Document(value, "the callback's answer", folder, lines, whole="the callback's answer"))


async def _post(url: URL, message: bytes) -> tuple[int, bytes]:
    """Status and body of the answer (RFC 9112), over a connection of its own."""
    reader, writer = await asyncio.open_connection(url.host.strip("[]"), url.port)
    try:
        conn = h11.Connection(h11.CLIENT)
        headers = [("host", url.authority), ("content-type", "application/json"), ("content-length", str(len(message)))]
        target = url.path + (f"?{url.query}" if url.query else "")
        head = h11.Request(method="POST", target=target, headers=[*headers, ("connection", "close")])
        for event in (head, h11.Data(data=message), h11.EndOfMessage()):
            writer.write(conn.send(event) or b"")
        status, content = 0, bytearray()
        while True:
            answered = conn.next_event()
            if answered is h11.NEED_DATA:
                conn.receive_data(await reader.read(65536))
            elif isinstance(answered, h11.Response):
                status = answered.status_code
            elif isinstance(answered, h11.Data):
                content += answered.data
            elif isinstance(answered, h11.EndOfMessage):
                return status, bytes(content)
    finally:
        writer.close()
