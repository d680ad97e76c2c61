"""The console entry: whose modules are imported, and that nothing keeps the process from ending."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from conftest import EVE_MOCKS

from eve_mocks.console import own_first

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

PAY = "{kind: http, url: 'https://api.pay.test/', routes: {/x: {GET: {response: {ok: true}}}}}"
ASK = ["curl", "-sS", "https://api.pay.test/x"]


@pytest.mark.parametrize(
    ("path", "given", "expected"),
    [
        (["/a", "/lib", "/site"], "/a", ["/lib", "/site", "/a"]),
        (["/a", "/b", "/lib"], "/a:/b/", ["/lib", "/a", "/b"]),
        (["/lib", "/site"], None, ["/lib", "/site"]),
        (["/lib", "/site"], "/c:", ["/lib", "/site"]),
    ],
)
def test_what_pythonpath_names_comes_last(path: list[str], given: str | None, expected: list[str]) -> None:
    assert own_first(path, {} if given is None else {"PYTHONPATH": given}) == expected


@pytest.mark.parametrize("command", [["run", "--", *ASK], ["list"], ["check"], ["-h"]], ids=lambda words: words[0])
def test_modules_of_the_project_shadow_none_of_ours(project: Project, command: list[str]) -> None:
    project.file("mocks/pay.yaml", PAY)
    for name in ("click", "yaml", "json", "typing", "h11", "asyncio", "ssl", "pathlib", "signal", "tempfile", "idna"):
        project.file(f"lib/{name}.py", f"raise SystemExit('the project has a module {name}')")
    run = project.eve_mocks(*command, env={"PYTHONPATH": str(project.root / "lib")})
    assert run.returncode == 0, run.stderr
    assert "the project has" not in run.stderr
    if command[0] == "run":
        assert run.stdout == '{"ok": true}'


def test_mocks_and_what_they_start_find_the_projects_modules(project: Project) -> None:
    project.file("lib/prices.py", "ONE = 1")
    project.file("lib/json.py", "raise SystemExit('not this one')")
    project.file("lib/sitecustomize.py", "open('customized', 'a').write(' '.join(__import__('sys').orig_argv) + '\\n')")
    project.file(
        "mocks/pay.py",
        """
        import os, subprocess, sys
        from prices import ONE
        from eve_mocks import http_mock
        pay = http_mock("https://api.pay.test/")
        @pay.get("/x")
        def x():
            code = "import prices; print(prices.ONE)"
            out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
            return [ONE, out.strip(), os.environ["PYTHONPATH"]]
        """,
    )
    lib = str(project.root / "lib")
    run = project.eve_mocks("run", "--", *ASK, env={"PYTHONPATH": lib})
    assert (run.stdout, run.returncode) == (f'[1, "1", "{lib}"]', 0), run.stderr
    assert "eve_mocks.proxy" not in (project.root / "customized").read_text()


@pytest.mark.parametrize("command", [["run", "--", *ASK], ["list"], ["check"]], ids=lambda words: words[0])
def test_a_thread_of_a_mock_keeps_nothing_alive(project: Project, command: list[str]) -> None:
    project.file("mocks/pay.yaml", PAY)
    project.file("mocks/busy.py", "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()")
    run = project.eve_mocks(*command, timeout=30)
    assert run.returncode == 0, run.stderr
    assert run.stdout != ""


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
@pytest.mark.parametrize("command", [["run", "--", "true"], ["check"]], ids=lambda words: words[0])
def test_closed_streams_are_no_failure(project: Project, command: list[str], closed: str) -> None:
    project.file("mocks/pay.yaml", PAY)
    run = project.eve_mocks(*command, prefix=["sh", "-c", f'exec "$@" {closed}', "sh"])
    assert run.returncode == 0


def test_ctrl_c_while_mocks_are_loaded(project: Project) -> None:
    os.mkfifo(project.root / "gate")
    project.file("mocks/slow.py", "open('gate', 'w').close(); import time; time.sleep(600)")
    for command in (["check"], ["run", "--", "touch", "started"]):
        with subprocess.Popen(
            [EVE_MOCKS, *command], cwd=project.root, env=project.environment, stderr=subprocess.PIPE, text=True
        ) as process:
            (project.root / "gate").read_text()  # until it is loaded
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        assert (process.returncode, err.strip()) == (130, "")
    assert not (project.root / "started").exists()


def test_ctrl_c_while_modules_are_imported(tmp_path: Path) -> None:
    """A module of ours that waits stands for the time that importing takes."""
    os.mkfifo(tmp_path / "gate")
    (tmp_path / "click.py").write_text("open('gate', 'w').close(); import time; time.sleep(600)")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from eve_mocks.console import main; main()"
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        (tmp_path / "gate").read_text()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (-signal.SIGINT, "")


@pytest.mark.parametrize("command", ["check", "list"])
def test_a_mock_that_leaves_while_it_loads_is_told(project: Project, command: str) -> None:
    project.file("mocks/leaves.py", "import os\nif os.fork() == 0: os._exit(0)\nos._exit(3)\n")
    run = project.eve_mocks(command)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("eve-mocks: mocks/leaves.py:3: mocks/leaves.py raised SystemExit: os._exit(3) was")
