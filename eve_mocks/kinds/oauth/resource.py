"""The metadata of a resource whose authorization server is elsewhere, at the resource's own origin (RFC 9728)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from eve_mocks.companion import Companion
from eve_mocks.kinds.oauth.mock import PROTECTED, protected
from eve_mocks.model import Answer
from eve_mocks.response import Response

if TYPE_CHECKING:
    from eve_mocks.kinds.oauth.server import Server
    from eve_mocks.model import Request
    from eve_mocks.session import Session


class Resource(Companion):
    """Claims where the metadata of a resource is looked for."""

    kind: ClassVar[str] = "oauth"

    def __init__(self, name: str, resource: str, server: Server, *, file: str, line: int | None) -> None:
        parts = urlsplit(resource)
        super().__init__(name, f"{parts.scheme}://{parts.netloc}{PROTECTED}", file=file, line=line)
        self._resource = resource
        self._server = server

    def operations(self) -> list[str]:
        return ["metadata"]

    async def answer(self, request: Request, session: Session) -> Answer:  # noqa: ARG002 - the same in every session
        return Answer(response=Response(json=protected(self._server, self._resource)), operation="metadata")
