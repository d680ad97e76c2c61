"""What the command finds in its environment."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eve_mocks.environment import NODE_PRELOAD, PHP_SETTINGS, PYTHON_PRELOAD, Upstream, extend, trusted_files
from eve_mocks.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Project

TRUST = Trust(Path("/data/trust.pem"), Path("/my data/trust.p12"))
PROXY = b"http://127.0.0.1:4321"


def extended(given: dict[bytes, bytes] | None = None) -> dict[bytes, bytes]:
    return extend(given or {}, port=4321, token="t", trust=TRUST, run="now-1")


@pytest.mark.parametrize("name", [b"HTTP_PROXY", b"HTTPS_PROXY", b"ALL_PROXY"])
def test_the_proxy_in_both_cases(name: bytes) -> None:
    found = extended({name: b"http://corp:3128", name.lower(): b"http://corp:3128"})
    assert (found[name], found[name.lower()]) == (PROXY, PROXY)


# npm's own settings in a project count more than HTTPS_PROXY.
ALWAYS = {b"npm_config_proxy", b"npm_config_https_proxy"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"grpc_proxy", PROXY),
        (b"npm_config_proxy", PROXY),
        (b"npm_config_https_proxy", PROXY),
        (b"GLOBAL_AGENT_HTTP_PROXY", PROXY),
        (b"FTP_PROXY", PROXY),
        (b"socks_proxy", PROXY),
        (b"no_grpc_proxy", extended()[b"NO_PROXY"]),
        (b"npm_config_noproxy", extended()[b"NO_PROXY"]),
        (b"PROXY", b"mine"),
        (b"MY_PROXY_LIST", b"mine"),
        (b"TEAPROXY", b"mine"),
    ],
)
def test_variables_that_would_lead_past_the_proxy(name: bytes, value: bytes) -> None:
    assert extended({name: b"mine"})[name] == value
    assert (name in extended()) is (name in ALWAYS)


def test_what_is_not_ours_is_unchanged() -> None:
    given = {b"A": b"b=c=d", b"\xff\xfe": b"\x80\xff", b"EMPTY": b"", b"LINES": b"1\n2", b"A" * 5000: b"b" * 100_000}
    found = extended(given)
    assert {name: found[name] for name in given} == given


@pytest.mark.parametrize(
    ("name", "own", "kept", "ours"),
    [
        ("NODE_OPTIONS", "--max-old-space-size=100", "--max-old-space-size=100", f"--require {NODE_PRELOAD}"),
        ("PYTHONPATH", "/mine:/other", "/mine:/other", str(PYTHON_PRELOAD)),
        ("JAVA_TOOL_OPTIONS", "-Xmx64m", "-Xmx64m", '"-Djavax.net.ssl.trustStore=/my data/trust.p12"'),
        ("BUN_OPTIONS", "--smol", "--smol", f"--preload={NODE_PRELOAD}"),
    ],
)
def test_options_are_extended(name: str, own: str, kept: str, ours: str) -> None:
    alone = extended()[name.encode()].decode()
    assert ours in alone
    assert alone.strip(" :") == alone
    both = extended({name.encode(): own.encode()})[name.encode()].decode()
    assert kept in both
    assert ours in both


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, f":{PHP_SETTINGS}", id="unset: PHP's own folder, and ours"),
        pytest.param({b"PHP_INI_SCAN_DIR": b""}, f"{PHP_SETTINGS}", id="empty: no folder of PHP's"),
        pytest.param({b"PHP_INI_SCAN_DIR": b"/mine"}, f"/mine:{PHP_SETTINGS}", id="a folder of the caller's"),
        pytest.param(extended(), f":{PHP_SETTINGS}", id="a run in a run"),
    ],
)
def test_folders_of_php_settings(given: dict[bytes, bytes], expected: str) -> None:
    assert extended(given)[b"PHP_INI_SCAN_DIR"].decode() == expected


@pytest.mark.parametrize("name", ["NODE_OPTIONS", "PYTHONPATH", "JAVA_TOOL_OPTIONS", "BUN_OPTIONS"])
def test_a_run_in_a_run_adds_nothing_twice(name: str) -> None:
    once = extended({name.encode(): b"own"})
    assert extended(once)[name.encode()] == once[name.encode()]


@pytest.mark.parametrize("name", ["VERCEL_OIDC_TOKEN", "EVE_TELEMETRY_DISABLED", "NO_UPDATE_NOTIFIER", "DO_NOT_TRACK"])
@pytest.mark.parametrize("own", ["mine", ""])
def test_what_is_set_only_where_it_is_unset(name: str, own: str) -> None:
    assert extended()[name.encode()]
    assert extended({name.encode(): own.encode()})[name.encode()] == own.encode()


def test_the_placeholder_token_has_claims_and_no_signature() -> None:
    head, claims, signature = extended()[b"VERCEL_OIDC_TOKEN"].decode().split(".")
    assert json.loads(base64.urlsafe_b64decode(head + "==")) == {"alg": "none", "typ": "JWT"}
    assert json.loads(base64.urlsafe_b64decode(claims + "=="))["exp"] > 4_000_000_000
    assert signature == ""


@pytest.mark.parametrize("npm", [b"npm_config_cafile", b"NPM_CONFIG_CAFILE"])
def test_certificates_the_caller_trusts(tmp_path: Path, npm: bytes) -> None:
    folder = tmp_path / "certs"
    folder.mkdir()
    (folder / "a.0").touch()
    given = {
        b"SSL_CERT_FILE": b"/own.pem",
        b"NODE_EXTRA_CA_CERTS": b"/extra.pem",
        b"CURL_CA_BUNDLE": b"/own.pem",
        npm: b"/npm.pem",
        b"SSL_CERT_DIR": f"{folder}:/no/such/folder:".encode(),
    }
    assert trusted_files(given) == [Path("/own.pem"), Path("/extra.pem"), Path("/npm.pem"), folder / "a.0"]
    assert trusted_files({}) == []
    found = extended(given)
    assert {found[name] for name in given if name != b"SSL_CERT_DIR"} == {b"/data/trust.pem"}
    assert found[b"SSL_CERT_DIR"] == given[b"SSL_CERT_DIR"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, Upstream(None, None, "")),
        ({b"HTTPS_PROXY": b"http://a:1"}, Upstream(None, "http://a:1", "")),
        ({b"https_proxy": b"http://a:1", b"HTTPS_PROXY": b"http://b:1"}, Upstream(None, "http://a:1", "")),
        ({b"ALL_PROXY": b"http://a:1", b"http_proxy": b""}, Upstream("http://a:1", "http://a:1", "")),
        ({b"no_proxy": b".corp", b"HTTP_PROXY": b"http://a:1"}, Upstream("http://a:1", None, ".corp")),
    ],
)
def test_how_the_caller_reaches_the_network(given: dict[bytes, bytes], expected: Upstream) -> None:
    assert Upstream.of(given) == expected


def test_many_variables_and_long_arguments_reach_the_command(project: Project) -> None:
    many = {f"VARIABLE_{number}": "é=" * 20 for number in range(1200)}
    code = (
        "import os, sys; print(sum(k.startswith('VARIABLE_') and v == 'é=' * 20 for k, v in os.environ.items()),"
        " len(sys.argv[1]), os.environb[b'RAW'])"
    )
    arguments = ["x" * 1000] * 100
    run = subprocess.run(
        [Path(sys.executable).with_name("eve-mocks"), "run", "--", sys.executable, "-c", code, *arguments],
        env={
            **{key.encode(): value.encode() for key, value in (project.environment | many).items()},
            b"RAW": b"\xff=\xfe",
        },
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.stdout == "1200 1000 b'\\xff=\\xfe'\n"


LOOPBACK = {
    "urllib": "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())",
    "requests": "import sys, requests; print(requests.get(sys.argv[1]).text)",
    "httpx": "import sys, httpx; print(httpx.get(sys.argv[1]).text)",
    "aiohttp": """
import sys, aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session, session.get(sys.argv[1]) as answer:
        print(await answer.text())
asyncio.run(main())
""",
    "node fetch": "fetch(process.argv[1]).then(r => r.text()).then(console.log)",
    "node http": "require('http').get(process.argv[1], r => r.on('data', d => console.log(String(d))))",
    "curl": "",
}
SERVER = """
import http.server, socket, subprocess, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "6")
        self.end_headers()
        self.wfile.write(b"native")
    def log_message(self, *_): pass
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
server = Server((sys.argv[1].strip("[]"), 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://{sys.argv[2]}:{server.server_address[1]}/"
sys.exit(subprocess.run([*sys.argv[3:], url]).returncode)
"""


@pytest.mark.parametrize("client", LOOPBACK)
@pytest.mark.parametrize(
    ("address", "host"),
    [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "localhost"), ("127.7.7.7", "127.7.7.7"), ("::1", "[::1]")],
)
def test_loopback_is_left_alone(
    project: Project, needs: Callable[..., str], client: str, address: str, host: str
) -> None:
    if client == "curl":
        command = [needs("curl"), "-sg"]
    elif client.startswith("node"):
        command = [needs("node"), "-e", LOOPBACK[client]]
    else:
        command = [sys.executable, "-c", LOOPBACK[client]]
    run = project.eve_mocks("run", "--", sys.executable, "-c", SERVER, address, host, *command)
    assert (run.stdout.strip(), run.returncode) == ("native", 0), run.stderr
    assert "0 calls" in run.stderr
