"""The pulled copy of a document, for a client that downloads it from where its service has it (contract, section 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from eve_mocks.companion import Companion
from eve_mocks.match import parse_claim
from eve_mocks.model import Answer
from eve_mocks.response import Response

if TYPE_CHECKING:
    from pathlib import Path

    from eve_mocks.model import Request
    from eve_mocks.session import Session


class Copy(Companion):
    """Claims the URL of a document, or of several whose URLs differ by their queries alone: ``paths`` are by those."""

    kind: ClassVar[str] = "http"

    def __init__(self, name: str, url: str, *, file: str, line: int | None) -> None:
        super().__init__(name, url, file=file, line=line)
        self.paths: dict[str, Path] = {}
        self._claim = parse_claim(url)

    def operations(self) -> list[str]:
        return ["GET /"]

    async def answer(self, request: Request, session: Session) -> Answer:  # noqa: ARG002 - the same in every session
        operation = f"{request.method} {self._claim.relative(request.path)}"
        if request.path.rstrip("/") != self._claim.prefix:  # below it, where no document is
            return Answer(
                response=Response(404, json={"error": {"message": "only the document is here"}}), operation=operation
            )
        if request.method not in ("GET", "HEAD"):
            return Answer(response=Response(405, headers={"allow": "GET, HEAD"}), operation=operation)
        path = self.paths.get(request.target.query) or next(iter(self.paths.values()))
        response = Response(body=path.read_bytes(), headers={"content-type": "application/json"})
        return Answer(response=response, operation=operation)
