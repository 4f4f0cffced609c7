"""The report of one run on a terminal: one screen with what matters, or all its sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from behavesim.analysis.clusters import clusters_table
from behavesim.analysis.failures import failures_table
from behavesim.analysis.metric import Metric
from behavesim.analysis.report import RunReport
from behavesim.analysis.scored import top_table
from behavesim.analysis.splits import splits_table
from behavesim.analysis.table import SCORE, Table
from behavesim.base.text import counted
from behavesim.reports.curve import convergence
from behavesim.reports.dendrogram import dendrogram
from behavesim.reports.next_steps import next_steps
from behavesim.reports.sections import Section, of_tables
from behavesim.reports.summary_tables import headline_table, summary_table
from behavesim.reports.terminal import show_code, show_lines, width
from behavesim.reports.words import named
from behavesim.store.folder import RunFolder

WIDEST = 100
"""Largest width of a drawing, in characters: wider ones are hard to follow by eye."""
HEIGHT = 8
"""Height of the convergence curve, in lines."""
LONGEST = 30
"""Largest number of lines of a program on the first screen; the rest is cut off, and `show` has all of it."""
RUN_SECTIONS = (
    *("summary", "splits", "code", "convergence", "top", "metrics", "islands", "clusters", "dendrogram"),
    *("portfolio", "portfolio_wins", "failures", "held_out", "next"),
)
"""The names of all sections of one run, in their order; a report leaves out those that have nothing to say."""

Chosen = Mapping[Metric, float | None]
"""The values of the metrics that a person asked for."""


def first_screen(run: RunReport, metrics: Chosen) -> list[Section]:
    """Return what the report of a run says first: results, the best program, the ten best behaviours, the clusters.

    Without a feasible program it says why candidates fail.
    """
    top = top_table(run.top, [each.members for each in run.clusters], run.distinct.sentence)
    return [
        *of_tables([headline_table(run.summary, run.distinct, metrics)]),
        *of_tables([] if run.top else [failures_table(run.failures)]),  # what else could be said of such a run
        *_code(run, LONGEST),
        *of_tables([splits_table(run.splits), top.without("island", "model", "parents"), clusters_table(run.clusters)]),
        *_next(run),
    ]


def full_report(run: RunReport, metrics: Chosen) -> list[Section]:
    """Return all sections of the report of a run, in the order of RUN_SECTIONS; tables it does not name come late."""
    found = [
        *of_tables([summary_table(run.summary, metrics), *run.tables()]),
        *_code(run),
        *_convergence(run),
        *_dendrogram(run),
        *_next(run),
    ]
    return sorted(found, key=lambda each: RUN_SECTIONS.index(each.name if each.name in RUN_SECTIONS else "failures"))


def _code(run: RunReport, most: int | None = None) -> list[Section]:
    """Return the section of the best program, cut after `most` lines; none without a feasible program."""
    if not run.top:
        return []
    best = run.top[0]
    lines = best.source.strip("\n").splitlines()
    rest = len(lines) - len(lines[:most])
    more = f"… {counted(rest, 'more line')}: behavesim show {_name(run)} {best.candidate}" if rest else ""
    folder = RunFolder(run.origin.folder)
    where = f" ({folder.best})" if folder.best.exists() else ""
    title = f"the best program: {named(best.candidate)}{where}"
    if not run.summary.beats_template:  # then best.py holds the template
        title = f"the best program: the template{where}; the best candidate: {named(best.candidate)}"
    return [Section("code", lambda: show_code(title, "\n".join(lines[:most]), more))]


def _convergence(run: RunReport) -> list[Section]:
    """Return the section of the convergence curve; none without a feasible candidate."""
    bests = [(each.asked, each.score) for each in run.convergence if each.score is not None]
    if not bests:
        return []
    asked = run.convergence[-1].asked
    return [_drawing("convergence", "the best score so far", lambda across: convergence(bests, asked, across, HEIGHT))]


def _dendrogram(run: RunReport) -> list[Section]:
    """Return the section of the dendrogram of the clusters; none for fewer than two clusters."""
    if not run.joins:
        return []
    labels = [
        f"{number}: {each.size} like {named(each.medoid)}, best {SCORE.text(each.best.score)}"
        for number, each in enumerate(run.clusters, 1)
    ]
    title = "how the clusters join (average linkage)"
    return [_drawing("dendrogram", title, lambda across: dendrogram(labels, run.joins, across))]


def _drawing(name: str, title: str, lines: Callable[[int], Sequence[str]]) -> Section:
    """Return the section of a drawing; `lines` returns its lines for a width in characters."""
    return Section(name, lambda: show_lines(title, lines(min(WIDEST, width()))))


def _next(run: RunReport) -> list[Section]:
    return [Section("next", lambda: show_lines("", next_steps(run, _name(run))))]


def _name(run: RunReport) -> str:
    return RunFolder(run.origin.folder).argument


def tables_of(run: RunReport, metrics: Chosen) -> list[Table]:
    """Return all tables of the report of a run, for papers and pages."""
    return [each.table for each in full_report(run, metrics) if each.table is not None]
