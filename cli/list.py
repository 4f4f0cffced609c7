"""`behavesim list`: runs; other lists are loaded where they are named."""

from __future__ import annotations

from dataclasses import asdict, replace

import typer

from behavesim.analysis.summary import load_summary
from behavesim.base.errors import BehavesimError
from behavesim.reports.tables import runs_table
from behavesim.reports.terminal import DISPENSABLE, show_rows
from behavesim.store.folder import RunFolder

from .app import Lists
from .commands import PLAIN
from .options import RUNS, AsJson, RunsDir
from .output import print_json, tell

app = typer.Typer(cls=Lists, invoke_without_command=True, **PLAIN)


@app.callback()
def list_runs(ctx: typer.Context, runs_dir: RunsDir = RUNS, as_json: AsJson = False) -> None:
    """List the runs of a folder, oldest first; runs of experiments come before the others.

    A run that cannot be read is named on stderr and left out. With a name from below, list that instead.
    """
    if ctx.invoked_subcommand is not None:
        return
    summaries = []
    for folder in [*RunFolder.all(runs_dir, "*/*"), *RunFolder.all(runs_dir)]:  # an experiment's runs are below it
        try:
            summaries.append(replace(load_summary(folder), run=str(folder.path.relative_to(runs_dir))))
        except BehavesimError as error:  # a damaged run must not hide the others
            tell(f"{folder.run}: {error}")
    if as_json:
        print_json([asdict(each) for each in summaries])
    elif not summaries:
        tell(f"no runs in {runs_dir}/; make one with: behavesim run tsp")
    else:
        show_rows(runs_table(summaries), DISPENSABLE)
