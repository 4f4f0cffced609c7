"""The numbers by which runs are compared: one list, of which every table, file and figure is a view."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from behavesim.analysis.diversity import Diversity
from behavesim.analysis.held_out import HeldOut
from behavesim.analysis.report import RunReport
from behavesim.analysis.scored import Scored
from behavesim.analysis.table import DISTANCE, FRACTION, MEAN_COUNT, RATIO, SCORE, Column, Unit

Direction = Literal["lower", "higher", "task"]
"""Which values are better; `task`: those that the task's objective prefers."""

About = Literal["search", "held-out", "behaviour"]
"""What a metric tells of: programs on the instances of the search, on held-out ones, or how much of it is different."""


@dataclass(frozen=True)
class Metric:
    """One number of a run's report, or None where the run has none.

    `direction` is None where neither end is better. People see it in the table of what it is about; where that is None,
    only files hold it. It is left out where the metric called `instead_of` is known.
    """

    name: str
    title: str
    unit: Unit
    direction: Direction | None
    of: Callable[[RunReport], float | None]
    about: About | None = None
    instead_of: str | None = None

    @property
    def column(self) -> Column:
        """The column in which it stands."""
        return Column(self.name, self.unit, self.title)

    def is_shown(self, known: Collection[str]) -> bool:
        """Whether people see it where the metrics of these names have values."""
        return self.name in known and self.instead_of not in known


def _gap(program: Scored | None) -> float | None:
    return None if program is None else program.gap


def _score(program: Scored | None) -> float | None:
    return None if program is None else program.score


def _tried(of: Callable[[HeldOut], float | None]) -> Callable[[RunReport], float | None]:
    return lambda run: None if run.held_out is None else of(run.held_out)


def _last(of: Callable[[Diversity], float | None]) -> Callable[[RunReport], float | None]:
    """At the last tenth of the budget: a restart may follow, which says nothing of what was kept apart."""
    return lambda run: of(run.diversity_over_time[-1]) if run.diversity_over_time else None


CHOICE_GAP = Metric("held_out_choice_gap", "gap", FRACTION, "higher", _tried(lambda tried: tried.choice_gap))
CHOICE_GAIN = Metric("held_out_choice", "gain on the template", FRACTION, "higher", _tried(lambda tried: tried.choice))

METRICS = (
    Metric("best_gap", "best gap", FRACTION, "lower", lambda run: _gap(run.summary.best), "search"),
    Metric("top10_gap", "top-10 gap", FRACTION, "lower", lambda run: run.summary.top10_gap, "search"),
    Metric(
        "recommended_gap", "recommended gap", FRACTION, "lower", lambda run: _gap(run.summary.recommended), "search"
    ),
    Metric("best_score", "best score", SCORE, "task", lambda run: _score(run.summary.best), "search", "best_gap"),
    Metric(
        "held_out_best_gap", "held-out gap of best", FRACTION, "lower", _tried(lambda tried: tried.best.gap), "held-out"
    ),
    Metric("held_out_top10_gap", "held-out gap of top 10", FRACTION, "lower", _tried(lambda tried: tried.top10.gap)),
    Metric(
        "held_out_recommended_gap",
        "held-out gap of recommended",
        FRACTION,
        "lower",
        _tried(lambda tried: tried.recommended.gap),
        "held-out",
    ),
    Metric(
        "held_out_best",
        "held-out gain of best",
        FRACTION,
        "higher",
        _tried(lambda tried: tried.best.improvement),
        "held-out",
        "held_out_best_gap",
    ),
    Metric(
        "held_out_top10",
        "held-out gain of top 10",
        FRACTION,
        "higher",
        _tried(lambda tried: tried.top10.improvement),
        instead_of="held_out_top10_gap",
    ),
    Metric(
        "held_out_recommended",
        "held-out gain of recommended",
        FRACTION,
        "higher",
        _tried(lambda tried: tried.recommended.improvement),
        "held-out",
        "held_out_recommended_gap",
    ),
    CHOICE_GAP,
    CHOICE_GAIN,
    Metric("intra_distance", "distance inside islands", DISTANCE, None, _last(lambda then: then.inside), "behaviour"),
    Metric("inter_distance", "distance between islands", DISTANCE, None, _last(lambda then: then.inter)),
    Metric("separation", "between / inside", RATIO, None, _last(lambda then: then.separation), "behaviour"),
    Metric(
        "repeated_programs",
        "repeated programs",
        FRACTION,
        None,
        lambda run: run.distinct.repeated_programs,
        "behaviour",
    ),
    Metric(
        "repeated_behaviours",
        "programs that repeat a behaviour",
        FRACTION,
        None,
        lambda run: run.distinct.repeated_behaviours,
        "behaviour",
    ),
    Metric("top10_behaviours", "behaviours of the top 10", MEAN_COUNT, None, lambda run: run.distinct.top, "behaviour"),
)
"""All metrics, in the order in which they stand everywhere."""

BY_NAME: Mapping[str, Metric] = {metric.name: metric for metric in METRICS}
