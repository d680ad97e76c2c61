"""The clients of the matrix: how each is run, what it needs, and what it is to get.

A client is a program of tests/clients that asks for the URLs on its command line and prints a line of JSON for each:
``{"url", "status", "body"}`` or ``{"url", "error"}``.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

HERE = Path(__file__).parent / "clients"
BUILT = HERE / "built"

MOCKED, ALLOWED, BLOCKED = "api.pay.test", "upstream.example.com", "logs.example.com"
# How each of the hosts is asked, by what a client speaks.
URLS = {
    "https": "https://{}/v1/charges",
    "http": "http://{}/v1/charges",
    "wss": "wss://{}/v1/feed",
    "grpc": "https://{}/pay.Charges/List",
    "models": "https://{}/v1/models",
    "mcp": "https://{}/mcp",
    "git": "https://{}/repo.git",
}


@dataclasses.dataclass(frozen=True)
class Cells:
    """What a client got from the mocked, the allowed and the blocked host."""

    mocked: str = "answered"
    allowed: str = "reached"
    blocked: str = "refused"


AS_MEANT = Cells()
# It reads no proxy variables: what it asks goes where it always went.
PAST_US = Cells("not seen", "not seen", "not seen")
# Which authorities it trusts is its own affair.
NO_TRUST = Cells("blocked: tls", "blocked: tls", "blocked: tls")


@dataclasses.dataclass(frozen=True)
class Build:
    """How a program is made that is not run as it is written."""

    source: Path
    out: Path
    command: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Client:
    """One row. A word in braces is the path of a tool; the version shown is that of the first of ``needs``."""

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...]
    speaks: str = "https"
    build: Build | None = None
    contained: Cells = AS_MEANT
    cooperative: Cells = AS_MEANT
    looks_up: bool = False  # a name that it asks a proxy for

    @property
    def urls(self) -> list[str]:
        return [URLS[self.speaks].format(host) for host in (MOCKED, ALLOWED, BLOCKED)]


def command(name: str, tool: str, *arguments: str, **how: object) -> Client:
    """A command that gets one URL, as its last argument."""
    each = ("{python}", f"{HERE}/python/use_command.py", f"{{{tool}}}", *arguments, "--")
    return Client(name, each, (tool,), **how)


def python(package: str, **how: object) -> Client:
    return Client(f"Python: {package}", ("{python}", f"{HERE}/python/use_{package}.py"), (f"pypi:{package}",), **how)


def node(name: str, program: str, package: str = "", **how: object) -> list[Client]:
    """A row for each release of Node."""
    return [
        Client(
            f"Node {release}: {name}",
            (f"{{{tool}}}", f"{HERE}/node/{program}.mjs"),
            (f"npm:{package}", tool) if package else (tool,),
            **how,
        )
        for tool, release in (("node20", 20), ("node", 24))
    ]


def java(client: str) -> Client:
    source, out = HERE / "java" / "Ask.java", BUILT / "Ask.class"
    build = Build(source, out, ("{javac}", "-d", f"{BUILT}", f"{source}"))
    return Client(f"Java: {client}", ("{java}", "-cp", f"{BUILT}", "Ask", client), ("java", "javac"), build=build)


def go(name: str, cgo: str, tag: str) -> Client:
    source, out = HERE / "go" / "ask.go", BUILT / tag
    build = ("env", f"CGO_ENABLED={cgo}", "{go}", "build", "-tags", tag, "-o", f"{out}", f"{source}")
    return Client(f"Go: net/http, {name}", (f"{out}",), ("go", "gcc"), build=Build(source, out, build))


def static_c() -> Client:
    source, out = HERE / "c" / "plain.c", BUILT / "plain"
    build = Build(source, out, ("{gcc}", "-static", "-o", f"{out}", f"{source}"))
    return Client("static C", (f"{out}",), ("gcc",), speaks="http", build=build, cooperative=PAST_US)


CHROMIUM = (
    "--headless",
    "--no-sandbox",  # it refuses to start as root without
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--dump-dom",
)
CLIENTS = [
    command("curl", "curl", "-sS", "--http1.1"),
    command("curl, HTTP/2", "curl", "-sS", "--http2"),
    command("wget", "wget", "-nv", "-O-"),
    command("git", "git", "ls-remote", speaks="git"),
    Client("Python: urllib", ("{python}", f"{HERE}/python/use_urllib.py"), ("python",)),
    python("requests"),
    python("httpx"),
    python("aiohttp", cooperative=PAST_US),
    python("websockets", speaks="wss"),
    python("grpcio", speaks="grpc"),
    python("boto3"),
    python("openai", speaks="models"),
    python("anthropic", speaks="models"),
    python("mcp", speaks="mcp"),
    *node("fetch", "fetch"),
    *node("https", "https"),
    *node("http2", "http2"),
    *node("undici with its own Agent", "undici", "undici"),
    *node("axios", "axios", "axios"),
    *node("got", "got", "got"),
    *node("ws", "ws", "ws", speaks="wss"),
    Client("Bun: fetch", ("{bun}", "run", f"{HERE}/node/fetch.mjs"), ("bun",)),
    Client(
        "Deno: fetch",
        ("{deno}", "run", "--quiet", "--no-config", "--allow-all", f"{HERE}/node/fetch.mjs"),
        ("deno",),
        looks_up=True,
    ),
    java("HttpClient"),
    java("HttpURLConnection"),
    go("cgo", "1", "netcgo"),
    go("pure", "0", "netgo"),
    Client("Ruby: Net::HTTP", ("{ruby}", f"{HERE}/ruby/net_http.rb"), ("ruby",), looks_up=True),
    Client("PHP: curl", ("{php}", f"{HERE}/php/ask.php", "curl"), ("php", "php:curl")),
    Client("PHP: streams", ("{php}", f"{HERE}/php/ask.php", "streams"), ("php",), cooperative=PAST_US),
    Client("Perl: LWP", ("{perl}", f"{HERE}/perl/lwp.pl"), ("perl:LWP", "perl", "perl:LWP::Protocol::https")),
    static_c(),
    command("Chromium, headless", "chromium", *CHROMIUM, contained=NO_TRUST, cooperative=NO_TRUST),
    command("Chromium, --ignore-certificate-errors", "chromium", *CHROMIUM, "--ignore-certificate-errors"),
]
