"""The one list of metrics."""

from __future__ import annotations

from dataclasses import replace

import pytest

from behavesim.analysis.behaviours import DistinctCounts
from behavesim.analysis.convergence import DiversityAt
from behavesim.analysis.held_out import HeldOut, HeldOutMean, HeldOutTemplate
from behavesim.analysis.metrics import BY_NAME, METRICS
from behavesim.analysis.report import RunReport
from behavesim.analysis.summary import RecommendedProgram
from behavesim.analysis.table import Scored
from tests.analysis.examples import made

BARE = made("eoh", 0, None)
BARE = replace(BARE, diversity_over_time=(), distinct=DistinctCounts(0, 0, 0, 0))


def full() -> RunReport:
    """A report of which every metric has a value of its own."""
    run = made("eoh", 0, 0.1)
    best, chosen = Scored(1, 4.0, 0.01), RecommendedProgram(2, 5.0, 0.02, 1.0, None, 3)
    return replace(
        run,
        summary=replace(run.summary, best=best, recommended=chosen, top10_gap=0.03),
        diversity_over_time=(DiversityAt((0.9,), 0.9, 1), DiversityAt((0.1, None, 0.3), 0.5, 2)),
        held_out=HeldOut(
            HeldOutTemplate(1.0, 0.9),
            (),
            best=HeldOutMean(improvement=0.11, gap=0.21),
            top10=HeldOutMean(improvement=0.12, gap=0.22),
            recommended=HeldOutMean(improvement=0.14, gap=0.18),
        ),
    )


TAKEN = [
    ("best_gap", 0.01, "lower"),
    ("top10_gap", 0.03, "lower"),
    ("recommended_gap", 0.02, "lower"),
    ("best_score", 4.0, "task"),
    ("held_out_best_gap", 0.21, "lower"),
    ("held_out_top10_gap", 0.22, "lower"),
    ("held_out_recommended_gap", 0.18, "lower"),
    ("held_out_best_gain", 0.11, "higher"),
    ("held_out_top10_gain", 0.12, "higher"),
    ("held_out_recommended_gain", 0.14, "higher"),
    ("held_out_gap_advantage", 0.03, "higher"),
    ("held_out_gain_advantage", 0.03, "higher"),
    ("intra_distance", 0.2, None),
    ("inter_distance", 0.5, None),
    ("separation", 2.5, None),
    ("repeated_programs", 0.1, None),
    ("repeated_behaviours", 1 / 3, None),
    ("top10_behaviours", 4, None),
]


@pytest.mark.parametrize(("name", "value", "direction"), TAKEN)
def test_a_metric_is_taken_from_its_place_in_the_report(name: str, value: float, direction: str | None) -> None:
    assert BY_NAME[name].of(full()) == pytest.approx(value)
    assert BY_NAME[name].direction == direction


def test_what_a_report_does_not_know_is_unknown_and_never_zero() -> None:
    known = {name: value for name, _, _ in TAKEN if (value := BY_NAME[name].of(BARE)) is not None}
    assert known == {"top10_behaviours": 0}  # of no program there are no behaviours, and that is known


def test_a_choice_is_unknown_where_either_program_failed() -> None:
    run = full()
    assert run.held_out is not None
    for name in ("best", "recommended"):
        failed = replace(run, held_out=replace(run.held_out, **{name: HeldOutMean(None, None)}))
        assert BY_NAME["held_out_gain_advantage"].of(failed) is None
        assert BY_NAME["held_out_gap_advantage"].of(failed) is None


def test_metrics_have_names_and_titles_of_their_own_and_what_they_stand_in_for_exists() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    shown = [metric.title for metric in METRICS if metric.about is not None]
    assert len(set(shown)) == len(shown)
    assert {metric.instead_of for metric in METRICS} - {None} <= BY_NAME.keys()


def test_a_metric_is_shown_where_it_is_known_and_what_it_stands_in_for_is_not() -> None:
    score = BY_NAME["best_score"]
    assert score.is_shown({"best_score"})
    assert not score.is_shown({"best_score", "best_gap"})
    assert not score.is_shown({"top10_gap"})
    assert score.column.heading == "best score"
    assert BY_NAME["best_gap"].column.heading == "best gap %"
