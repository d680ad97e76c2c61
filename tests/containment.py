"""Running commands contained, for the tests of eve_mocks.contain: see contained.py."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from eve_mocks.contain import Redirect, Refused, decode

WRAPPER = Path(__file__).with_name("contained.py")
ROOT = Path(__file__).parent.parent


@dataclasses.dataclass
class Run:
    """What a contained command did."""

    code: int
    out: str
    err: str
    mode: str | None = None
    reason: str | None = None
    accepted: list = dataclasses.field(default_factory=list)
    redirects: list[Redirect] = dataclasses.field(default_factory=list)
    refused: list[Refused] = dataclasses.field(default_factory=list)

    @property
    def targets(self):
        return [(redirect.host, redirect.port) for redirect in self.redirects]

    @property
    def refusals(self):
        return [(refused.protocol, refused.host, refused.port) for refused in self.refused]


def environment(**more):
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, **more}


def wrapper(report, *options):
    return [sys.executable, str(WRAPPER), str(report), *options, "--"]


def read(report, run):
    for line in Path(report).read_text().splitlines():
        match json.loads(line):
            case {"accepted": source}:
                run.accepted.append(tuple(source))
            case {"mode": mode}:
                run.mode = mode
            case {"reason": reason}:
                run.reason = reason
            case _:
                record = decode(line)
                (run.redirects if isinstance(record, Redirect) else run.refused).append(record)
    return run


def contained(folder, command, *options, timeout=30, prefix=(), **how):
    """Run a command to its end; ``prefix`` starts the wrapper."""
    report = folder / "report.jsonl"
    report.unlink(missing_ok=True)
    with subprocess.Popen(
        [*prefix, *wrapper(report, *options), *map(str, command)],
        env=environment(**how.pop("env", {})),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        **how,
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the command with its wrapper
            raise
    return read(report, Run(process.returncode, out, err))
