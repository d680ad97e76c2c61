"""Each client gets what docs/clients.md says. Contained, nothing leaves; where trust is missing, it is told why."""

from __future__ import annotations

import dataclasses
import re
import urllib.parse
from typing import TYPE_CHECKING

import client_matrix
import pytest
from client_table import CLIENTS
from island import NAME_SERVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from client_matrix import Lab
    from client_table import Client
    from island import Island


@pytest.fixture(scope="module")
def lab(island: Island) -> Iterator[Lab]:
    with client_matrix.Lab(island) as made:
        yield made


def origins(client: Client) -> set[str]:
    return {urllib.parse.urljoin(url, "/") for url in client.urls}


@pytest.mark.parametrize("mode", client_matrix.MODES)
@pytest.mark.parametrize("client", [pytest.param(client, id=client.name) for client in CLIENTS])
def test_client(lab: Lab, needs: Callable[..., str], client: Client, mode: str) -> None:
    needs("node", "npm:ws", *client.needs)
    expected = getattr(client, mode)
    got = lab.ask(client, mode)
    assert got.cells == expected, got
    if mode == "contained" or not (client.looks_up or "not seen" in dataclasses.astuple(expected)):
        assert got.sent == []
    else:  # this one is what the others are spared
        assert set(got.sent) == {f"udp {NAME_SERVER}:53"}
    distrusted = [call for call in got.calls if call.get("reason") == "tls" and call["url"] in origins(client)]
    if "blocked: tls" in dataclasses.astuple(expected):
        assert {call["url"] for call in distrusted} == origins(client)
    for call in distrusted:
        assert re.search("hung up|does not trust", call["error"])
        assert call["fix"] in got.summary


def test_the_page_shows_what_the_tests_expect() -> None:
    written = client_matrix.PAGE.read_text().split(client_matrix.BEGIN)[1].split(client_matrix.END)[0]
    _, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in written.splitlines())
    shown = {name: cells for name, _, *cells in rows}
    expected = {
        client.name: [*dataclasses.astuple(client.contained), *dataclasses.astuple(client.cooperative)]
        for client in CLIENTS
    }
    assert shown == expected
