"""What mock files say of their upstreams, read without building the mocks.

``pull`` has to work where a mock does not load: the schema file that it would bring is what is wrong.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from eve_mocks.data_file import read_documents
from eve_mocks.errors import Collecting, MockError
from eve_mocks.folder import SUFFIXES, Folder
from eve_mocks.match import did_you_mean
from eve_mocks.python_file import Declarations

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from eve_mocks.connections import Connection


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A mock, as far as its upstream goes. ``specs`` are URLs with their places in the list of documents, from 1."""

    name: str
    kind: str
    url: str
    specs: tuple[tuple[int, str], ...] = ()
    file: str | None = None
    line: int | None = None

    @property
    def is_pulled(self) -> bool:
        """Whether its upstream describes itself."""
        return (self.kind == "mcp" and bool(self.url)) or (self.kind == "http" and bool(self.specs))

    def error(self, message: str, *, why: str, fix: str) -> MockError:
        return MockError(message, why=why, fix=fix, file=self.file, line=self.line)


def read(folder: Folder) -> tuple[list[Source], list[MockError]]:
    """Every entry of the folder that says what it is, and what is wrong with files that cannot be read."""
    found: list[Source] = []
    mistakes = Collecting()
    declarations = Declarations(folder)
    try:
        files = sorted(folder.path.iterdir())
    except OSError:
        return [], []
    for file in files:
        if file.suffix not in SUFFIXES or file.name.startswith(".") or not file.is_file():
            continue
        with mistakes:
            drafts = list(_python(file, declarations) if file.suffix == ".py" else _data(file, folder))
            for key, given, line in drafts:
                name = file.stem if len(drafts) == 1 else f"{file.stem}.{key}"
                url = given.get("url", "")  # a model may be known by its provider
                if isinstance(given.get("kind"), str) and isinstance(url, str):
                    found.append(
                        Source(
                            name=name,
                            kind=given["kind"],
                            url=url,
                            specs=tuple(_specs(given.get("spec"))),
                            file=folder.show(file),
                            line=line,
                        )
                    )
    return found, mistakes.errors


def _data(file: Path, folder: Folder) -> Iterator[tuple[str, dict[str, Any], int | None]]:
    for number, document in enumerate(read_documents(file, folder.show(file), folder), 1):
        if isinstance(document.value, dict):
            yield str(number), document.value, document.line_of("url")


def _python(file: Path, declarations: Declarations) -> Iterator[tuple[str, dict[str, Any], int | None]]:
    for variable, declared in declarations.bound(file):
        kind = type(declared).__module__.split(".")[2]
        yield variable, {"kind": kind, **declared.given}, declared.line


def _specs(given: object) -> Iterator[tuple[int, str]]:
    listed = given if isinstance(given, list) else [given]
    yield from ((place, text) for place, text in enumerate(listed, 1) if isinstance(text, str) and "://" in text)


def chosen(sources: Collection[Source], name: str) -> Source:
    """The mock of a name whose upstream can be pulled. Raises ``MockError``."""
    found = next((source for source in sources if source.name == name), None)
    if found is None:
        names = [source.name for source in sources]
        raise MockError(
            f"there is no mock {name}",
            why=f"pull asks the upstreams of mocks, and the mocks are {', '.join(names)}" if names else "there is none",
            fix=did_you_mean(name, names) if names else f"eve-mocks add {name} writes one, and pulls what it can.",
        )
    if not found.is_pulled:
        why = "an http mock is described by the OpenAPI documents that its spec names by URL, and it names none"
        raise found.error(
            f"nothing can be pulled for {name}",
            why=why if found.kind == "http" else f"a mock of kind {found.kind} has no schema file",
            fix="Write for example spec: https://api.example.com/openapi.json"
            if found.kind == "http"
            else "Name a mock of kind mcp, or one of kind http with a spec.",
        )
    return found


def concrete(source: Source, connections: Callable[[], Collection[Connection]]) -> str:
    """The URL to ask: of a wildcard, that of the connection of the same name. Raises ``MockError``."""
    if "*" not in source.url:
        return source.url
    for connection in connections():
        if connection.name == source.name and connection.url is not None:
            return connection.url
    raise source.error(
        f"{source.name} claims many hosts, and which of them to ask is not known",
        why=f"its url is {source.url}, and no connection of its name has one URL",
        fix="Mock one of the hosts by itself, or describe the tools in the mock.",
    )
