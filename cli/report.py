"""`behavesim report` and `behavesim list`."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import RUNS, AsJson, RunsDir, print_json


def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Ids or folders of runs; several are compared.")],
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Summary, best programs, islands and behavioural clusters."""
    from rich.console import Console

    from behavesim.analysis.run import load_run
    from behavesim.reports.document import document
    from behavesim.reports.tables import run_tables
    from behavesim.store.folder import RunFolder

    loaded = [load_run(RunFolder.find(runs_dir, run).path) for run in runs]
    full = document(loaded)
    if as_json:
        print_json(full)
        return
    console = Console()
    for run in full["runs"]:
        for table in run_tables(run):
            console.print(table)


def runs(runs_dir: RunsDir = RUNS, as_json: AsJson = False) -> None:
    """The runs of a folder, oldest first."""
    from rich.console import Console
    from rich.table import Table

    from behavesim.analysis.run import load_run
    from behavesim.reports.summary import percent, summary
    from behavesim.store.folder import RunFolder

    documents = [summary(load_run(folder.path)) for folder in RunFolder.all(runs_dir)]
    if as_json:
        print_json(documents)
        return
    table = Table()
    for name in ("run", "state", "task", "method", "seed", "asked", "best", "gap"):
        table.add_column(name, justify="right" if name in ("seed", "asked", "best", "gap") else "left")
    for each in documents:
        best = each["best"]
        score, gap = ("", "") if best is None else (f"{best['score']:.6g}", percent(best["gap"]))
        table.add_row(
            each["run"], each["state"], each["task"], each["method"], str(each["seed"]), str(each["asked"]), score, gap
        )
    Console().print(table)
