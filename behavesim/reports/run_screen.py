"""The report of one run on a terminal: one screen with what matters, or all its sections."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from behavesim.analysis.behaviours import top_table
from behavesim.analysis.failures import failures_table
from behavesim.analysis.metrics import Metric
from behavesim.analysis.report import RunReport
from behavesim.analysis.splits import splits_table
from behavesim.analysis.table import SCORE
from behavesim.base.text import counted
from behavesim.reports.next_steps import command_lines, next_steps
from behavesim.reports.sections import Section, of_tables
from behavesim.reports.summary_tables import headline_table, summary_table
from behavesim.reports.terminal import lines_taken, show_lines, show_text, width
from behavesim.reports.text_drawings import convergence, dendrogram, from_template
from behavesim.reports.words import named
from behavesim.store.folder import RunFolder

WIDEST = 100
"""Largest width of a drawing, in characters: wider ones are hard to follow by eye."""
HEIGHT = 8
"""Height of the convergence curve, in lines."""
LONGEST = 12
"""Most lines of the terminal for a program on the first screen; if it has over one more, the rest is cut off, and
`show` has all of it."""
FIRST = 5
"""Most behaviours on the first screen: with them, results, code and commands have room on 45 lines of 80 columns."""
RUN_SECTIONS = (
    *("summary", "splits", "code", "convergence", "top", "metrics", "islands", "clusters", "dendrogram"),
    *("portfolio", "portfolio_scores", "failures", "held_out", "shifted", "next"),
)
"""The names of all sections of one run, in their order; a report leaves out those that have nothing to say."""

Chosen = Mapping[Metric, float | None]
"""The run's values of the metrics that a person asked for; None for one that is unknown."""


def first_screen(run: RunReport, metrics: Chosen) -> list[Section]:
    """Return what the report of a run says first: results, the best program, the best behaviours, the next commands.

    Without a feasible program it says why candidates fail.
    """
    clusters = [each.members for each in run.clusters]
    sizes = ", ".join(str(len(members)) for members in clusters)
    caption = f"clusters: {len(clusters)} groups that behave alike, of {sizes} programs" if len(clusters) > 1 else ""
    top = replace(top_table(run.top[:FIRST], clusters, caption), title="the best behaviours")
    return [
        *of_tables([headline_table(run.summary, run.distinct, metrics)]),
        *of_tables([] if run.top else [failures_table(run.failures)]),  # what else could be said of such a run
        *_code(run, LONGEST),
        *of_tables([splits_table(run.splits), top.without("programs", "island", "operator", "model", "parents")]),
        *_next(run, is_full=False),
    ]


def full_report(run: RunReport, metrics: Chosen) -> list[Section]:
    """Return all sections of the report of a run, in the order of RUN_SECTIONS; tables it does not name come late."""
    found = [
        *of_tables([summary_table(run.summary, metrics), *run.tables()]),
        *_code(run),
        *_convergence(run),
        *_dendrogram(run),
        *_next(run, is_full=True),
    ]
    return sorted(found, key=lambda each: RUN_SECTIONS.index(each.name if each.name in RUN_SECTIONS else "failures"))


def _code(run: RunReport, most: int | None = None) -> list[Section]:
    """Return the section of the best program, cut after `most` lines of the terminal; none without a feasible program.

    The program is shown whole if `most` is None, or if only one line would be cut.
    """
    if not run.top:
        return []
    best = run.top[0]
    lines = best.source.strip("\n").splitlines()
    ends = list(accumulate(map(lines_taken, lines)))
    # A cut that saves one line saves nothing: the line that says how much is missing takes its place.
    count = len(lines) if most is None or ends[-1] <= most + 1 else bisect_right(ends, most)
    rest = len(lines) - count
    more = f"… {counted(rest, 'more line')}: behavesim show {_name(run)} {best.candidate}"
    folder = RunFolder(run.origin.folder)
    where = f" ({folder.best})" if folder.best.exists() else ""
    title = f"the best program: {named(best.candidate)}{where}"
    if not run.summary.beats_template:  # then best.py holds the template
        title = f"the best candidate: {named(best.candidate)}, which is no better than the template"

    def show() -> None:
        show_text("\n".join(lines[:count]), "python")
        show_lines("", [more] if rest else ())

    return [Section("code", title, show)]


def _convergence(run: RunReport) -> list[Section]:
    """Return the section of the convergence curve; none without a feasible candidate."""
    if not run.improvements:
        return []
    template, asked = run.summary.template, run.convergence[-1].asked
    new = [(each.candidate, each.score) for each in run.improvements]
    bests = from_template(None if template is None else template.score, new, run.summary.gain)
    return [_drawing("convergence", "the best score so far", lambda across: convergence(bests, asked, across, HEIGHT))]


def _dendrogram(run: RunReport) -> list[Section]:
    """Return the section of the dendrogram of the clusters; none for fewer than two clusters."""
    if not run.joins:
        return []
    labels = [
        f"cluster {number}: {counted(each.size, 'program')}, best {SCORE.text(each.best.score)}"
        for number, each in enumerate(run.clusters, 1)
    ]
    title = "how the clusters join, and at which distance (average linkage)"
    return [_drawing("dendrogram", title, lambda across: dendrogram(labels, run.joins, across))]


def _drawing(name: str, title: str, lines: Callable[[int], Sequence[str]]) -> Section:
    """Return the section of a drawing; `lines` returns its lines for a width in characters."""
    return Section(name, title, lambda: show_lines("", lines(min(WIDEST, width()))))


def _next(run: RunReport, is_full: bool) -> list[Section]:
    """Return the section of the commands to use next."""
    steps = next_steps(run, _name(run), is_full)
    return [Section("next", "", lambda: show_lines("", command_lines(steps, width())))]


def _name(run: RunReport) -> str:
    return RunFolder(run.origin.folder).argument
