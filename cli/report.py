"""`behavesim report`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from behavesim.analysis.comparison import RunComparison, comparison
from behavesim.analysis.held_out import Unseen
from behavesim.analysis.metrics import METRICS, Metric, available_metrics
from behavesim.analysis.report import RunReport
from behavesim.analysis.run import Run
from behavesim.application.evaluation import reports_of
from behavesim.base.errors import UsageError, nearest
from behavesim.base.text import count_noun
from behavesim.reports.chart import check_charts, write_charts
from behavesim.reports.comparison_sections import COMPARISON, FIRST_SECTIONS, comparison_sections, remarks
from behavesim.reports.figures import paper_charts
from behavesim.reports.files import json_document, write_csv
from behavesim.reports.markup import latex, markdown
from behavesim.reports.sections import RUN, Section, first_screen, run_sections
from behavesim.reports.terminal import show_sections

from .options import RUNS, AsJson, Runs, RunsDir, Shifted, Workers, figures_option, folders_of
from .output import busy, print_json, tell

# Functions that return tables as text, by the option that asks for it.
MARKUP = {"latex": latex, "markdown": markdown}
# The names of all sections of a report: those of a run, then those that only a comparison has.
SECTIONS = tuple({**RUN, **COMPARISON})
# The names of the sections that only a report of several runs has.
ONLY_OF_SEVERAL = tuple(name for name in COMPARISON if name not in RUN)
# The names of the sections that are empty until somebody asks for what they show.
UNTRIED = ("held_out", "shifted", "groups_held-out")
Format = Literal["json", "latex", "markdown", "screen"]

Csv = Annotated[Path | None, typer.Option("--csv", metavar="DIR", help="Only write the tables there as CSV files.")]
Html = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="Only write the page of the run, or of the comparison, there: one file."
    ),
]
Figures = Annotated[Path | None, figures_option("Only write figures for a paper there, as PDF and SVG.", check_charts)]
# What the axis of a figure counts, by its name as an option.
AXES = {
    **{name: name for name in ("candidates", "requests", "tokens", "hours")},
    "cost": "US dollars",
    "cpu": "CPU seconds",
}


def _axis(name: str) -> str:
    if name not in AXES:
        raise UsageError(f"--axis takes one of {', '.join(AXES)}, not {name!r}")
    return AXES[name]


Axis = Annotated[
    str,
    typer.Option("--axis", metavar="NAME", callback=_axis, help=f"What curves of --figures count: {', '.join(AXES)}."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME|PATH.py", help="A metric to show, by name or file; repeatable."),
]
Full = Annotated[bool, typer.Option("--full", help="Show all sections, each under its name, instead of one screen.")]
Only = Annotated[
    str | None,
    typer.Option("--only", metavar="NAME,...", help=f"Show only these sections: {', '.join(SECTIONS)}."),
]

Follow = Annotated[bool, typer.Option("--follow", help="Follow one run until no process carries it out any more.")]
TryHeldOut = Annotated[
    bool,
    typer.Option(
        "--held-out",
        help="Try the ten best and the recommended program on held-out instances; `--held-out shifted` also on shifted "
        "ones, of another distribution.",
    ),
]
Unfinished = Annotated[
    bool, typer.Option("--unfinished", help="Include runs in the tests that ended before their budget was spent.")
]
Against = Annotated[
    str | None,
    typer.Option("--against", metavar="GROUP", help="Test each group against this one alone, and not all pairs."),
]
AsLatex = Annotated[bool, typer.Option("--latex", help="Print the tables as LaTeX, for booktabs.")]
AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")]


def report(
    runs: Runs = None,
    follow: Follow = False,
    full: Full = False,
    only: Only = None,
    csv: Csv = None,
    html: Html = None,
    figures: Figures = None,
    axis: Axis = "candidates",
    held_out: TryHeldOut = False,
    shifted: Shifted = False,
    metric: Metrics = None,
    unfinished: Unfinished = False,
    against: Against = None,
    as_latex: AsLatex = False,
    as_markdown: AsMarkdown = False,
    workers: Workers = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Show what a run found, or compare several runs; the folder of an experiment stands for all its runs.

    One run fills a screen: results, the best program, the five best behaviours, the next commands; --full shows all.
    """
    if follow:
        if len(runs or ()) > 1:
            raise UsageError("--follow follows one run; name only one")
        if as_json or as_latex or as_markdown or full or only or csv or html or figures or held_out or shifted:
            raise UsageError("--follow shows the run until it ends; ask for the report afterwards, without --follow")
        from .runs import watch  # imported late: a report needs no live view

        watch(runs[0] if runs else None, runs_dir)
        return
    form = _format(as_json, as_latex, as_markdown)
    alike = {name.replace("-", "_"): name for name in SECTIONS}  # the option is --held-out, the section held_out
    names = [alike.get(name.replace("-", "_"), name) for name in map(str.strip, (only or "").split(",")) if name]
    metrics = available_metrics(metric or ())
    folders = folders_of(runs_dir, runs)
    _refuse_unknown(names, len(folders))  # before a journal is read, which may take long
    busy(f"reading {folders[0].run if len(folders) == 1 else count_noun(len(folders), 'run')}")
    loaded = [Run.load(folder) for folder in folders]
    unseen: list[Unseen] = ["held-out", "shifted"] if shifted else ["held-out"] if held_out else []
    reports = asyncio.run(reports_of(loaded, tell, unseen, workers))
    compared = comparison(reports, metrics=metrics, tests_unfinished=unfinished, against=against)
    for each in reports:
        for note in each.all_notes if len(reports) == 1 else each.notes:  # a comparison shows no details of its runs
            tell(f"{each.summary.run}: {note}")
    for remark in remarks(compared):
        tell(remark)
    is_written = _write(compared, loaded, csv, html, figures, axis)
    if form == "screen" and is_written:
        return
    # metrics of the user's own always, built-in ones if they are named: the tables show those already
    chosen = [each for each in metrics if each not in METRICS or each.name in (metric or ())]
    if form == "json":
        print_json(json_document(compared))
    elif form == "screen":
        _show(compared, chosen, full, names)
    else:
        sections = [section for _, each in _all_sections(compared, chosen, names) for section in each]
        typer.echo(MARKUP[form]([table for each in sections for table in each.tables if table.rows]))


def _format(as_json: bool, as_latex: bool, as_markdown: bool) -> Format:
    """Return how the report is printed; raises UsageError if more than one way is asked for."""
    if as_json + as_latex + as_markdown > 1:
        raise UsageError("a report is printed once: as --json, --latex or --markdown")
    return "json" if as_json else "latex" if as_latex else "markdown" if as_markdown else "screen"


def _refuse_unknown(names: Sequence[str], runs: int) -> None:
    """Raise UsageError if the report of so many runs has no section of one of these names."""
    known = tuple(RUN) if runs == 1 else SECTIONS
    for name in names:
        if name in known:
            continue
        if name in ONLY_OF_SEVERAL:
            raise UsageError(f"--only: only a report of several runs has the section {name!r}")
        more = "" if runs == 1 else f"; for several: {', '.join(ONLY_OF_SEVERAL)}"
        hint = nearest(name, known) or f"for one run: {', '.join(tuple(RUN))}{more}"
        raise UsageError(f"--only: unknown section {name!r}; {hint}")


def _write(
    compared: RunComparison, loaded: Sequence[Run], csv: Path | None, html: Path | None, figures: Path | None, axis: str
) -> bool:
    """Write the files that were asked for, and say on stderr which; return whether there were any."""
    if csv is not None:
        tell(f"wrote {', '.join(write_csv(compared, csv))} to {csv.resolve()}")
    if html is not None:
        from behavesim.reports.page.html import write_comparison, write_page

        if len(loaded) > 1:
            write_comparison(compared, html)
        else:
            write_page(compared.runs[0], html)
        tell(f"wrote {html.resolve()}")
    if figures is not None:
        drawn = write_charts(paper_charts(compared, loaded, axis), figures)
        tell(f"wrote {', '.join(file.name for file in drawn)} to {figures.resolve()}")
    return any(path is not None for path in (csv, html, figures))


def _show(compared: RunComparison, chosen: Sequence[Metric], full: bool, names: Sequence[str]) -> None:
    """Print a report: the sections with one of `names`; if that is empty, all if `full`, else the first screen."""
    one = compared.runs[0] if len(compared.runs) == 1 else None
    if names:
        shown = [(about, list(sections)) for about, sections in _all_sections(compared, chosen, names)]
        for about, sections in shown:
            show_sections(sections, f"{about}: " if about else "")
        said = {section.name for _, sections in shown for section in sections}
        if silent := [name for name in names if name not in said]:
            hint = "; --held-out, or --held-out shifted, tries the programs there" if {*silent} & {*UNTRIED} else ""
            tell(f"nothing to show of {', '.join(silent)}{hint}")
    elif full:
        show_sections(run_sections(one, _values(one, chosen)) if one else comparison_sections(compared), "")
    elif one:
        show_sections(first_screen(one, _values(one, chosen)))
    else:
        show_sections(comparison_sections(compared, FIRST_SECTIONS, is_full=False))


def _all_sections(
    compared: RunComparison, chosen: Sequence[Metric], names: Sequence[str]
) -> list[tuple[str, Iterator[Section]]]:
    """Return what sections are about, "" for a comparison and for a run alone, and those of `names` (empty: all)."""
    is_one = len(compared.runs) == 1
    found = [] if is_one else [("", comparison_sections(compared, names))]
    of_runs = ((run, run_sections(run, _values(run, chosen), names)) for run in compared.runs)
    return [*found, *(("" if is_one else run.summary.run, sections) for run, sections in of_runs)]


def _values(run: RunReport, chosen: Sequence[Metric]) -> Mapping[Metric, float | None]:
    """Return a run's values of the chosen metrics, None for one that is unknown."""
    return {metric: run.metrics[metric.name] for metric in chosen}
