"""`behavesim report` and `behavesim list`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import RUNS, AsJson, RunsDir, busy, cores, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from behavesim.analysis.run import Run

SHOWN_SINGLY = 3
"""Up to so many runs each is shown for itself; more are compared and nothing else."""


def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Ids or folders of runs; several are compared.")],
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="DIR", help="Write the tables there as CSV files.")
    ] = None,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Try the ten best and the recommended program on held-out instances.")
    ] = False,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Summary, best programs, islands and behavioural clusters."""
    from rich.console import Console

    from behavesim.analysis.comparison import repeats
    from behavesim.analysis.run import load_run
    from behavesim.reports.comparison import comparison_tables, held_out_table, write_csv
    from behavesim.reports.document import document
    from behavesim.reports.tables import run_tables
    from behavesim.store.folder import RunFolder

    busy(f"reading {runs[0] if len(runs) == 1 else f'{len(runs)} runs'}")
    loaded = [load_run(RunFolder.find(runs_dir, run).path) for run in runs]
    if again := ", ".join(loaded[place].folder.run for place in repeats(loaded)):
        typer.echo(f"behavesim: made twice, with equal settings and seed, and counted once: {again}", err=True)
    full = document(loaded, found_held_out(loaded) if held_out else None)
    if csv is not None:
        write_csv(full, csv)
    if as_json:
        print_json(full)
        return
    console = Console()
    for run in full["runs"] if len(loaded) <= SHOWN_SINGLY else []:
        for table in [*run_tables(run), *([held_out_table(run)] if held_out else [])]:
            console.print(table)
    for table in comparison_tables(full["comparison"]):
        console.print(table)


def found_held_out(runs: Sequence[Run]) -> dict[Path, dict[str, Any]]:
    """What the runs' programs are worth on held-out instances, by folder; each task gets a sandbox of its own."""
    import asyncio

    found: dict[Path, dict[str, Any]] = {}
    for task in dict.fromkeys(run.settings.task for run in runs):
        here = [run for run in runs if run.settings.task == task]
        typer.echo(f"behavesim: trying the programs of {len(here)} runs on held-out instances of {task}", err=True)
        documents = asyncio.run(_held_out(here, task))
        found.update((run.folder.path, each) for run, each in zip(here, documents, strict=True))
    return found


async def _held_out(runs: Sequence[Run], task: str) -> list[dict[str, Any]]:
    from behavesim.analysis.held_out import held_out
    from behavesim.sandbox import Judge, Limits, Pool
    from behavesim.task import TaskReference

    settings = runs[0].settings
    reference = TaskReference(task)
    limits = Limits(settings.timeout_s, settings.memory_mb, settings.output_mb)
    weak = all(run.settings.allow_weak_isolation for run in runs)
    async with Pool(reference, "held-out", cores(), limits, allow_weak_isolation=weak) as pool:
        loaded = reference.load()
        return await held_out(runs, loaded, Judge(loaded, "held-out", pool))


def runs(runs_dir: RunsDir = RUNS, as_json: AsJson = False) -> None:
    """The runs of a folder, oldest first."""
    from rich.console import Console
    from rich.table import Table

    from behavesim.analysis.run import load_run
    from behavesim.errors import JournalError
    from behavesim.reports.summary import percent, summary
    from behavesim.store.folder import RunFolder

    documents = []
    for folder in RunFolder.all(runs_dir):
        try:
            documents.append(summary(load_run(folder.path)))
        except JournalError as error:  # one that is damaged, or was killed before it began, hides no other
            typer.echo(f"behavesim: {error}", err=True)
    if as_json:
        print_json(documents)
        return
    table = Table()
    for name in ("run", "state", "task", "method", "seed", "asked", "best", "gap"):
        table.add_column(name, justify="right" if name in ("seed", "asked", "best", "gap") else "left", overflow="fold")
    for each in documents:
        best = each["best"]
        score, gap = ("", "") if best is None else (f"{best['score']:.6g}", percent(best["gap"]))
        table.add_row(
            each["run"], each["state"], each["task"], each["method"], str(each["seed"]), str(each["asked"]), score, gap
        )
    Console().print(table)
