"""YAML text to plain JSON values and the lines they stand on. Nothing in a file is ever executed.

Values are those of YAML 1.2 (core schema, section 10.3), read with libyaml's parser: it knows 1.1 alone, so scalars
are resolved here. What JSON cannot hold (not-a-number, other tags, keys that are not scalars) is an error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from eve_mocks.errors import MockError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from eve_mocks.document import Lines, Path

# An anchor bomb is small on disk and huge once its aliases are written out.
MOST_CHARACTERS = 10_000_000
DEEPEST = 200

_CORE = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WORDS: dict[str, object] = {
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_BASES = {"0o": 8, "0x": 16}


def read_yaml(text: str, file: str) -> Iterator[tuple[Any, Lines]]:
    """Each document of a YAML text that is not empty. Raises ``MockError``."""
    try:
        reader = _Reader(text)
        while reader.check_node():
            node = reader.get_node()
            if node is not None and not (isinstance(node, ScalarNode) and node.tag == f"{_CORE}null"):
                yield _Values(file).convert(node), _lines_of(node)
    except yaml.reader.ReaderError as error:
        raise MockError(
            f"{file} holds the control character U+{error.character:04X}",
            why="YAML is printable text",
            fix=r'Write it as an escape in double quotes, such as "\x1b".',
            file=file,
            line=text.encode().count(b"\n", 0, error.position) + 1,
        ) from error
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error, text, file) from error


def _not_yaml(error: yaml.MarkedYAMLError, text: str, file: str) -> MockError:
    mark = error.problem_mark or error.context_mark
    line = mark.line if mark else 0
    found = text.splitlines()[line : line + 1]
    tabbed = any("\t" in each[: len(each) - len(each.lstrip())] for each in found)
    begins = f", in what begins in line {error.context_mark.line + 1}" if error.context_mark else ""
    return MockError(
        f"{file} is not YAML: {error.problem or error.context}",
        why="YAML does not indent with tabs" if tabbed else f"{error.context or 'the text cannot be read'}{begins}",
        fix="Indent with spaces." if tabbed else "Correct the line, or put the value in quotes.",
        file=file,
        line=line + 1,
    )


class _Reader(CParser):
    """libyaml's composer with the tags of YAML 1.2's core schema."""

    def resolve(self, kind: type[Node], value: str, implicit: Any) -> str:
        if kind is not ScalarNode:
            return f"{_CORE}map" if kind is MappingNode else f"{_CORE}seq"
        if not implicit[0]:  # quoted, or a block
            return f"{_CORE}str"
        if value in _WORDS:
            return f"{_CORE}{'null' if _WORDS[value] is None else 'bool'}"
        if _INTEGER.fullmatch(value):
            return f"{_CORE}int"
        return f"{_CORE}float" if _FLOAT.fullmatch(value) or _NOT_FINITE.fullmatch(value) else f"{_CORE}str"

    def descend_resolver(self, current_node: Node | None, current_index: Any) -> None:
        """Nothing: tags do not depend on the path."""

    def ascend_resolver(self) -> None:
        """Nothing, as above."""


class _Found(NamedTuple):
    value: Any
    size: int  # characters, with every alias written out
    depth: int


class _Values:
    """Turns nodes into values. A node that aliases share is converted once, and counted where it is used."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._done: dict[Node, _Found] = {}
        self._above: set[Node] = set()

    def convert(self, node: Node) -> Any:
        return self._value(node).value

    def _value(self, node: Node) -> _Found:
        known = self._done.get(node)
        if len(self._above) + (known.depth if known else 1) > DEEPEST:
            raise self._error(node, f"the document is nested more than {DEEPEST} deep", "Write it flatter.")
        if known:
            return known
        if node in self._above:
            raise self._error(node, "an anchor holds an alias of itself", "Write the value out.")
        self._above.add(node)
        if isinstance(node, ScalarNode):
            found = _Found(self._scalar(node), len(node.value) + 1, 1)
        elif isinstance(node, SequenceNode) and node.tag == f"{_CORE}seq":
            parts = [self._value(item) for item in node.value]
            found = _Found([part.value for part in parts], *_extent(parts))
        elif isinstance(node, MappingNode) and node.tag == f"{_CORE}map":
            named = self._mapping(node)
            found = _Found({name: part.value for name, part in named.items()}, *_extent(named.values()))
        else:
            raise self._tag(node)
        if found.size > MOST_CHARACTERS:
            raise self._error(
                node,
                f"the document is longer than {MOST_CHARACTERS:,} characters once its aliases are written out",
                "Use fewer aliases; a large body can stand in a file of its own (body_file).",
            )
        self._above.discard(node)
        self._done[node] = found
        return found

    def _mapping(self, node: MappingNode) -> dict[str, _Found]:
        found: dict[str, _Found] = {}
        for key, below in node.value:
            name = self._key(key)
            if name in found:
                raise self._error(key, f"the key {name!r} stands twice", "Remove one, or merge them.")
            found[name] = self._value(below)
        return found

    def _key(self, node: Node) -> str:
        """Keys are text as it is written: ``404``, ``on``."""
        if not isinstance(node, ScalarNode):
            raise self._error(node, "a key is a list or a mapping", "Make the key text: JSON has no other keys.")
        if node.tag == f"{_CORE}str" and node.value == "<<" and not node.style:
            raise self._error(
                node, "<< is a merge key, which YAML 1.2 does not have", 'Write the keys out; as text it is "<<".'
            )
        self._scalar(node)
        return str(node.value)

    def _scalar(self, node: ScalarNode) -> Any:
        text: str = node.value
        kind = node.tag.removeprefix(_CORE)
        if kind == "str":
            return text
        if kind in ("null", "bool") and text in _WORDS and (_WORDS[text] is None) == (kind == "null"):
            return _WORDS[text]
        if kind in ("int", "float") and _NOT_FINITE.fullmatch(text):
            raise self._error(node, f"{text} is not a number that JSON has", "Write it as text, in quotes.")
        try:
            if kind == "int" and _INTEGER.fullmatch(text):
                return int(text[2:], _BASES[text[:2]]) if text[:2] in _BASES else int(text)
            if kind == "float" and _FLOAT.fullmatch(text):
                return self._float(node)
        except ValueError as error:
            raise self._error(node, f"the number {text[:20]}… is too long", "Write it as text, in quotes.") from error
        raise self._tag(node)

    def _float(self, node: ScalarNode) -> float | int:
        number = float(node.value)
        if number in (float("inf"), float("-inf")):
            raise self._error(node, f"{node.value} is larger than a number can be", "Write it as text, in quotes.")
        # 1e3 is written without a fraction, and arrives as 1000. Beyond 2**53 that would invent digits.
        return int(number) if "." not in node.value and number.is_integer() and abs(number) < 2**53 else number

    def _tag(self, node: Node) -> MockError:
        shown = node.tag.replace(_CORE, "!!")
        return self._error(node, f"the tag {shown} does not fit or is unknown", "Leave the tag out: values are JSON.")

    def _error(self, node: Node, message: str, fix: str) -> MockError:
        return MockError(
            message, why="mock files hold plain JSON values", fix=fix, file=self._file, line=node.start_mark.line + 1
        )


def _extent(parts: Collection[_Found]) -> tuple[int, int]:
    return 1 + sum(part.size for part in parts), 1 + max((part.depth for part in parts), default=0)


def _lines_of(root: Node) -> Lines:
    def lines(path: Path) -> int:
        node, line = root, root.start_mark.line + 1
        for key in path:
            found = _below(node, key)
            if found is None:
                break
            line, node = found
        return line

    return lines


def _below(node: Node, key: str | int) -> tuple[int, Node] | None:
    if isinstance(node, MappingNode):
        for name, value in node.value:
            if name.value == key:
                return name.start_mark.line + 1, value
    elif isinstance(node, SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key].start_mark.line + 1, node.value[key]
    return None
