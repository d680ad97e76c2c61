"""Node programs on a machine that has no way out: whatever opens a connection, it comes to the proxy."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import EVE_MOCKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project
    from island import Island

CLIENT = Path(__file__).parent / "clients" / "node_client.cjs"
OK = {"ok": True}
BLOCKED = "EVE_MOCKS_BLOCKED"
CAME = {
    "fetch": OK,
    "fetch, blocked": BLOCKED,
    "fetch, own dispatcher": OK,
    "fetch, own dispatcher, blocked": BLOCKED,
    "https": OK,
    "https, own agent": OK,
    "https, no agent": OK,
    "https, another ca": "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "http, own agent": {"plain": True},
    "http, upgrade": BLOCKED,
    "http2": OK,
    "undici fetch": OK,
    "undici request": OK,
    "tls, port and host": OK,
    "tls, over a socket": OK,
    "tls, a socket of its own": BLOCKED,
    "net, silent": "ECONNRESET",
    "net, other protocol": "ECONNRESET",
    "net, address": "ECONNRESET",
    "net, no such name": BLOCKED,
    "many": [50, 5],
    "worker": OK,
    "loopback": "home",
    "unix socket": "home",
    "setGlobalDispatcher": OK,
}


@pytest.fixture(params=["node", "on the PATH", "node18", "node14"])
def node(request: pytest.FixtureRequest, needs: Callable[..., str]) -> str:
    """Several versions: fetch heeds the proxy's variables in the newest alone, and the oldest has none."""
    needs("npm:undici")
    if request.param != "on the PATH":
        return needs(request.param)
    found = shutil.which("node")
    version = subprocess.check_output([found, "-p", "parseInt(process.versions.node)"]) if found else b"0"
    if found is None or int(version) < 18:
        pytest.skip("no Node 18 or newer on the PATH")
    return found


def test_every_way_out_leads_to_the_proxy(project: Project, island: Island, node: str) -> None:
    project.file(
        "mocks/pay.yaml",
        """
        kind: http
        url: https://api.pay.test/v1
        routes:
          /charges:
            GET: {response: {ok: true}}
        ---
        kind: http
        url: http://api.pay.test/v1
        routes:
          /plain:
            GET: {response: {plain: true}}
        """,
    )
    island.sent()
    done = project.eve_mocks("run", "--", node, str(CLIENT), prefix=island.prefix(project.root))
    release = int(subprocess.check_output([node, "-p", "parseInt(process.versions.node)"]))
    expected = {
        name: came
        for name, came in CAME.items()
        if not (release < 18 and name.startswith("fetch"))
        and not (release < 20 and re.search("undici|ispatcher", name))
    }
    assert json.loads(done.stdout) == expected, done.stderr
    assert island.sent() == []
    told = {(call["outcome"], call["operation"], call.get("reason")) for call in project.calls()}
    assert told == {
        ("mocked", "GET /charges", None),
        ("mocked", "GET /plain", None),
        ("blocked", "GET /", "unclaimed"),
        ("blocked", "CONNECT api.pay.test:443", "protocol"),
        ("blocked", "CONNECT db.test:5432", "protocol"),
        ("blocked", "CONNECT mail.test:25", "protocol"),
        ("blocked", "CONNECT 198.51.100.7:80", "protocol"),
    }


def test_a_session_in_the_proxys_url_counts_for_sockets_too(project: Project, node: str) -> None:
    agent = """
        const url = new URL(process.env.HTTPS_PROXY);
        url.username = 'alice';
        const code = "require('https').get('https://new.test/', {agent: false}).on('error', () => {})";
        require('child_process').spawn(process.execPath, ['-e', code], {env: {...process.env, HTTPS_PROXY: url.href}});
    """
    project.eve_mocks("run", "--", node, "-e", agent)
    assert [call["session"] for call in project.calls()] == ["alice"]


def test_a_run_inside_a_run_leads_to_its_own_proxy(project: Project, node: str) -> None:
    project.file("mocks/new.yaml", "{kind: http, url: 'https://new.test/', routes: {/: {GET: {response: inner}}}}")
    project.file("outer/new.yaml", "{kind: block, url: 'https://new.test/', why: a test}")
    ask = "require('https').get('https://new.test/', {agent: false}, a => a.pipe(process.stdout))"
    done = project.eve_mocks("--dir", "outer", "run", "--", EVE_MOCKS, "run", "--", node, "-e", ask)
    assert done.stdout == '"inner"', done.stderr
