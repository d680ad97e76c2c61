"""What keeps a value from fitting, as a person is told it: a match is no difference."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from eve_mocks import redact
from eve_mocks.secret_names import is_field, is_secret

if TYPE_CHECKING:
    from eve_mocks.response import Json

_SHOWN = 60
MISSING: Any = ...


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """The value at ``path`` is ``given`` (or ``MISSING``), and should be ``wanted``."""

    given: Json
    wanted: str
    path: tuple[str | int, ...] = ()

    def under(self, key: str | int) -> Difference:
        """The same, seen from the value that holds this one."""
        return Difference(self.given, self.wanted, (key, *self.path))

    def __str__(self) -> str:
        where = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path).removeprefix(".")
        if self.given is MISSING:
            return f"{where or 'it'} is missing"
        if any(isinstance(key, str) and (is_field(key) or is_secret(key)) for key in self.path):
            return f"{where} differs"  # this goes to the log and the report, where no credential may be
        return f"{where or 'it'} is {shown(redact.value(self.given))}, not {self.wanted}"


def shown(value: Json) -> str:
    """The beginning of a value as JSON."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
