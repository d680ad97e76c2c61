"""What Node programs see of a run: errors in place of blocked calls, and nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from eve_mocks import environment
from eve_mocks.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Project

MOCKS = """
    kind: http
    url: https://api.pay.test/v1
    routes:
      /charges:
        GET: {response: {ok: true}}
      /slow:
        GET: {throw: {name: TimeoutError, message: Pay timed out}}
"""
SHOW = """
const show = e => console.log(JSON.stringify({
  name: e.name, isTypeError: e instanceof TypeError, message: e.message, code: e.code,
  cause: e.cause && {code: e.cause.code, message: e.cause.message},
}));
"""
REQUEST = """
const https = require('node:https');
const ask = url => new Promise((resolve, reject) => https.get(url, answer => {
  let text = '';
  answer.on('data', part => text += part);
  answer.on('end', () => resolve(text));
}).on('error', reject));
"""
URL = {
    "blocked": "https://logs.example.com/v1/tail",
    "throw": "https://api.pay.test/v1/slow",
    "mocked": "https://api.pay.test/v1/charges",
}
TEXT = (
    "eve-mocks blocked GET https://logs.example.com/v1/tail\n"
    "No mock claims it, and nothing allows it.\n"
    "Mock it: eve-mocks add logs --url https://logs.example.com/\n"
    'Or allow it, in mocks/logs.yaml: {kind: allow, url: "https://logs.example.com/", why: "…"}'
)
FETCH = "const ask = async url => (await fetch(url)).text();"


@pytest.fixture
def pay(project: Project) -> Project:
    project.file("mocks/pay.yaml", MOCKS)
    return project


def run(project: Project, *command: str, env: dict[str, str] | None = None) -> str:
    done = project.eve_mocks("run", "--fail-on-block", "none", "--", *command, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("eve-mocks  "), "the preload is quiet"
    return done.stdout


@pytest.mark.parametrize("how", ["commonjs", "module", "worker", "child"])
def test_fetch(pay: Project, needs: Callable[..., str], how: str) -> None:
    each = f"for (const url of {json.dumps(list(URL.values()))}) await ask(url).then(console.log, show);"
    client = pay.file("client.mjs", SHOW + FETCH + each).read_text()
    node = needs("node")
    command = {
        "commonjs": [node, "-e", f"(async () => {{ {client} }})()"],
        "module": [node, "client.mjs"],
        "worker": [node, "-e", "new (require('worker_threads').Worker)('./client.mjs')"],
        "child": [node, "-e", "require('child_process').fork('./client.mjs', {stdio: 'inherit'})"],
    }[how]
    blocked, thrown, mocked = map(json.loads, run(pay, *command).splitlines())
    assert blocked == {
        "name": "TypeError",
        "isTypeError": True,
        "message": "fetch failed",
        "cause": {"code": "EVE_MOCKS_BLOCKED", "message": TEXT},
    }
    assert thrown == {"name": "TimeoutError", "isTypeError": False, "message": "Pay timed out"}
    assert mocked == {"ok": True}


@pytest.mark.parametrize("what", URL)
def test_requests(pay: Project, needs: Callable[..., str], what: str) -> None:
    told = json.loads(run(pay, needs("node"), "-e", f"{SHOW}{REQUEST}ask('{URL[what]}').then(console.log, show)"))
    assert (
        told
        == {
            "blocked": {"name": "Error", "isTypeError": False, "message": TEXT, "code": "EVE_MOCKS_BLOCKED"},
            "throw": {"name": "TimeoutError", "isTypeError": False, "message": "Pay timed out"},
            "mocked": {"ok": True},
        }[what]
    )


def test_axios(pay: Project, needs: Callable[..., str]) -> None:
    package = needs("npm:axios")
    client = f"""
        const axios = require({json.dumps(package)});
        for (const url of {json.dumps(list(URL.values()))})
          axios.get(url).then(
            a => console.log(url, a.data.ok),
            e => console.log(url, e.code, e.message.split('\\n')[0]));
    """
    assert sorted(run(pay, needs("node"), "-e", client).splitlines()) == sorted(
        [
            f"{URL['blocked']} EVE_MOCKS_BLOCKED eve-mocks blocked GET {URL['blocked']}",
            f"{URL['throw']} undefined Pay timed out",
            f"{URL['mocked']} true",
        ]
    )


def test_a_connection_is_used_again_after_a_blocked_call(pay: Project, needs: Callable[..., str]) -> None:
    client = f"""{REQUEST}
        https.globalAgent.keepAlive = true;
        (async () => {{
          for (let n = 0; n < 3; n++) await ask('{URL["blocked"]}').catch(e => console.log(e.code));
        }})();
    """
    assert run(pay, needs("node"), "-e", client) == "EVE_MOCKS_BLOCKED\n" * 3


def test_a_dispatcher_of_the_callers_own_is_asked(pay: Project, needs: Callable[..., str]) -> None:
    client = f"""
        const dispatcher = {{ dispatch() {{ throw new Error('asked'); }} }};
        fetch('{URL["mocked"]}', Object.freeze({{ dispatcher }})).catch(e => console.log((e.cause || e).message));
    """
    assert run(pay, needs("node"), "-e", client) == "asked\n"


def test_what_a_program_sees_of_fetch(pay: Project, needs: Callable[..., str]) -> None:
    client = (
        "const {value, ...rest} = Object.getOwnPropertyDescriptor(globalThis, 'fetch');"
        "console.log(value.name, value.length, rest, typeof value, Object.keys(globalThis).includes('fetch'));"
        "fetch('not a url').catch(e => console.log(e.name, e.message, fetch() instanceof Promise));"
        "process.on('unhandledRejection', e => console.log(e.name))"
    )
    node = needs("node")
    native = subprocess.check_output([node, "-e", client], env=pay.environment, text=True)
    assert run(pay, node, "-e", client) == native


def test_the_callers_own_options_and_preload(pay: Project, needs: Callable[..., str]) -> None:
    pay.file("own.cjs", "console.log('own preload', process.execArgv.length); const f = fetch; fetch = u => f(u);")
    code = (
        "console.log(v8.getHeapStatistics().heap_size_limit < 4e8); fetch('"
        + URL["mocked"]
        + "').then(r => console.log(r.status))"
    )
    out = run(pay, needs("node"), "-e", code, env={"NODE_OPTIONS": "--max-old-space-size=100 --require ./own.cjs"})
    assert out == "own preload 2\ntrue\n200\n"


@pytest.mark.parametrize("folder", ["plain", "with space", 'quote"s', "back\\slash and space"])
def test_where_it_is_installed(
    tmp_path: Path, needs: Callable[..., str], monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    copy = tmp_path / folder / "node.cjs"
    copy.parent.mkdir()
    shutil.copy(environment.NODE_PRELOAD, copy)
    monkeypatch.setattr(environment, "NODE_PRELOAD", copy)
    given = environment.extend({}, port=1, token="t", trust=Trust(copy, copy), run="x")
    out = subprocess.check_output(
        [needs("node"), "-p", "Object.keys(require.cache).length"],
        env={"NODE_OPTIONS": given[b"NODE_OPTIONS"].decode()},
        text=True,
    )
    assert out == "1\n"


def test_it_loads_no_more_than_the_sockets(needs: Callable[..., str]) -> None:
    def loaded(*options: object, **env: str) -> set[str]:
        code = "console.log(JSON.stringify(process.moduleLoadList))"
        return set(json.loads(subprocess.check_output([needs("node"), *options, "-e", code], text=True, env=env)))

    preload = ("--require", environment.NODE_PRELOAD)
    assert loaded(*preload) == loaded(), "outside of a run"
    own = {"NativeModule _http_client", "NativeModule http", "NativeModule https", "NativeModule http2"}
    more = loaded(*preload, EVE_MOCKS_PROXY="http://127.0.0.1:9") - loaded()
    assert {"NativeModule net", "NativeModule tls"} <= more
    assert not own & more
    assert not any("undici" in module for module in more)


@pytest.mark.parametrize("function", ["net.Socket.prototype.connect", "tls.connect"])
def test_what_a_program_sees_of_sockets(needs: Callable[..., str], function: str) -> None:
    shown = f"[{function}.name, {function}.length, Object.getOwnPropertyNames({function})]"
    command = [needs("node"), "-p", f"const net = require('net'), tls = require('tls'); {shown}"]
    native = subprocess.check_output(command, text=True, env={})
    command[1:1] = ["--require", str(environment.NODE_PRELOAD)]
    assert subprocess.check_output(command, text=True, env={"EVE_MOCKS_PROXY": "http://127.0.0.1:9"}) == native


def test_a_node_that_has_neither_fetch_nor_channels(needs: Callable[..., str], tmp_path: Path) -> None:
    """As in the oldest versions: the preload finds less to do, and does not fail."""
    old = tmp_path / "old.cjs"
    old.write_text(
        "delete globalThis.fetch; const {Module} = module.constructor; const load = Module._load;"
        "Module._load = function (name) {"
        " if (name === 'diagnostics_channel') throw new Error('no such module'); return load.apply(this, arguments); };"
    )
    command = [needs("node"), "--require", old, "--require", environment.NODE_PRELOAD, "-p", "typeof fetch"]
    done = subprocess.run(command, capture_output=True, text=True, env={}, check=False)
    assert (done.stdout, done.stderr) == ("undefined\n", "")


def test_another_node_of_this_machine(needs: Callable[..., str]) -> None:
    """Whatever version is installed."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("no node on the PATH")
    done = subprocess.run(
        [found, "--require", environment.NODE_PRELOAD, "-p", "1"], capture_output=True, text=True, env={}, check=False
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
