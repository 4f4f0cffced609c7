"""The list of built-in metrics, used by every table, file and figure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from behavesim.analysis.diversity import Diversity
from behavesim.analysis.held_out import HeldOut
from behavesim.analysis.metric import Metric
from behavesim.analysis.report import RunReport
from behavesim.analysis.scored import Scored
from behavesim.analysis.table import DISTANCE, FRACTION, MEAN_COUNT, RATIO, SCORE


def _gap(program: Scored | None) -> float | None:
    return None if program is None else program.gap


def _score(program: Scored | None) -> float | None:
    return None if program is None else program.score


def _tried(of: Callable[[HeldOut], float | None]) -> Callable[[RunReport], float | None]:
    return lambda run: None if run.held_out is None else of(run.held_out)


def _last(of: Callable[[Diversity], float | None]) -> Callable[[RunReport], float | None]:
    """Take the diversity at the last tenth of the budget, since a restart after it may have emptied islands."""
    return lambda run: of(run.diversity_over_time[-1]) if run.diversity_over_time else None


CHOICE_GAP = Metric(
    "held_out_choice_gap", "gap", FRACTION, "higher", _tried(lambda tried: tried.recommended_gap_advantage), None
)
CHOICE_GAIN = Metric(
    "held_out_choice",
    "gain on the template",
    FRACTION,
    "higher",
    _tried(lambda tried: tried.recommended_gain_advantage),
    None,
)


def reaching(name: str) -> Metric | None:
    """Return the metric of a name such as `candidates_to_5` or `candidates_to_2_5`; None for any other name.

    Its value is the number of candidates until the best had a gap of 5 % (2.5 %) or less, None if that never happened.
    It has no better end and is not tested, since means would leave out the runs without a value.
    """
    found = re.fullmatch(r"candidates_to_(\d+)(?:_(\d+))?", name)
    if found is None:
        return None
    per_cent = float(f"{found[1]}.{found[2] or 0}")

    def asked(run: RunReport) -> int | None:
        return next(
            (each.asked for each in run.improvements if each.gap is not None and 100 * each.gap <= per_cent), None
        )

    return Metric(name, f"candidates to a gap of {per_cent:g} %", MEAN_COUNT, None, asked, "search")


METRICS = (
    Metric("best_gap", "best gap", FRACTION, "lower", lambda run: _gap(run.summary.best), "search"),
    Metric("top10_gap", "top-10 gap", FRACTION, "lower", lambda run: run.summary.top10_gap, "search"),
    Metric(
        "recommended_gap", "recommended gap", FRACTION, "lower", lambda run: _gap(run.summary.recommended), "search"
    ),
    Metric("best_score", "best score", SCORE, "task", lambda run: _score(run.summary.best), "search", "best_gap"),
    Metric("portfolio_gap", "gap of ten together", FRACTION, "lower", lambda run: run.portfolio.together_gap, "search"),
    Metric(
        "held_out_best_gap", "held-out gap of best", FRACTION, "lower", _tried(lambda tried: tried.best.gap), "held-out"
    ),
    Metric(
        "held_out_top10_gap", "held-out gap of top 10", FRACTION, "lower", _tried(lambda tried: tried.top10.gap), None
    ),
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
        None,
        "held_out_top10_gap",
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
    Metric("inter_distance", "distance between islands", DISTANCE, None, _last(lambda then: then.inter), None),
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
"""All built-in metrics, in the order of tables and files; users' own metrics follow them (`own_metrics`)."""

BY_NAME: Mapping[str, Metric] = {metric.name: metric for metric in METRICS}
"""The built-in metrics by name."""
