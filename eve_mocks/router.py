"""Who answers a URL: a mock, nobody because it is allowed through, or nobody because it is blocked.

The index is by origin, so the cost of a look-up does not grow with the number of mocks (contract, section 2).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from eve_mocks.errors import MockError
from eve_mocks.match import RAW, Claim, parse_claim
from eve_mocks.model import URL, Mock, Passage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

type Entry = Mock | Passage
type Origin = tuple[str, str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Route:
    """A claim and what it leads to."""

    claim: Claim
    entry: Entry


def _rank(route: Route) -> tuple[int, int, int, bool]:
    """Exact host, longer suffix, longer path, then a mock before an allow or block of the same URL."""
    return (
        route.claim.wildcard,
        -route.claim.suffix.count("."),
        -len(route.claim.prefix),
        isinstance(route.entry, Passage),
    )


class Router:
    """Resolves URLs. Raises ``MockError`` where two mocks, or two passages, claim one URL."""

    def __init__(self, mocks: Iterable[Mock], passages: Iterable[Passage] = ()) -> None:
        self.mocks = list(mocks)
        self.passages = list(passages)
        self._exact: dict[Origin, list[Route]] = {}
        self._wildcard: dict[Origin, list[Route]] = {}
        entries: list[Entry] = [*self.mocks, *self.passages]
        seen: dict[tuple[object, ...], Entry] = {}
        for entry in entries:
            claim = parse_claim(entry.url, raw=RAW if isinstance(entry, Passage) else ())
            key = (claim.url.scheme, claim.url.host, claim.url.port, claim.prefix, isinstance(entry, Passage))
            if key in seen:
                raise _claimed_twice(entry, seen[key])
            seen[key] = entry
            index = self._wildcard if claim.wildcard else self._exact
            index.setdefault((claim.url.scheme, claim.suffix, claim.url.port), []).append(Route(claim, entry))
        for routes in (*self._exact.values(), *self._wildcard.values()):
            routes.sort(key=_rank)

    def resolve(self, url: URL) -> Entry | None:
        """The mock or passage that claims a URL, or None."""
        for routes in self._candidates(url.scheme, url.host, url.port):
            for route in routes:
                if route.claim.covers_path(url.path):
                    return route.entry
        return None

    def only(self, host: str, port: int) -> Entry | None:
        """The entry that all requests of a host lead to, so far as that can be told without one."""
        found = [
            route.entry
            for scheme in ("https", "http")
            for routes in self._candidates(scheme, host, port)
            for route in routes
        ]
        root = URL("https", host, port, "/")
        return found[0] if len(found) == 1 else self.resolve(root)

    def raw(self, protocol: str, hosts: Iterable[str], port: int) -> Passage | None:
        """The entry of a whole connection, whatever it speaks, to a machine that has these names."""
        found = (self.resolve(URL(protocol, host, port, "/")) for host in hosts)
        return next((entry for entry in found if isinstance(entry, Passage)), None)

    def knows(self, host: str, port: int) -> bool:
        """Whether any entry is about requests to a host, or some of them."""
        return any(True for scheme in ("https", "http") for _ in self._candidates(scheme, host, port))

    def may_allow(self, scheme: str, host: str, port: int) -> bool:
        """Whether any path of an origin is allowed through."""
        return any(
            isinstance(route.entry, Passage) and route.entry.kind == "allow"
            for routes in self._candidates(scheme, host, port)
            for route in routes
        )

    def urls(self, ports: Collection[int]) -> list[str]:
        """What entries about these ports claim, but for whole connections that are blocked."""
        routes = (route for index in (self._exact, self._wildcard) for found in index.values() for route in found)
        about = {route.claim.url: route.entry.kind for route in routes if route.claim.url.port in ports}
        return [str(url) for url, kind in about.items() if url.scheme not in RAW or kind == "allow"]

    def allows(self) -> bool:
        """Whether any request at all is allowed through."""
        allowed = (passage.url.lower() for passage in self.passages if passage.kind == "allow")
        return any(not url.startswith(RAW) for url in allowed)

    def _candidates(self, scheme: str, host: str, port: int) -> Iterable[list[Route]]:
        exact = self._exact.get((scheme, host, port))
        if exact:
            yield exact
        rest = host
        while self._wildcard and "." in rest:
            rest = rest.partition(".")[2]
            routes = self._wildcard.get((scheme, rest, port))
            if routes:
                yield routes


def _claimed_twice(entry: Entry, other: Entry) -> MockError:
    kind = "mocks" if not isinstance(entry, Passage) else "allow or block entries"
    first = f"{other.file}:{other.line}" if other.line else other.file
    return MockError(
        f"two {kind} claim {entry.url}: {other.name} and {entry.name}",
        why=f"only one of them could answer; the other is {first}",
        fix="Merge them, or give one of them a longer path.",
        file=entry.file,
        line=entry.line,
    )
