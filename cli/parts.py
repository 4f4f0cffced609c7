"""`behavesim methods` and `behavesim proposers`."""

from __future__ import annotations

import typer

from behavesim.base.errors import BehavesimError
from behavesim.base.plugins import Kind, docstring
from behavesim.base.text import one_line
from behavesim.state.settings import METHODS, PROPOSERS

from .options import AsJson
from .output import hanging, print_json

LENGTH = 110
"""Largest number of characters of what is said of a part; a longer first line of its docstring is cut off."""


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
