"""`behavesim settings`: every setting by its owner, its default and what it does."""

from __future__ import annotations

from typing import Annotated

import typer

from behavesim.analysis.table import Column, Table
from behavesim.base.config import described
from behavesim.reports.terminal import show
from behavesim.state.settings import owners

from .options import AsJson
from .output import print_json


def settings(
    method: Annotated[str | None, typer.Option(help="List only settings that a run of this method has.")] = None,
    proposer: Annotated[str | None, typer.Option(help="List only settings that a run of this proposer has.")] = None,
    as_json: AsJson = False,
) -> None:
    """List settings that --set and --config take, by their owner: every run, a method, or a proposer.

    By default all are listed.
    """
    found = [(owner.name, described(owner.options)) for owner in owners(method, proposer) if owner.options]
    if as_json:
        names = ("owner", "setting", "default", "description")
        print_json([dict(zip(names, (owner, *row), strict=True)) for owner, rows in found for row in rows])
        return
    columns = Column("setting", is_whole=True), Column("default"), Column("description")  # whole, to be copied
    show(Table("settings", owner, columns, tuple(rows)) for owner, rows in found)
