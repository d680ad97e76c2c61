"""The commands, and the one place where a ``MockError`` meets a terminal.

Everything heavier than click is imported by the command that needs it: ``run`` is to start quickly.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eve_mocks import complaints
from eve_mocks import folder as folders
from eve_mocks.errors import MockError
from eve_mocks.interruption import Interrupted
from eve_mocks.match import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eve_mocks.connections import Connection
    from eve_mocks.errors import Problem
    from eve_mocks.load import Mocks
    from eve_mocks.pull.signin import Person


@dataclasses.dataclass(frozen=True, slots=True)
class Folder:
    """The mocks folder: where it is, how the user calls it, and whether the user named it."""

    path: Path
    shown: str
    given: bool

    @property
    def folder(self) -> folders.Folder:
        return folders.Folder.at(self.path, self.shown)

    def usable(self) -> Folder:
        """Return the folder, which need not be there yet. Raises ``MockError`` where it never could."""
        if not self.shown:
            raise MockError(
                "--dir names no folder",
                why="taken for the working directory, the project's own files would be run as mocks",
                fix="Name the mocks folder, or leave --dir out: it is mocks then.",
            )
        if not self.path.is_absolute():
            raise MockError(
                "the working directory is gone",
                why="it was removed, and the mocks and the report are looked for in it",
                fix="Change to a folder that exists.",
            )
        return self

    def must_exist(self) -> Folder:
        """Return the folder. Raises ``MockError`` where the user named one that is not there."""
        self.usable()
        if self.given and not self.path.is_dir():
            beside = self.path.parent
            folders = [entry.name for entry in os.scandir(beside) if entry.is_dir()] if beside.is_dir() else []
            near = nearest(self.path.name, folders)
            raise MockError(
                f"the mocks folder {self.shown} {'is not a folder' if self.path.exists() else 'does not exist'}",
                why="it was named by --dir or EVE_MOCKS_DIR, so it is not taken for an empty one",
                fix=f"Did you mean {os.path.join(os.path.dirname(self.shown), near)}?"  # noqa: PTH118, PTH120 - as typed
                if near
                else "Name the folder that holds the mocks."
                if self.path.exists()
                else f"Make it with {shlex.join(['mkdir', '-p', self.shown])}, or name another.",
            )
        return self


class Group(click.Group):
    """A group that names the nearest command where there is none of the name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise MockError(
                f"there is no command {args[0]}",
                why=f"the commands of eve-mocks are {', '.join(self.list_commands(ctx))}",
                fix=did_you_mean(args[0], self.list_commands(ctx)),
            )
        return super().resolve_command(ctx, args)


json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON, errors included.")


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Begin with:
  eve-mocks run -- COMMAND       tells what the command asks of the network, and blocks it
  eve-mocks add NAME --url URL   writes a mock of it, to be filled in
""",
)
@click.option(
    "--dir",
    "folder",
    metavar="PATH",
    envvar="EVE_MOCKS_DIR",
    default="mocks",
    help="The mocks folder.  [env: EVE_MOCKS_DIR; default: mocks]",
)
@click.version_option(package_name="eve-mocks", message="eve-mocks %(version)s")
@click.pass_context
def cli(ctx: click.Context, folder: str) -> None:
    """Run any command with what it asks of the network answered from files, and the rest blocked."""
    given = ctx.get_parameter_source("folder") is not click.core.ParameterSource.DEFAULT
    path = Path(folder)
    with contextlib.suppress(FileNotFoundError):  # there is no working directory: what needs one says so
        path = path.absolute()
    ctx.obj = Folder(path, folder, given)


@cli.command(
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False},
    options_metavar="[OPTIONS]",
    short_help="Run a command, and report what it asked of the network.",
    epilog="""Exit codes: the command's own where that is not 0; 1 where a call was blocked unexpectedly, a mock
broke, a script ran dry or, where that is asked for, something was unused; 2 where nothing was started; 126 or 127 where
the command cannot be executed or is not found.""",
)
@click.option("--live", is_flag=True, help="Run the command untouched: no proxy, no environment, no report.")
@click.option(
    "--fail-on-block",
    type=click.Choice(["unexpected", "all", "none"]),
    default="unexpected",
    show_default=True,
    help="Which blocked calls fail the run: those that no block entry expected, all, or none.",
)
@click.option(
    "--contain",
    type=click.Choice(["auto", "require", "off"]),
    default="auto",
    show_default=True,
    help="Redirect whatever the command connects to, where the machine can; require: or start nothing.",
)
@click.option(
    "--session",
    metavar="ID",
    default="run",
    show_default=True,
    help="The session of calls that carry no other identity.",
)
@click.option(
    "--stubs",
    metavar="FILE",
    multiple=True,
    help="Rules in eve's form (a JSON or YAML list) that come before those of the mocks. Repeatable.",
)
@click.option(
    "--seed",
    "seeds",
    metavar="NAME=FILE",
    multiple=True,
    help="Start the mock NAME from the state in a JSON or YAML file. Repeatable.",
)
@click.option("--fail-on-unused", is_flag=True, help="Fail the run where a stub or a script entry was never used.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND [ARG]...")
@click.pass_obj
def run(folder: Folder, /, command: tuple[str, ...], *, live: bool, **options: Any) -> int:
    """Run COMMAND with everything it asks of the network mocked, allowed or blocked, and report."""
    from eve_mocks import child, environment
    from eve_mocks import run as runs

    if live:
        child.replace(command, environment.of_the_caller())
    folder.must_exist()
    return runs.run(runs.Plan(command=command, folder=folder.path, shown=folder.shown, **options))


@cli.command(short_help="Show the report of the last run, or of an earlier one.")
@click.argument("run", required=False)
@json_option
@click.pass_obj
def report(folder: Folder, run: str | None, *, as_json: bool) -> None:
    """Show the report of the last run, or of RUN (a folder's name in .eve-mocks/runs)."""
    from eve_mocks import archive, render

    path = archive.locate(run)
    found = archive.read(path)
    if run is None and (later := archive.unfinished()) is not None:
        complaints.show_problems([later], as_json=as_json)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        colour, width = render.colours(sys.stdout), render.width(sys.stdout)
        text = render.summary(found, shown=str(path), colour=colour, width=width, folder=folder.shown)
        click.echo(text, color=colour)


@cli.command("list")
@json_option
@click.pass_obj
def list_(folder: Folder, *, as_json: bool) -> None:
    """List every connection and upstream, and what a call to it does.

    Connections are those of an eve agent, as it was compiled, and those of .mcp.json, .cursor/mcp.json and
    .vscode/mcp.json.
    """
    from eve_mocks import connections, render
    from eve_mocks.router import Router

    mocks = _load(folder, as_json=as_json)
    declared, problems = _declared(mocks.errors)
    complaints.show_problems([*mocks.problems, *problems], as_json=as_json)
    rows = connections.rows(Router(mocks.mocks, mocks.passages), declared)
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    elif rows:
        click.echo(render.table(rows, ("status", "name", "kind", "url", "source"), colour=render.colours(sys.stdout)))


@cli.command()
@click.argument("name")
@click.option("--url", metavar="URL", help="The upstream's URL: an origin, and the path that all its calls begin with.")
@click.option("--kind", type=click.Choice(["http", "mcp", "model"]), help="Its kind.  [default: told by the URL]")
@click.option("--spec", metavar="PATH|URL", help="The OpenAPI document that describes it.")
@click.option("--python", is_flag=True, help="Write a Python file, for answers that are computed.")
@click.pass_obj
def add(folder: Folder, name: str, *, url: str | None, kind: str | None, spec: str | None, python: bool) -> None:
    """Write a mock that answers at once, for you to fill in.

    Nothing is overwritten. Without --url, NAME is a connection of this project, a host that the last run blocked, or
    the name that it suggested for one. What the upstream says of itself, its tools or its OpenAPI document, is pulled
    where that can be done.
    """
    from eve_mocks import adding, archive

    folder.usable()
    declared, problems = _declared([])
    try:
        last = archive.find(None)
    except MockError:  # no run yet
        last = None
    if url is None and not any(each.name == name and (each.url or each.spec) for each in declared):
        complaints.show_problems(problems, as_json=False)  # one of them may be why the connection is not known
    asked = adding.Asked(name=name, url=url, kind=kind, spec=spec, python=python)
    added = adding.add(asked, folder.folder, declared, last, _person())
    click.echo(added.path)
    upstream = added.upstream
    described = f", described by {added.pulled}" if added.pulled else ""
    said = f"It answers for {upstream.url}, kind {upstream.kind}{described}. Edit it, then: eve-mocks run -- COMMAND"
    click.echo(said, err=True)
    complaints.show_problems(added.problems, as_json=False)


@cli.command()
@click.argument("name", required=False)
@click.option(
    "--header", "headers", metavar='"NAME: VALUE"', multiple=True, help="Send this as well. Needs NAME. Repeatable."
)
@click.option("--check", is_flag=True, help="Write nothing; show what has changed, and exit with 1 where anything has.")
@click.pass_obj
def pull(folder: Folder, name: str | None, *, headers: tuple[str, ...], check: bool) -> int:
    """Ask upstreams what they are, for mocks to be held against it.

    The tools of MCP servers and the OpenAPI documents that http mocks name by URL are kept in schemas/ of the mocks
    folder. Without NAME all are asked. An MCP server that wants it is signed in to, in the browser. No other command
    calls a real upstream, but add, which pulls too: both use the proxy and the certificates of your environment.
    """
    from eve_mocks import connections, eve_app, pulling, render

    folder.must_exist()

    def declared() -> list[Connection]:  # what is wrong with those of them that cannot be read, list tells
        return [*eve_app.read(Path())[0], *connections.read(Path())[0]]

    asked: Any = {"name": name, "headers": headers, "check": check}
    pulled, mistakes = pulling.pull(folder.folder, declared, _person(), **asked)
    colour = render.colours(sys.stdout)
    rows = [{"state": each.state, "name": each.name, "file": each.file, "counted": each.counted} for each in pulled]
    if rows:
        click.echo(render.table(rows, ("state", "name", "file", "counted"), colour=colour))
    for each in pulled:
        for line in each.diff:
            click.echo(render.clean(line))
    complaints.show_problems([problem for each in pulled for problem in each.problems], as_json=False)
    errors = [*mistakes, *(each.error for each in pulled if each.error is not None)]
    if errors:
        complaints.show(errors, [])
    drifted = check and any(each.state in ("new", "changed") for each in pulled)
    return 1 if errors or drifted else 0


@cli.command(short_help="Load everything and tell every mistake, with file and line.")
@json_option
@click.pass_obj
def check(folder: Folder, *, as_json: bool) -> None:
    """Load everything and tell every mistake, with file and line, and what loads but does nothing."""
    mocks = _load(folder, as_json=as_json)
    declared, problems = _declared(mocks.errors, runs_modules=False)
    complaints.show_problems([*mocks.problems, *problems, *_faults(mocks)], as_json=as_json)
    kinds = collections.Counter(passage.kind for passage in mocks.passages)
    counts = {
        "mocks": len(mocks.mocks),
        "operations": sum(len(mock.operations()) for mock in mocks.mocks),
        "allows": kinds["allow"],
        "blocks": kinds["block"],
        "connections": len(declared),
    }
    if as_json:
        click.echo(json.dumps(counts))
    else:
        click.echo(", ".join(f"{count} {word if count != 1 else word[:-1]}" for word, count in counts.items()))


def _faults(mocks: Mocks) -> Iterator[Problem]:
    """What the documents of http mocks themselves get wrong."""
    if not any(mock.kind == "http" for mock in mocks.mocks):
        return
    from eve_mocks.kinds.http.described import faults
    from eve_mocks.kinds.http.mock import Http

    for mock in mocks.mocks:
        if isinstance(mock, Http):
            yield from mock.skipped
            for described in mock.described():
                yield from faults(described)


@cli.command(short_help="Make the mocks folder, and tell how to run with it.")
@click.pass_obj
def init(folder: Folder) -> None:
    """Make the mocks folder with an example, and tell what to put into the project's own script.

    Nothing is overwritten. In a project of eve, node_modules/eve-mocks is written, which its evals import.
    """
    from eve_mocks import init as beginning

    folder.usable()
    written = beginning.make(folder.path, folder.shown)
    packaged, problems = beginning.package(Path())
    for path in (*written, *packaged):
        click.echo(path)
    complaints.show_problems(problems, as_json=False)
    if not written:
        click.echo(f"{folder.shown} holds mocks already, so no example was written.", err=True)
    line = beginning.script(Path(), folder.shown)
    where = "Put this among the scripts of package.json:" if beginning.is_of_npm(line) else "Run your command with it:"
    click.echo(f"{where}\n  {line}", err=True)


@cli.command()
@json_option
@click.pass_obj
def info(folder: Folder, *, as_json: bool) -> None:
    """Tell versions, paths, counts, containment, and each problem with its fix."""
    from eve_mocks import info as facts
    from eve_mocks import render
    from eve_mocks.silence import silenced

    folder.usable()
    with silenced() if as_json else contextlib.nullcontext():
        found = facts.collect(folder.path, folder.shown, Path())
    if as_json:
        click.echo(json.dumps(found.as_json(), ensure_ascii=False, indent=2))
        return
    rows = [
        {"what": what if place == 0 else "", "key": key, "value": str(value)}
        for what, told in (("versions", found.versions), ("paths", found.paths), ("counts", found.counts))
        for place, (key, value) in enumerate(told.items())
    ]
    contained = "contained" if found.contained else f"not contained: {found.not_contained}"
    rows.append({"what": "commands", "key": contained})
    rows += [{"what": "not read", "key": name} for name in found.ignored]
    click.echo(render.table(rows, ("what", "key", "value"), colour=False))
    complaints.show_problems(found.problems, as_json=False)


def _declared(errors: Sequence[MockError], *, runs_modules: bool = True) -> tuple[list[Connection], list[Problem]]:
    """The connections of the project and their problems. Raises what is wrong in their files, and the errors given."""
    from eve_mocks import connections, eve_app

    of_clients, mistakes = connections.read(Path())
    _raise_all([*errors, *mistakes])
    of_eve, problems = eve_app.read(Path(), runs_modules=runs_modules)
    return [*of_eve, *of_clients], problems


def _person() -> Person | None:
    """Whoever sits at the terminal, and can sign in; None where nobody does."""
    if not sys.stderr.isatty():
        return None
    from eve_mocks.pull.signin import Person

    return Person(tell=lambda url: click.echo(f"Sign in, in the browser:\n  {url}", err=True))


def _load(folder: Folder, *, as_json: bool) -> Mocks:
    """The mocks; what they print while they load goes to stderr, but not among the JSON of it."""
    from eve_mocks import load
    from eve_mocks.silence import silenced

    folder.must_exist()
    with silenced() if as_json else contextlib.nullcontext():
        return load.load(folder.path, shown=folder.shown)


def _raise_all(errors: Sequence[MockError]) -> None:
    if errors:
        raise ExceptionGroup("mistakes", errors)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. Whatever goes wrong is told in three lines."""
    args = sys.argv[1:] if args is None else list(args)
    try:
        code = cli.main(args, prog_name="eve-mocks", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.UsageError as error:
        return complaints.show([_as_mock_error(error)], args)
    except (click.Abort, Interrupted):
        return 130
    except Exception as error:  # noqa: BLE001 - the end of the line
        return complaints.show(complaints.of(error), args)
    return code if isinstance(code, int) else 0


def _as_mock_error(error: click.UsageError) -> MockError:
    """A complaint of click in the words of the contract: what, why, fix, with the nearest option."""
    ctx = error.ctx
    path = ctx.command_path if ctx else "eve-mocks"
    if isinstance(error, click.NoSuchOption) and ctx:
        names = _options(ctx.command, ctx)
        return MockError(
            f"there is no option {error.option_name}",
            why=f"the options of {path} are {', '.join(names)}",
            fix=_elsewhere(error.option_name, ctx) or did_you_mean(error.option_name, names),
        )
    if isinstance(error, click.BadParameter) and error.param and isinstance(error.param.type, click.Choice):
        given, choices = re.match(r"'(.*)' is not one of ", error.message, re.DOTALL), [*error.param.type.choices]
        if given:
            return MockError(
                f"{error.param.opts[0]} cannot be {given[1]}",
                why=f"it is one of {', '.join(choices)}",
                fix=did_you_mean(given[1], choices),
            )
    usage = ctx.get_usage().removeprefix("Usage: ") if ctx else f"{path} -h"
    return MockError(
        error.format_message().rstrip("."),
        why=f"the usage is: {usage}",
        fix=f"{path} -h tells what each part means.",
    )


def _options(command: click.Command, ctx: click.Context) -> list[str]:
    return [name for parameter in command.get_params(ctx) for name in parameter.opts if name.startswith("--")]


def _elsewhere(option: str, ctx: click.Context) -> str | None:
    """The fix for an option that stands on the wrong side of the command."""
    if ctx.parent is not None and option in _options(ctx.parent.command, ctx.parent):
        return f"Put it before {ctx.info_name}: {ctx.parent.command_path} {option} … {ctx.info_name}"
    if isinstance(ctx.command, click.Group):
        having = [name for name, command in ctx.command.commands.items() if option in _options(command, ctx)]
        if having:
            return f"Put it after the command that takes it: {', '.join(having)}."
    return None
