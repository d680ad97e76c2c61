"""Real clients, each with its own certificate checks, on a machine that has no way out.

None of the names exist there, so what is answered was answered by a mock; and whatever a client or eve-mocks looks up
or dials elsewhere is seen.
"""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import island as islands
import pytest
import upstream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Project
    from island import Island

MOCKED = "https://api.pay.test/v1/charges"
BLOCKED = "https://logs.example.com/v1/tail"
ALLOWED = f"https://{upstream.NAME}/"


@dataclasses.dataclass(frozen=True)
class Client:
    """A program that gets the URL in its last argument and prints what it was answered."""

    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    throws: bool = False  # a blocked call is an error, not an answer

    def get(self, url: str, needs: Callable[..., str]) -> list[str]:
        if not self.needs:
            return [*self.command, url]
        paths = [needs(tool) for tool in self.needs]
        return [paths[0], *(part.replace("PACKAGE", paths[-1]) for part in self.command[1:]), url]


def node(code: str, *packages: str) -> Client:
    """A Node program: it says so where it gets no answer, and why."""
    guarded = f"(async () => {{{code}}})().catch(e => {{ console.log(e.name, (e.cause ?? e).code, e.message); }})"
    return Client(("node", "-e", guarded), needs=("node", *packages), throws=True)


def python(code: str) -> Client:
    return Client((sys.executable, "-c", code))


CLIENTS = {
    "curl": Client(("curl", "-sS"), needs=("curl",)),
    "urllib": python(
        """
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1]).read().decode())
except urllib.error.HTTPError as error:
    print(error.read().decode())
"""
    ),
    "requests": python("import requests, sys; print(requests.get(sys.argv[1]).text)"),
    "httpx": python("import httpx, sys; print(httpx.get(sys.argv[1]).text)"),
    "aiohttp": python(
        """
import aiohttp, asyncio, sys
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session, session.get(sys.argv[1]) as response:
        print(await response.text())
asyncio.run(main())
"""
    ),
    "fetch": node("console.log(await (await fetch(process.argv[1])).text())"),
    "node:https": node(
        """
const response = await new Promise((resolve, reject) =>
  require('node:https').get(process.argv[1], resolve).on('error', reject));
console.log(Buffer.concat(await response.toArray()).toString());
"""
    ),
    "axios": node("console.log(JSON.stringify((await require('PACKAGE').get(process.argv[1])).data))", "npm:axios"),
}
EACH = pytest.mark.parametrize("client", [pytest.param(client, id=name) for name, client in CLIENTS.items()])


@pytest.fixture
def pay(project: Project) -> Project:
    project.file(
        "mocks/pay.yaml",
        """
        kind: http
        url: https://api.pay.test/v1
        routes:
          /charges:
            GET: {response: {ok: true}}
        """,
    )
    return project


@pytest.fixture(scope="module")
def real(island: Island, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A real HTTPS server on the island, for as long as the context lasts; the value is its CA."""
    folder = tmp_path_factory.mktemp("upstream")
    authority = upstream.certify(folder)
    command = [sys.executable, upstream.__file__, islands.UPSTREAM, "443", str(folder / "server.pem")]
    with subprocess.Popen([*island.prefix(folder), *command], stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"listening\n"
        yield authority
        server.terminate()


def run(project: Project, island: Island, *command: str, **given: object) -> subprocess.CompletedProcess[str]:
    """``eve-mocks run`` on the island, with an eye on what leaves it."""
    island.sent()
    return project.eve_mocks("run", "--", *command, prefix=island.prefix(project.root), **given)


@EACH
def test_mocked(pay: Project, island: Island, needs: Callable[..., str], client: Client) -> None:
    done = run(pay, island, *client.get(MOCKED, needs))
    assert (done.returncode, json.loads(done.stdout)) == (0, {"ok": True}), done.stderr
    assert island.sent() == []
    assert pay.report()["counts"] == {"mocked": 1, "allowed": 0, "blocked": 0, "error": 0}


@EACH
def test_blocked(pay: Project, island: Island, needs: Callable[..., str], client: Client) -> None:
    done = run(pay, island, *client.get(BLOCKED, needs))
    assert done.returncode == 1
    assert island.sent() == []
    paste = "eve-mocks add logs --url https://logs.example.com/"
    if client.throws:
        assert "EVE_MOCKS_BLOCKED" in done.stdout
    else:
        assert paste in json.loads(done.stdout)["fix"]
    [line] = [line for line in done.stderr.splitlines() if line.startswith("  blocked")]
    [call] = pay.calls()
    assert "logs.example.com  GET /v1/tail" in line
    assert f"by {call['program']} (pid {call['pid']})" in line
    assert paste in done.stderr
    assert 'mocks/logs.yaml: {kind: allow, url: "https://logs.example.com/", why: "…"}' in done.stderr


@EACH
def test_certificate_checks_are_on(
    island: Island, real: Path, tmp_path: Path, needs: Callable[..., str], client: Client
) -> None:
    """Without eve-mocks, each client refuses a certificate of a CA that it does not know."""
    command = [*island.prefix(tmp_path), *client.get(ALLOWED, needs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert "headers" not in done.stdout
    assert re.search("certificate|verify", done.stdout + done.stderr, re.IGNORECASE)


@pytest.mark.parametrize("own", ["", "tries = 1\nhttps_proxy = http://198.51.100.7:1\nca_certificate = /none.pem\n"])
def test_wget(pay: Project, island: Island, needs: Callable[..., str], own: str) -> None:
    """Built with GnuTLS, as Debian has it, it reads the names of certificates from its settings alone."""
    pay.file("wgetrc", own)
    done = run(pay, island, needs("wget"), "-qO-", MOCKED, env={"WGETRC": str(pay.root / "wgetrc")})
    assert (done.returncode, json.loads(done.stdout)) == (0, {"ok": True}), done.stderr
    assert island.sent() == []


@pytest.mark.parametrize("key", ["npm_config_x", "NPM_CONFIG_CAFILE"])
def test_npm(project: Project, island: Island, needs: Callable[..., str], key: str) -> None:
    """Its settings in a project would count more than HTTPS_PROXY and NODE_EXTRA_CA_CERTS."""
    project.file(
        "mocks/registry.yaml",
        """
        kind: http
        url: https://registry.example.com/npm
        routes:
          /pad:
            GET: {response: {name: pad, dist-tags: {latest: 1.2.3}, versions: {1.2.3: {name: pad, version: 1.2.3}}}}
        """,
    )
    project.file("other.pem", "")
    project.file(
        ".npmrc",
        """
        registry=https://registry.example.com/npm/
        cafile=other.pem
        https-proxy=http://198.51.100.7:3128
        fetch-retries=0
        """,
    )
    done = run(project, island, needs("npm"), "view", "pad", "version", env={key: "other.pem"})
    assert (done.returncode, done.stdout) == (0, "1.2.3\n"), done.stderr
    assert island.sent() == []


def test_openai(project: Project, island: Island) -> None:
    """The SDK has a client, a retry policy and errors of its own."""
    project.file(
        "mocks/openai.yaml",
        """
        kind: http
        url: https://api.openai.com/v1
        routes:
          /chat/completions:
            POST:
              response:
                id: chatcmpl-1
                object: chat.completion
                created: 1
                model: gpt-5.5
                choices:
                  - {index: 0, finish_reason: stop, message: {role: assistant, content: Hello from a file.}}
        """,
    )
    project.file(
        "agent.py",
        """
        import openai

        client = openai.OpenAI(api_key="none")
        question = [{"role": "user", "content": "Hello?"}]
        print(client.chat.completions.create(model="gpt-5.5", messages=question).choices[0].message.content)
        try:
            client.models.list()
            openai.OpenAI(api_key="none", base_url="https://llm.example.com/v1").models.list()
        except openai.APIStatusError as error:
            print(error.status_code)
        """,
    )
    done = run(project, island, sys.executable, "agent.py")
    assert done.stdout == "Hello from a file.\n404\n"
    assert island.sent() == []


@pytest.mark.parametrize("url", ["https://198.51.100.7/v1/charges", "http://198.51.100.7:8080/"], ids=["tls", "plain"])
def test_an_address_is_not_dialled(pay: Project, island: Island, needs: Callable[..., str], url: str) -> None:
    done = run(pay, island, *CLIENTS["curl"].get(url, needs))
    assert done.returncode == 1
    assert "blocked" in json.loads(done.stdout)["title"]
    assert island.sent() == []


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        pytest.param(BLOCKED, f"udp {islands.NAME_SERVER}:53", id="look-up"),
        pytest.param("https://198.51.100.7/", "tcp 198.51.100.7:443", id="dial"),
    ],
)
def test_what_leaves_is_seen(island: Island, tmp_path: Path, needs: Callable[..., str], url: str, sent: str) -> None:
    """Without eve-mocks: the eye that the tests above rely on is not blind."""
    island.sent()
    subprocess.run([*island.prefix(tmp_path), needs("curl"), "-sS", "-m", "1", url], check=False, capture_output=True)
    assert sent in island.sent()


@pytest.fixture
def allowing(project: Project) -> Project:
    project.file("mocks/upstream.yaml", f"{{kind: allow, url: '{ALLOWED}', why: it is part of the test}}")
    return project


@EACH
def test_allowed(allowing: Project, island: Island, real: Path, needs: Callable[..., str], client: Client) -> None:
    """The real server is reached, though its CA is one that only the caller's environment trusts."""
    done = run(allowing, island, *client.get(f"{ALLOWED}hello?a=1", needs), env={"SSL_CERT_FILE": str(real)})
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["path"] == "/hello?a=1"
    assert [name for name in answer["headers"] if name.lower().startswith(("x-eve-mocks", "proxy-"))] == []
    assert allowing.report()["counts"] == {"mocked": 0, "allowed": 1, "blocked": 0, "error": 0}


def test_events_of_an_allowed_upstream_arrive_one_by_one(allowing: Project, island: Island, real: Path) -> None:
    allowing.file(
        "agent.py",
        f"""
        import urllib.request

        with urllib.request.urlopen("{ALLOWED}events") as events:
            for line in events:
                if line.startswith(b"data:"):
                    print(line.decode().strip())
                    urllib.request.urlopen("{ALLOWED}seen").close()
        """,
    )
    done = run(allowing, island, sys.executable, "agent.py", env={"SSL_CERT_FILE": str(real)})
    assert done.stdout.splitlines() == [f"data: {number}" for number in range(upstream.EVENTS)], done.stderr
    assert allowing.report()["counts"]["allowed"] == 1 + upstream.EVENTS


def test_an_allowed_upstream_with_an_unknown_ca_is_not_trusted(
    allowing: Project, island: Island, real: Path, needs: Callable[..., str]
) -> None:
    done = run(allowing, island, *CLIENTS["curl"].get(ALLOWED, needs))
    assert "headers" not in done.stdout
    [call] = allowing.calls()
    assert "certificate" in call["error"].lower()
