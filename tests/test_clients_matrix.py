"""Each client gets what docs/clients.md says. Contained, nothing leaves; where trust is missing, it is told why."""

from __future__ import annotations

import dataclasses
import re
import urllib.parse
from typing import TYPE_CHECKING

import client_matrix
import pytest
from client_table import CLIENTS, Client
from island import NAME_SERVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from client_matrix import Lab
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


MOCKED, ALLOWED, BLOCKED = Client("", (), ()).urls


@pytest.mark.parametrize(
    ("url", "body", "calls", "expected"),
    [
        (MOCKED, client_matrix.FROM_A_MOCK, [("mocked", None)], "answered"),
        (MOCKED, client_matrix.FROM_A_MOCK, [], "not seen"),
        (MOCKED, "", [("mocked", None)], "failed"),
        (MOCKED, "", [("blocked", "tls")], "blocked: tls"),
        (ALLOWED, client_matrix.FROM_THE_UPSTREAM, [("allowed", None)], "reached"),
        (ALLOWED, client_matrix.FROM_THE_UPSTREAM, [], "not seen"),
        (ALLOWED, client_matrix.FROM_THE_UPSTREAM, [("blocked", "unclaimed")], "failed"),
        (BLOCKED, "no", [("blocked", "tls"), ("blocked", "unclaimed")], "refused"),
        (BLOCKED, client_matrix.FROM_THE_UPSTREAM, [("blocked", "unclaimed")], "failed"),
    ],
)
def test_a_word_takes_both_the_client_and_the_record(url: str, body: str, calls: list, expected: str) -> None:
    recorded = [{"url": url, "outcome": outcome, "reason": reason} for outcome, reason in calls]
    others = [{"url": "https://example.com/", "outcome": "mocked"}]
    assert client_matrix.cell(url, [{"url": url, "body": body}], recorded + others) == expected


def test_the_page_shows_what_the_tests_expect() -> None:
    written = client_matrix.PAGE.read_text().split(client_matrix.BEGIN)[1].split(client_matrix.END)[0]
    _, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in written.splitlines())
    shown = {name: cells for name, _, *cells in rows}
    expected = {
        client.name: [*dataclasses.astuple(client.contained), *dataclasses.astuple(client.cooperative)]
        for client in CLIENTS
    }
    assert shown == expected
