"""A server for tests that speaks nothing known: serve_raw.py ADDRESS PORT CERTIFICATE. Prints a line once it listens.

On a port where the server speaks first it greets. Then it answers each line in upper case, until it is told to quit.
"""

from __future__ import annotations

import socketserver
import sys

from eve_mocks.ports import SERVER_FIRST


class Raw(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        if self.server.server_address[1] in SERVER_FIRST:
            self.wfile.write(b"hello\r\n")
        for line in self.rfile:
            self.wfile.write(line.upper())
            if line == b"quit\r\n":
                return


def main(address: str, port: str, _certificate: str) -> None:
    with socketserver.ThreadingTCPServer((address, int(port)), Raw) as server:
        print("listening", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
