"""What is asked for in the passing lane: from heads to mitmproxy's requests, and from those to our own."""

from __future__ import annotations

import dataclasses
import time
from urllib.parse import quote_from_bytes

from mitmproxy import http

from eve_mocks.model import URL, Headers, Request
from eve_mocks.proxy import head
from eve_mocks.proxy.connection import (
    BadTarget,
    Connection,
    Disagreement,
    check_authority,
    host_of,
    proxy_user,
    target_of,
    target_to_send,
)
from eve_mocks.proxy.http1 import HOP_HEADERS


def judge(raw: bytes, *, connection: Connection) -> http.Request | None:
    """The request of a head as it goes on from here, or None where the answering lane is to say what is wrong."""
    try:
        event = head.read(head.connection(), raw)
        asked = event.target.decode("ascii")
        hosts = [value.decode("latin-1") for name, value in event.headers if name == b"host"]
        target = target_of(asked, host_of(hosts[0] if hosts else None), connection)
    except (head.BadHead, BadTarget, Disagreement):
        return None
    if event.method.upper() == b"CONNECT":
        return None
    now = time.time()
    return http.Request(
        host=target.host,
        port=target.port,
        method=event.method,
        scheme=target.scheme.encode(),
        authority=b"",
        path=target_to_send(asked).encode(),
        http_version=b"HTTP/" + event.http_version,
        headers=http.Headers(event.headers.raw_items()),
        content=None,
        trailers=None,
        timestamp_start=now,
        timestamp_end=None,
    )


def read(flow: http.HTTPFlow, connection: Connection) -> tuple[Connection, Request]:
    """What a flow asks for, and the connection as it has it. Raises ``BadTarget`` or ``Disagreement``."""
    asked = flow.request
    headers = Headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in asked.headers.fields)
    connection = connection.called(host_of(asked.authority or headers.get("host")))
    if connection.host is None:
        raw, names = f"{URL(asked.scheme, asked.host, asked.port, '').origin}{asked.path}", [headers.get("host")]
        connection = dataclasses.replace(connection, user=proxy_user(headers.get("proxy-authorization")))
    elif asked.is_http2:
        asked.data.path = quote_from_bytes(asked.data.path, safe=bytes(range(0x21, 0x7F))).encode()
        raw, names = asked.path, [asked.authority or None, headers.get("host")]
    else:
        raw, names = asked.path, [headers.get("host")]
    target = target_of(raw, None, connection)
    for name in names:
        check_authority(target, host_of(name), connection)
    asked.data.path = target_to_send(raw).encode()
    request = Request(method=asked.method, target=target, headers=headers.without(*HOP_HEADERS))
    return known(connection, target), request


def known(connection: Connection, target: URL) -> Connection:
    """The connection with the destination that an absolute-form request names."""
    if connection.host is not None:
        return connection
    return dataclasses.replace(connection, scheme=target.scheme, host=target.host, port=target.port)
