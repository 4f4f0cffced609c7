"""`behavesim methods`, `behavesim proposers` and `behavesim method`."""

from __future__ import annotations

from typing import Annotated

import typer

from behavesim.base.errors import BehavesimError
from behavesim.base.plugins import Kind, absolute, docstring
from behavesim.base.text import one_line
from behavesim.checks.method import examine_method
from behavesim.state.settings import METHODS, PROPOSERS

from .commands import PLAIN
from .options import AsJson
from .output import hanging, print_json, report_findings, write_example

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
    found = {name: _line(kind, name) for name in kind.installed()}
    if as_json:
        print_json([{kind.noun: name, "description": line} for name, line in found.items()])
        return
    width = max(map(len, found), default=0)
    for name, line in found.items():
        typer.echo(hanging(f"{name:{width}}  ", line))


def _line(kind: Kind, name: str) -> str:
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
