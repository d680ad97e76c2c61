"""A stream of a model's answer as server-sent events, each with the time that it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eve_mocks.response import Response, encode_json

if TYPE_CHECKING:
    from eve_mocks.kinds.model.turn import Api, Asked, Turn


def events(api: Api, asked: Asked, turn: Turn, tokens_per_second: float | None) -> Response:
    """The response; a token is the event of a piece of text, or of a call's arguments."""
    wait = 1 / tokens_per_second if tokens_per_second else 0.0
    found: list[dict[str, Any]] = []
    for chunk in api.stream(asked, turn):
        data = chunk.data if isinstance(chunk.data, str) else encode_json(chunk.data).decode()
        event: dict[str, Any] = {"data": data}
        if chunk.event is not None:
            event["event"] = chunk.event
        if chunk.is_paced and wait:
            event["delay"] = wait
        found.append(event)
    return Response(events=found, delay=turn.delay, headers={"cache-control": "no-cache"})
