"""What mocks have in common that stand beside those of the files: one answer, no stubs, the same in every session."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from eve_mocks.stubs.rules import NO_RULES

if TYPE_CHECKING:
    from eve_mocks.model import Request
    from eve_mocks.stubs.rules import Rule, Rules


class Companion:
    """A mock but for its ``kind``, ``operations`` and ``answer``; ``file`` and ``line`` are of the one it is beside."""

    seed: ClassVar[None] = None
    problems: ClassVar[tuple[()]] = ()
    is_beside: ClassVar[bool] = True

    def __init__(self, name: str, url: str, *, file: str, line: int | None) -> None:
        self.name = name
        self.url = url
        self.file = file
        self.line = line

    @property
    def stubs(self) -> Rules:
        return NO_RULES

    def names(self) -> dict[str, str]:
        return {}

    def entries(self) -> list[str]:
        return []

    def check(self, rule: Rule) -> None:
        """Accept any: there are none."""

    def reads_body(self, request: Request) -> bool:  # noqa: ARG002 - it is the same for all
        return False
