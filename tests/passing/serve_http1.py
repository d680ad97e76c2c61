"""A real HTTP/1.1 server for tests: serve_http1.py ADDRESS PORT CERTIFICATE. Prints a line once it listens.

Beside what every upstream of the tests answers: large bodies both ways, uploads that are refused by their head,
trailers, answers without a body, one that ends with its connection, and one without an end.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import ssl
import sys
import threading
from http.server import ThreadingHTTPServer

import upstream

PIECE = bytes(range(256)) * 256
PIECES = 1600  # 100 MiB


class Http1(upstream.Upstream):
    arrived: int | None = None  # of the body of the last upload that was refused
    ended = threading.Semaphore(0)  # a refused upload, or an answer without an end

    def do_GET(self) -> None:  # noqa: N802 - http.server's name
        answer = {
            "/large": self._large,
            "/trailers": self._trailers,
            "/until-close": self._until_close,
            "/endless": self._endless,
            "/ended": self._ended,
            "/204": lambda: self._bodiless(204),
            "/304": lambda: self._bodiless(304, "content-length: 5"),
            "/304-chunked": lambda: self._bodiless(304, "transfer-encoding: chunked"),
            "/hints": self._hints,
        }
        answer.get(self.path, super().do_GET)()

    def do_HEAD(self) -> None:  # noqa: N802
        self._bodiless(200, "content-length: 104857600")

    def do_PUT(self) -> None:  # noqa: N802
        if self.path.startswith("/refuse/"):  # it was sent without Expect
            self._refuse()
            return
        digest, size = hashlib.sha256(), int(self.headers["content-length"])
        while size:
            data = self.rfile.read(min(size, len(PIECE)))
            digest.update(data)
            size -= len(data)
        self._json({"sha256": digest.hexdigest(), "expect": self.headers["expect"]})

    def handle_expect_100(self) -> bool:
        if self.path.startswith("/refuse/"):
            self._refuse()
            return False
        return super().handle_expect_100()

    def _refuse(self) -> None:
        """Answer before the body, then see how much of it comes all the same."""
        self.send_response(int(self.path.rpartition("/")[2]))
        self.send_header("connection", "close")
        self.send_header("content-length", "7")
        self.end_headers()
        self.wfile.write(b"refused")
        arrived = 0
        with contextlib.suppress(OSError):
            while data := self.rfile.read1(len(PIECE)):
                arrived += len(data)
        Http1.arrived = arrived
        self.ended.release()

    def _ended(self) -> None:
        if not self.ended.acquire(timeout=20):
            self._json({"ended": False})
        else:
            self._json({"ended": True, "arrived": self.arrived})

    def _large(self) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(PIECE) * PIECES))
        self.end_headers()
        for _ in range(PIECES):
            self.wfile.write(PIECE)

    def _trailers(self) -> None:
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.send_header("trailer", "x-checksum")
        self.end_headers()
        self.wfile.write(b"4\r\nbody\r\n0\r\nX-Checksum: 7\r\nX-Second: two\r\n\r\n")

    def _until_close(self) -> None:
        self.send_response(200)
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(b"until ")
        self.wfile.write(b"the end")

    def _endless(self) -> None:
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(PIECE), PIECE))
        self.ended.release()
        self.close_connection = True

    def _bodiless(self, status: int, *fields: str) -> None:
        self.send_response(status)
        self.send_header("etag", '"five"')
        for field in fields:
            self.send_header(*field.split(": "))
        self.end_headers()

    def _hints(self) -> None:
        self.send_response_only(103)
        self.send_header("link", "</style.css>; rel=preload")
        self.end_headers()
        self._json({"hinted": True})

    def _json(self, value: dict[str, object]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(address: str, port: str, certificate: str) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with ThreadingHTTPServer((address, int(port)), Http1) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        print("listening", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
