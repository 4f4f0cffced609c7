"""`behavesim methods` and `behavesim proposers`."""

from __future__ import annotations

import typer

from behavesim.application.parts import described_parts
from behavesim.base.plugins import Kind
from behavesim.state.settings import METHODS, PROPOSERS

from .options import AsJson
from .output import hanging, print_json


def methods(as_json: AsJson = False) -> None:
    """List the installed search methods, each with what it does; `run --method NAME` takes one."""
    _list(METHODS, as_json)


def proposers(as_json: AsJson = False) -> None:
    """List the installed proposers, each with what it does; `run --proposer NAME` takes one."""
    _list(PROPOSERS, as_json)


def _list(kind: Kind, as_json: bool) -> None:
    found = described_parts(kind)
    if as_json:
        print_json([{kind.noun: name, "description": line} for name, line in found.items()])
        return
    width = max(map(len, found), default=0)
    for name, line in found.items():
        typer.echo(hanging(f"{name:{width}}  ", line))
