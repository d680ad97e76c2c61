"""Sends its argument, a secret, in messages that no client library would send, each on a connection of its own."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import ssl
import sys
from urllib.parse import urlsplit

SECRET = sys.argv[1].encode()
END = b"\r\n\r\n"
GET = b"GET /v1/x HTTP/1.1\r\nConnection: close\r\nHost: api.pay.test"
POST = GET.replace(b"GET", b"POST")
PATIENCE = 10

OTHER_PROTOCOLS = (b"AUTH %s\r\n", b"PASS %s\r\n", b"USER %s\r\n", b"\0%s", b"{'password': '%s'}\r\n")
TARGETS = (
    b"http://me:%s",
    b"http://me:%s@[::1",
    b"http://me:%s@plain.test/",
    b"%s",
    b"https://api.pay.test/?api_key=%s x",
    b"me:%s@api.pay.test:443",
)
AUTHORIZATIONS = (b"Bearer %s", b"%s", b"Basic %s!", b"Digest username=x, response=%s")
FIELDS = (
    b"Authorization\0: Bearer %s",
    b"Authorization: Bearer %s\0",
    b"Authorization Bearer %s",
    b"Content-Length: %s",
    b"Transfer-Encoding: %s",
    b"x-eve-mocks-session: Bearer %s",
    b"x-eve-mocks-session: token/%s",
    b"x-eve-mocks-agent: Bearer %s",
    b"Host: x:%s",
)
HOSTS = (b"bob:%s@api.pay.test", b"bob:%s@shop.test", b"%s x", b"[%s]")
LINES = (
    b"GET /v1/x?api_key=%s b HTTP/1.1",
    b"GET /v1/x?a=b&api_key=%s HTTP/1.1",
    b"GET /v1/x?token=%s b HTTP/2.0",
    b"GET /v1/none?code=%s&state=1 HTTP/1.1",
)
BODIES = (
    b"password=%s",
    b'{"password": "%s"',
    b'{"token": "%s", "a": NaN}',
    b'["Authorization: Bearer %s"]',
    b"<password>%s</password>",
)


def tell(client: socket.socket, data: bytes) -> None:
    client.sendall(data)
    with contextlib.suppress(ConnectionError):  # what is no HTTP is reset
        client.recv(65536)


def to_proxy(data: bytes) -> None:
    with connect() as client:
        tell(client, data)


def connect() -> socket.socket:
    proxy = urlsplit(os.environ["HTTPS_PROXY"])
    return socket.create_connection((proxy.hostname, proxy.port), timeout=PATIENCE)


def tunnel(authority: bytes, *fields: bytes) -> socket.socket:
    client = connect()
    client.sendall(b"\r\n".join((b"CONNECT " + authority + b" HTTP/1.1", b"Host: " + authority, *fields)) + END)
    answer = client.recv(65536)
    assert b" 200 " in answer, answer
    return client


def inside(data: bytes, *fields: bytes) -> None:
    """Send something to the mock, inside of TLS; the fields go to the proxy."""
    plain = tunnel(b"api.pay.test:443", *fields)
    with ssl.create_default_context().wrap_socket(plain, server_hostname="api.pay.test") as client:
        tell(client, data)


def main() -> None:
    for data in OTHER_PROTOCOLS:
        with tunnel(b"cache.test:6379") as client:
            tell(client, data % SECRET)
    for target in TARGETS:
        to_proxy(b"GET " + target % SECRET + b" HTTP/1.1" + END)
        to_proxy(b"CONNECT " + target % SECRET + b" HTTP/1.1" + END)
    user = base64.b64encode(b"a b " + SECRET + b":x")
    for authorization in (*(one % SECRET for one in AUTHORIZATIONS), b"Basic " + user):
        inside(GET + END, b"Proxy-Authorization: " + authorization)
    for field in FIELDS:
        inside(GET + b"\r\n" + field % SECRET + END)
    for host in HOSTS:
        inside(GET.replace(b"api.pay.test", host % SECRET) + END)
    for line in LINES:
        inside(line % SECRET + GET[GET.index(b"\r\n") :] + END)
    for body in (one % SECRET for one in BODIES):
        inside(POST + b"\r\nContent-Length: %d" % len(body) + END + body)
        inside(POST + b"\r\nTransfer-Encoding: chunked" + END + body + END)


main()
