"""Write the figures of a report as files; the file names depend only on what is drawn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.analysis.comparison import RunComparison
from behavesim.analysis.groups import Ranks
from behavesim.analysis.islands import DiversityAt
from behavesim.analysis.report import RunReport
from behavesim.analysis.run import Run
from behavesim.reports.comparison_tables import family_names
from behavesim.reports.figures import column_figure, draw_diversity, draw_groups, draw_ranks, say_whose, write_figure
from behavesim.reports.plots import Plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BESIDE = 3
"""Largest number of runs in the diversity figure. If more have a diversity, there is no such figure: its boxes would be
too narrow to read."""


def write_figures(compared: RunComparison, runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write the figures of some runs to `folder` as PDF and SVG, and return the files.

    They are the convergence of each task's groups, the runs' diversity if one to three runs have one, and the groups'
    ranks if there are any. One run alone gets its own convergence and, if it has two programs or more, the dendrogram
    of the best. `compared` is the comparison of the runs. Raises UsageError if the folder cannot be written, the task
    of a single run cannot be loaded, or matplotlib is not installed.
    """
    files = []
    for name, size, draw in _figures(compared, runs):
        figure, axes = column_figure(*size)
        draw(axes)
        files += write_figure(figure, folder, name)
    return files


def _figures(
    compared: RunComparison, runs: Sequence[Run]
) -> Iterator[tuple[str, tuple[float, ...], Callable[[Axes], object]]]:
    """Yield each figure's file name, the arguments of `column_figure`, and the function that draws it."""
    if len(runs) == 1:
        plots = Plots(runs[0])
        yield "convergence", (), plots.convergence
        if compared.runs[0].distinct.programs > 1:
            yield "dendrogram", (4.0,), plots.dendrogram
    for entry, on in zip(compared.tasks, family_names(compared.tasks), strict=True):
        name = "-".join(["convergence", *re.findall(r"[\w.+-]+", on)])  # `on` may be a path
        yield name, (), partial(draw_groups, groups=compared.groups_of(entry))
    over_time = _diversity_by_name(compared.runs)
    if 1 <= len(over_time) <= BESIDE:
        yield "diversity", (2.4, 2), partial(draw_diversity, runs=over_time)
    if compared.ranks is not None:
        yield "ranks", (0.8 + 0.25 * len(compared.ranks.means),), partial(_draw_ranks, compared, compared.ranks)


def _draw_ranks(compared: RunComparison, ranks: Ranks, axes: Axes) -> None:
    draw_ranks(axes, ranks)
    say_whose(axes, (entry.score_source for entry in compared.tasks))


def _diversity_by_name(runs: Sequence[RunReport]) -> dict[str, Sequence[DiversityAt]]:
    """Return the diversity of each run that has any, by the run's name, or by its folder where two have one name."""
    known = [run for run in runs if run.diversity_over_time]
    count = Counter(run.summary.run for run in known)
    names = [run.summary.run if count[run.summary.run] == 1 else str(run.origin.folder) for run in known]
    return dict(zip(names, (run.diversity_over_time for run in known), strict=True))
