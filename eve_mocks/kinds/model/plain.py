"""Operations that are answered by what they ask alone, such as lists of models and counts of tokens."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING
from urllib.parse import unquote

from eve_mocks.kinds.model.turn import Asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eve_mocks.kinds.model.turn import Chunk, Failure, Turn
    from eve_mocks.model import Request
    from eve_mocks.response import Json


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """An ``Api`` made of functions: what is asked, what is told of it, and an error."""

    asks: Callable[[Request, Mapping[str, str]], Asked]
    tells: Callable[[Asked], Json]
    fails: Callable[[Failure], Json]

    @property
    def takes_entry(self) -> bool:
        return False

    def read(self, request: Request, params: Mapping[str, str]) -> Asked:
        return self.asks(request, params)

    def unscripted(self, asked: Asked) -> Turn | None:  # noqa: ARG002 - it has no script to be without
        return None

    def whole(self, asked: Asked, turn: Turn) -> Json:  # noqa: ARG002 - no turn is taken
        return self.tells(asked)

    def stream(self, asked: Asked, turn: Turn) -> Iterator[Chunk]:  # noqa: ARG002 - it is told whole
        return iter(())

    def failed(self, failure: Failure) -> Json:
        return self.fails(failure)


def about_models(request: Request, params: Mapping[str, str]) -> Asked:  # noqa: ARG001 - the path says it all
    """What a list of models, or one of them, is asked by."""
    names = [name for name in params["models"].split("\n") if name]
    return Asked(body={"models": names}, model=unquote(params.get("model", "")))
