"""Draw a run in a notebook, on given or new axes of matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from behavesim.analysis.behaviour_map import behaviour_map
from behavesim.analysis.convergence import convergence, improvements
from behavesim.analysis.islands import SAMPLE, diversity_over_time
from behavesim.analysis.run import Run
from behavesim.analysis.summary import TOP
from behavesim.base.errors import UsageError
from behavesim.reports.drawing import check_matplotlib
from behavesim.reports.figures import draw_diversity, draw_map, draw_portfolio, draw_run, draw_tree, say_whose

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWN = 30
"""Default of the largest number of programs in a dendrogram, as in the paper."""


@dataclass(frozen=True)
class Plots:
    """The plots of a run. Each method draws on the given axes, or on new ones of pyplot if None, and returns them.

    Without matplotlib, new axes raise UsageError.
    """

    run: Run

    def convergence(self, axes: Axes | None = None) -> Axes:
        """Draw the gap of the best program and the mean gap of the ten best, in %, over the number of candidates.

        If gaps are unknown, only the best score is drawn.
        """
        axes = axes_or_new(axes)
        draw_run(axes, improvements(self.run), convergence(self.run))
        say_whose(axes, [self.run.score_source])
        return axes

    def diversity(self, axes: Axes | None = None) -> Axes:
        """Draw distances inside islands and between them after each tenth of the budget reached so far.

        Raises UsageError if the run has not reached the first tenth or its task cannot be loaded.
        """
        moments = diversity_over_time(self.run, SAMPLE)
        if not moments:
            raise UsageError(f"run {self.run.folder.run} has no islands yet, so there is no diversity to draw")
        axes = axes_or_new(axes)
        draw_diversity(axes, {self.run.folder.run: moments})
        return axes

    def dendrogram(self, axes: Axes | None = None, count: int = DRAWN) -> Axes:
        """Draw the dendrogram, by behaviour, of the `count` best distinct programs, or of all if there are fewer.

        Raises UsageError if `count` is less than 2, if the run has fewer programs than two, or if its task cannot be
        loaded.
        """
        name, candidates = self.run.folder.run, [program.candidate for program in self.run.ranked()[:count]]
        if len(candidates) < 2:
            raise UsageError(f"a dendrogram takes two programs or more; run {name} has {len(candidates)}")
        axes = axes_or_new(axes)
        draw_tree(axes, self.run.matrix(candidates), list(map(str, candidates)))
        return axes

    def map(self, axes: Axes | None = None) -> Axes:
        """Draw the map of behaviours, coloured by rank; the best, the recommended program and the template are named.

        Raises UsageError if no candidate is feasible or the task cannot be loaded.
        """
        places = behaviour_map(self.run).places
        if not places:
            raise UsageError(f"run {self.run.folder.run} has no feasible candidate, so there is no map to draw")
        recommended = self.run.recommended
        axes = axes_or_new(axes)
        draw_map(axes, places, self.run.state.objective, None if recommended is None else recommended.candidate)
        say_whose(axes, [self.run.score_source])
        return axes

    def portfolio(self, axes: Axes | None = None, count: int = TOP) -> Axes:
        """Draw what the best of the first k programs of a portfolio reaches on the search's instances, k up to `count`.

        Raises UsageError if no candidate is feasible, the task cannot be loaded, or `count` is less than 1.
        """
        chosen = self.run.portfolio(count)
        if not chosen.members:
            raise UsageError(f"run {self.run.folder.run} has no feasible candidate, so there is no portfolio to draw")
        axes = axes_or_new(axes)
        draw_portfolio(axes, chosen)
        say_whose(axes, [self.run.score_source])
        return axes


def axes_or_new(given: Axes | None) -> Axes:
    """Return the given axes, or those of a new figure of pyplot if None.

    Raises UsageError if new ones are needed and matplotlib is not installed.
    """
    if given is not None:
        return given
    check_matplotlib()
    from matplotlib import pyplot

    return pyplot.subplots()[1]
