"""The client matrix: each client of the table, contained and cooperative, on an island with the real services.

As a program it prints the table, and writes it into docs/clients.md: see scripts/clients.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import machine
import upstream
from client_table import ALLOWED, CLIENTS, MOCKED, Build, Cells, Client
from island import UPSTREAM, Island

if TYPE_CHECKING:
    from collections.abc import Iterable

MODES = {"contained": "require", "cooperative": "off"}
FROM_A_MOCK, FROM_THE_UPSTREAM = "from-a-mock", "from-the-upstream"
PAGE = Path(__file__).parent.parent / "docs" / "clients.md"
HEADING = ["client", "version", "contained: mocked", "allowed", "blocked", "cooperative: mocked", "allowed", "blocked"]
BEGIN, END = "<!-- written by scripts/clients -->\n", "<!-- until here -->\n"
MOCKS = f"""
kind: http
url: https://{MOCKED}/
routes:
  /v1/charges:
    GET: {{response: [{FROM_A_MOCK}]}}
  /v1/models:
    GET: {{response: {{data: [{{id: {FROM_A_MOCK}, type: model, object: model}}], has_more: false}}}}
  /v1/feed:
    GET: {{response: [{FROM_A_MOCK}]}}
  /repo.git/info/refs:
    GET: {{body: "{1:040}\\trefs/heads/{FROM_A_MOCK}\\n"}}
  /pay.Charges/List:
    POST: {{body: "", headers: {{content-type: application/grpc, grpc-status: "5", grpc-message: {FROM_A_MOCK}}}}}
---
kind: http
url: http://{MOCKED}/
routes:
  /v1/charges:
    GET: {{response: [{FROM_A_MOCK}]}}
---
kind: mcp
url: https://{MOCKED}/mcp
tools: [{{name: {FROM_A_MOCK}, inputSchema: {{type: object}}}}]
results: {{{FROM_A_MOCK}: {{}}}}
---
{{kind: allow, url: "https://{ALLOWED}/", why: it is part of the test}}
---
{{kind: allow, url: "http://{ALLOWED}/", why: it is part of the test}}
"""


@dataclasses.dataclass(frozen=True)
class Got:
    """What became of one run of a client."""

    cells: Cells
    answers: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    summary: str  # the run's own words, and the client's, on stderr
    sent: list[str]  # what left the island


class Lab(contextlib.ExitStack):
    """An island with the real services, and a project with the mocks, for as long as the context lasts."""

    def __init__(self, island: Island) -> None:
        super().__init__()
        self._island = island

    def __enter__(self) -> Self:
        super().__enter__()
        with contextlib.ExitStack() as undo:
            self.root = Path(undo.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
            authority = upstream.certify(self.root)
            self._environment = machine.environment(self.root / "home") | {"SSL_CERT_FILE": str(authority)}
            for name, text in (("home", None), ("mocks", None), ("mocks/pay.yaml", MOCKS)):
                (self.root / name).mkdir() if text is None else (self.root / name).write_text(text)
            services = [machine.find("node"), Path(__file__).parent / "clients" / "node" / "upstream.mjs"]
            server = undo.enter_context(
                subprocess.Popen(
                    [*self._island.prefix(self.root), *services, UPSTREAM, self.root / "server.pem"],
                    stdout=subprocess.PIPE,
                )
            )
            undo.callback(server.terminate)
            if server.stdout.readline() != b"listening\n":
                raise RuntimeError("the real services did not start: see stderr")
            self.enter_context(undo.pop_all())
        return self

    def ask(self, client: Client, mode: str) -> Got:
        """Run a client, which has all it needs."""
        build(client.build)
        self._island.sent()
        eve_mocks = [*self._island.prefix(self.root), str(Path(sys.executable).with_name("eve-mocks"))]
        done = subprocess.run(
            [*eve_mocks, "run", f"--contain={MODES[mode]}", "--", *words(client.command), *client.urls],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if [answer["url"] for answer in answers] != client.urls:
            raise RuntimeError(f"{client.name}, {mode}: no answer to each URL\n{done.stdout}{done.stderr}")
        report = json.loads((self.root / ".eve-mocks" / "report.json").read_text())
        log = self.root / report["log"] if report["log"] else Path(os.devnull)
        calls = [json.loads(line) for line in log.read_text().splitlines()]
        cells = Cells(*(cell(url, answers, calls) for url in client.urls))
        return Got(cells, answers, calls, done.stderr, self._island.sent())


def missing(client: Client) -> list[str]:
    return [tool for tool in client.needs if machine.find(tool) is None]


def words(command: Iterable[str]) -> list[str]:
    """A command with the paths of its tools."""
    return [str(machine.find(word[1:-1])) if word[:1] == "{" else word for word in command]


def build(what: Build | None) -> None:
    """Make a program, where it is not made yet; others may be at it too."""
    if what is None:
        return
    what.out.parent.mkdir(exist_ok=True)
    with (what.out.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not what.out.exists() or what.out.stat().st_mtime < what.source.stat().st_mtime:
            subprocess.run(words(what.command), check=True, capture_output=True, timeout=300)


def cell(url: str, answers: list[dict[str, Any]], calls: list[dict[str, Any]]) -> str:
    """What became of a URL: by what the client was told, and by what the run has recorded."""
    told = next((str(answer.get("body", "")) for answer in answers if answer["url"] == url), "")
    host = urllib.parse.urlsplit(url).hostname
    seen = [call for call in calls if urllib.parse.urlsplit(call["url"]).hostname == host]
    outcomes = {call["outcome"] for call in seen}
    if not seen:
        return "not seen"
    if "mocked" in outcomes and FROM_A_MOCK in told:
        return "answered"
    if "allowed" in outcomes and FROM_THE_UPSTREAM in told:
        return "reached"
    if outcomes != {"blocked"} or FROM_THE_UPSTREAM in told:
        return "failed"
    return "blocked: tls" if all(call["reason"] == "tls" for call in seen) else "refused"


def rows(clients: Iterable[Client]) -> dict[str, dict[str, Cells]]:
    """What each client gets, by mode: both modes side by side, each on an island of its own."""

    def column(mode: str) -> dict[str, Cells]:
        with Island() as island, Lab(island) as lab:
            return {client.name: lab.ask(client, mode).cells for client in clients}

    for client in clients:
        build(client.build)
    with ThreadPoolExecutor() as pool:
        return dict(zip(MODES, pool.map(column, MODES), strict=True))


def table(clients: Iterable[Client]) -> str:
    """The clients in Markdown, as they are found on this machine."""
    absent = {client.name: missing(client) for client in clients}
    got = rows([client for client in clients if not absent[client.name]])
    lines = [HEADING.copy()]
    for client in clients:
        if tools := absent[client.name]:
            lines.append([client.name, f"skipped: no {', '.join(tools)}", *[""] * 6])
        else:
            cells = [cell for mode in MODES for cell in dataclasses.astuple(got[mode][client.name])]
            lines.append([client.name, machine.version(client.needs[0]), *cells])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |\n" for line in lines
    )


def main(*chosen: str) -> None:
    """Print the rows of the clients whose name has one of the words; of all, into the page too."""
    if chosen == ("--lacking",):
        print(*machine.debian_packages({tool for client in CLIENTS for tool in client.needs}))
        return
    found = table([one for one in CLIENTS if not chosen or any(word.lower() in one.name.lower() for word in chosen)])
    print(found, end="")
    if not chosen:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(before + BEGIN + found + END + rest.split(END)[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
