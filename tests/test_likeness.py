"""Which template a path was probably meant for, and what is told of the difference."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eve_mocks.likeness import likeness
from eve_mocks.match import normalise_path
from eve_mocks.paths import PathTemplate


@pytest.mark.parametrize(
    ("path", "template", "difference"),
    [
        ("/c/", "/c", "the call has a slash at the end"),
        ("/c", "/c/", "the call has no slash at the end"),
        ("/pages/p1/", "/pages/{id}", "the call has a slash at the end"),
        ("/pages/", "/pages/{id}", '"/{id}" is missing at the end'),
        ("/pages", "/pages/{id}", '"/{id}" is missing at the end'),
        ("/pages/p1/blocks", "/pages/{id}", '"/blocks" is too much at the end'),
        ("/pags/p1", "/pages/{id}", 'segment 1 is "pags", not "pages"'),
        ("/Pages", "/pages", 'segment 1 is "Pages", not "pages"'),
        ("/v2/pages/p1", "/v1/pages/{id}", 'segment 1 is "v2", not "v1"'),
        ("/v1/pages", "/pages", '"/v1" is too much at the beginning'),
        ("/pages/p1", "/v1/pages/{id}", '"/v1" is missing at the beginning'),
        ("/file/a/b/c", "/files/**", 'segment 1 is "file", not "files"'),
        ("/a", "/a/b/**", '"/b" is missing at the end'),
        ("/a//b", "/a/{x}/b", 'segment 2 is empty, not "{x}"'),
    ],
)
def test_what_differs(path: str, template: str, difference: str) -> None:
    found = likeness(PathTemplate(template), path)
    assert (found.difference, found.score > 0) == (difference, True)


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("/q", "/{p}/z"),
        ("/", "/z"),
        ("/", "/{a}/{b}"),
        ("/a/b", "/{x}"),
        ("/v1/embeddings", "/v1/chat/completions"),
        ("/v1/embeddings", "/v1/models"),
        ("/api/v1/users", "/api/v1/orders"),
        ("/zz", "/"),
        ("/x/y/z", "/v1/other"),
    ],
)
def test_what_is_not_near(path: str, template: str) -> None:
    assert likeness(PathTemplate(template), path).score <= 0


@pytest.mark.parametrize(
    ("path", "templates", "nearest"),
    [
        ("/h/", ["/h/{id}", "/h", "/g/"], "/h"),
        ("/pages/p1/", ["/pages/{id}/x", "/pages", "/pages/{id}"], "/pages/{id}"),
        ("/v1/page/p1", ["/v1/pages", "/v1/pages/{id}", "/v1/pages/{id}/blocks"], "/v1/pages/{id}"),
        ("/pages", ["/page/{id}", "/orders", "/page"], "/page"),
    ],
)
def test_the_smallest_difference_is_the_nearest(path: str, templates: list[str], nearest: str) -> None:
    assert max(templates, key=lambda text: likeness(PathTemplate(text), path).score) == nearest


SEGMENTS = st.lists(st.sampled_from(["a", "ab", "b", "{x}", ""]), min_size=1, max_size=4)


@given(SEGMENTS, SEGMENTS, st.booleans())
def test_what_is_told_is_true(wanted: list[str], given: list[str], rest: bool) -> None:
    """Whatever is told to be missing or too much at an end is exactly that."""
    if wanted.count("{x}") > 1:
        return
    template = PathTemplate("/" + "/".join(wanted) + ("/**" if rest else ""))
    path = normalise_path("/" + "/".join(given)).replace("%7Bx%7D", "c")
    if template.match(path) is not None:
        return
    score, difference = likeness(template, path)
    if score <= 0:
        return
    if found := re.fullmatch('"(.*)" is missing at the end', difference):
        assert template.match(path.removesuffix("/") + found[1].replace("{x}", "c")) is not None
    elif found := re.fullmatch('"(.*)" is missing at the beginning', difference):
        assert template.match(found[1].replace("{x}", "c") + path) is not None
    elif found := re.fullmatch('"(.*)" is too much at the beginning', difference):
        assert template.match(path.removeprefix(found[1])) is not None
    elif found := re.fullmatch('"(.*)" is too much at the end', difference):
        assert found[1].removesuffix("/") in path
    else:
        assert re.fullmatch("the call has (no|a) slash at the end|segment .* is .*, not .*", difference), difference
