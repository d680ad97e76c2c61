"""The command line: usage, errors in three lines, nearest names."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from conftest import EVE_MOCKS

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project


@pytest.mark.parametrize(
    ("arguments", "message", "fix"),
    [
        (["rum", "--", "x"], "there is no command rum", "Did you mean run?"),
        (["xyzzy"], "there is no command xyzzy", "Use one of: add, check, list, report, run."),
        (["--dri", "m", "run"], "there is no option --dri", "Did you mean --dir?"),
        (
            ["run", "--fail-on-blok", "all", "--", "x"],
            "there is no option --fail-on-blok",
            "Did you mean --fail-on-block?",
        ),
        (
            ["run", "--fail-on-block", "some", "--", "x"],
            "--fail-on-block cannot be some",
            "Use one of: unexpected, all, none.",
        ),
        (["add", "x", "--kind", "htpp"], "--kind cannot be htpp", "Did you mean http?"),
        (["list", "--dir", "m"], "there is no option --dir", "Put it before list: eve-mocks --dir … list"),
        (["run", "--dir", "m", "--", "x"], "there is no option --dir", "Put it before run: eve-mocks --dir … run"),
        (["--live", "run", "--", "x"], "there is no option --live", "Put it after the command that takes it: run."),
        (["run"], "Missing argument", "eve-mocks run -h tells"),
        (["run", "--session"], "Option '--session' requires an argument", "eve-mocks -h tells"),
        (["report", "a", "b"], "Got unexpected extra argument (b)", "eve-mocks report -h tells"),
        (["report"], "there is no report", "eve-mocks run -- COMMAND writes one"),
        (["report", "x"], "there is no run x", "eve-mocks run -- COMMAND makes one."),
    ],
)
def test_wrong_usage(project: Project, arguments: list[str], message: str, fix: str) -> None:
    run = project.eve_mocks(*arguments)
    what, why, how = run.stderr.splitlines()
    assert (run.returncode, run.stdout) == (2, "")
    assert what.startswith(f"eve-mocks: {message}")
    assert why.startswith("  why: ")
    assert how.startswith(f"  fix: {fix}")


@pytest.mark.parametrize("arguments", [["list", "--json", "--nope"], ["lst", "--json"], ["report", "--json"]])
def test_errors_as_json(project: Project, arguments: list[str]) -> None:
    run = project.eve_mocks(*arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert set(json.loads(run.stderr)["error"]) == {"message", "why", "fix"}


def test_json_among_the_commands_arguments_is_not_ours(project: Project) -> None:
    for dashes in (["--"], []):
        run = project.eve_mocks("run", *dashes, "no-such-program", "--json")
        assert run.stderr.startswith("eve-mocks: the command no-such-program is not found\n")


def test_a_terminal_is_not_obeyed(project: Project) -> None:
    run = project.eve_mocks("run", "--", "no\x1b[31m\nsuch")
    assert run.stderr.startswith("eve-mocks: the command no\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}such ")
    assert run.stderr.count("\n") == 3


def test_errors_of_files_as_json(project: Project) -> None:
    project.file("mocks/a.yaml", "kind: htp\nurl: https://a.test/\n")
    project.file("mocks/b.yaml", "kind: http\n")
    run = project.eve_mocks("check", "--json")
    first, second = (json.loads(line)["error"] for line in run.stderr.splitlines())
    assert run.returncode == 2
    assert (first["file"], first["line"], second["file"]) == ("mocks/a.yaml", 1, "mocks/b.yaml")


@pytest.mark.parametrize("arguments", [["-h"], ["run", "-h"], ["--help"], ["report", "--help"]])
def test_help_goes_to_stdout(project: Project, arguments: list[str]) -> None:
    run = project.eve_mocks(*arguments)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("Usage: eve-mocks")


def test_nothing_at_all(project: Project) -> None:
    run = project.eve_mocks()
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("Usage: eve-mocks")


def test_version(project: Project) -> None:
    assert project.eve_mocks("--version").stdout == f"eve-mocks {importlib.metadata.version('eve-mocks')}\n"


def test_the_command_need_no_dashes_before_it(project: Project) -> None:
    run = project.eve_mocks("run", "sh", "-c", "echo $1", "sh", "--live")
    assert (run.stdout, run.returncode) == ("--live\n", 0)


def test_arguments_reach_the_command_byte_for_byte(project: Project, tmp_path: Path) -> None:
    given = [b"", b"a b", b"\xff\xfe", "é".encode(), b"--", b"-h", b"$x", b"\n"]
    run = subprocess.run(
        [EVE_MOCKS, "run", "--", "printf", "[%s]", *given],
        cwd=tmp_path,
        env=project.environment,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert run.stdout == b"".join(b"[%s]" % one for one in given)


def test_report(project: Project) -> None:
    run = project.eve_mocks("run", "--", "true")
    shown = project.eve_mocks("report")
    assert (shown.stdout, shown.returncode, shown.stderr) == (run.stderr, 0, "")
    assert json.loads(project.eve_mocks("report", "--json").stdout) == project.report()
    (folder,) = project.root.glob(".eve-mocks/runs/*")
    assert json.loads(project.eve_mocks("report", folder.name, "--json").stdout) == project.report()
    typo = project.eve_mocks("report", folder.name[:-1])
    assert f"Did you mean {folder.name}?" in typo.stderr
    (project.root / ".eve-mocks" / "report.json").write_text("{")
    assert "the report .eve-mocks/report.json cannot be read" in project.eve_mocks("report").stderr


@pytest.mark.parametrize("reader", ["head -c 1", "true"])
def test_a_reader_that_goes_early(project: Project, reader: str) -> None:
    project.eve_mocks("run", "--", "true")
    run = subprocess.run(
        ["sh", "-c", f"{EVE_MOCKS} report --json | {reader}"],
        cwd=project.root,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.stderr == ""
