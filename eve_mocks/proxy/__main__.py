"""``python -P -m eve_mocks.proxy LISTEN CONTROL [RECORDS,REDIRECTED,...]``: its life, as the wrapper directs it.

The arguments are file descriptors; those in the last one are there where the command is contained.

On the control socket, JSON by line: settings come in, ``ready`` or ``error`` goes out; ``finish`` comes in, the
``report`` goes out. ``serverFirst`` (see ``Router.urls``) goes out as often as the mocks are loaded. When the wrapper
is gone, so is the proxy at once: what is left of the command loses the network.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import logging
import os
import resource
import secrets
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eve_mocks import beginning, redact
from eve_mocks.advice import Advisor
from eve_mocks.calls import CallLog
from eve_mocks.control import ControlApi
from eve_mocks.dispatch import Dispatcher
from eve_mocks.errors import MockError
from eve_mocks.exits import leave
from eve_mocks.folder import Folder
from eve_mocks.load import declared, load, names
from eve_mocks.ports import SERVER_FIRST
from eve_mocks.proxy import stuck
from eve_mocks.proxy.carrier import Carrier
from eve_mocks.proxy.certificates import Certificates
from eve_mocks.proxy.listener import Listener
from eve_mocks.proxy.redirected import Redirected
from eve_mocks.proxy.reload import Reloading, stamp_of
from eve_mocks.proxy.upstream import Upstreams
from eve_mocks.report import Tally
from eve_mocks.router import Router
from eve_mocks.session import Sessions
from eve_mocks.stubs.rules import labels

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from eve_mocks.model import Mock


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The first line of the control socket."""

    folder: Path
    folder_name: str
    also: list[Path]
    log: Path | None
    session: str
    control_token: str
    stubs: list[str]
    seeds: list[str]
    eve_dev: bool
    ca: Path
    upstreams: Upstreams
    python_path: str | None

    @classmethod
    def parse(cls, line: str) -> Settings:
        given: dict[str, Any] = json.loads(line)
        return cls(
            folder=Path(given["folder"]),
            folder_name=given["folderName"],
            also=[Path(file) for file in given.get("also", [])],
            log=Path(given["log"]) if given.get("log") else None,
            session=given["session"],
            control_token=given["controlToken"],
            stubs=given["stubs"],
            seeds=given["seeds"],
            eve_dev=given["eveDev"],
            ca=Path(given["ca"]),
            upstreams=Upstreams(given.get("upstreamProxies"), given.get("upstreamCa")),
            python_path=given.get("pythonPath"),
        )


class Control:
    """The wrapper's end of the line, from here."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self._lines = self._socket.makefile("r", encoding="utf-8")

    def read(self) -> str:
        """The next line; empty when the wrapper is gone."""
        return self._lines.readline()

    def send(self, message: dict[str, Any]) -> None:
        self._socket.sendall(json.dumps(message).encode() + b"\n")


async def serve(
    settings: Settings, sock: socket.socket, control: Control, contained: Sequence[socket.socket] = ()
) -> None:
    """Serve until the wrapper says ``finish``. Raises ``MockError`` where the mocks are wrong."""
    if settings.python_path is not None:
        os.environ["PYTHONPATH"] = settings.python_path  # for programs that a mock starts; it was not there for us
    stamp = stamp_of(settings.folder, settings.also)
    mocks = load(settings.folder, shown=settings.folder_name, also=settings.also)
    if mocks.errors:
        raise mocks.errors[0]
    stubs, seeds = beginning.read(settings.stubs, settings.seeds, mocks.mocks)
    tally = Tally()
    record = CallLog(settings.log, tally)
    dispatcher = Dispatcher(
        Router(mocks.mocks, mocks.passages),
        Sessions(settings.session, *stubs, seeds=seeds),
        record,
        eve_dev=settings.eve_dev,
        advisor=Advisor(functools.partial(names, settings.folder), folder=settings.folder_name),
    )

    def tell(router: Router) -> None:
        if contained:  # what is refused at connect is refused by the wrapper
            control.send({"serverFirst": router.urls(SERVER_FIRST)})

    # From here on, since an edit may follow ``ready`` at once.
    reloading = Reloading(settings.folder, settings.folder_name, dispatcher, stamp, tell, also=settings.also)
    tell(dispatcher.router)  # the wrapper has loaded the mocks too, but before an edit that may have been made since
    token = secrets.token_urlsafe(32)
    carrier = Carrier(dispatcher, settings.upstreams, address=sock.getsockname()[:2], token=token)
    api = ControlApi(
        dispatcher,
        record,
        folder=Folder.at(settings.folder, settings.folder_name),
        token=settings.control_token,
        address=sock.getsockname()[:2],
    )
    listener = Listener(dispatcher, Certificates(settings.ca), carrier, token=token, control=api)
    control.send({"ready": True})  # before the first answer: a command may end with it, and so ask for the result
    await listener.start(sock)
    redirected = None
    if contained:
        records, *sockets = contained
        redirected = Redirected(listener, records)
        await redirected.start(sockets)
    _warm(mocks.mocks)
    if dispatcher.router.allows():
        carrier.prepare()
    watching = asyncio.create_task(reloading.watch())
    timer = await _finish(control, Folder.at(settings.folder, settings.folder_name))
    watching.cancel()
    if redirected is not None:
        await redirected.stop()
    await listener.stop()
    timer.cancel()
    record.close()
    report = tally.as_json()
    loaded = dispatcher.router.mocks  # as the last edit has left them
    report["unused"] = {
        "stubs": labels((*stubs, *(mock.stubs for mock in loaded))),
        "scripts": [entry for mock in loaded for entry in mock.entries()],
        "mocks": declared(loaded),
    }
    report["problems"] += reloading.problems + listener.trust.problems
    control.send({"report": report})


def _warm(mocks: Sequence[Mock]) -> None:
    """Let MCP mocks load their SDK before their first call, and only where there are any."""
    if any(mock.kind == "mcp" for mock in mocks):
        from eve_mocks.kinds.mcp.mock import McpMock

        for mock in mocks:
            if isinstance(mock, McpMock):
                mock.warm()


async def _finish(control: Control, folder: Folder) -> threading.Timer:
    """Wait for ``finish``, on a thread that a busy loop does not keep waiting."""

    def wait() -> threading.Timer:
        line = control.read()
        if not line:
            leave(1)
        if "finish" not in json.loads(line):
            raise ValueError(f"the wrapper said {line!r}")
        return stuck.watch(folder, lambda error: control.send({"busy": error.as_json()}))

    return await asyncio.get_running_loop().run_in_executor(None, wait)


class _Formatter(logging.Formatter):
    """The error of a failure may quote what was asked."""

    def format(self, record: logging.LogRecord) -> str:
        return redact.text(super().format(record))


def main() -> int:
    """Run the proxy on inherited file descriptors."""
    listen_fd, control_fd = map(int, sys.argv[1:3])
    contained_fds = [int(fd) for fd in "".join(sys.argv[3:4]).split(",") if fd]
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a KeyboardInterrupt here is a mock's
    os.dup2(sys.stderr.fileno(), 1)  # what mock files print does not belong to the command's output
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter("eve-mocks: %(message)s"))
    logging.basicConfig(level=logging.ERROR, handlers=[handler])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    control = Control(control_fd)
    sock, *contained = (socket.socket(fileno=fd) for fd in (listen_fd, *contained_fds))
    try:
        line = control.read()
        if not line:
            return 1
        asyncio.run(serve(Settings.parse(line), sock, control, contained))
    except MockError as error:
        control.send({"error": error.as_json()})
        return error.exit_code
    except BrokenPipeError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
