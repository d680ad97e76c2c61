"""Mocks of models behind a proxy in this process, and SDKs that are led to it as a run would lead them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eve_mocks import model_mock
from eve_mocks.folder import Folder

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from running_proxy import RunningProxy

FOLDER = Folder.at(Path(__file__).parent, "tests")
# One red pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"  # fmt: skip


def serve(
    proxy: Callable[..., RunningProxy],
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    scripts: dict[str, list[Any]],
    **given: Any,
) -> RunningProxy:
    """Start a proxy that mocks a provider, and name it in the environment of this process."""
    running = proxy([model_mock(provider, scripts=scripts, **given).named("model", FOLDER)])
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, running.url)
    for name in ("ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(running.ca))
    return running


def bodies(running: RunningProxy, count: int = 1) -> list[bytes]:
    """What was answered, byte for byte, once there are so many answers."""
    return [call.response_body for call in running.recorded(count)]


def statuses(running: RunningProxy, count: int) -> list[int | None]:
    """How the requests so far were answered, once there are so many."""
    return [call.status for call in running.recorded(count)]


def events(body: bytes) -> list[tuple[str | None, Any]]:
    """The names and the data of server-sent events."""
    found = []
    for block in body.decode().strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        found.append((fields.get("event"), json.loads(fields["data"])))
    return found
