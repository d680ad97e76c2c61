"""grpcio's calls of serve_grpc.py, given as HOST:PORT; prints what they came to as JSON."""

import json
import queue
import sys

import grpc

PATIENCE = 20
PIECES = 100


def unary(channel):
    answer, call = channel.unary_unary("/test.Words/Upper").with_call(
        b"hello", timeout=PATIENCE, metadata=[("x-asked", "me")]
    )
    trailers = {key: value for key, value in call.trailing_metadata() if key in ("asked-with", "end-bin")}
    return [answer.decode(), call.code().name, str(trailers)]


def in_turn(channel):
    """Each message is sent when the answer to the one before it is there; the server is the first."""
    said = queue.SimpleQueue()
    answers = channel.stream_stream("/test.Words/Each")(iter(said.get, None), timeout=PATIENCE)
    heard = []
    for word in (b"one", b"two", b"three", None):
        heard.append(next(answers).decode())
        said.put(word)
    return [heard, [message.decode() for message in answers], answers.code().name]


def failing(channel):
    """The status comes while the client has more to say."""
    said = queue.SimpleQueue()
    said.put(b"one")
    answers = channel.stream_stream("/test.Words/Fail")(iter(said.get, None), timeout=PATIENCE)
    heard = [next(answers).decode()]
    try:
        next(answers)
    except grpc.RpcError as error:
        heard += [error.code().name, error.details(), dict(error.trailing_metadata())["hint"]]
    said.put(None)
    return heard


def cancelled(channel):
    answers = channel.unary_stream("/test.Words/Wait")(b"", timeout=PATIENCE)
    heard = next(answers).decode()
    answers.cancel()
    return [heard, channel.unary_unary("/test.Words/Cancelled")(b"", timeout=PATIENCE).decode()]


def unknown(channel):
    try:
        channel.unary_unary("/test.Words/Nothing")(b"", timeout=PATIENCE)
    except grpc.RpcError as error:  # a status in the head, which is all there is
        return error.code().name


def large(channel):
    down = sum(map(len, channel.unary_stream("/test.Words/Many")(str(PIECES).encode(), timeout=60)))
    up = channel.stream_unary("/test.Words/Count")(iter([b"x" * 2**20] * PIECES), timeout=60)
    return [down, int(up)]


with grpc.secure_channel(sys.argv[1], grpc.ssl_channel_credentials()) as channel:
    for call in (unary, in_turn, failing, cancelled, unknown, large):
        print(json.dumps({call.__name__: call(channel)}), flush=True)
