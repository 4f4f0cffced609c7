"""`behavesim report`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from behavesim.analysis.comparison import comparison
from behavesim.analysis.metrics import METRICS
from behavesim.analysis.own_metrics import known_metrics
from behavesim.analysis.run import Run
from behavesim.application.held_out import reports_of
from behavesim.base.errors import UsageError
from behavesim.base.text import number
from behavesim.reports.comparison import comparison_tables, remarks
from behavesim.reports.csv_files import write_csv
from behavesim.reports.document import document
from behavesim.reports.figure_files import write_figures
from behavesim.reports.markup import latex, markdown
from behavesim.reports.run import show_run
from behavesim.reports.summary import summary_table
from behavesim.reports.terminal import show
from behavesim.store.folder import RunFolder

from .options import RUNS, AsJson, RunsDir, complete_runs, run_folder
from .output import busy, print_json, tell

Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME|PATH.py", help="A metric to show, by name or file; repeatable."),
]

SHOWN_SINGLY = 3
"""The most runs that are shown one by one; more are only compared."""


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN...]",
            help="Ids or folders; several are compared (default: the newest).",
            autocompletion=complete_runs,
        ),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="DIR", help="Write the tables there as CSV files.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the page of the run there: one file, no network."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Write figures for a paper there, as PDF and SVG.")
    ] = None,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Try the ten best and the recommended program on held-out instances.")
    ] = False,
    metric: Metrics = None,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Test unfinished runs beside finished ones, too.")
    ] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print the tables as LaTeX, for booktabs.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Summary, best programs, islands and behavioural clusters."""
    if as_json + as_latex + as_markdown > 1:
        raise UsageError("a report is printed once: as --json, --latex or --markdown")
    metrics = known_metrics(metric or ())
    folders = [RunFolder.find(runs_dir, run) for run in runs] if runs else [run_folder(runs_dir, None)]
    if html is not None and len(folders) > 1:
        raise UsageError(f"--html writes the page of one run; got {len(folders)}")
    busy(f"reading {folders[0].run if len(folders) == 1 else number(len(folders), 'run')}")
    loaded = [Run.load(folder.path) for folder in folders]
    reports = asyncio.run(reports_of(loaded, tell, held_out))
    compared = comparison(reports, metrics=metrics, tests_unfinished=unfinished)
    for each in reports:
        for note in each.notes:
            tell(f"{each.summary.run}: {note}")
    for remark in remarks(compared):
        tell(remark)
    if csv is not None:
        files = write_csv(compared, csv)
        tell(f"wrote {', '.join(files)} to {csv.resolve()}")
    if html is not None:
        from behavesim.reports.page import write_page  # imported late: only the page needs it

        write_page(loaded[0], compared.runs[0], html)
        tell(f"wrote {html.resolve()}")
    if figures is not None:
        drawn = write_figures(compared, loaded, figures)
        tell(f"wrote {', '.join(file.name for file in drawn)} to {figures.resolve()}")
    if as_json:
        print_json(document(compared))
        return
    singly = compared.runs if len(compared.runs) <= SHOWN_SINGLY else ()
    chosen = [each for each in metrics if each not in METRICS or each.name in (metric or ())]
    summaries = [summary_table(run.summary, {each: run.metrics[each.name] for each in chosen}) for run in singly]
    if as_latex or as_markdown:
        tables = [table for summary, run in zip(summaries, singly, strict=True) for table in (summary, *run.tables())]
        typer.echo((latex if as_latex else markdown)([*tables, *comparison_tables(compared)]))
        return
    for summary, run in zip(summaries, singly, strict=True):
        show_run(run, summary)
    show(comparison_tables(compared))
