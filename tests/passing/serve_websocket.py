"""A real WebSocket server for tests: serve_websocket.py ADDRESS PORT CERTIFICATE. Prints a line once it listens.

By path: ``/echo`` gives back each message and closes as it is asked to, ``/greet`` speaks first, ``/ping`` pings before
it says what came back, ``/leave`` closes with a code of its own.
"""

from __future__ import annotations

import contextlib
import ssl
import sys
from typing import TYPE_CHECKING

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websockets.sync.server import ServerConnection

PATIENCE = 20


def answer(socket: ServerConnection) -> None:
    path = socket.request.path
    if path == "/greet":
        socket.send("welcome")
    elif path == "/ping":
        answered = socket.ping(b"are you there").wait(PATIENCE)
        socket.send("pong" if answered else "silence")
    elif path == "/leave":
        socket.close(4001, "out of here")
    with contextlib.suppress(ConnectionClosed):
        for message in socket:
            socket.send(message)


def choose(_: ServerConnection, offered: Sequence[str]) -> str | None:
    return offered[-1] if offered else None


def main(address: str, port: str, certificate: str) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with serve(answer, address, int(port), ssl=context, select_subprotocol=choose, max_size=None) as server:
        print("listening", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
