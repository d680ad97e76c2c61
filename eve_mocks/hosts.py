"""``/etc/hosts``: names that a program looks up by itself, so that only their addresses are seen of it."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from eve_mocks.match import BadURL, is_loopback, normalise_host

_FILE = Path("/etc/hosts")


class Hosts:
    """The names of addresses (hosts(5)); loopback is left out, which is never asked about."""

    def __init__(self, file: Path = _FILE) -> None:
        self._names: dict[str, list[str]] = {}
        try:
            lines = file.read_text(errors="replace").splitlines()
        except OSError:
            return
        for line in lines:
            address, *names = line.partition("#")[0].split() or [""]
            try:
                host = str(ipaddress.ip_address(address.partition("%")[0]))
                known = [normalise_host(name) for name in names]
            except (ValueError, BadURL):
                continue
            if not is_loopback(host):
                self._names.setdefault(host, []).extend(known)

    def names(self, host: str) -> tuple[str, ...]:
        """The names of an address; none of a name."""
        return tuple(self._names.get(host, ()))
