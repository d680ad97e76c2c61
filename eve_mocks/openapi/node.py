"""A part of a document that knows where it is, and follows references, also into other files (RFC 6901, RFC 3986)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag, urljoin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eve_mocks.response import Json

_LONGEST = 50


class Unresolvable(Exception):
    """A ``$ref`` leads nowhere, or in a circle."""

    def __init__(self, ref: str, why: str) -> None:
        if ref.startswith("file:"):  # where the file lies is nobody's business
            uri, mark, fragment = ref.partition("#")
            ref = f"{uri.rpartition('/')[2]}{mark}{fragment}"
        super().__init__(f"$ref {ref!r} {why}")
        self.why = why


class Documents:
    """The documents by URI. ``fetch`` gives one that a reference names; it raises ``Unresolvable``."""

    def __init__(self, fetch: Callable[[str], Json]) -> None:
        self._fetch = fetch
        self.loaded: dict[str, Json] = {}

    def get(self, uri: str) -> Json:
        if uri not in self.loaded:
            self.loaded[uri] = self._fetch(uri)
        return self.loaded[uri]


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """``pointer`` is a JSON pointer into the document of ``uri``."""

    documents: Documents
    uri: str
    pointer: str
    value: Any

    @property
    def ref(self) -> str:
        """A reference to this part, from anywhere."""
        return f"{self.uri}#{self.pointer}"

    @property
    def is_in_place(self) -> bool:
        """Whether the document has this part; one that was put together of several is nowhere."""
        try:
            return self.at(self.ref).value is self.value
        except Unresolvable:
            return False

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def child(self, key: str | int) -> Node:
        """A part of this part, which has to be there."""
        step = str(key).replace("~", "~0").replace("/", "~1")
        return dataclasses.replace(self, pointer=f"{self.pointer}/{_quoted(step)}", value=self.value[key])

    def get(self, key: str) -> Node | None:
        """A part with its reference followed, or None."""
        return self.child(key).follow() if key in self else None

    def parts(self) -> Iterator[tuple[Any, Node]]:
        """The keys or indexes and parts of a mapping or list, references followed; nothing of anything else."""
        keys: Any = self.value if isinstance(self.value, dict) else ()
        if isinstance(self.value, list):
            keys = range(len(self.value))
        for key in keys:
            yield key, self.child(key).follow()

    def text(self, key: str) -> str | None:
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return value if isinstance(value, str) else None

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return value if isinstance(value, dict) else {}

    def follow(self) -> Node:
        """What a ``$ref`` names, however often; a part without one is itself. Raises ``Unresolvable``."""
        node, seen = self, set[str]()
        while isinstance(node.value, dict) and isinstance(node.value.get("$ref"), str):
            ref = urljoin(node.uri, node.value["$ref"])
            if ref in seen or len(seen) > _LONGEST:
                raise Unresolvable(node.value["$ref"], "leads in a circle")
            seen.add(ref)
            try:
                node = node.at(ref)
            except Unresolvable as error:
                raise Unresolvable(node.value["$ref"], error.why) from error
        return node

    def at(self, ref: str) -> Node:
        """The part that an absolute reference names. Raises ``Unresolvable``."""
        uri, pointer = urldefrag(ref)
        value = self.documents.get(uri)
        if pointer and not pointer.startswith("/"):
            raise Unresolvable(ref, "names an anchor, and only JSON pointers are followed")
        for step in pointer.split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            try:
                value = value[int(key)] if isinstance(value, list) else value[key]
            except (LookupError, TypeError, ValueError):
                raise Unresolvable(ref, "leads nowhere") from None
        return Node(self.documents, uri, pointer, value)


def _quoted(step: str) -> str:
    """A step of a pointer as a fragment of a URI has it."""
    return "".join(letter if letter.isalnum() or letter in "-._~!$&'()*+,;=:@" else _percent(letter) for letter in step)


def _percent(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode())
