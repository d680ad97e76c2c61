"""``pull`` for a mocks folder: which upstreams are asked, where, and with what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eve_mocks import pull as pulls
from eve_mocks import sources
from eve_mocks.errors import Mistakes, MockError
from eve_mocks.pull.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eve_mocks.connections import Connection
    from eve_mocks.folder import Folder
    from eve_mocks.pull.signin import Person

# RFC 9110, section 5.1 and 5.5: a field's name is a token, its value visible text.
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)[ \t]*")


def pull(
    folder: Folder,
    connections: Callable[[], Sequence[Connection]],
    person: Person | None,
    *,
    name: str | None,
    headers: Sequence[str] = (),
    check: bool = False,
    limits: Limits | None = None,
) -> tuple[list[pulls.Pulled], list[MockError]]:
    """What became of each schema file, and what is wrong in mock files. Raises ``MockError`` for a wrong request.

    ``connections`` are asked for where a mock claims many hosts, and one of them is a connection's.
    """
    limits = limits or Limits()
    if headers and name is None:
        raise MockError(
            "--header was given without NAME",
            why="a header is meant for one upstream, and without NAME all are asked",
            fix='Name the mock: eve-mocks pull NAME --header "Name: value"',
        )
    sent = [_header(text) for text in headers]
    found, mistakes = sources.read(folder)
    if name is None:
        asked = [source for source in found if source.is_pulled]
    elif mistakes and not any(source.name == name for source in found):
        raise Mistakes(mistakes)
    else:
        asked, mistakes = [sources.chosen(found, name)], []
    if not asked and not mistakes:
        raise MockError(
            "there is nothing to pull",
            why=f"in {folder.shown} no mock is of kind mcp, or has a spec that is a URL",
            fix="eve-mocks add NAME --url https://mcp.example.com/mcp writes one, and pulls what it can.",
        )
    wanted: list[pulls.Wanted] = []
    skipped: list[pulls.Pulled] = []
    for source in asked:
        try:
            url = sources.concrete(source, connections) if source.kind == "mcp" else source.url
        except MockError as error:
            if name is not None:
                raise
            skipped.append(_skipped(source, folder, error))
        else:
            wanted += pulls.wanted(source, url, headers=sent, person=person, limits=limits)
    return [*pulls.pull(wanted, folder, check=check), *skipped], mistakes


def _skipped(source: sources.Source, folder: Folder, error: MockError) -> pulls.Pulled:
    file = folder.show(folder.path / "schemas" / f"{source.name}.json")
    return pulls.Pulled(name=source.name, file=file, state="skipped", counted=error.message)


def _header(text: str) -> tuple[str, str]:
    found = _HEADER.fullmatch(text)
    if found is None:
        raise MockError(
            "a --header is not written as one",
            why="it is a name, a colon and a value, in visible ASCII and one line",
            fix='Write for example --header "Authorization: Bearer …"',
        )
    return found[1], found[2]
