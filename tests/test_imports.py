"""Imports point one way, kinds stand alone, and what is heavy is imported where it is needed."""

from __future__ import annotations

import ast
import graphlib
import itertools
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import eve_mocks

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(eve_mocks.__file__).parent

# From the shell to the core. Inside a layer imports only have to be free of cycles.
LAYERS = [
    {"console"},
    {"__main__", "cli", "pytest_plugin"},
    {"complaints"},
    {"run", "adding", "pulling", "info", "init"},
    {"descriptions"},
    {"scaffold"},
    {"scaffold_text"},
    {"account"},
    {"annotations"},
    {"render"},
    {"containment"},
    {"proxy", "proxy_process", "control", "child", "contain", "archive"},
    {"run_folder"},
    {"program"},
    {"eve_app", "pull"},
    {"sources"},
    {"load", "beside", "beginning", "connections", "environment", "wgetrc", "npm_package", "keys"},
    {"trust"},
    {"ca"},
    {"doubts"},
    {"evals"},
    {"callback", "actions", "expectations", "answering"},
    {"dispatch", "report", "calls"},
    {"router", "session", "advice", "signin", "python_file", "made_up"},
    {"__init__"},  # the names that mock files import
    {"kinds"},
    {"openapi", "companion"},
    {"outcome", "http_input", "snapshot", "stubs"},
    {"declared", "document", "data_file", "handler", "schema", "routes", "yaml_text", "json_text"},
    {"likeness", "ecmascript"},
    {"patience"},
    {"paths"},
    {"hosts"},
    {
        "folder",
        "match",
        "providers",
        "encoding",
        "redact",
        "known_tokens",
        "secret_arguments",
        "secret_names",
        "secret_text",
        "secret_urls",
    },
    {"model", "records", "ports", "outbox"},
    {"response", "scripts"},
    {"errors", "exits", "files", "interruption", "silence", "threads"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
ONLY_IN = {
    "mitmproxy": {"proxy"},
    "click": {"cli", "complaints", "render"},
    "rich": {"render"},
    "mcp": {"kinds", "pull"},
    "ctypes": {"contain"},
}


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _part(module: Path) -> str:
    """The name of a module, or of the package below eve_mocks that it is in."""
    return module.relative_to(PACKAGE).with_suffix("").parts[0]


def _imports(module: Path) -> Iterator[tuple[str, int]]:
    """Each module that is imported at run time, however deep in the code, and the line."""
    todo: list[ast.AST] = [ast.parse(module.read_text())]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            todo.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from _named(module, node)
        todo.extend(ast.iter_child_nodes(node))


def _named(module: Path, node: ast.ImportFrom) -> Iterator[tuple[str, int]]:
    assert not node.level, f"{module}:{node.lineno}: imports are written in full"
    for alias in node.names:
        name = f"{node.module}.{alias.name}"
        inside = PACKAGE.parent / Path(*name.split("."))
        is_module = inside.is_dir() or inside.with_suffix(".py").is_file()
        yield (name if is_module else str(node.module)), node.lineno


def _of_the_package(module: Path) -> Iterator[tuple[str, int]]:
    for name, line in _imports(module):
        if name == "eve_mocks" or name.startswith("eve_mocks."):
            yield [*name.split("."), "__init__"][1], line


# What runs inside the command imports nothing of ours: it may meet any Python, or none of our packages.
INSIDE_THE_COMMAND = {"preload"}


@pytest.mark.parametrize("module", _modules(), ids=lambda module: str(module.relative_to(PACKAGE)))
def test_imports_point_one_way(module: Path) -> None:
    part = _part(module)
    if part in INSIDE_THE_COMMAND:
        assert list(_of_the_package(module)) == []
        return
    wrong = [
        f"{module.name}:{line} imports {name}" for name, line in _of_the_package(module) if RANK[name] < RANK[part]
    ]
    assert wrong == []


def test_no_imports_go_round() -> None:
    graph: dict[str, set[str]] = {}
    for module in _modules():
        part = _part(module)
        graph.setdefault(part, set()).update(name for name, _ in _of_the_package(module) if name != part)
    assert list(graphlib.TopologicalSorter(graph).static_order())


def test_every_module_has_a_layer_and_no_layer_is_made_up() -> None:
    parts = {_part(module) for module in _modules()} - INSIDE_THE_COMMAND
    assert parts <= RANK.keys()


@pytest.mark.parametrize("module", _modules(), ids=lambda module: str(module.relative_to(PACKAGE)))
def test_libraries_have_one_importer(module: Path) -> None:
    wrong = [
        f"{module.name}:{line} imports {name}"
        for name, line in _imports(module)
        if _part(module) not in ONLY_IN.get(name.split(".")[0], {_part(module)})
    ]
    assert wrong == []


def test_kinds_do_not_import_each_other() -> None:
    kinds = {path.stem for path in (PACKAGE / "kinds").iterdir()} - {"__init__", "__pycache__"}
    for one, module in itertools.product(kinds, _modules()):
        if _part(module) != "kinds" or module == PACKAGE / "kinds/__init__.py":
            continue
        own = module.relative_to(PACKAGE / "kinds").with_suffix("").parts[0]
        others = [name for name, _ in _imports(module) if name.startswith(f"eve_mocks.kinds.{one}")]
        assert own == one or others == [], module


@pytest.mark.parametrize("name", ["eve_mocks", "eve_mocks.load"])
def test_the_start_path_is_light(name: str) -> None:
    heavy = {"jsonschema", "rich", "mitmproxy", "mcp", "pydantic", "anyio", "asyncio", "cryptography", "click", "yaml"}
    code = f"import sys, {name}; print(*sorted({heavy!r} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.split() == []
