"""Print the report of one run: its tables, its convergence curve, and the dendrogram of its clusters."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim.analysis.report import RunReport
from behavesim.analysis.table import SCORE, Table
from behavesim.reports.curve import convergence
from behavesim.reports.dendrogram import dendrogram
from behavesim.reports.program import named
from behavesim.reports.terminal import show, show_lines, width

WIDEST = 100
"""Largest width of a drawing, in characters."""
HEIGHT = 8
"""Height of the convergence curve, in lines."""


def show_run(run: RunReport, summary: Table) -> None:
    """Print the report of a run on stdout, `summary` first."""
    show([summary])
    across = min(WIDEST, width())
    bests = [(each.asked, each.score) for each in run.convergence if each.score is not None]
    if bests:
        show_lines("convergence: the best score", convergence(bests, run.convergence[-1].asked, across, HEIGHT))
    for table in run.tables():
        show([table])
        if table.name == "clusters" and run.joins:
            show_lines("dendrogram of the clusters (average linkage)", dendrogram(_labels(run), run.joins, across))


def _labels(run: RunReport) -> Sequence[str]:
    """Return a label for each cluster: its number, its size, its medoid and its best score."""
    return [
        f"{number}: {each.size} like {named(each.medoid)}, best {SCORE.text(each.best.score)}"
        for number, each in enumerate(run.clusters, 1)
    ]
