"""`behavesim method init` and `behavesim method check`: a search method of one's own."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from behavesim.finding import Finding
from behavesim.plugins import resolved
from behavesim.rehearsal.examination import examined

from .commands import PLAIN
from .options import AsJson
from .output import print_json
from .own_file import MARKS, write_example

method = typer.Typer(help="Write and examine a search method of your own.", no_args_is_help=True, **PLAIN)


@method.command("init")
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The method's name; the file is NAME.py here.")],
) -> None:
    """Write a commented method file to start from."""
    write_example("method", name)


@method.command("check")
def check(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A method file, or an installed method's name.")],
    as_json: AsJson = False,
) -> None:
    """Examine a method in rehearsed searches: complete, pure, deterministic, resumable.

    Exit code 1 where something is to be mended.
    """

    async def examine() -> list[Finding]:
        findings = []
        async for finding in examined(resolved(path)):
            findings.append(finding)
            if not as_json:
                typer.echo(f"{MARKS[finding.result]:5} {finding.name:28} {finding.message}")
        return findings

    findings = asyncio.run(examine())
    if as_json:
        print_json([vars(finding) for finding in findings])
    if any(finding.result == "mend" for finding in findings):
        raise typer.Exit(1)
