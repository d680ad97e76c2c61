"""Whether a run contains its command, how, and why not (contract, section 7).

Nothing is called contained but a command that was started so. The parts that do it are imported at first use.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Literal

from eve_mocks import environment
from eve_mocks.errors import MockError
from eve_mocks.hosts import Hosts
from eve_mocks.ports import SERVER_FIRST

if TYPE_CHECKING:
    from collections.abc import Callable

    from eve_mocks.contain import Contained, Mode, Policy
    from eve_mocks.proxy_process import ProxyProcess
    from eve_mocks.router import Router

type Choice = Literal["auto", "require", "off"]


class Containment:
    """What becomes of the choice of a run. ``why_not`` is None where its command is contained."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._mode: Mode | None = None
        self._policy: Policy | None = None
        self._siblings: list[int] = []
        self._contained: Contained | None = None
        self.why_not: str | None = None
        if environment.RUN in os.environ:
            self._give_up("inside another run", "Leave --contain out: what escapes this run reaches the outer one.")
        elif choice == "off":
            self._give_up("--contain off", "")

    @property
    def is_tried(self) -> bool:
        return self.why_not is None

    def _give_up(self, why: str, fix: str) -> None:
        if self._choice == "require":
            raise MockError(f"the command cannot be contained: {why}", why="--contain require was given", fix=fix)
        self.why_not = why

    def prepare(self, proxy: ProxyProcess, router: Router) -> None:
        """Find out whether this machine can, before the command starts. Raises ``MockError`` where it must."""
        if not self.is_tried:
            return
        from eve_mocks import contain

        verdict = contain.probe()
        if isinstance(verdict, contain.Reason):
            self._give_up(verdict.text, f"{verdict.fix[0].upper()}{verdict.fix[1:]}.")
            return
        self._mode = verdict
        self._siblings = [proxy.pid] if proxy.pid is not None else []
        self._policy = contain.Policy(
            proxy4=proxy.redirected[socket.AF_INET],
            proxy6=proxy.redirected.get(socket.AF_INET6),
            known=proxy.address,
            on_redirect=lambda record: proxy.tell(contain.encode(record)),
            on_refused=lambda record: proxy.tell(contain.encode(record)),
            refuses=_refuses(router, proxy),
        )

    def launch(self, spawn: Callable[[], int]) -> int:
        """Start the command, contained if it can be. What ``spawn`` raises is raised."""
        if self._mode is None or self._policy is None:
            return spawn()
        from eve_mocks import contain

        try:
            self._contained = contain.start(spawn, mode=self._mode, policy=self._policy, siblings=self._siblings)
        except (OSError, RuntimeError) as error:
            raise MockError(
                f"the command cannot be contained: {error}",
                why="this machine allows it, but something that it takes is missing",
                fix="Make room for threads, sockets and open files, or give --contain off.",
            ) from error
        return self._contained.pid

    def close(self) -> None:
        """End the network of what the command has left behind."""
        if self._contained is not None:
            self._contained.close()


def _refuses(router: Router, proxy: ProxyProcess) -> Callable[[str, int], bool]:
    hosts = Hosts()

    def refuses(host: str, port: int) -> bool:
        if port not in SERVER_FIRST:
            return False
        names = (host, *hosts.names(host))
        known = router if proxy.server_first is None else _of_the_proxy(proxy.server_first)
        entry = known.raw("tcp", names, port)
        is_allowed = entry is not None and entry.kind == "allow"
        return not is_allowed and not any(known.knows(name, port) for name in names)

    return refuses


def _of_the_proxy(urls: list[str]) -> Router:
    """As much of the proxy's router as decides here."""
    from eve_mocks.model import Passage
    from eve_mocks.router import Router

    return Router((), [Passage(kind="allow", name="", url=url, why="") for url in urls])
