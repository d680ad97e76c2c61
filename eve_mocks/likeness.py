"""How near a path is to a template that it does not fit, and what differs: for telling which route was meant."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, NamedTuple

from eve_mocks.paths import PathTemplate

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION = re.compile(r"v\d[\w.-]*")


class Likeness(NamedTuple):
    """How much of a path fits a template, above 0 where they are near, and the first thing that does not."""

    score: float
    difference: str


NOTHING = Likeness(0, "")


def likeness(template: PathTemplate, path: str) -> Likeness:
    """Compare a template and a normalised path that does not fit it."""
    if template.match(f"{path}/") is not None:
        return Likeness(path.count("/"), "the call has no slash at the end")
    if template.match(path.removesuffix("/")) is not None:
        return Likeness(path.count("/"), "the call has a slash at the end")
    return max([_from_the_beginning(template, path), *_from_the_end(template, path)])


def _from_the_beginning(template: PathTemplate, path: str) -> Likeness:
    want, have = template.segments, path.removesuffix("/").split("/")[1:]
    score, difference = 0.0, ""
    for number, (wanted, given) in enumerate(zip(want, have, strict=False), 1):
        if PathTemplate(f"/{wanted}").match(f"/{given}") is not None:
            score += _weight(wanted)
            continue
        alike = _alike(wanted, given)
        if alike < 0.6:
            return NOTHING
        score += alike - 0.4
        difference = difference or f"segment {number} is {_quoted(given)}, not {_quoted(wanted)}"
    missing, extra = want[len(have) :], [] if template.rest else have[len(want) :]
    if missing or extra:
        what = "missing" if missing else "too much"
        difference = difference or f'"/{"/".join(missing or extra)}" is {what} at the end'
    return Likeness(score - len(missing or extra) / 2, difference)


def _from_the_end(template: PathTemplate, path: str) -> Iterator[Likeness]:
    """What is left where the first segments of one side are left out: a base path that stands in the url too."""
    want, have = template.segments, path.split("/")[1:]
    weight = sum(map(_weight, want))
    for count in range(1, len(have)):
        if template.match("/" + "/".join(have[count:])) is not None:
            yield Likeness(weight - count / 2, f'"/{"/".join(have[:count])}" is too much at the beginning')
    for count in range(1, len(want)):
        rest = "/**" if template.rest else ""
        if PathTemplate("/" + "/".join(want[count:]) + rest).match(path) is not None:
            score = weight - sum(map(_weight, want[:count])) - count / 2
            yield Likeness(score, f'"/{"/".join(want[:count])}" is missing at the beginning')


def _alike(wanted: str, given: str) -> float:
    """How much two segments resemble each other; one version is like another, and none at all like any."""
    if not given or (_VERSION.fullmatch(wanted) and _VERSION.fullmatch(given)):
        return 0.6
    return difflib.SequenceMatcher(None, wanted.lower(), given.lower()).ratio()


def _weight(segment: str) -> float:
    """What it says that a segment fits; a parameter fits anything."""
    return 0.2 if "{" in segment else 1


def _quoted(segment: str) -> str:
    return f'"{segment}"' if segment else "empty"
