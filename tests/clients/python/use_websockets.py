"""A WebSocket by websockets; an answer that opens none is told as it is."""

from ask import each
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect


def get(url):
    try:
        with connect(url, open_timeout=10) as socket:
            socket.send("hello")
            return 101, socket.recv(timeout=10)
    except InvalidStatus as error:
        return error.response.status_code, error.response.body.decode()


each(get)
