"""A real gRPC server for tests: serve_grpc.py ADDRESS PORT CERTIFICATE. Prints a line once it listens.

Messages are bytes. ``Upper`` answers one, ``Each`` every one as it comes, ``Fail`` ends with a status while the client
has more to say, ``Many`` and ``Count`` are large, ``Wait`` lasts until it is cancelled, which ``Cancelled`` tells.
"""

from __future__ import annotations

import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

if TYPE_CHECKING:
    from collections.abc import Iterator

CANCELLED = threading.Semaphore(0)
PIECE = b"x" * 2**20


def upper(message: bytes, context: grpc.ServicerContext) -> bytes:
    context.set_trailing_metadata(
        (("asked-with", dict(context.invocation_metadata())["x-asked"]), ("end-bin", b"\0\1"))
    )
    return message.upper()


def each(messages: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
    yield b"ready"
    for message in messages:
        yield message.upper()


def fail(messages: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
    yield next(messages).upper()
    context.set_trailing_metadata((("hint", "later"),))
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not yet: 100 % ü")


def many(message: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
    for _ in range(int(message)):
        yield PIECE


def count(messages: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
    return str(sum(map(len, messages))).encode()


def wait(message: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
    ended = threading.Event()
    context.add_callback(ended.set)
    yield b"waiting"
    ended.wait()
    CANCELLED.release()


def cancelled(message: bytes, context: grpc.ServicerContext) -> bytes:
    return str(CANCELLED.acquire(timeout=20)).encode()


def main(address: str, port: str, certificate: str) -> None:
    server = grpc.server(ThreadPoolExecutor(8))
    methods = {
        "Upper": grpc.unary_unary_rpc_method_handler(upper),
        "Each": grpc.stream_stream_rpc_method_handler(each),
        "Fail": grpc.stream_stream_rpc_method_handler(fail),
        "Many": grpc.unary_stream_rpc_method_handler(many),
        "Count": grpc.stream_unary_rpc_method_handler(count),
        "Wait": grpc.unary_stream_rpc_method_handler(wait),
        "Cancelled": grpc.unary_unary_rpc_method_handler(cancelled),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Words", methods),))
    key, chain = re.fullmatch(
        rb"(.*?-----END [A-Z ]*KEY-----\n)(.*)", Path(certificate).read_bytes(), re.DOTALL
    ).groups()
    server.add_secure_port(f"{address}:{port}", grpc.ssl_server_credentials([(key, chain)]))
    server.start()
    print("listening", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main(*sys.argv[1:])
