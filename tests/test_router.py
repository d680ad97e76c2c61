"""Which entry claims a URL."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from eve_mocks import http_mock
from eve_mocks.errors import MockError
from eve_mocks.folder import Folder
from eve_mocks.match import Claim, parse_url
from eve_mocks.model import Mock, Passage
from eve_mocks.router import Router

FOLDER = Folder.at(Path(__file__).parent, "mocks")


def mock(name: str, url: str) -> Mock:
    return http_mock(url).named(name, FOLDER)


def passage(kind: str, name: str, url: str) -> Passage:
    return Passage(kind=kind, name=name, url=url, why="a reason", file="mocks/p.yaml", line=3)  # type: ignore[arg-type]


MOCKS = [
    mock("pay", "https://api.pay.test/v1"),
    mock("deep", "https://api.pay.test/v1/deep/er"),
    mock("any-pay", "https://*.pay.test/"),
    mock("any", "https://*.test/v1"),
    mock("plain", "http://api.pay.test/"),
    mock("root", "https://root.test/"),
]
PASSAGES = [
    passage("allow", "files", "https://api.pay.test/v1/files/"),
    passage("block", "noise", "https://api.pay.test/v1/noise"),
    passage("allow", "same", "https://root.test/"),
    passage("allow", "rest", "https://only.allowed/"),
    passage("allow", "wild", "https://*.wild.test/"),
]


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.pay.test/v1/charges", "pay"),
        ("https://api.pay.test/v1/deep", "pay"),
        ("https://api.pay.test/v1/deep/er/x", "deep"),
        ("https://api.pay.test/v1/files/x", "files"),
        ("https://api.pay.test/v1/filesystem", "pay"),
        ("https://api.pay.test/v1/noise", "noise"),
        ("https://api.pay.test/v2", "any-pay"),
        ("https://other.pay.test/v1", "any-pay"),
        ("https://pay.test/v1", "any"),
        ("https://pay.test/v2", None),
        ("https://a.b.c.test/v1", "any"),
        ("http://api.pay.test/v1", "plain"),
        ("http://other.pay.test/v1", None),
        ("https://root.test/", "root"),
        ("https://only.allowed/x", "rest"),
        ("https://only.allowed:444/x", None),
        ("https://test/v1", None),
        ("https://unknown.example/", None),
    ],
)
def test_the_nearest_claim_wins_in_any_order(url: str, name: str | None) -> None:
    for seed in range(5):
        entries = random.Random(seed).sample(MOCKS, len(MOCKS)), random.Random(seed).sample(PASSAGES, len(PASSAGES))
        found = Router(*entries).resolve(parse_url(url))
        assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (("https", "api.pay.test", 443), True),
        (("https", "root.test", 443), True),
        (("https", "a.wild.test", 443), True),
        (("https", "wild.test", 443), False),
        (("http", "api.pay.test", 80), False),
        (("https", "only.allowed", 444), False),
    ],
)
def test_an_origin_may_be_allowed_in_part(origin: tuple[str, str, int], allowed: bool) -> None:
    assert Router(MOCKS, PASSAGES).may_allow(*origin) is allowed


RAW = Router(
    [mock("https", "https://db.test:5432/")],
    [
        passage("allow", "db", "tcp://db.test:5432"),
        passage("allow", "any", "tcp://*.wild.test:25"),
        passage("block", "time", "udp://time.test:123"),
        passage("allow", "web", "https://web.test/"),
    ],
)


@pytest.mark.parametrize(
    ("protocol", "hosts", "port", "name"),
    [
        ("tcp", ["db.test"], 5432, "db"),
        ("tcp", ["192.0.2.1", "db.test"], 5432, "db"),
        ("tcp", ["db.test"], 5433, None),
        ("udp", ["db.test"], 5432, None),
        ("tcp", ["a.wild.test"], 25, "any"),
        ("tcp", ["wild.test"], 25, None),
        ("udp", ["time.test"], 123, "time"),
        ("tcp", ["web.test"], 443, None),
    ],
)
def test_a_connection_is_claimed_as_a_whole(protocol: str, hosts: list[str], port: int, name: str | None) -> None:
    found = RAW.raw(protocol, hosts, port)
    assert (found.name if found else None) == name


def test_a_connection_is_no_request() -> None:
    assert RAW.may_allow("https", "db.test", 5432) is False
    assert Router([], [passage("allow", "db", "TCP://db.test:5432")]).allows() is False


def test_a_block_alone_allows_nothing() -> None:
    blocked = Router(MOCKS, [passage("block", "noise", "https://x.test/")])
    assert (blocked.allows(), blocked.may_allow("https", "x.test", 443)) == (False, False)
    assert Router(MOCKS, PASSAGES).allows() is True


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("https://x.test/", "https://x.test"),
        ("https://x.test/a", "https://X.test:443/%61/"),
        ("https://x.test/", "wss://x.test/"),
        ("https://*.x.test/", "https://*.X.test"),
        ("https://bücher.test", "https://xn--bcher-kva.test/"),
    ],
)
def test_two_claims_of_one_url_stop_the_load(first: str, second: str) -> None:
    with pytest.raises(MockError, match="two mocks claim") as caught:
        Router([mock("a", first), mock("b", second)])
    assert (caught.value.file, caught.value.line) == (MOCKS[0].file, MOCKS[0].line)
    with pytest.raises(MockError, match="two allow or block entries claim"):
        Router([], [passage("allow", "a", first), passage("block", "b", second)])


@pytest.mark.parametrize("host", ["m500.test", "deep.m500.test", "unknown.example"])
def test_the_cost_does_not_grow_with_the_number_of_mocks(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in claims that are compared, not in time."""
    compared = 0
    covers_path = Claim.covers_path

    def counting(self: Claim, path: str) -> bool:
        nonlocal compared
        compared += 1
        return covers_path(self, path)

    monkeypatch.setattr(Claim, "covers_path", counting)
    counts = []
    for numbers in ([500], range(1000)):
        urls = ("https://m{}.test/", "https://*.m{}.test/v1", "http://m{}.test/")
        mocks = [mock(f"m{n}-{k}", url.format(n)) for n, (k, url) in itertools.product(numbers, enumerate(urls))]
        router, compared = Router(mocks), 0
        router.resolve(parse_url(f"https://{host}/v1"))
        counts.append(compared)
    assert counts[0] == counts[1] <= 1
