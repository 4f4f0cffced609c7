"""`behavesim list`: runs; other lists are loaded where they are named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from operator import attrgetter
from typing import Annotated, Any

import typer

from behavesim.analysis.summary import Summary, load_summary
from behavesim.base.errors import BehavesimError, UsageError
from behavesim.reports.tables import runs_table
from behavesim.reports.terminal import DISPENSABLE, show_rows
from behavesim.store.folder import RunFolder

from .app import Lists
from .commands import PLAIN
from .options import RUNS, AsJson, RunsDir
from .output import print_json, tell

# What runs can be sorted by: a value of each run's summary by the column's name, None if it is unknown.
ORDERS: Mapping[str, Callable[[Summary], Any]] = {
    **{name: attrgetter(name) for name in ("run", "state", "task", "method", "seed", "asked")},
    "best": lambda run: None if run.best_program is None else run.best_program.score,
    "gap": lambda run: None if run.best_program is None else run.best_program.gap,
}


def _order(name: str | None) -> str | None:
    if name is not None and name not in ORDERS:
        raise UsageError(f"--sort takes one of {', '.join(ORDERS)}, not {name!r}")
    return name


Sort = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", callback=_order, help=f"Sort by {', '.join(ORDERS)}; what is unknown comes last."),
]

app = typer.Typer(cls=Lists, invoke_without_command=True, **PLAIN)


@app.callback()
def list_runs(ctx: typer.Context, sort: Sort = None, runs_dir: RunsDir = RUNS, as_json: AsJson = False) -> None:
    """List the runs of a folder, oldest first; runs of experiments come before the others.

    `--runs-dir runs/NAME` lists those of one experiment.

    A run that cannot be read is named on stderr and left out. With a name from below, list that instead.
    """
    if ctx.invoked_subcommand is not None:
        return
    summaries, folders = [], [*RunFolder.all(runs_dir, "*/*"), *RunFolder.all(runs_dir)]
    for folder in folders:  # an experiment's runs are below it
        try:
            summaries.append(replace(load_summary(folder), run=str(folder.path.relative_to(runs_dir))))
        except BehavesimError as error:  # a damaged run must not hide the others
            tell(f"{folder.run}: {error}")
    if sort is not None:
        known = [each for each in summaries if ORDERS[sort](each) is not None]
        summaries = sorted(known, key=ORDERS[sort]) + [each for each in summaries if ORDERS[sort](each) is None]
    if as_json:
        print_json([asdict(each) for each in summaries])
    elif summaries:
        show_rows(runs_table(summaries), DISPENSABLE)
    elif not folders:
        tell(f"no runs in {runs_dir}/; make one with: behavesim run tsp")
