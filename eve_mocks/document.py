"""A value from a mock file that knows where each of its parts stands, so that a mistake is told with file and line."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from typing import TYPE_CHECKING, Any

from eve_mocks.errors import Collecting, MockError, as_written
from eve_mocks.match import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from eve_mocks.folder import Folder
    from eve_mocks.response import Json

type Key = str | int
type Path = tuple[Key, ...]
type Lines = Callable[[Path], int | None]

_WORDS = {dict: "a mapping", list: "a list", str: "text", bool: "true or false"}


def _step(key: Key) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if re.fullmatch(r"[\w$-]+", key) else f"[{json.dumps(key, ensure_ascii=False)}]"


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """``value`` is plain JSON; ``lines`` gives the line of a path from the top of the file, or the nearest above it."""

    value: Json
    file: str
    folder: Folder
    lines: Lines
    path: Path = ()
    whole: str = "the mock"
    """What a person calls all of it."""

    @classmethod
    def from_python(
        cls, value: Any, *, file: str, line: int | None, folder: Folder, whole: str = "the mock"
    ) -> Document:
        """A value given in Python code: all of it stands where the call stands."""
        return cls(value, file, folder, lambda _path: line, whole=whole)

    @property
    def line(self) -> int | None:
        return self.lines(self.path)

    @property
    def label(self) -> str:
        """What a person calls this part."""
        if not self.path:
            return self.whole
        return ".".join(str(key) for key in self.path[-2:]) if isinstance(self.path[-1], int) else str(self.path[-1])

    @property
    def json_path(self) -> str:
        """Where this part stands, as in ``$.stubs[0].match["a b"]``."""
        return "$" + "".join(_step(key) for key in self.path)

    def line_of(self, *keys: Key) -> int | None:
        """The line of a part, or of what is nearest above it."""
        return self.lines((*self.path, *keys))

    def error(self, message: str, *keys: Key, why: str, fix: str) -> MockError:
        """An error at a part of this one; ``keys`` lead there."""
        return MockError(message, why=why, fix=fix, file=self.file, line=self.line_of(*keys))

    @contextlib.contextmanager
    def placing(self) -> Iterator[None]:
        """Give errors that know no place the place of this part."""
        try:
            yield
        except MockError as error:
            raise error.at(self.file, self.line)  # noqa: B904 - the same error

    def __contains__(self, key: Key) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def part(self, key: Key) -> Document:
        """The part under a key or index."""
        return Document(self.value[key], self.file, self.folder, self.lines, (*self.path, key), self.whole)

    def parts(self) -> Iterator[tuple[Any, Document]]:
        """The keys (or indexes) and parts of a mapping or a list."""
        keys = self.value if isinstance(self.value, dict) else range(len(self.value))
        return ((key, self.part(key)) for key in keys)

    def mapping(self, known: Collection[str] | None = None, *, example: str = "") -> dict[str, Any]:
        """The value, which has to be a mapping, with no other keys than the known ones. Raises ``MockError``, or
        ``Mistakes`` where several keys are wrong.
        """
        value: dict[str, Any] = self._expect(dict, example)
        mistakes = Collecting()
        for key in value:
            with mistakes:
                self._check_key(key, known)
        mistakes.tell()
        return value

    def _check_key(self, key: object, known: Collection[str] | None) -> None:
        if not isinstance(key, str):
            raise self.error(f"the key {key!r} is not text", why="keys are text", fix=f'Write "{key}".')
        if known is not None and key not in known:
            raise self.error(
                f"unknown key {key!r} in {self.label}",
                key,
                why=f"known here: {', '.join(known)}",
                fix=did_you_mean(key, known),
            )

    def sequence(self, *, example: str = "") -> list[Any]:
        """The value, which has to be a list. Raises ``MockError``."""
        found: list[Any] = self._expect(list, example)
        return found

    def text(self, *, example: str = "") -> str:
        """The value, which has to be text. Raises ``MockError``."""
        found: str = self._expect(str, example)
        return found

    def boolean(self) -> bool:
        """The value, which has to be true or false. Raises ``MockError``."""
        found: bool = self._expect(bool, "true")
        return found

    def required(self, key: str, *, why: str, example: str) -> Document:
        """The part under a key that has to be there. Raises ``MockError``."""
        if key not in self:
            raise self.error(f"{self.label} has no {key}", why=why, fix=f"Write for example {key}: {example}")
        return self.part(key)

    def _expect(self, type_: type, example: str) -> Any:
        if not isinstance(self.value, type_):
            raise self.error(
                f"{self.label} is {as_written(self.value)}, not {_WORDS[type_]}",
                why=f"{self.label} takes {_WORDS[type_]}",
                fix=f"Write for example {example}" if example else f"Make it {_WORDS[type_]}.",
            )
        return self.value
