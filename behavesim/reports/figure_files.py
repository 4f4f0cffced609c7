"""Write the figures of a report as files; the file names depend only on what is drawn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.analysis.comparison import RunComparison
from behavesim.analysis.diversity import DiversityAt
from behavesim.analysis.report import RunReport
from behavesim.analysis.run import Run
from behavesim.reports.comparison import family_names
from behavesim.reports.figures import column_figure, draw_diversity, draw_groups, draw_ranks, draw_run, write_figure
from behavesim.reports.plots import Plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BESIDE = 3
"""Largest number of runs in the diversity figure; with more its boxes are too narrow to read."""


def write_figures(compared: RunComparison, runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write the figures of some runs to `folder` as PDF and SVG, and return the files.

    Raises UsageError if the folder cannot be written.
    """
    return [file for name, figure in _drawn(compared, runs) for file in write_figure(figure, folder, name)]


def _drawn(compared: RunComparison, runs: Sequence[Run]) -> Iterator[tuple[str, Figure]]:
    if len(runs) == 1:
        yield from _of_run(compared, runs[0])
    for entry, on in zip(compared.tasks, family_names(compared.tasks), strict=True):
        figure, axes = column_figure()
        draw_groups(axes, [group for group in compared.groups if group.family == (entry.task, entry.instances)])
        yield "-".join(["convergence", *re.findall(r"[\w.+-]+", on)]), figure
    over_time = _diversity_by_name(compared.runs)
    if 1 <= len(over_time) <= BESIDE:
        figure, axes = column_figure(widths=2)
        draw_diversity(axes, over_time)
        yield "diversity", figure
    if compared.ranks is not None:
        figure, axes = column_figure(0.8 + 0.25 * len(compared.ranks.means))
        draw_ranks(axes, compared.ranks)
        yield "ranks", figure


def _diversity_by_name(runs: Sequence[RunReport]) -> dict[str, Sequence[DiversityAt]]:
    """Return the diversity of each run that has any, by the run's name, or by its folder where two have one name."""
    known = {run.origin.folder: run for run in runs if run.diversity_over_time}
    count = Counter(run.summary.run for run in known.values())
    return {
        run.summary.run if count[run.summary.run] == 1 else str(folder): run.diversity_over_time
        for folder, run in known.items()
    }


def _of_run(compared: RunComparison, run: Run) -> Iterator[tuple[str, Figure]]:
    (report,) = compared.runs
    figure, axes = column_figure()
    draw_run(axes, report.improvements, report.convergence)
    yield "convergence", figure
    if report.distinct.programs > 1:
        figure, axes = column_figure(4.0)
        Plots(run).dendrogram(axes)
        yield "dendrogram", figure
