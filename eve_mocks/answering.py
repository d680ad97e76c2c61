"""Functions of an eval as answers of pins: a server on loopback, which the run asks for each call."""

from __future__ import annotations

import asyncio
import inspect
import json
import secrets
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from eve_mocks.model import Throw, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eve_mocks.response import Json

type Function = Callable[[dict[str, Json]], Any]


class Answering:
    """Serves functions from its first one on, each under a path that nobody else on the machine can guess."""

    def __init__(self) -> None:
        self._functions: dict[str, Function] = {}
        self._server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def url_of(self, function: Function) -> str:
        """Where a function answers from now on."""
        if self._server is None:
            functions = self._functions

            class Handler(_Handler):
                def function(self) -> Function | None:
                    return functions.get(self.path)

            self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        path = f"/{secrets.token_urlsafe()}"
        self._functions[path] = function
        return f"http://127.0.0.1:{self._server.server_port}{path}"


class _Handler(BaseHTTPRequestHandler):
    def function(self) -> Function | None:
        """What answers the path."""
        raise NotImplementedError

    def do_POST(self) -> None:
        function = self.function()
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, told = (404, None) if function is None else _answer(function, message["input"])
        body = b"" if told is None else json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write nothing: stderr is the eval's."""


def _answer(function: Function, given: dict[str, Json]) -> tuple[int, Json]:
    """The status and the outcome that a callback answers with."""
    try:
        result = function(given)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        if result is NotImplemented:
            return 204, None
        json.dumps(result, allow_nan=False)
    except Throw as error:
        return 200, {"throw": {"name": error.name, "message": error.message}}
    except ToolError as error:
        return 200, {"throw": {"name": "ToolError", "message": str(error)}}
    except Exception as error:  # noqa: BLE001 - the eval's own code
        place = traceback.extract_tb(error.__traceback__)[-1]
        return 500, f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"
    return 200, {"response": result}
