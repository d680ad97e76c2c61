"""The paths of routes: which request path fits one, and what was meant by one that no request could ever fit."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from eve_mocks.errors import MockError, as_written
from eve_mocks.match import PATH_SAFE, decode_unreserved, resolve_dots

if TYPE_CHECKING:
    from collections.abc import Callable

_PARAMETER = re.compile(r"\{([^{}/]*)\}")
_NAME = re.compile(r"\w+(?:[.-]\w+)*")
# As Express, Sinatra and Rails write it; Flask; Next.js; and a template of JavaScript.
_FOREIGN = re.compile(r"(?<=/):(\w+)\??|<(?:\w+:)?(\w+)>|(?<=/)\[+(?:\.{3})?(\w+)\]+(?=/|\Z)|\$\{([^{}/]*)\}")
# Go and RFC 6570, FastAPI; Next.js; Express; Flask.
_FOREIGN_REST = re.compile(r"(?<=/)(?:\{(?:[*+]\w+|\w+(?:[*+]|\.{3}|:path))\}|\[+\.{3}\w+\]+|:\w+[*+]|<path:\w+>)\Z")


@functools.total_ordering
class PathTemplate:
    """A path such as ``/v1/pages/{page_id}``; ``{name}`` is (part of) one segment, a last ``/**`` any rest.

    Templates sort from concrete to general, so that the first that fits is the right one. Raises ``MockError``.
    """

    __slots__ = ("_pattern", "names", "rank", "rest", "text")

    def __init__(self, text: str) -> None:
        _check(text)
        self.text = text
        self.rest = text.endswith("/**")
        self.names = _PARAMETER.findall(text)
        for name in self.names:
            if self.names.count(name) > 1:
                raise MockError(
                    f"the path {text!r} has the parameter {{{name}}} more than once",
                    why="a handler receives parameters by name",
                    fix="Give each {parameter} a name of its own.",
                )
        pattern, rank = "", []
        for segment in self.segments:
            pieces = _PARAMETER.split(segment)
            literal = [normalise_segment(piece) for piece in pieces[::2]]
            pattern += "/" + "([^/]+?)".join(re.escape(piece) for piece in literal)
            rank.append(0 if len(pieces) == 1 else 1 if any(literal) else 2)
        self._pattern = re.compile(pattern + ("(?:/.*)?" if self.rest else ""))
        self.rank = (*rank, 3 if self.rest else -1)

    @property
    def segments(self) -> list[str]:
        """What stands between the slashes, without the rest."""
        return (self.text.removesuffix("/**") if self.rest else self.text).split("/")[1:]

    def match(self, path: str) -> dict[str, str] | None:
        """The decoded parameters if a normalised path fits, else None."""
        found = self._pattern.fullmatch(path)
        return None if found is None else dict(zip(self.names, map(unquote, found.groups()), strict=True))

    @property
    def shape(self) -> str:
        """The template with its parameters' names left out: two with one shape claim the same paths."""
        return _PARAMETER.sub("{}", self.text)

    def __lt__(self, other: PathTemplate) -> bool:
        return (self.rank, self.text) < (other.rank, other.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PathTemplate) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def normalise_segment(text: str) -> str:
    """A literal piece of a template in the form that request paths have; dots are kept."""
    return quote(decode_unreserved(text), safe=PATH_SAFE)


class _Rule(NamedTuple):
    """What no path may have. ``mend`` writes what was meant, and leaves any other path as it is."""

    wrong: str
    why: str
    mend: Callable[[str], str]


def _check(text: object) -> None:
    if not isinstance(text, str):
        raise MockError(
            f"the path is {as_written(text)}, not text",
            why="a handler is registered for a path",
            fix='Write for example @mock.get("/v1/pages/{page_id}").',
        )
    broken = next((rule for rule in _RULES if rule.mend(text) != text), None)
    if broken is None:
        return
    meant = functools.reduce(lambda path, rule: rule.mend(path), _RULES, text)
    if meant.count("{name}") > 1:
        for number in range(1, meant.count("{name}") + 1):
            meant = meant.replace("{name}", f"{{name{number}}}", 1)
    raise MockError(f"the path {text!r} {broken.wrong}", why=broken.why, fix=f"Write {meant}")


def _named(found: re.Match[str]) -> str:
    """A parameter by the first name in what was found."""
    name = _NAME.search(found[found.lastindex or 0])
    return f"{{{name[0] if name else 'name'}}}"


def _closed(path: str) -> str:
    """Each segment that has a stray brace as one parameter."""

    def close(segment: re.Match[str]) -> str:
        return _named(segment) if re.search(r"[{}]", _PARAMETER.sub("", segment[0])) else segment[0]

    return re.sub(r"[^/]+", close, path)


def _starred(path: str) -> str:
    """A last segment of stars as ``/**``, and a parameter in place of other stars."""
    last = re.search(r"/\*+/?\Z", path)
    head = path[: last.start()] if last else path
    return re.sub(r"\*+", "{name}", head) + ("/**" if last else "")


# In this order: each may take for granted that those before it were heeded.
_RULES = (
    _Rule("has space around it", "spaces are part of a path", str.strip),
    _Rule(
        "begins with a method",
        "a path has its methods below it, or in a handler's decorator",
        lambda path: re.sub(r"\A[A-Za-z]+\s+(?=/|https?:)", "", path),
    ),
    _Rule(
        "is a whole URL",
        "paths are relative to the mock's url",
        lambda path: re.sub(r"\A[a-z][a-z0-9+.-]*://[^/?#]*/?", "/", path, flags=re.IGNORECASE),
    ),
    _Rule(
        "does not begin with /",
        "paths are relative to the mock's url, and begin with /",
        lambda path: path if path.startswith("/") else f"/{path}",
    ),
    _Rule(
        "has a rest that is not written /**",
        "anything else is taken as it stands, or for one segment",
        lambda path: _FOREIGN_REST.sub("**", path),
    ),
    _Rule(
        "has a parameter that is not written {name}",
        "anything else is taken as it stands, and no client asks for that",
        lambda path: _FOREIGN.sub(_named, path),
    ),
    _Rule(
        "has a brace without its other half",
        "{name} is one parameter; a brace that is data is written %7B or %7D",
        _closed,
    ),
    _Rule(
        "has a parameter without a plain name",
        "a handler receives each parameter, which is always text, by its name",
        lambda path: _PARAMETER.sub(lambda found: found[0] if _NAME.fullmatch(found[1]) else _named(found), path),
    ),
    _Rule(
        "has a query",
        "a route answers whatever the query is; a handler reads it from request.query",
        lambda path: path.partition("?")[0],
    ),
    _Rule(
        "has a fragment",
        "clients never send one; a # that is data is written %23",
        lambda path: path.partition("#")[0],
    ),
    _Rule(
        "has * where it means nothing",
        "{name} stands for one segment, and /** at the end for any rest",
        _starred,
    ),
    _Rule("has the segment . or ..", "clients resolve these before they ask", resolve_dots),
)
