"""`behavesim doctor`: what this machine offers a run; and `behavesim settings`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from behavesim.analysis.table import Column, Table
from behavesim.application.machine import findings
from behavesim.base.config import describe_settings
from behavesim.base.text import one_line
from behavesim.proposers.openai_settings import MODEL
from behavesim.reports.terminal import show
from behavesim.state.settings import owners

from .options import AsJson, Models, parse_models
from .output import hanging, print_json, print_result


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


# `behavesim settings`: every setting by its owner, its default and what it does.


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
