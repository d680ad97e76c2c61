"""A WebSocket by websockets to serve_websocket.py, given as HOST:PORT; prints what was said as JSON."""

import faulthandler
import json
import sys

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

PATIENCE = 20


def ended(socket):
    try:
        return socket.recv(timeout=PATIENCE)
    except ConnectionClosed as closed:
        return [closed.rcvd.code, closed.rcvd.reason]


def client_first(url):
    with connect(f"{url}/echo", subprotocols=["b", "a"], max_size=None) as socket:
        heard = [socket.subprotocol]
        for message in ("word ü", b"\x00\xff", "", "x" * 2**20):
            socket.send(message)
            heard.append(socket.recv(timeout=PATIENCE) == message)
        socket.send(["in ", "three ", "pieces"])
        heard.append(socket.recv(timeout=PATIENCE))
        heard.append(socket.ping(b"still there").wait(PATIENCE))
        socket.close(4000, "enough")
        return [*heard, socket.close_code]


def server_first(url):
    with connect(f"{url}/greet", compression=None) as socket:
        return socket.recv(timeout=PATIENCE)


def pinged(url):
    with connect(f"{url}/ping") as socket:
        return socket.recv(timeout=PATIENCE)


def left(url):
    with connect(f"{url}/leave") as socket:
        return ended(socket)


faulthandler.dump_traceback_later(90, exit=True)  # should it hang, where
for call in (client_first, server_first, pinged, left):
    print(json.dumps({call.__name__: call(f"wss://{sys.argv[1]}")}), flush=True)
