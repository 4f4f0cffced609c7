"""The figure of the study of sets: how much more each rival loses than a set of `set-search`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.analysis.statistics import SIGNIFICANCE
from behavesim.analysis.table import POINTS
from behavesim.reports.drawing import new_figure
from behavesim.reports.figures import COLOURS, write_figure
from behavesim.studies.sets.study import Tested

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

APART = 0.16
"""Distance of a row's two marks from its middle, in rows: fresh instances above, shifted ones below."""
SPLITS = {"held-out": ("fresh", -APART, COLOURS[0], "o"), "shifted": ("shifted", APART, COLOURS[1], "s")}
"""Name in the legend, offset, colour and marker of each split."""


def draw(tests: Sequence[Tested], folder: Path) -> list[Path]:
    """Draw the tests of the largest sets into sets.pdf and sets.svg; return the paths.

    There must be a test. Makes the folder if it is missing. Raises UsageError if matplotlib is not installed or the
    files cannot be written.
    """
    return write_figure(drawn(tests), folder, "sets")


def drawn(tests: Sequence[Tested]) -> Figure:
    """Return the figure of the tests of the largest sets: a panel for each task, a row for each rival.

    There must be a test. Raises UsageError if matplotlib is not installed.
    """
    size = max(each.programs for each in tests)
    shown = [each for each in tests if each.programs == size]
    tasks, rivals = (list(dict.fromkeys(names)) for names in zip(*((e.task, e.other) for e in shown), strict=True))
    figure = new_figure(2.2 + 1.5 * len(tasks), 1.3 + 0.22 * len(rivals))
    panels = figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
    for axes, task in zip(panels, tasks, strict=True):
        _draw_task(axes, [each for each in shown if each.task == task], rivals)
        axes.set_title(task, fontsize=8)
    panels[0].set_yticks(range(len(rivals)), rivals)
    panels[0].set_ylim(len(rivals) - 0.5, -0.5)
    figure.supxlabel(f"loss of {size} programs less that of set-search's {size}, points", size=8)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, fontsize=7, frameon=False)
    return figure


def _draw_task(axes: Axes, tests: Sequence[Tested], rivals: Sequence[str]) -> None:
    """Draw a task's mean differences and 95 % intervals, a row for each rival, filled if significant when corrected."""
    axes.axvline(0.0, color="0.6", linewidth=0.8)
    for split, (name, offset, colour, marker) in SPLITS.items():
        for each in (test for test in tests if test.split == split):
            mean = POINTS.factor * each.difference.mean
            ends = (each.difference.low, each.difference.high)
            is_shown = each.p_holm is not None and each.p_holm < SIGNIFICANCE
            axes.errorbar(
                mean,
                rivals.index(each.other) + offset,
                # an interval is unknown for fewer than two seeds
                xerr=[[0.0 if end is None else abs(POINTS.factor * end - mean)] for end in ends],
                fmt=marker,
                color=colour,
                markerfacecolor=colour if is_shown else "white",
                markersize=4,
                linewidth=1,
            )
        axes.plot([], [], marker, color=colour, markersize=4, label=name)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
