"""`behavesim serve`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from behavesim.application.session import run_until_asked_to_end
from behavesim.base.errors import UsageError

from .options import RUNS, Budget, RunName
from .output import tell

# What the server adds to the niceness of its process: searches on the same cores then get CPU time first.
NICE = 10


def serve(
    runs_dir: Annotated[Path, typer.Argument(metavar="RUNS-DIR", help="Folder of the run folders.")] = RUNS,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")] = 8437,
    host: Annotated[
        str, typer.Option(help="Where to listen; beyond this machine the URL has a secret token.")
    ] = "127.0.0.1",
    evaluate: Annotated[
        str | None, typer.Option(metavar="TASK", help="Begin a run whose programs an agent posts to /evaluate.")
    ] = None,
    budget: Budget = None,
    name: RunName = None,
) -> None:
    """Show the runs of a folder in a browser, while they go on, until Ctrl-C; the runs are not changed.

    With --evaluate it serves no pages: it begins a run and evaluates the programs that an agent posts, at the loopback
    address alone, until the budget is used up. It is `run TASK --proposer http:PORT --method best-of-n`.
    """
    if evaluate is not None:
        if host not in ("127.0.0.1", "localhost"):  # programs of whoever reaches the port are run
            raise UsageError(f"--evaluate listens at 127.0.0.1 alone, not at --host {host}; leave --host out")
        from behavesim.application.launch import new_launch  # imported late: pages need no search

        from .run import begin

        given = {"budget": budget, "proposer": f"http:{port}", "method": "best-of-n"}
        begin(new_launch(evaluate, runs_dir, given, name=name), "http", dry=False, as_json=False)
        return
    unused = [option for option, value in (("--budget", budget), ("--name", name)) if value is not None]
    if unused:
        raise UsageError(f"{' and '.join(unused)} would begin a run; add --evaluate TASK, or leave it out to show runs")
    if not runs_dir.is_dir():  # a mistyped folder would be served as one without runs
        raise UsageError(f"there is no folder {runs_dir}; name that of your runs")
    from behavesim.application.serve.server import is_loopback  # imported late: help needs no aiohttp
    from behavesim.application.serve.server import serve as served

    def say(address: str) -> None:
        if not is_loopback(host):
            tell("everybody who has this address can read every run; nothing is encrypted on the way")
        typer.echo(address)
        tell("Ctrl-C ends it, and no run")

    os.nice(NICE)
    run_until_asked_to_end(served(runs_dir, host, port, say))
