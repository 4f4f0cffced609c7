"""Draw a run in a notebook, on given or new axes of matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from behavesim.analysis.convergence import convergence, improvements
from behavesim.analysis.diversity import SAMPLE, diversity_over_time
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.reports.figures import draw_diversity, draw_run, draw_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWN = 30
"""Number of programs in a dendrogram, as in the paper."""


@dataclass(frozen=True)
class Plots:
    """The plots of a run. Each method draws on the given axes, or on new ones of pyplot, and returns them."""

    run: Run

    def convergence(self, axes: Axes | None = None) -> Axes:
        """Draw the best program and the mean of the ten best over the number of candidates."""
        axes = _axes(axes)
        draw_run(axes, improvements(self.run), convergence(self.run))
        return axes

    def diversity(self, axes: Axes | None = None) -> Axes:
        """Draw distances inside islands and between them at each tenth of the budget.

        Raises UsageError if the run has no islands yet.
        """
        moments = diversity_over_time(self.run, SAMPLE)
        if not moments:
            raise UsageError(f"run {self.run.folder.run} has no islands yet, so there is no diversity to draw")
        axes = _axes(axes)
        draw_diversity(axes, {self.run.folder.run: moments})
        return axes

    def dendrogram(self, axes: Axes | None = None, count: int = DRAWN) -> Axes:
        """Draw the dendrogram of the `count` best distinct programs by behaviour.

        Raises UsageError if the run has fewer than two.
        """
        candidates = [program.candidate for program in self.run.ranked()[:count]]
        if len(candidates) < 2:
            raise UsageError(
                f"a dendrogram takes two programs or more; run {self.run.folder.run} has {len(candidates)}"
            )
        axes = _axes(axes)
        draw_tree(axes, self.run.matrix(candidates), list(map(str, candidates)))
        return axes


def _axes(given: Axes | None) -> Axes:
    if given is not None:
        return given
    from matplotlib import pyplot

    return pyplot.subplots()[1]
