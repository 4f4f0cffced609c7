"""What tests say in words."""

from __future__ import annotations

import pytest

from behavesim.analysis.comparison import comparison
from behavesim.analysis.held_out import HeldOutMean
from behavesim.analysis.statistics import mann_whitney
from behavesim.analysis.verdicts import least_p, too_few, verdicts
from tests.analysis.examples import made, tried, unknown_gaps


@pytest.mark.parametrize(("a", "b"), [(2, 2), (3, 3), (4, 3), (5, 5)])
def test_the_least_p_is_that_of_groups_that_do_not_overlap(a: int, b: int) -> None:
    assert least_p(a, b) == pytest.approx(mann_whitney(range(a), range(100, 100 + b)))
    assert least_p(a, b, tests=2) == pytest.approx(min(1.0, 2 * least_p(a, b)))
    assert least_p(1, 9) == 1.0


def test_too_few_seeds_are_named_with_how_many_are_enough() -> None:
    assert too_few(3) == "3 seeds each cannot show less than p = 0.1: take 4 to tell groups apart"
    assert too_few(4, 3) == "4 seeds each cannot show less than p = 0.086 in 3 tests: take 5 to tell groups apart"
    assert too_few(1).startswith("one seed a group cannot be tested")
    assert too_few(4) == too_few(3, 0) == ""


def test_a_verdict_speaks_of_held_out_instances_where_they_were_tried_and_names_the_better() -> None:
    runs = [made(method, seed, gap + seed / 100) for method, gap in (("eoh", 0.1), ("niche", 0.5)) for seed in range(4)]
    (found,) = verdicts(comparison(runs))
    assert found.sentence == "eoh is better than niche by best gap: p = 0.029, 4 runs each"
    assert found.is_told_apart
    assert found.least_p == pytest.approx(2 / 70)
    turned = [tried(run, HeldOutMean(0.1, 1.0 - (run.summary.top10_gap or 0.0))) for run in runs]
    (found,) = verdicts(comparison(turned))
    assert found.sentence == "niche is better than eoh by held-out gap of best: p = 0.029, 4 runs each"


def test_where_nobody_knows_which_scores_are_better_the_lower_ones_are_named() -> None:
    runs = [made(method, seed, gap + seed / 100) for method, gap in (("eoh", 0.1), ("niche", 0.5)) for seed in range(4)]
    found = verdicts(comparison([*map(unknown_gaps, runs)]))
    assert [each.sentence for each in found] == ["eoh is lower than niche by best score: p = 0.029, 4 runs each"]


def test_groups_that_overlap_are_not_told_apart() -> None:
    runs = [made(method, seed, seed / 10) for method in ("eoh", "niche") for seed in range(4)]
    (found,) = verdicts(comparison(runs))
    assert found.sentence == "eoh and niche are not told apart by best gap: p = 1, 4 runs each"
    assert not found.is_told_apart
    alone = [made(method, 0, 0.1) for method in ("eoh", "niche")]
    (found,) = verdicts(comparison(alone))
    assert found.sentence == "eoh and niche cannot be tested by best gap: a test takes two runs or more of each"
    assert verdicts(comparison(alone[:1])) == ()


def test_each_task_has_a_verdict_by_a_metric_that_it_has() -> None:
    runs = [
        made(method, seed, gap + seed / 100, task)
        for task in ("tsp", "asp")
        for method, gap in (("eoh", 0.1), ("niche", 0.5))
        for seed in range(4)
    ]
    gains = [
        run
        if run.summary.task == "asp"
        else tried(run, HeldOutMean(0.1, run.summary.top10_gap), HeldOutMean(None, None))
        for run in runs
    ]
    found = verdicts(comparison(gains))
    assert [(each.family[0], each.metric) for each in found] == [("tsp", "held_out_best_gap"), ("asp", "best_gap")]
    assert [each.least_p for each in found] == pytest.approx([2 / 70, 2 * 2 / 70])  # two tasks have best gaps
