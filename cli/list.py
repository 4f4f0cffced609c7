"""`behavesim list`."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from behavesim.analysis.run import load_run
from behavesim.errors import JournalError
from behavesim.reports.summary import percent, summary
from behavesim.store.folder import RunFolder

from .options import RUNS, AsJson, RunsDir, print_json, tell


def list_runs(runs_dir: RunsDir = RUNS, as_json: AsJson = False) -> None:
    """List the runs of a folder, oldest first."""
    documents = []
    for folder in RunFolder.all(runs_dir):
        try:
            documents.append(summary(load_run(folder.path)))
        except JournalError as error:  # one that is damaged, or was killed before it began, hides no other
            tell(f"{error}")
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
