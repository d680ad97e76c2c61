"""Loads mitmproxy when the first connection needs it: most runs never do, and it takes a while."""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eve_mocks.dispatch import Dispatcher
    from eve_mocks.proxy.connection import Connection
    from eve_mocks.proxy.passing import Passing
    from eve_mocks.proxy.upstream import Upstreams


class Carrier:
    """Takes connections to allowed upstreams; ``address`` and ``token`` lead back to our own listener."""

    def __init__(self, dispatcher: Dispatcher, upstreams: Upstreams, *, address: tuple[str, int], token: str) -> None:
        self._dispatcher = dispatcher
        self._upstreams = upstreams
        self._address = address
        self._token = token
        self._loading: asyncio.Task[Passing] | None = None

    def prepare(self) -> asyncio.Task[Passing]:
        """Begin to load, beside what else goes on."""
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load())
        return self._loading

    async def __call__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Connection, alpn: str | None
    ) -> bytes | None:
        """Carry one connection to its end, or to a request that is not for the passing lane: see ``Passing.serve``."""
        passing = await asyncio.shield(self.prepare())
        return await passing.serve(reader, writer, connection, alpn)

    async def _load(self) -> Passing:
        await asyncio.to_thread(importlib.import_module, "eve_mocks.proxy.passing")
        from eve_mocks.proxy.passing import Passing

        return Passing(self._dispatcher, self._upstreams, address=self._address, token=self._token)
