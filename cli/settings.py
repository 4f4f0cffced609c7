"""`behavesim settings`: every setting by its owner, its default and what it does."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from behavesim.base.config import described
from behavesim.engine.settings import owners_of
from behavesim.reports.terminal import screen

from .options import AsJson
from .output import print_json


def settings(
    method: Annotated[str | None, typer.Option(help="Only what a run of this method has.")] = None,
    proposer: Annotated[str | None, typer.Option(help="Only what a run of this proposer has.")] = None,
    as_json: AsJson = False,
) -> None:
    """List every setting that --set and --config take, by its owner: every run, a method, or a proposer."""
    rows = [
        (owner.name, *row) for owner in owners_of(method, proposer) if owner.options for row in described(owner.options)
    ]
    if as_json:
        names = ("owner", "setting", "default", "description")
        print_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    table = Table()
    for name in ("setting", "default", ""):
        table.add_column(name, overflow="fold", no_wrap=name == "setting")  # whole, to be copied
    last = ""
    for owner, name, default, text in rows:
        if owner != last:
            table.add_section()
            table.add_row(Text(owner, style="bold"))
        table.add_row(name, default, text)
        last = owner
    screen().print(table)
