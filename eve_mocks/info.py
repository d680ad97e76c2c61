"""``info``: what there is here, in which version, and what is wrong with it. Nothing stops it."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import json
import platform
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from eve_mocks import ca, connections, eve_app, files, load
from eve_mocks.errors import MockError, Problem
from eve_mocks.pull.state import token_folder
from eve_mocks.router import Router
from eve_mocks.run_folder import NAME

if TYPE_CHECKING:
    from pathlib import Path

    from eve_mocks.load import Mocks

_OURS = ("eve-mocks", "mitmproxy", "mcp")
_PATIENCE = 10


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    versions: dict[str, str]
    paths: dict[str, str]
    counts: dict[str, int]
    contained: bool
    not_contained: str | None
    ignored: list[str]
    problems: list[Problem]

    def as_json(self) -> dict[str, Any]:
        told = [{"message": each.message, "why": each.why, "fix": each.fix} for each in self.problems]
        return {
            "versions": self.versions,
            "paths": self.paths,
            "counts": self.counts,
            "contained": self.contained,
            **({} if self.not_contained is None else {"notContained": self.not_contained}),
            "ignored": self.ignored,
            "problems": told,
        }


def collect(folder: Path, shown: str, root: Path) -> Info:
    """Everything, of a mocks folder and of the project around it."""
    problems: list[Problem] = []
    try:
        mocks = load.load(folder, shown=shown)
    except MockError as error:
        mocks = load.Mocks(folder=folder, errors=[error])
    declared, mistakes = connections.read(root)
    of_eve, told = eve_app.read(root)
    problems += [*map(Problem.of, (*mocks.errors, *mistakes)), *mocks.problems, *told]
    not_contained, fix = _not_contained()
    if not_contained is not None:
        why = "what a program calls in spite of the proxy variables is not seen"
        problems.append(Problem(message=f"commands are not contained: {not_contained}", why=why, fix=fix))
    return Info(
        versions=_versions(root, problems),
        paths=_paths(folder),
        counts=_counts(mocks, [*declared, *of_eve]),
        contained=not_contained is None,
        not_contained=not_contained,
        ignored=mocks.ignored,
        problems=problems,
    )


def _versions(root: Path, problems: list[Problem]) -> dict[str, str]:
    found = {"Python": platform.python_version(), "system": f"{platform.system()} {platform.release()}"}
    for name in _OURS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            problems.append(
                Problem(
                    message=f"the package {name} is not installed",
                    why="eve-mocks needs it, and it is not among what this Python has",
                    fix=f"{sys.executable} -m pip install eve-mocks",
                )
            )
    node = shutil.which("node")
    if node is not None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run([node, "--version"], capture_output=True, timeout=_PATIENCE, check=False)  # noqa: S603
            found["Node"] = done.stdout.decode("utf-8", "replace").strip().removeprefix("v")
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        found["eve"] = str(json.loads(files.read_regular(root / "node_modules/eve/package.json"))["version"])
    first = ("eve-mocks", "Python", "system")
    return {name: found[name] for name in (*first, *(other for other in found if other not in first)) if name in found}


def _paths(folder: Path) -> dict[str, str]:
    found = {"program": sys.argv[0], "mocks": str(folder), "schemas": str(folder / "schemas")}
    report = NAME / "report.json"
    if report.exists():
        found["report"] = str(report.absolute())
    with contextlib.suppress(OSError):
        found["ca"] = str(ca.data_folder() / "ca.pem")
    found["tokens"] = str(token_folder())
    return found


def _counts(mocks: Mocks, declared: list[connections.Connection]) -> dict[str, int]:
    counts = {
        "mocks": len(mocks.mocks),
        "operations": sum(len(mock.operations()) for mock in mocks.mocks),
        "allows": sum(passage.kind == "allow" for passage in mocks.passages),
        "blocks": sum(passage.kind == "block" for passage in mocks.passages),
        "connections": len(declared),
    }
    with contextlib.suppress(MockError):  # two mocks of one URL, which is told already
        rows = connections.rows(Router(mocks.mocks, mocks.passages), declared)
        counts["blockedConnections"] = sum(row["isConnection"] and row["status"] == "blocked" for row in rows)
    return counts


def _not_contained() -> tuple[str | None, str]:
    """Why a command would not be contained, and what to do; None where it would."""
    from eve_mocks.containment import Containment

    containment = Containment("auto")
    if containment.why_not is not None:
        return containment.why_not, "Ask outside of that run."
    from eve_mocks import contain

    verdict = contain.probe()
    if isinstance(verdict, contain.Reason):
        return verdict.text, f"{verdict.fix[0].upper()}{verdict.fix[1:]}."
    return None, ""
