"""Prints the most memory, in MiB, that the proxy of the run has held until now; for a command of the run."""

import os
import re
from pathlib import Path


def proxy() -> Path:
    """The process of the proxy: a child of the wrapper, as an ancestor of this one is."""
    pid = os.getppid()
    while pid:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if b"eve_mocks.proxy" in Path(f"/proc/{child}/cmdline").read_bytes():
                return Path(f"/proc/{child}")
        pid = int(re.search(r"PPid:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())[1])
    raise SystemExit("the run has no proxy")


print(int(re.search(r"VmHWM:\s*(\d+) kB", (proxy() / "status").read_text())[1]) // 1024)
