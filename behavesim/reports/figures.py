"""The charts of runs for notebooks and papers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from behavesim.analysis.behaviours import behaviour_map
from behavesim.analysis.comparison import RunComparison
from behavesim.analysis.convergence import SAMPLE, convergence, diversity_over_time, improvements
from behavesim.analysis.operators import moments
from behavesim.analysis.run import Run
from behavesim.analysis.table import TOP
from behavesim.base.errors import UsageError
from behavesim.base.text import mark
from behavesim.reports.chart import Chart
from behavesim.reports.comparison_sections import curves_chart, family_names
from behavesim.reports.curves import convergence_chart, diversity_chart, portfolio_chart, ranks_chart
from behavesim.reports.maps import below, heat_chart, leaves_of, map_chart, tree_chart
from behavesim.similarity.clustering import joins

# Default of the largest number of programs in a dendrogram, as in the paper.
DRAWN = 30
# Largest number of runs in one figure of diversity: the boxes of more would be too narrow to read.
BESIDE = 3


@dataclass(frozen=True)
class Plots:
    """The charts of a run: a notebook shows them, `write` writes them as PNG, SVG or PDF."""

    run: Run

    def convergence(self, axis: str = "candidates") -> Chart:
        """Return the best score or gap, the mean of the ten best, and all candidates, over the run.

        The axis across counts "candidates", "requests", "US dollars", "CPU seconds" or "hours". Raises UsageError if no
        candidate is feasible, or if that is not known.
        """
        found, run = improvements(self.run), self.run
        self._refuse(not found, "convergence")
        template = run.template.score if run.template is not None else None
        dots = [{"candidate": each.candidate, "score": each.score, "gap": run.gap(each.score)} for each in run.feasible]
        used = moments(run) if axis != "candidates" else ()
        chart = convergence_chart(found, convergence(run), run.state.objective, template, dots, used, axis=axis)
        return replace(chart, title=f"{chart.title}{mark(run.score_source)}")

    def diversity(self) -> Chart:
        """Return distances inside islands and between them after each tenth of the budget reached so far.

        Raises UsageError if the run has not reached the first tenth.
        """
        moments = diversity_over_time(self.run, SAMPLE)
        if not moments:
            raise UsageError(f"run {self.run.folder.run} has no islands yet, so there is no diversity to draw")
        return diversity_chart({self.run.folder.run: moments})

    def dendrogram(self, count: int = DRAWN) -> Chart:
        """Return the tree, by behaviour, of the `count` best distinct programs.

        Raises UsageError if there are fewer than two.
        """
        name, candidates = self.run.folder.run, [program.candidate for program in self.run.ranked()[:count]]
        if len(candidates) < 2:
            raise UsageError(f"a dendrogram takes two programs or more; run {name} has {len(candidates)}")
        merged = joins(1.0 - self.run.matrix(candidates), list(range(len(candidates))))
        title = f"The {len(candidates)} best programs by behaviour"
        return tree_chart("dendrogram", title, list(map(str, candidates)), merged, candidates)

    def map(self) -> Chart:
        """Return the map of behaviours, coloured by rank; the best, the recommended program and the template are named.

        Raises UsageError if no candidate is feasible.
        """
        found, recommended = behaviour_map(self.run), self.run.recommended
        self._refuse(not found.places, "map")
        return map_chart(found, self.run.state.objective, None if recommended is None else recommended.candidate)

    def portfolio(self, count: int = TOP) -> Chart:
        """Return what the best of the first k programs of a portfolio reaches on the search's instances, k ≤ `count`.

        Raises UsageError if no candidate is feasible.
        """
        chosen = self.run.portfolio(count)
        self._refuse(not chosen.members, "portfolio")
        return portfolio_chart(chosen)

    def _refuse(self, is_empty: bool, what: str) -> None:
        if is_empty:
            raise UsageError(f"run {self.run.folder.run} has no feasible candidate, so there is no {what} to draw")


def heatmap(labels: Sequence[str], similarities: Sequence[Sequence[float]], title: str) -> Chart:
    """Return the tree of N ≥ 2 programs by average linkage, and below it their (N, N) similarities in its order."""
    import numpy as np

    merged = joins(1.0 - np.asarray(similarities, float), list(range(len(labels))))
    order, _ = leaves_of(merged, len(labels))
    return below(
        "similarity",
        title,
        tree_chart("tree", title, labels, merged),
        heat_chart("heat", title, labels, similarities, order),
    )


def paper_charts(compared: RunComparison, runs: Sequence[Run], axis: str = "candidates") -> Iterator[Chart]:
    """Yield the figures of runs for a paper, convergence over `axis`; their names depend only on what is drawn.

    They are the convergence of each task's groups, the runs' diversity if one to three runs have one, and the groups'
    ranks. One run alone gets its own convergence and the dendrogram of the best.
    """
    if len(runs) == 1:
        if runs[0].best is not None:
            yield Plots(runs[0]).convergence(axis)
        if compared.runs[0].distinct.programs > 1:
            yield Plots(runs[0]).dendrogram()
    for task, on in zip(compared.tasks, family_names(compared.tasks), strict=True):
        name = "-".join(["convergence", *re.findall(r"[\w.+-]+", on)])  # `on` may be a path
        chart = curves_chart(compared, task, name, axis)
        yield from [] if chart is None else [chart]
    known = [run for run in compared.runs if run.diversity_over_time]
    if 1 <= len(known) <= BESIDE:
        yield diversity_chart({run.summary.run: run.diversity_over_time for run in known})
    if compared.ranks is not None:
        yield ranks_chart(compared.ranks)
