"""Placeholders for the keys of mocked providers, so that their SDKs start (contract, section 5)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eve_mocks.match import parse_url
from eve_mocks.model import Passage
from eve_mocks.providers import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from eve_mocks.router import Router

PLACEHOLDER = "mock-key"
_DEFINED = re.compile(rb"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(\S*)", re.MULTILINE)
# Files that show what to write into the others.
_SHOWN = (".example", ".sample", ".template", ".dist")


def placeholders(router: Router, given: Mapping[bytes, bytes], project: Path) -> dict[str, str]:
    """By variable, the key of each provider that a mock stands in for, where nothing else defines it.

    One that is empty is not defined: so CI passes on a secret that it does not have.
    """
    wanted = [name for name in _mocked(router) if not given.get(name.encode())]
    if not wanted:
        return {}
    defined = set(_defined(project))
    return {name: PLACEHOLDER for name in wanted if name not in defined}


def _mocked(router: Router) -> Iterator[str]:
    """The variables of the providers that a mock, and no allow entry, answers for."""
    for provider in PROVIDERS.values():
        entry = router.resolve(parse_url(provider.url + provider.api))
        if entry is not None and not isinstance(entry, Passage):
            yield from provider.keys


def _defined(project: Path) -> Iterator[str]:
    """The variables that the .env files of a folder define: frameworks read them, unless they are set."""
    for file in project.glob(".env*"):
        if file.suffix in _SHOWN:
            continue
        try:
            text = file.read_bytes()
        except OSError:  # a folder, or not ours to read: then it is not the command's either
            continue
        yield from (name.decode() for name, value in _DEFINED.findall(text) if value.strip(b"\"'"))
