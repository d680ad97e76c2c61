"""The metadata of a resource whose authorization server is elsewhere, at the resource's own origin (RFC 9728)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from eve_mocks.kinds.oauth.mock import PROTECTED, protected
from eve_mocks.model import Answer
from eve_mocks.response import Response
from eve_mocks.stubs.rules import NO_RULES

if TYPE_CHECKING:
    from eve_mocks.kinds.oauth.server import Server
    from eve_mocks.model import Request
    from eve_mocks.session import Session
    from eve_mocks.stubs.rules import Rule, Rules


class Resource:
    """Claims where the metadata of a resource is looked for."""

    kind: ClassVar[str] = "oauth"
    seed: ClassVar[None] = None
    problems: ClassVar[tuple[()]] = ()
    is_beside: ClassVar[bool] = True

    def __init__(self, name: str, resource: str, server: Server, *, file: str, line: int | None) -> None:
        parts = urlsplit(resource)
        self.name = name
        self.url = f"{parts.scheme}://{parts.netloc}{PROTECTED}"
        self.file = file
        self.line = line
        self._resource = resource
        self._server = server

    @property
    def stubs(self) -> Rules:
        return NO_RULES

    def operations(self) -> list[str]:
        return ["metadata"]

    def names(self) -> dict[str, str]:
        return {}

    def entries(self) -> list[str]:
        return []

    def check(self, rule: Rule) -> None:
        """Accept any: there are none."""

    def reads_body(self, request: Request) -> bool:  # noqa: ARG002 - it is the same for all
        return False

    async def answer(self, request: Request, session: Session) -> Answer:  # noqa: ARG002 - the same in every session
        return Answer(response=Response(json=protected(self._server, self._resource)), operation="metadata")
