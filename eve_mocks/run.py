"""One run, as a sequence: load, trust, listen, start the proxy and the command, wait, report, tell."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import resource
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from eve_mocks import beginning, ca, child, environment, keys, run_folder, trust, wgetrc
from eve_mocks.containment import Containment
from eve_mocks.errors import MockError, Problem
from eve_mocks.load import declared, load
from eve_mocks.proxy_process import ProxyProcess
from eve_mocks.router import Router
from eve_mocks.session import BadSession, session_id
from eve_mocks.silence import silenced
from eve_mocks.stubs.rules import labels
from eve_mocks.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eve_mocks.containment import Choice
    from eve_mocks.load import Mocks
    from eve_mocks.report import FailOnBlock, Report
    from eve_mocks.run_folder import RunFolder

_FEWEST_FILES = 32


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run, and how. ``shown`` is how the user calls the mocks folder."""

    command: Sequence[str]
    folder: Path
    shown: str = "mocks"
    also: Sequence[Path] = ()
    """Files of mocks that are not in the folder."""
    fail_on_block: FailOnBlock = "unexpected"
    contain: Choice = "auto"
    session: str = "run"
    stubs: Sequence[str] = ()
    seeds: Sequence[str] = ()
    fail_on_unused: bool = False


def run(plan: Plan) -> int:
    """Run a command and return the exit code (contract, section 1). Raises ``MockError``, or a group of them."""
    _check_limits()
    containment = Containment(plan.contain)
    _check_session(plan.session)
    with silenced():
        mocks = in_thread(lambda: _load(plan), "load")
    if mocks.errors:
        raise ExceptionGroup("the mocks are wrong", mocks.errors)
    router = Router(mocks.mocks, mocks.passages)
    stubs = beginning.read(plan.stubs, plan.seeds, mocks.mocks).stubs
    started, clock = datetime.datetime.now(datetime.UTC), time.monotonic()
    given = environment.of_the_caller()
    with ProxyProcess(redirects=containment.is_tried) as proxy, contextlib.closing(containment):
        folder = run_folder.open_run(started)
        authority, trusted, untrusted = _trust(folder, environment.trusted_files(given))
        token = os.urandom(32).hex()
        settings = _settings(plan, folder, authority, trusted, given)
        proxy.start({**settings, "controlToken": token}, folder.output)
        command_environment = environment.extend(
            given,
            port=proxy.address[1],
            token=token,
            trust=trusted,
            run=folder.path.name,
            wgetrc=_wgetrc(folder, trusted, given),
            keys=keys.placeholders(router, given, Path()),
        )
        package = _npm_package(Path())
        try:
            containment.prepare(proxy, router)
            with child.started(plan.command, command_environment, containment.launch) as command:
                from eve_mocks.account import Account

                account = Account(
                    folder,
                    command=plan.command,
                    started=started,
                    not_contained=containment.why_not,
                    mocks=declared(mocks.mocks),
                    stubs=labels((*stubs, *(mock.stubs for mock in mocks.mocks))),
                    scripts=[entry for mock in mocks.mocks for entry in mock.entries()],
                )
                child_exit = command.wait()
                tally, failure = proxy.finish()
        except MockError:
            run_folder.discard(folder)
            raise
    return account.end(
        tally,
        failure,
        [*package, *untrusted, *mocks.problems],
        child_exit=child_exit,
        duration=time.monotonic() - clock,
        fail_on_block=plan.fail_on_block,
        fail_on_unused=plan.fail_on_unused,
        shown=plan.shown,
    )


def _load(plan: Plan) -> Mocks:
    """The mocks, loaded in a thread that takes no signal from here on: a mock may leave threads of its own behind."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    return load(plan.folder, shown=plan.shown, also=plan.also)


def _npm_package(project: Path) -> list[Problem]:
    """What evals of the project import, in its place, and what was wrong with that."""
    if not (project / "evals").is_dir():
        return []
    from eve_mocks import npm_package

    return list(filter(None, [npm_package.ensure(project)]))


def _check_limits() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < _FEWEST_FILES or 0 <= hard < _FEWEST_FILES:
        raise MockError(
            f"no more than {soft} files may be open",
            why=f"a run needs {_FEWEST_FILES} at least, and one more for each connection of its command",
            fix="Raise the limit, such as with ulimit -n 1024.",
        )


def _check_session(text: str) -> None:
    try:
        session_id(text)
    except BadSession as error:
        raise MockError(
            "the session cannot have this name", why=str(error), fix="Choose a name such as run or test-1."
        ) from error


def _trust(folder: RunFolder, files: list[Path]) -> tuple[ca.CA, trust.Trust, list[Problem]]:
    """The user's authority; one of this run alone where the user's folder cannot be written. And what was wrong."""
    reasons = []
    for place in (ca.data_folder, lambda: folder.path):
        try:
            authority = ca.ensure_ca(place())
            trusted = trust.ensure_trust(place(), authority, files)
        except OSError as error:
            reasons.append(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror))
        else:
            return authority, trusted, [_passed_over(each) for each in trusted.passed_over]
    raise MockError(
        "the certificates of the run cannot be written",
        why="; ".join(reasons),
        fix="Make room on the disk, or set XDG_DATA_HOME to a folder that you may write.",
    )


def _wgetrc(folder: RunFolder, trusted: trust.Trust, given: dict[bytes, bytes]) -> Path | None:
    """Wget's settings; none in the folder of a run, since the caller's may hold passwords."""
    if trusted.bundle.parent != folder.path:
        with contextlib.suppress(OSError):
            return wgetrc.ensure_wgetrc(trusted.bundle, given)
    return None


def _passed_over(what: str) -> Problem:
    return Problem(
        message=f"not all certificates that the environment names are trusted: {what}",
        why="a client that reads a damaged certificate reads none of a file, so it was left out",
        fix="Correct that file, or the variable that names it, such as SSL_CERT_FILE.",
    )


def _settings(
    plan: Plan, folder: RunFolder, authority: ca.CA, trusted: trust.Trust, given: dict[bytes, bytes]
) -> Report:
    upstream = environment.Upstream.of(given)
    return {
        "folder": str(plan.folder),
        "folderName": plan.shown,
        "also": [str(file) for file in plan.also],
        "log": str(folder.log),
        "session": plan.session,
        "stubs": list(plan.stubs),
        "seeds": list(plan.seeds),
        "eveDev": _is_eve_dev(plan.command),
        "ca": str(authority.path),
        "upstreamProxies": dataclasses.asdict(upstream),
        # With our own authority in it, an outer run is a trusted upstream of an inner one.
        "upstreamCa": str(trusted.bundle),
    }


def _is_eve_dev(command: Sequence[str]) -> bool:
    """Whether this is ``eve dev``, by itself or behind npx, pnpm and the like."""
    return any(os.path.basename(word) == "eve" and after == "dev" for word, after in zip(command, command[1:]))  # noqa: PTH119, B905, RUF007
