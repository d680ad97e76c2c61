"""The command line: usage, errors in three lines, nearest names."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
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
        (["xyzzy"], "there is no command xyzzy", "Use one of: add, check, info, init, list, pull, report, run."),
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
    project.file("mocks/prints.py", "import sys; print('x'); print('y', file=sys.stderr)")
    run = project.eve_mocks("check", "--json")
    told = json.loads(run.stderr)  # one document
    first, second = told["errors"]
    assert told["error"] == first
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


@pytest.mark.parametrize("command", [["list"], ["check"], ["report"], ["report", "--json"], ["-h"], ["run", "-h"]])
def test_an_output_that_is_full(project: Project, command: list[str]) -> None:
    project.file("mocks/pay.yaml", "{kind: block, url: 'https://pay.test/', why: x}")
    project.eve_mocks("run", "--", "true")
    run = project.eve_mocks(*command, prefix=["sh", "-c", 'exec "$@" >/dev/full', "sh"])
    assert run.returncode == 2
    message = "the output cannot be written: No space left on device"
    assert message in (json.loads(run.stderr)["error"]["message"] if "--json" in command else run.stderr)
    assert "Traceback" not in run.stderr


def test_the_folder_is_no_empty_word(project: Project) -> None:
    project.file("app.py", "open('ran', 'w')")
    for command in (["run", "--", "true"], ["list"], ["check"], ["add", "x", "--url", "https://x.test/"]):
        run = project.eve_mocks("--dir", "", *command)
        assert (run.returncode, run.stderr.splitlines()[0]) == (2, "eve-mocks: --dir names no folder")
    assert [path.name for path in project.root.iterdir()] == ["app.py"]


@pytest.mark.parametrize("command", [["list"], ["check"], ["add", "x", "--url", "https://x.test/"], ["run", "true"]])
def test_a_working_directory_that_is_gone(project: Project, command: list[str]) -> None:
    (project.root / "gone").mkdir()
    script = 'cd gone; rmdir "$PWD"; exec "$@"'
    run = project.eve_mocks(*command, prefix=["sh", "-c", script, "sh"])
    assert (run.returncode, run.stderr.splitlines()[0]) == (2, "eve-mocks: the working directory is gone")


@pytest.mark.parametrize(
    ("report", "told"),
    [
        ('{"exitCode": 0}', "it has no 'counts'"),
        ("[]", "list indices"),
        ('{"exitCode": 0, "counts": 3}', "its counts cannot be 3"),
        ("[" * 200_000, "recursion"),
    ],
    ids=["half", "list", "number", "deep"],
)
def test_a_report_that_is_none(project: Project, report: str, told: str) -> None:
    project.file(".eve-mocks/report.json", report)
    run = project.eve_mocks("report")
    assert run.returncode == 2
    assert run.stderr.startswith(
        "eve-mocks: .eve-mocks/report.json: the report .eve-mocks/report.json cannot be read\n"
    )
    assert told in run.stderr
    assert project.eve_mocks("add", "x", "--url", "https://x.test/").returncode == 0


def test_a_later_run_that_did_not_end_is_told(project: Project) -> None:
    project.eve_mocks("run", "--", "true")
    later = "99991231T235959.999Z-4000000"
    project.file(f".eve-mocks/runs/{later}/report.json", '{"exitCode": null}')
    run = project.eve_mocks("report")
    assert run.returncode == 0
    assert run.stdout.startswith("eve-mocks  0 calls")
    assert f"this is not the last run: {later} did not end" in run.stderr


def test_a_mistake_of_our_own_is_no_traceback(project: Project) -> None:
    code = (
        "import sys; from eve_mocks import cli, connections; connections.read = lambda _: 1 // 0;"
        "sys.exit(cli.main(['check']))"
    )
    for debug in ("", "1"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            cwd=project.root,
            env=project.environment | {"EVE_MOCKS_DEBUG": debug},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 2
        assert ("Traceback" in run.stderr) == (debug == "1")
        assert "eve-mocks: eve-mocks itself failed: ZeroDivisionError" in run.stderr


def test_too_few_files(project: Project) -> None:
    run = project.eve_mocks("run", "--", "true", prefix=["sh", "-c", 'ulimit -n 12; exec "$@"', "sh"])
    assert (run.returncode, run.stderr.splitlines()[0]) == (2, "eve-mocks: no more than 12 files may be open")
