"""A unary call by grpcio: HTTP/2, and a status in trailers."""

import urllib.parse

import grpc
from ask import each


def get(url):
    where = urllib.parse.urlsplit(url)
    with grpc.secure_channel(f"{where.hostname}:443", grpc.ssl_channel_credentials()) as channel:
        try:
            return 0, channel.unary_unary(where.path)(b"", timeout=10).decode()
        except grpc.RpcError as error:
            return error.code().value[0], error.details()


each(get)
