"""Whatever JSON stands in a manifest or in an OpenAPI document, what reads it says so, and does not break."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eve_mocks import descriptions, eve_app
from eve_mocks.errors import MockError
from eve_mocks.folder import Folder
from eve_mocks.pull import documents, drift

if TYPE_CHECKING:
    import pytest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def objects(*keys: str, values: st.SearchStrategy[Any] = JSON) -> st.SearchStrategy[Any]:
    """Objects that have some of the keys, or something else in their place."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(keys, values)) | JSON


CONNECTIONS = st.lists(objects("connectionName", "slug", "url", "protocol", "logicalPath"), max_size=3) | JSON
AGENT = st.fixed_dictionaries(
    {}, optional={"agentRoot": JSON, "connections": CONNECTIONS, "dynamicConnections": CONNECTIONS}
)
MANIFEST = st.tuples(AGENT, st.lists(objects("agent", "rootPath", values=AGENT | JSON), max_size=2) | JSON, JSON).map(
    lambda parts: {"kind": eve_app.KIND, **parts[0], "subagents": parts[1], "version": parts[2]}
)
DOCUMENT = st.fixed_dictionaries(
    {},
    optional={
        "openapi": st.just("3.1.0") | JSON,
        "swagger": st.just("2.0") | JSON,
        "servers": st.lists(objects("url", "variables", values=JSON | objects("default")), max_size=2) | JSON,
        "schemes": JSON,
        "host": JSON,
        "basePath": JSON,
        "paths": st.dictionaries(st.text(max_size=6).map("/{}".format) | st.text(max_size=3), objects("get")) | JSON,
    },
)


@given(MANIFEST)
@settings(max_examples=150, deadline=None)
def test_manifests(tmp_path_factory: pytest.TempPathFactory, manifest: Any) -> None:
    root = tmp_path_factory.mktemp("app")
    place = root / eve_app.PLACES[0]
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(manifest))
    connections, problems = eve_app.read(root, runs_modules=False)
    assert all(isinstance(each.name, str) and isinstance(each.source, str) for each in connections)
    assert all(problem.fix for problem in problems)


@given(DOCUMENT | JSON)
@settings(max_examples=150, deadline=None)
def test_documents(tmp_path_factory: pytest.TempPathFactory, document: Any) -> None:
    file = tmp_path_factory.mktemp("document") / "o.json"
    content = json.dumps(document).encode()
    file.write_bytes(content)
    with contextlib.suppress(MockError):
        value = documents.parse(content, "o.json")
        server = documents.server(value, "https://a.test/o.json")
        assert server is None or server.startswith(("http://", "https://"))
        assert drift.count(value).split(" ")[0].isdigit()
        descriptions.document(str(file), "o", Folder.at(file.parent))


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
@settings(max_examples=150, deadline=None)
def test_bytes(content: bytes) -> None:
    with contextlib.suppress(MockError):
        documents.parse(content, "x")
