"""Whole runs: what a command is answered, what is kept of it, and what becomes of it when things go wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import EVE_MOCKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project

PAY = """
    kind: http
    url: https://api.pay.test/v1
    routes:
      /charges:
        GET: {response: {ok: true}}
"""
CHARGES = ["curl", "-sS", "https://api.pay.test/v1/charges"]
BLOCKED = ["curl", "-sS", "https://logs.example.com/v1/tail"]


@pytest.fixture(autouse=True)
def _curl(needs: Callable[..., str]) -> None:
    needs("curl")


@pytest.fixture
def pay(project: Project) -> Project:
    project.file("mocks/pay.yaml", PAY)
    return project


def test_a_mocked_call(pay: Project) -> None:
    run = pay.eve_mocks("run", "--", *CHARGES)
    assert (json.loads(run.stdout), run.returncode) == ({"ok": True}, 0)
    assert re.fullmatch(
        r"eve-mocks  1 call +(not contained: .+|contained)\n"
        r"  mocked    1   pay 1\n"
        r"  report   \.eve-mocks/report\.json\n",
        run.stderr,
    )
    report = pay.report()
    assert report["command"] == CHARGES
    assert report["counts"] == {"mocked": 1, "allowed": 0, "blocked": 0, "error": 0}
    assert (report["exitCode"], report["childExitCode"]) == (0, 0)
    assert report["contained"] == ("notContained" not in report)
    assert report["sessions"] == [{"id": "run", "calls": 1}]
    assert [call["url"] for call in pay.calls()] == [CHARGES[-1]]


def test_a_blocked_call_fails_the_run_and_says_what_to_paste(pay: Project) -> None:
    run = pay.eve_mocks("run", "--", *BLOCKED)
    assert run.returncode == 1
    answered = json.loads(run.stdout)
    for line in ("eve-mocks add logs --url https://logs.example.com/", 'mocks/logs.yaml: {kind: allow, url: "https'):
        assert line in run.stderr
        assert line in answered["fix"]
    assert re.search(r"blocked   1   logs.example.com  GET /v1/tail   by curl \(pid \d+\)", run.stderr)
    assert "unused   pay" in run.stderr
    assert "1 call, 1 blocked: exit 1, the command's was 0" in run.stderr
    assert pay.report()["unused"]["mocks"] == ["pay"]


@pytest.mark.parametrize(
    ("option", "url", "code"),
    [
        ("unexpected", "https://other.test/", 1),
        ("unexpected", "https://known.test/", 0),
        ("all", "https://known.test/", 1),
        ("none", "https://other.test/", 0),
    ],
)
def test_which_blocked_calls_fail_the_run(project: Project, option: str, url: str, code: int) -> None:
    project.file("mocks/known.yaml", "{kind: block, url: 'https://known.test/', why: it is a canary}")
    run = project.eve_mocks("run", "--fail-on-block", option, "--", "curl", "-s", url)
    assert run.returncode == code, run.stderr


def test_the_commands_own_code_goes_first(pay: Project) -> None:
    assert pay.eve_mocks("run", "--", "sh", "-c", " ".join(BLOCKED) + "; exit 7").returncode == 7


def test_a_broken_mock_fails_the_run(project: Project) -> None:
    project.file(
        "mocks/shop.py",
        """
        from eve_mocks import http_mock
        shop = http_mock("https://shop.test/")

        @shop.get("/order")
        def order():
            print("asked")
            return {}["missing"]
        """,
    )
    run = project.eve_mocks("run", "--", "curl", "-s", "https://shop.test/order")
    assert run.returncode == 1
    told = json.loads(run.stdout)["error"]
    assert (told["file"], told["line"]) == ("mocks/shop.py", 7)
    assert "error     1   shop" in run.stderr
    assert "mocks/shop.py:7" in run.stderr
    assert "output" in run.stderr
    (output,) = project.root.glob(".eve-mocks/runs/*/output.log")
    assert "asked" in output.read_text()


def test_every_mistake_is_told_and_nothing_starts(project: Project) -> None:
    project.file("mocks/a.yaml", "kind: htp\nurl: https://a.test/\n")
    project.file("mocks/b.yaml", "kind: http\nurl: b.test\n")
    run = project.eve_mocks("run", "--", "touch", "started")
    assert run.returncode == 2
    assert "mocks/a.yaml:1: " in run.stderr
    assert "mocks/b.yaml:2: " in run.stderr
    assert run.stderr.count("  why: ") == run.stderr.count("  fix: ") == 2
    assert not (project.root / "started").exists()
    assert not (project.root / ".eve-mocks").exists()


@pytest.mark.parametrize("make", [lambda _: None, lambda root: (root / "mocks").mkdir()], ids=["none", "empty"])
def test_without_mocks_everything_is_blocked(project: Project, make: Callable[[Path], None]) -> None:
    make(project.root)
    run = project.eve_mocks("run", "--", *CHARGES)
    assert run.returncode == 1
    assert "Begin with eve-mocks add NAME --url https://api.example.com/" in run.stderr


def test_a_folder_that_is_not_there_is_named(project: Project) -> None:
    (project.root / "mocks").mkdir()
    for arguments, env in ((["--dir", "mokcs"], {}), ([], {"EVE_MOCKS_DIR": "mokcs"})):
        run = project.eve_mocks(*arguments, "run", "--", "true", env=env)
        assert run.returncode == 2
        assert "Did you mean mocks?" in run.stderr


def test_a_folder_that_cannot_be_read(project: Project) -> None:
    project.file("mocks", "a file\n")
    run = project.eve_mocks("run", "--", "true")
    assert run.returncode == 2
    assert "the mocks folder mocks cannot be read" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--contain", "always"], "cannot be always"),
        (["--session", "a b"], "cannot have this name"),
        (["--session", "../x"], "cannot have this name"),
    ],
)
def test_wrong_usage_starts_nothing(project: Project, arguments: list[str], said: str) -> None:
    run = project.eve_mocks("run", *arguments, "--", "touch", "started")
    assert run.returncode == 2
    assert said in run.stderr
    assert not (project.root / "started").exists()


def test_the_default_session(pay: Project) -> None:
    pay.eve_mocks("run", "--session", "mine", "--", *CHARGES)
    assert pay.report()["sessions"] == [{"id": "mine", "calls": 1}]


def test_a_run_in_a_run(pay: Project) -> None:
    pay.file("inner/mocks/inner.yaml", "{kind: http, url: 'https://inner.test/', routes: {/x: {GET: {response: 2}}}}")
    pay.file("inner/mocks/pay.yaml", "{kind: allow, url: 'https://api.pay.test/', why: the outer run answers}")
    script = f"cd inner && {EVE_MOCKS} run -- sh -c 'curl -sS https://inner.test/x; {' '.join(CHARGES)}'"
    run = pay.eve_mocks("run", "--", "sh", "-c", script)
    assert run.stdout == '2{"ok": true}'
    assert run.returncode == 0, run.stderr
    inner, outer = re.findall(r"eve-mocks .*", run.stderr)
    assert "not contained: inside another run" in inner
    assert "1 call " in outer
    assert pay.report()["targets"][0]["target"] == "pay"


def test_eight_runs_side_by_side(pay: Project) -> None:
    def one(number: int) -> tuple[str, int]:
        run = pay.eve_mocks("run", "--session", f"s{number}", "--", *CHARGES)
        return run.stdout, run.returncode

    shutil.rmtree(pay.environment["XDG_DATA_HOME"], ignore_errors=True)  # they also make the CA at the same time
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, range(8))) == {('{"ok": true}', 0)}
    folders = list(pay.root.glob(".eve-mocks/runs/*"))
    assert len(folders) == 8
    reports = [json.loads((folder / "report.json").read_text()) for folder in folders]
    assert sorted(report["sessions"][0]["id"] for report in reports) == [f"s{number}" for number in range(8)]
    assert all(report["counts"]["mocked"] == 1 for report in reports)
    assert pay.report() in reports


def test_the_last_ten_runs_are_kept(pay: Project) -> None:
    runs = pay.root / ".eve-mocks" / "runs"
    living = runs / f"20200101T000000.000Z-{os.getpid()}"
    other = runs / "mine"
    for folder in (living, other, *(runs / f"20200101T00000{n}.000Z-999999{n}" for n in range(10))):
        folder.mkdir(parents=True)
    for _ in range(2):
        assert pay.eve_mocks("run", "--", "true").returncode == 0
    names = sorted(folder.name for folder in runs.iterdir())
    assert len(names) == 12
    assert {living.name, other.name, "20200101T000009.000Z-9999999"} < set(names)
    assert (pay.root / ".eve-mocks" / ".gitignore").read_text() == "*\n"


def started(project: Project, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [EVE_MOCKS, "run", "--", *command],
        cwd=project.root,
        env=project.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_killed_run(pay: Project) -> None:
    """The command loses the network, the log stays readable, and ``report`` folds it."""
    script = f"{' '.join(CHARGES)}; echo; read line; {' '.join(CHARGES)}; echo curl $?"
    with started(pay, "sh", "-c", script) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == '{"ok": true}\n'
        process.kill()
        process.wait()
        (folder,) = pay.root.glob(".eve-mocks/runs/*")
        log = folder / "calls.jsonl"
        wait_for(lambda: log.read_text().endswith("\n"))
        port = int(re.search(r"127\.0\.0\.1:(\d+)", environment_of_child(folder)).group(1))  # type: ignore[union-attr]
        wait_for(lambda: not listens(port))
        process.stdin.write("go on\n")
        process.stdin.close()
        assert re.fullmatch(r"curl [1-9]\d*\n", process.stdout.read())
    run = pay.eve_mocks("report", folder.name)
    assert (run.returncode, run.stderr) == (0, "")
    assert "mocked    1   pay 1" in run.stdout
    assert "the run did not end" in run.stdout
    report = json.loads(pay.eve_mocks("report", folder.name, "--json").stdout)
    assert (report["exitCode"], report["counts"]["mocked"], report["unused"]["mocks"]) == (None, 1, [])
    assert report["command"] == ["sh", "-c", script]


def wait_for(true: Callable[[], bool]) -> None:
    limit = time.monotonic() + 30
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.02)


def environment_of_child(folder: Path) -> str:
    """The environment of a process of a run, found by the name of the run."""
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            found = file.read_bytes().decode(errors="replace")
            if f"EVE_MOCKS_RUN={folder.name}" in found:
                return found
    raise AssertionError("no process of the run is left")


def listens(port: int) -> bool:
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)


def test_a_child_that_outlives_the_command_loses_the_network(pay: Project) -> None:
    child = f"while [ ! -e go ]; do sleep 0.05; done; {' '.join(CHARGES)} >out 2>err; echo $? >code"
    run = pay.eve_mocks("run", "--", "sh", "-c", f"({child}) >/dev/null 2>&1 </dev/null & {' '.join(CHARGES)}")
    assert (run.stdout, run.returncode) == ('{"ok": true}', 0)
    (pay.root / "go").touch()
    wait_for(lambda: (pay.root / "code").exists() and (pay.root / "code").read_text() != "")
    assert (pay.root / "code").read_text() == "7\n"  # curl's code for a refused connection
    assert (pay.root / "out").read_text() == ""


def test_a_proxy_that_dies_fails_the_run(pay: Project) -> None:
    with started(pay, "sh", "-c", f"{' '.join(CHARGES)}; echo; read line; exit 0") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == '{"ok": true}\n'
        proxy = subprocess.run(
            ["ps", "-wwo", "pid=,args=", "--ppid", str(process.pid)], capture_output=True, text=True, check=True
        )
        (pid,) = (int(line.split()[0]) for line in proxy.stdout.splitlines() if "eve_mocks.proxy" in line)
        os.kill(pid, signal.SIGKILL)
        _, err = process.communicate("\n", timeout=30)
    assert process.returncode == 1
    assert "the proxy ended before the command did" in err
    assert pay.report()["counts"]["mocked"] == 1  # from the log
    assert pay.report()["problems"][0]["fails"] is True


@pytest.mark.parametrize("contain", ["auto", "off"])
def test_a_proxy_that_breaks_at_its_start_fails_the_run(pay: Project, contain: str) -> None:
    """As in a broken installation: what the proxy imports, and the wrapper does not, cannot be imported."""
    pay.file("broken/h11.py", "raise RuntimeError('broken at its start')")
    code = "import sys; sys.path.insert(0, 'broken'); from eve_mocks.cli import main; sys.exit(main())"
    arguments = ["run", "--contain", contain, "--", "sh", "-c", f"{' '.join(CHARGES)}; exit 0"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=pay.root,
        env=pay.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "the proxy ended before the command did (exit code 1), so calls were refused" in done.stderr
    assert "RuntimeError: broken at its start" in done.stderr


# A mock that the wrapper loads at once, and the proxy when somebody writes to the gate.
GATED = """
import sys
if "eve_mocks.proxy" in sys.modules:
    open("gate").read()
"""


@pytest.fixture
def gate(pay: Project) -> Path:
    pay.file("mocks/_gated.py", GATED)
    os.mkfifo(pay.root / "gate")
    return pay.root / "gate"


def test_a_short_command_does_not_wait_for_the_proxy(pay: Project, gate: Path) -> None:
    assert gate.is_fifo()
    assert pay.eve_mocks("run", "--", "true").returncode == 0
    report = pay.report()
    assert report["counts"] == {"mocked": 0, "allowed": 0, "blocked": 0, "error": 0}
    assert (report["problems"], report["log"]) == ([], None)


def test_a_connection_that_came_early_is_waited_for(pay: Project, gate: Path) -> None:
    code = (
        "import os, socket, urllib.parse as p; proxy = p.urlsplit(os.environ['HTTPS_PROXY']);"
        "socket.create_connection((proxy.hostname, proxy.port)).sendall(b'x')"
    )
    with started(pay, sys.executable, "-c", code) as process:
        gate.write_text("open")  # waits until the proxy reads
        process.communicate(timeout=30)
    assert process.returncode in (0, 1)  # what it sent was no request
    assert pay.report()["log"] is not None


def test_the_working_directory_is_removed(pay: Project) -> None:
    run = pay.eve_mocks("run", "--", "sh", "-c", f'{" ".join(CHARGES)}; rm -rf "$PWD"')
    assert run.stdout == '{"ok": true}'
    assert run.returncode == 0
    path = temporary_report(run.stderr)
    assert json.loads(path)["counts"]["mocked"] == 1


def temporary_report(text: str) -> str:
    found = re.search(r"report   (/\S+/eve-mocks-\S+/report\.json)", text)
    assert found, text
    assert "a temporary folder" in text
    report = Path(found[1]).read_text()
    shutil.rmtree(Path(found[1]).parent)
    return report


def test_no_place_for_the_report(pay: Project) -> None:
    pay.file(".eve-mocks", "a file\n")
    run = pay.eve_mocks("run", "--", *CHARGES)
    assert (run.stdout, run.returncode) == ('{"ok": true}', 0)
    report: dict[str, Any] = json.loads(temporary_report(run.stderr))
    assert report["counts"]["mocked"] == 1
    assert "the report is in" in report["problems"][0]["message"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_write_permission(pay: Project) -> None:
    pay.root.chmod(0o555)
    run = pay.eve_mocks("run", "--", *CHARGES)
    pay.root.chmod(0o755)
    assert (run.stdout, run.returncode) == ('{"ok": true}', 0)
    temporary_report(run.stderr)


def test_a_home_that_cannot_be_written(pay: Project) -> None:
    run = pay.eve_mocks("run", "--", *CHARGES, env={"XDG_DATA_HOME": "/proc/nowhere"})
    assert (run.stdout, run.returncode) == ('{"ok": true}', 0)


def test_a_disk_that_is_full(pay: Project) -> None:
    """A limit on the size of files stands for it: the log may have 8 KiB."""
    script = f"for n in $(seq 20); do {' '.join(CHARGES)}; done"
    run = pay.eve_mocks("run", "--", "sh", "-c", script, prefix=["sh", "-c", 'ulimit -f 16; exec "$@"', "sh"])
    assert run.stdout == '{"ok": true}' * 20
    assert run.returncode == 0, run.stderr
    assert "20 calls" in run.stderr
    assert re.search(r"the log lacks \d+ of the calls", run.stderr)
    assert all(
        json.loads(line)["status"] == 200 for line in next(pay.root.glob(".eve-mocks/runs/*/calls.jsonl")).open()
    )


NO_PORT = """
import pathlib, socket, subprocess, sys
pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40001")
taken = [socket.create_server(("127.0.0.1", port)) for port in (40000, 40001)]
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


def test_a_port_that_cannot_be_bound(pay: Project, needs: Callable[..., str]) -> None:
    """A network namespace with two ports, both taken."""
    unshare = [needs("unshare"), "--user", "--map-root-user", "--net"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine allows no namespaces")
    run = pay.eve_mocks("run", "--", "touch", "started", prefix=[*unshare, sys.executable, "-c", NO_PORT])
    assert run.returncode == 2
    assert run.stderr.startswith("eve-mocks: no port of 127.0.0.1 can be listened on: Address already in use\n")
    assert not (pay.root / "started").exists()


def test_a_working_directory_that_is_gone(project: Project) -> None:
    (project.root / "gone").mkdir()
    script = f'cd gone; rmdir "$PWD"; {EVE_MOCKS} run "$@"'
    run = subprocess.run(
        ["sh", "-c", script, "sh", "--", "true"],
        cwd=project.root,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 2
    assert run.stderr.startswith("eve-mocks: the working directory is gone\n")


def test_the_environment_of_the_caller_decides_about_allowed_calls(project: Project) -> None:
    """What the caller has set is passed on; the mocks are answered all the same."""
    project.file("mocks/pay.yaml", PAY)
    run = project.eve_mocks(
        "run",
        "--",
        *CHARGES,
        env={"HTTPS_PROXY": "http://127.0.0.1:9", "SSL_CERT_FILE": "/no/such.pem", "no_proxy": "*"},
    )
    assert (run.stdout, run.returncode) == ('{"ok": true}', 0)


JAVA = """
import java.net.*;
import java.net.http.*;

public class Client {
    public static void main(String[] arguments) throws Exception {
        var url = URI.create(arguments[0]);
        var asked = HttpRequest.newBuilder(url).build();
        var answer = HttpClient.newHttpClient().send(asked, HttpResponse.BodyHandlers.ofString());
        var older = (HttpURLConnection) url.toURL().openConnection();
        System.out.println(answer.body() + older.getResponseCode() + " " + Runtime.getRuntime().maxMemory() / 1000000);
    }
}
"""


@pytest.mark.skipif(shutil.which("javac") is None, reason="no Java")
@pytest.mark.parametrize("folder", ["da ta", "o'brien", "a \"b\" 'c'"])
def test_java(pay: Project, tmp_path: Path, folder: str) -> None:
    """By its options alone, which keep the caller's own, from a folder with an odd name."""
    pay.file("Client.java", JAVA)
    run = pay.eve_mocks(
        "run", "--", "java", "Client.java", CHARGES[-1],
        env={"JAVA_TOOL_OPTIONS": "-Xmx64m", "XDG_DATA_HOME": str(tmp_path / folder)},
    )  # fmt: skip
    assert re.fullmatch(r'\{"ok": true\}200 6\d\n', run.stdout), run.stderr


def test_no_credential_lands_on_disk(pay: Project) -> None:
    secret = "sk-very-secret"
    run = pay.eve_mocks(
        "run",
        "--",
        *CHARGES[:-1],
        "-H",
        f"Authorization: Bearer {secret}",
        "-H",
        f"X-Api-Key: {secret}",
        "-H",
        f"Cookie: a={secret}",
        "--data",
        json.dumps({"password": secret, "nested": [{"access_token": secret}]}),
        "-X",
        "GET",
        f"https://me:{secret}@api.pay.test/v1/charges?api_key={secret}&a=1",
    )
    assert run.returncode == 0, run.stderr
    kept = [path for path in (pay.root / ".eve-mocks").rglob("*") if path.is_file()]
    assert len(kept) == 4
    for path in kept:
        assert secret not in path.read_text()
    (call,) = pay.calls()
    assert call["requestBody"] == {"password": "[redacted]", "nested": [{"access_token": "[redacted]"}]}
    assert call["url"] == "https://api.pay.test/v1/charges?api_key=[redacted]&a=1"


def test_the_start_imports_nothing_heavy(pay: Project) -> None:
    """What takes long to import is not on the way to the command's first instruction (contract, section 1)."""
    code = (
        "import sys; from eve_mocks.cli import main; main(['run', '--', 'true']); "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    assert pay.eve_mocks("run", "--", "true").returncode == 0  # the CA is there
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=pay.root, env=pay.environment, capture_output=True, text=True, check=True
    )
    heavy = {"mitmproxy", "mcp", "jsonschema", "rich", "asyncio", "cryptography", "h11", "ssl", "tempfile", "certifi"}
    assert "click" in run.stdout.split()
    assert heavy & set(run.stdout.split()) == set()


ODD = """
import asyncio, os, sys, threading
from eve_mocks import http_mock

print("loading"); sys.stderr.write("loading\\n"); os.system("echo loading; echo loading >&2")
pay = http_mock("https://api.pay.test/")

@pay.get("/ends")
def ends():
    raise GeneratorExit

@pay.get("/cancels")
async def cancels():
    inner = asyncio.create_task(asyncio.Event().wait())
    inner.cancel()
    await inner

@pay.get("/leaves")
def leaves():
    os._exit(3)

@pay.get("/kills")
def kills():
    os.kill(os.getpid(), 9)

@pay.get("/quick")
def quick():
    return 1
"""


@pytest.mark.parametrize(
    ("path", "told"),
    [("ends", "raised GeneratorExit"), ("cancels", "raised CancelledError"), ("leaves", "os._exit(3) was called")],
)
def test_a_handler_that_breaks_in_an_unusual_way(project: Project, path: str, told: str) -> None:
    mock = project.file("mocks/pay.py", ODD)
    run = project.eve_mocks("run", "--", *CHARGES[:-1], "-m", "20", f"https://api.pay.test/{path}")
    assert run.returncode == 1
    (call,) = project.calls()
    assert (call["outcome"], call["status"], call.get("cancelled")) == ("error", 500, None)
    line = 1 + mock.read_text().splitlines().index(f'@pay.get("/{path}")')
    assert re.match(rf"mocks/pay\.py:({line + 2}|{line + 4}): ", call["error"])
    assert told in call["error"]
    assert told in json.loads(run.stdout)["error"]["message"]


def test_a_mock_that_kills_the_proxy_is_told_by_the_signal(project: Project) -> None:
    project.file("mocks/pay.py", ODD)
    run = project.eve_mocks("run", "--", "sh", "-c", "curl -sS https://api.pay.test/kills; exit 0")
    assert run.returncode == 1
    assert "the proxy ended before the command did (SIGKILL), so calls were refused" in run.stderr


def test_what_mocks_print_is_in_the_log_alone(project: Project) -> None:
    project.file("mocks/pay.py", ODD)
    run = project.eve_mocks("run", "--", *CHARGES[:-1], "https://api.pay.test/quick")
    assert (run.stdout, run.returncode) == ("1", 0)
    assert run.stderr.startswith("eve-mocks  1 call ")
    assert Path(project.root, project.report()["output"]).read_text().split() == ["loading"] * 4


def test_a_damaged_certificate_of_the_caller_is_told_and_hurts_nobody(pay: Project) -> None:
    bad = pay.file("bad.pem", "-----BEGIN CERTIFICATE-----\ngarbage\n-----END CERTIFICATE-----\n")
    for _ in range(2):
        run = pay.eve_mocks("run", "--", *CHARGES, env={"SSL_CERT_FILE": str(bad)})
        assert (run.stdout, run.returncode) == ('{"ok": true}', 0), run.stderr
        assert f"are trusted: {bad}: a certificate in it is damaged" in run.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what the environment was at first")
@pytest.mark.parametrize("locale", [{}, {"LC_CTYPE": "C.UTF-8"}, {"LC_CTYPE": "C"}, {"LANG": "C", "LC_CTYPE": ""}])
@pytest.mark.parametrize("live", [[], ["--live"]], ids=["run", "live"])
def test_the_locale_stays_the_callers(project: Project, locale: dict[str, str], live: list[str]) -> None:
    kept = {name: value for name, value in project.environment.items() if name not in ("LANG", "LC_ALL", "LC_CTYPE")}
    project = dataclasses.replace(project, environment=kept | locale)
    run = project.eve_mocks("run", *live, "--", "env")
    found = dict(line.split("=", 1) for line in run.stdout.splitlines() if line.startswith(("LC_", "LANG=")))
    assert found == locale


def test_a_run_that_is_not_there_is_told_in_few_words(pay: Project) -> None:
    runs = pay.root / ".eve-mocks" / "runs"
    names = [f"2026010{day}T120000.000Z-4{day}" for day in range(1, 8)]
    for name in names:
        (runs / name).mkdir(parents=True)
    near = pay.eve_mocks("report", names[3][:-1]).stderr.splitlines()
    assert near[-1].startswith("  fix: Did you mean 2026010")
    far = pay.eve_mocks("report", "latest").stderr.splitlines()
    assert far == [
        "eve-mocks: there is no run latest",
        "  why: .eve-mocks/runs holds 7 runs",
        f"  fix: The last are {names[6]}, {names[5]}, {names[4]}.",
    ]


def test_a_thread_that_a_mock_has_started_takes_no_signal_from_the_run(pay: Project) -> None:
    """Were it to take the one that the command has ended, the run would not."""
    pay.file(
        "mocks/_waiting.py",
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n",
    )
    pay.file(
        "mocks/threaded.py", "import _waiting\nfrom eve_mocks import http_mock\nhttp_mock('http://threaded.test')\n"
    )
    for _ in range(5):
        assert pay.eve_mocks("run", "--", "sh", "-c", "exit 3", timeout=20).returncode == 3
