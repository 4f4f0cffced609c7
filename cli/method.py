"""`behavesim method init` and `behavesim method check`: a search method of one's own."""

from __future__ import annotations

from typing import Annotated

import typer

from behavesim.base.plugins import absolute
from behavesim.rehearsal.examination import examined

from .commands import PLAIN
from .findings import report_findings
from .options import AsJson
from .own_file import write_example

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
    report_findings(examined(absolute(path)), 28, as_json)
