"""The figures of a report as files, under names that stay the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.analysis.comparison import RunComparison
from behavesim.analysis.run import Run
from behavesim.reports.comparison import family_names
from behavesim.reports.figures import column_figure, draw_diversity, draw_groups, draw_ranks, draw_run, written
from behavesim.reports.plots import Plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BESIDE = 3
"""Runs whose islands are drawn in one figure, at most."""


def write_figures(compared: RunComparison, runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write what can be drawn of some runs as PDF and SVG, and name the files; raises UsageError where it cannot."""
    return [file for name, figure in _drawn(compared, runs) for file in written(figure, folder, name)]


def _drawn(compared: RunComparison, runs: Sequence[Run]) -> Iterator[tuple[str, Figure]]:
    if len(runs) == 1:
        yield from _of_run(compared, runs[0])
    by_name = {report.summary.run: report for report in compared.runs}
    for entry, on in zip(compared.tasks, family_names(compared.tasks), strict=True):
        figure, axes = column_figure()
        draw_groups(axes, [group for group in compared.groups if group.family == (entry.task, entry.instances)])
        yield "-".join(["convergence", *re.findall(r"[\w.+-]+", on)]), figure
    over_time = {name: report.diversity_over_time for name, report in by_name.items() if report.diversity_over_time}
    if 1 <= len(over_time) <= BESIDE:
        figure, axes = column_figure(widths=2)
        draw_diversity(axes, over_time)
        yield "diversity", figure
    if compared.ranks is not None:
        figure, axes = column_figure(0.8 + 0.25 * len(compared.ranks.means))
        draw_ranks(axes, compared.ranks)
        yield "ranks", figure


def _of_run(compared: RunComparison, run: Run) -> Iterator[tuple[str, Figure]]:
    (report,) = compared.runs
    figure, axes = column_figure()
    draw_run(axes, report.improvements, report.convergence)
    yield "convergence", figure
    if report.distinct.programs > 1:
        figure, axes = column_figure(4.0)
        Plots(run).dendrogram(axes)
        yield "dendrogram", figure
