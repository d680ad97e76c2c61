"""The paths of routes: what fits one, and what is told of one that nothing could fit."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eve_mocks.errors import MockError
from eve_mocks.match import normalise_path
from eve_mocks.paths import PathTemplate


@pytest.mark.parametrize(
    ("template", "path", "params"),
    [
        ("/v1/pages/{id}", "/v1/pages/p1", {"id": "p1"}),
        ("/v1/pages/{id}", "/v1/pages/a%2Fb", {"id": "a/b"}),
        ("/v1/pages/{id}", "/v1/pages/", None),
        ("/v1/pages/{id}", "/v1/pages/a/b", None),
        ("/v1/pages/{id}", "/v1/pages/a/", None),
        ("/{a}/{b}", "/x/y", {"a": "x", "b": "y"}),
        ("/{a}.json", "/x.y.json", {"a": "x.y"}),
        ("/{a}-{b}", "/x-y-z", {"a": "x", "b": "y-z"}),
        ("/{owner}/{repo}:action", "/o/r:action", {"owner": "o", "repo": "r"}),
        ("/a.b", "/axb", None),
        ("/files/**", "/files", {}),
        ("/files/**", "/files/a/b", {}),
        ("/files/**", "/filesystem", None),
        ("/**", "/", {}),
        ("/**", "/a/b", {}),
        ("/", "/", {}),
        ("/%63/é", "/c/%C3%A9", {}),
        ("/a b", "/a%20b", {}),
    ],
)
def test_a_template_fits_whole_segments(template: str, path: str, params: dict[str, str] | None) -> None:
    assert PathTemplate(template).match(path) == params


def test_templates_sort_from_concrete_to_general() -> None:
    order = ["/a/b", "/a/{x}.json", "/a/{x}", "/a/{x}/c", "/a/**", "/{x}/b", "/{x}/{y}", "/{x}/**", "/**"]
    assert [template.text for template in sorted(map(PathTemplate, reversed(order)))] == order


NO_PATHS = {
    "/a/:id": "/a/{id}",
    "/:id?": "/{id}",
    "/a/*": "/a/**",
    "/a/*/b/*": "/a/{name}/b/**",
    "/**/z": "/{name}/z",
    "/*/*/z": "/{name1}/{name2}/z",
    "/x/*.png": "/x/{name}.png",
    "/a/**/": "/a/**",
    "/x?y=1": "/x",
    "/a#frag": "/a",
    "/{a": "/{a}",
    "/a}/b": "/{a}/b",
    "/{a/b}": "/{a}/{b}",
    "/{{id}}": "/{id}",
    "/${id}": "/{id}",
    "/u/<int:id>/x": "/u/{id}/x",
    "/f/[id]/x": "/f/{id}/x",
    "/f/[...slug]": "/f/**",
    "/f/{path:path}": "/f/**",
    "/f/{path...}": "/f/**",
    "/f/:path*": "/f/**",
    "/a/{id:int}": "/a/{id}",
    "/{id?}": "/{id}",
    "/{page id}": "/{page}",
    "/{}": "/{name}",
    "https://x.test/a/b?c": "/a/b",
    "https://x.test": "/",
    "GET /e": "/e",
    "get https://x.test/a/:id#f": "/a/{id}",
    "/a/../b": "/b",
    "/a/./b": "/a/b",
    " /a": "/a",
    "a": "/a",
    "{a}": "/{a}",
    "": "/",
}


@pytest.mark.parametrize(("text", "meant"), NO_PATHS.items(), ids=NO_PATHS)
def test_a_path_that_no_request_could_fit_is_told_with_what_was_meant(text: str, meant: str) -> None:
    with pytest.raises(MockError) as caught:
        PathTemplate(text)
    assert caught.value.message.startswith(f"the path {text!r} ")
    assert caught.value.fix == f"Write {meant}"
    assert PathTemplate(meant).text == meant


@pytest.mark.parametrize("path", ["/v1/{x}:act", "/a:b", "/a b", "/$metadata", "/a(b)", "/{a.b}/{c-d}", "/a;v=1", "//"])
def test_a_path_of_odd_characters_is_one(path: str) -> None:
    assert PathTemplate(path).match(normalise_path(path)) is not None


@pytest.mark.parametrize(("given", "told"), [("/{a}/{a}", "{a} more than once"), (print, "not text")])
def test_another_path_that_cannot_be_is_told(given: Any, told: str) -> None:
    with pytest.raises(MockError) as caught:
        PathTemplate(given)
    assert told in caught.value.message


@given(st.lists(st.text("ab{}/.*%+é", max_size=6), max_size=4).map("/".join), st.text("ab/%2F.*", max_size=12))
def test_any_template_is_one_or_is_told(template: str, path: str) -> None:
    try:
        made = PathTemplate(f"/{template}")
    except MockError:
        return
    params = made.match(normalise_path(path))
    assert params is None or set(params) == set(made.names)


@given(st.text(min_size=1, max_size=20).filter(lambda text: text not in (".", "..")))
def test_a_parameter_is_what_the_client_encoded(value: str) -> None:
    try:
        path = normalise_path(f"/x/{quote(value, safe='')}")
    except UnicodeEncodeError:
        return
    assert PathTemplate("/x/{v}").match(path) == {"v": unquote(quote(value))}
