"""What the command finds in its environment: the proxy, the certificates, the preloads (contract, section 7).

A function from the caller's environment to the command's, in bytes: what is not ours passes as it is. What the caller
had set is extended where that is possible, replaced where it would lead past the proxy.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import os
import re
import shlex
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from eve_mocks.trust import SYSTEM_FOLDERS, TRUST_STORE_PASSWORD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eve_mocks.trust import Trust

# Tells that a process is inside a run; read by a run that is started there.
RUN = "EVE_MOCKS_RUN"
# The control API: read by evals.
URL = "EVE_MOCKS_URL"
TOKEN = "EVE_MOCKS_TOKEN"  # noqa: S105 - the name of a variable
# Read by the preloads of Python and PHP.
BUNDLE = "EVE_MOCKS_CA_BUNDLE"
# Read by the Node preload.
PROXY = "EVE_MOCKS_PROXY"

_PRELOAD = Path(__file__).parent / "preload"
NODE_PRELOAD = _PRELOAD / "node.cjs"
PYTHON_PRELOAD = _PRELOAD / "python"
PHP_SETTINGS = _PRELOAD / "php"

# Clients that match whole names, suffixes or networks each find a form that they know here. "[::1]", which Node and
# urllib would want, is left out: httpx takes it for a URL and refuses every request.
_LOOPBACK = "localhost,.localhost,127.0.0.1,127.0.0.0/8,::1"
_NPM_CA_FILE = "npm_config_cafile"  # npm takes it in any case
_CA_FILES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "NIX_SSL_CERT_FILE",
    "PERL_LWP_SSL_CA_FILE",
    # A project's own settings name a file too, and count less than these: npm's, pnpm's and Yarn 1's, and Yarn's.
    _NPM_CA_FILE,
    "YARN_HTTPS_CA_FILE_PATH",
)
# Set only where the caller has set them: each is read by some client in place of the common ones.
_OTHER_CA_FILES = (
    "BUNDLE_SSL_CA_CERT",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "GIT_PROXY_SSL_CAINFO",
    "HEX_CACERTS_PATH",
    "HTTPLIB2_CA_CERTS",
    "HTTPS_CA_FILE",
)
_OTHER_PROXY = re.compile(
    r"((npm_config_|global_agent_|yarn_)(https?_?)?|(https?|ftp|wss?|grpc|socks5?)_)proxy", re.IGNORECASE
)
# A project's own settings count less than these, and more than HTTPS_PROXY.
_PROJECT_PROXIES = ("npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY")
_OTHER_NO_PROXY = re.compile(r"(npm_config_|global_agent_|yarn_)?no_?(grpc_)?proxy", re.IGNORECASE)
_COERCED = (b"C.UTF-8", b"C.utf8", b"UTF-8")
# A project's own value goes first, even an empty one.
_NO_KEYS: Mapping[str, str] = MappingProxyType({})
_DEFAULTS = {"EVE_TELEMETRY_DISABLED": "1", "NO_UPDATE_NOTIFIER": "1", "DO_NOT_TRACK": "1"}


@dataclasses.dataclass(frozen=True, slots=True)
class Upstream:
    """How the caller would have reached the network: its proxies, and where it would not use them."""

    http: str | None
    https: str | None
    no: str

    @classmethod
    def of(cls, given: Mapping[bytes, bytes]) -> Upstream:
        def first(*names: str) -> str:
            return next((os.fsdecode(given[name]) for one in names if given.get(name := one.encode())), "")

        everything = first("all_proxy", "ALL_PROXY")
        return cls(
            first("http_proxy", "HTTP_PROXY") or everything or None,
            first("https_proxy", "HTTPS_PROXY") or everything or None,
            first("no_proxy", "NO_PROXY"),
        )


def of_the_caller() -> dict[bytes, bytes]:
    """The environment that this process was given. Python adds LC_CTYPE where no locale is set (PEP 538)."""
    given = dict(os.environb)
    if given.get(b"LC_CTYPE") in _COERCED:
        with contextlib.suppress(OSError):
            at_first = Path("/proc/self/environ").read_bytes().split(b"\0")
            given.pop(b"LC_CTYPE")
            for entry in at_first:
                name, _, value = entry.partition(b"=")
                if name == b"LC_CTYPE":
                    given[name] = value
    return given


def trusted_files(given: Mapping[bytes, bytes]) -> list[Path]:
    """The certificate files that the caller's programs trust; a folder of them stands for its files."""
    names = (*_CA_FILES, *_given_ca_files(given))
    found = [Path(os.fsdecode(given[name])) for one in names if given.get(name := one.encode())]
    for folder in os.fsdecode(given.get(b"SSL_CERT_DIR", b"")).split(os.pathsep):
        # The system's own folder holds what is in its bundle, in hundreds of files.
        if folder and os.path.realpath(folder) not in SYSTEM_FOLDERS and os.path.isdir(folder):  # noqa: PTH112
            found += sorted(Path(folder).iterdir())
    return list(dict.fromkeys(found))


def _given_ca_files(given: Mapping[bytes, bytes]) -> list[str]:
    """The variables of the caller that name a file of certificates, beside those that are always set."""
    names = map(os.fsdecode, given)
    return [name for name in names if name in _OTHER_CA_FILES or name.lower() == _NPM_CA_FILE]


def extend(
    given: Mapping[bytes, bytes],
    *,
    port: int,
    token: str,
    trust: Trust,
    run: str,
    wgetrc: Path | None = None,
    keys: Mapping[str, str] = _NO_KEYS,
) -> dict[bytes, bytes]:
    """The environment of a command whose proxy listens on a port of loopback. ``keys`` are of mocked providers."""
    proxy = f"http://127.0.0.1:{port}"
    ours = {RUN: run, BUNDLE: str(trust.bundle), PROXY: proxy, URL: proxy, TOKEN: token}
    ours |= {"NODE_USE_ENV_PROXY": "1", "PERL_LWP_ENV_PROXY": "1"}
    ours |= dict.fromkeys(_PROJECT_PROXIES, proxy)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        ours[name] = ours[name.lower()] = _LOOPBACK if name == "NO_PROXY" else proxy
    for name in map(os.fsdecode, given):
        if name not in ours:
            if _OTHER_NO_PROXY.fullmatch(name):
                ours[name] = _LOOPBACK
            elif _OTHER_PROXY.fullmatch(name):
                ours[name] = proxy
    ours |= dict.fromkeys((*_CA_FILES, *_given_ca_files(given)), str(trust.bundle))
    if wgetrc is not None:
        ours["WGETRC"] = str(wgetrc)
    ours |= keys
    for name, value in (*_DEFAULTS.items(), ("VERCEL_OIDC_TOKEN", _placeholder_token())):
        if name.encode() not in given:
            ours[name] = value

    def extended(name: str, before: str = "", after: str = "", mark: str = " ") -> None:
        kept = os.fsdecode(given.get(name.encode(), b""))
        parts = [part for part in (before, kept, after) if part]
        ours[name] = kept if (before or after) in kept else mark.join(parts)

    # Before the caller's own: a preload of theirs that watches fetch sees the error that ours makes.
    extended("NODE_OPTIONS", before=f"--require {_node_word(NODE_PRELOAD)}")
    extended("BUN_OPTIONS", before=_quoted(f"--preload={NODE_PRELOAD}"))
    extended("PYTHONPATH", before=str(PYTHON_PRELOAD), mark=os.pathsep)
    # Where it is not set, an empty entry stands for the folder that PHP has built in.
    scanned = os.pathsep.join(["", str(PHP_SETTINGS)][b"PHP_INI_SCAN_DIR" in given :])
    extended("PHP_INI_SCAN_DIR", after=scanned, mark=os.pathsep)
    # The last of two properties counts.
    extended("JAVA_TOOL_OPTIONS", after=_java_options(port, trust.java_store))
    return {**given, **{os.fsencode(name): os.fsencode(value) for name, value in ours.items()}}


def _node_word(path: Path) -> str:
    """A path as one word of NODE_OPTIONS, where a backslash escapes inside of quotes only."""
    text = str(path)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if re.search(r'[\s"\\]', text) else text


def _java_options(port: int, store: Path) -> str:
    options = [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStoreType=PKCS12"]
    options += [f"-Djavax.net.ssl.trustStorePassword={TRUST_STORE_PASSWORD}"]
    for scheme in ("http", "https"):
        options += [f"-D{scheme}.proxyHost=127.0.0.1", f"-D{scheme}.proxyPort={port}"]
    options += ["-Dhttp.nonProxyHosts=localhost|*.localhost|127.*|[::1]"]
    return " ".join(map(_quoted, options))


def _quoted(option: str) -> str:
    """An option as Java and Bun read one with spaces: in quotes as a whole."""
    if not re.search(r"[\s\"']", option):
        return option
    return f'"{option}"' if '"' not in option else shlex.quote(option)  # the JVM's quotes are a shell's


def _placeholder_token() -> str:
    """A token in the form of a JWT (RFC 7519, section 6: unsecured), for code that reads its claims before it calls."""

    def part(value: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    year_2100 = 4_102_444_800
    claims: dict[str, object] = {"iss": "https://oidc.vercel.com", "sub": "eve-mocks", "iat": 0, "exp": year_2100}
    return f"{part({'alg': 'none', 'typ': 'JWT'})}.{part(claims)}."
