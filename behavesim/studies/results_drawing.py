"""The figure of the study of results: the gap of the best program, by task and group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.analysis.statistics import sample
from behavesim.analysis.table import FRACTION
from behavesim.base.errors import UsageError
from behavesim.reports.drawing import new_figure
from behavesim.reports.figures import COLOURS, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Gaps = Mapping[str, Mapping[str, Sequence[float]]]
"""The gaps of the best programs of the runs, as fractions, by the task and the label of the group."""


def draw(gaps: Gaps, folder: Path) -> list[Path]:
    """Draw the gaps into results.pdf and results.svg; return the paths.

    Makes the folder if it is missing. Raises UsageError if no gap is known, if matplotlib is not installed or if the
    files cannot be written.
    """
    if not gaps:
        raise UsageError("no figure is drawn: it shows the gap of each run's best program, and none of these is known")
    return write_figure(drawn(gaps), folder, "results")


def drawn(gaps: Gaps) -> Figure:
    """Return the figure: a panel for each task, a row for each group with its mean and 95 % confidence interval.

    There must be a task. Raises UsageError if matplotlib is not installed.
    """
    groups = list(dict.fromkeys(group for of in gaps.values() for group in of))
    figure = new_figure(2.0 + 1.7 * len(gaps), 0.9 + 0.22 * len(groups))
    panels = figure.subplots(1, len(gaps), sharey=True, squeeze=False)[0]
    for axes, (task, of) in zip(panels, gaps.items(), strict=True):
        _draw_task(axes, of, groups)
        axes.set_title(task, fontsize=8)
    panels[0].set_yticks(range(len(groups)), groups)
    panels[0].set_ylim(len(groups) - 0.5, -0.5)
    figure.supxlabel("gap of the best program, % (mean over seeds, 95 % confidence interval)", size=8)
    return figure


def _draw_task(axes: Axes, gaps: Mapping[str, Sequence[float]], groups: Sequence[str]) -> None:
    """Draw the means and intervals of a task's groups; a group without a known gap has no mark."""
    for group, values in gaps.items():
        found = sample(values)
        mean = FRACTION.factor * found.mean
        # groups with fewer than FEWEST runs have no interval
        reach = [[0.0 if end is None else abs(FRACTION.factor * end - mean)] for end in (found.low, found.high)]
        axes.errorbar(mean, groups.index(group), xerr=reach, fmt="o", color=COLOURS[0], markersize=4, linewidth=1)
    axes.tick_params(labelsize=7)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
