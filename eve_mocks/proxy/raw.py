"""Connections that ``tcp://host:port`` allows: carried as they are, whatever they speak, and recorded by their size.

What they say is not kept: where no protocol is known, neither is where its credentials stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eve_mocks.model import URL, Headers, Peer, Request
from eve_mocks.proxy.relay import relay
from eve_mocks.session import BadSession

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from eve_mocks.dispatch import Dispatcher
    from eve_mocks.model import Passage
    from eve_mocks.proxy.connection import Connection
    from eve_mocks.router import Router


def allowed(router: Router, connection: Connection) -> Passage | None:
    """The entry that lets a connection through as a whole."""
    if connection.host is None:
        return None
    entry = router.raw("tcp", (connection.host, *connection.names), connection.port)
    return entry if entry is not None and entry.kind == "allow" else None


async def carry(
    transport: asyncio.Transport,
    connection: Connection,
    entry: Passage,
    dispatcher: Dispatcher,
    *,
    greeting: bytes,
    failure: bytes,
    data: bytes,
    dialled: Callable[[asyncio.Transport], object],
) -> None:
    """Carry an allowed connection to its end; ``dialled`` is given the one to the server."""
    assert connection.host is not None  # noqa: S101 - see allowed()
    url = URL("tcp", connection.host, connection.port, "/")
    request = Request(method="CONNECT", target=url, headers=Headers())
    try:
        exchange = dispatcher.allowed(request, entry, user=connection.session, client=connection.peer)
    except BadSession as error:
        dispatcher.refuse_connection(url, reason="session", why=f"{error}.", peer=lambda: connection.peer or Peer())
        transport.abort()
        return
    exchange.note(operation=f"CONNECT {url.authority}")
    try:
        carried = await relay(transport, url.host, url.port, greeting=greeting, failure=failure, data=data)
    except OSError as error:
        exchange.finish(status=None, error=f"{url.authority} cannot be reached: {error.strerror or error}")
        return
    dialled(carried.server)
    sent, received = await carried.end()
    exchange.note(request_bytes=sent)
    exchange.finish(status=None, size=received)
