"""`behavesim list methods`, `list proposers` and `list settings`; `doctor`; `method` for a method of one's own."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from behavesim.analysis.table import Column, Table
from behavesim.application.machine import findings
from behavesim.base.config import describe_settings
from behavesim.base.errors import BehavesimError
from behavesim.base.plugins import Kind, absolute, docstring
from behavesim.base.text import one_line
from behavesim.checks.method import examine_method
from behavesim.proposers.openai_settings import MODEL
from behavesim.reports.terminal import show
from behavesim.state.settings import METHODS, PROPOSERS, owners

from .commands import PLAIN
from .options import AsJson, Models, parse_models
from .output import hanging, print_json, print_result, report_findings, write_example


def doctor(model: Models = None, as_json: AsJson = False) -> None:
    """Check key, endpoint, models, cores and sandbox; exit code 1 if the endpoint or a sandbox does not work.

    The key is never shown.
    """
    checked = asyncio.run(findings(list(parse_models(model) or [MODEL])))
    width = max(map(len, checked.found))
    found = (hanging(f"{name:{width}}  ", one_line(str(value))) for name, value in checked.found.items())
    lines = (checked.verdict, "", *found)
    print_result(checked.found, as_json, dict, lambda _: typer.echo("\n".join(lines)))
    if checked.broken:
        raise typer.Exit(1)


# `behavesim list settings`: every setting by its owner, its default and what it does.


def settings(
    method: Annotated[str | None, typer.Option(help="List only settings that a run of this method has.")] = None,
    proposer: Annotated[str | None, typer.Option(help="List only settings that a run of this proposer has.")] = None,
    as_json: AsJson = False,
) -> None:
    """List settings that --set and --config take, by their owner: every run, a method, or a proposer.

    By default all are listed.
    """
    found = [(owner.name, describe_settings(owner.options)) for owner in owners(method, proposer) if owner.options]
    if as_json:
        names = ("owner", "setting", "default", "description")
        print_json([dict(zip(names, (owner, *row), strict=True)) for owner, rows in found for row in rows])
        return
    columns = Column("setting", is_whole=True), Column("default"), Column("description")  # whole, to be copied
    show(Table("settings", owner, columns, tuple(rows)) for owner, rows in found)


# Largest number of characters of what is said of a part; a longer first line of its docstring is cut off.
LENGTH = 110


def methods(as_json: AsJson = False) -> None:
    """List the installed search methods, each with what it does; `run --method NAME` takes one."""
    _list(METHODS, as_json)


def proposers(as_json: AsJson = False) -> None:
    """List the installed proposers, each with what it does; `run --proposer NAME` takes one."""
    _list(PROPOSERS, as_json)


def _list(kind: Kind, as_json: bool) -> None:
    """Print the installed parts of a kind with a line on each, as text or as one JSON document."""
    found = {name: _part_line(kind, name) for name in kind.installed()}
    if as_json:
        print_json([{kind.noun: name, "description": line} for name, line in found.items()])
        return
    width = max(map(len, found), default=0)
    for name, line in found.items():
        typer.echo(hanging(f"{name:{width}}  ", line))


def _part_line(kind: Kind, name: str) -> str:
    """Return the first line of the docstring of a part's class, "" if it has none; or why the part cannot be loaded."""
    try:
        part = kind.load(name)
        text = docstring(part) if isinstance(part, type) else ""
    except BehavesimError as error:  # one that is broken must not hide the others
        text = str(error)
    return one_line(text.partition("\n")[0], LENGTH)


# `behavesim method init` and `behavesim method check`: a search method of one's own.


method = typer.Typer(help="Write and examine a search method of your own.", no_args_is_help=True, **PLAIN)


@method.command("init")
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The method's name; the file is NAME.py here.")],
) -> None:
    """Write a commented method file to start from.

    If the file exists, it stays as it is and the command fails.
    """
    write_example("method", name)


@method.command("check")
def check(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A method file, or an installed method's name.")],
    as_json: AsJson = False,
) -> None:
    """Examine a method in rehearsed searches: complete, pure, deterministic, resumable.

    Exit code 1 if something must be fixed.
    """
    report_findings(examine_method(absolute(path)), 28, as_json)
