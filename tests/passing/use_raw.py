"""A protocol of its own with serve_raw.py, given as HOST PORT: says all it has to say at once. Prints what it heard."""

import os
import socket
import sys
import urllib.parse

CONNECTIONS = 20

host, port = sys.argv[1], int(sys.argv[2])
proxy = urllib.parse.urlsplit(os.environ.get("ALL_PROXY", ""))
for _ in range(CONNECTIONS):
    near = (proxy.hostname, proxy.port) if proxy.hostname else (host, port)
    with socket.create_connection(near, timeout=20) as connection:
        said = b"one\r\nquit\r\n"
        if proxy.hostname:
            said = f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode() + said
        connection.sendall(said)
        heard = b"".join(iter(lambda: connection.recv(65536), b""))
        print((heard.partition(b"\r\n\r\n")[2] if proxy.hostname else heard).decode().split())
