"""An upstream that is no more than a socket: it keeps every byte it is sent, and answers with given ones.

It is reached as the caller's own proxy, so that its name is looked up nowhere.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
from typing import TYPE_CHECKING

from running_proxy import PATIENCE, read_head
from upstream import certify

from eve_mocks.proxy.upstream import Upstreams

if TYPE_CHECKING:
    from pathlib import Path

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class RawUpstream:
    """``answers`` are by path. ``requests`` are heads and bodies as they came, the framing included."""

    def __init__(self, folder: Path) -> None:
        self.answers: dict[str, bytes] = {}
        self.requests: list[tuple[bytes, bytes]] = []
        self._ca = str(certify(folder))
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(folder / "server.pem")
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def upstreams(self) -> Upstreams:
        url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        return Upstreams({"http": url, "https": url, "no": ""}, self._ca)

    @property
    def lines(self) -> list[str]:
        return [head.split(b"\r\n")[0].decode() for head, _ in self.requests]

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for client in self._open:
            client.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(PATIENCE)
        with contextlib.suppress(OSError, AssertionError):  # the end of the connection
            head = read_head(client)
            if head.startswith(b"CONNECT "):
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                client = self._context.wrap_socket(client, server_side=True)
                head = read_head(client)
            self._open.append(client)
            while True:
                self.requests.append((head, _body(client, head.lower())))
                path = head.split(b" ")[1].decode()
                client.sendall(self.answers.get(path, OK))
                head = read_head(client)


def _body(client: socket.socket, head: bytes) -> bytes:
    body = b""
    if b"transfer-encoding: chunked" in head:
        while not re.search(rb"(^|\r\n)0\r\n(.+\r\n)*\r\n$", body):
            body += client.recv(1)
    elif found := re.search(rb"content-length: (\d+)", head):
        while len(body) < int(found[1]):
            body += client.recv(65536)
    return body
