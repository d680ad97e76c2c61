"""What a supervisor is told: where connections go, who hears of them, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from eve_mocks.records import Redirect, Refused


class Policy(NamedTuple):
    """Where connections go, whom to tell, and what to refuse at connect. Called from several threads."""

    proxy4: tuple[str, int]
    proxy6: tuple[str, int] | None
    """For sockets that can reach nothing but IPv6; without one they are refused."""
    known: tuple[str, int]
    """Where programs ask the proxy by its own address: announced too, so that it knows who asks."""
    on_redirect: Callable[[Redirect], object]
    on_refused: Callable[[Refused], object]
    refuses: Callable[[str, int], bool]
    """Whether a TCP connection to this host and port has to be refused before its first byte."""
