"""What tests say in words."""

from __future__ import annotations

import pytest

from behavesim.analysis.comparison import comparison, too_few, verdicts
from behavesim.analysis.held_out import HeldOutMean
from behavesim.analysis.statistics import least_p, least_p_of_pairs, mann_whitney, signed_rank
from tests.analysis.examples import made, tried, unknown_gaps


@pytest.mark.parametrize(("a", "b"), [(2, 2), (3, 3), (4, 3), (5, 5)])
def test_the_least_p_is_that_of_groups_that_do_not_overlap(a: int, b: int) -> None:
    assert least_p(a, b) == pytest.approx(mann_whitney(range(a), range(100, 100 + b)))
    assert least_p(a, b, tests=2) == pytest.approx(min(1.0, 2 * least_p(a, b)))
    assert least_p(1, 9) == 1.0
    assert least_p_of_pairs(a) == signed_rank(range(1, a + 1)) and least_p_of_pairs(a, tests=2) == 2 * 2 / 2**a


def test_too_few_seeds_are_named_with_how_many_are_enough() -> None:
    few = "At least 4 runs per group are needed for p < .05; 3 per group are too few for any result below 0.10."
    assert too_few(3) == few
    corrected = "At least 5 runs per group are needed for p < .05 after correction for 3 tests; 4 per group are too few"
    assert too_few(4, 3) == f"{corrected} for any result below 0.086."
    assert too_few(1) == "One run per group: no test possible. Run at least 4 seeds (4 and 4: p ≥ 0.029)."
    assert too_few(4) == too_few(3, 0) == ""


def test_a_verdict_speaks_of_held_out_instances_where_they_were_tried_and_names_the_better() -> None:
    runs = [made(method, seed, gap + seed / 100) for method, gap in (("eoh", 0.1), ("niche", 0.5)) for seed in range(4)]
    (found,) = verdicts(comparison(runs))
    assert found.sentence == "eoh is better than niche by best gap: p = 0.029, 4 runs per group"
    assert found.is_significant
    assert found.least_p == pytest.approx(2 / 70)
    turned = [tried(run, HeldOutMean(0.1, 1.0 - (run.summary.top10_gap or 0.0))) for run in runs]
    (found,) = verdicts(comparison(turned))
    assert found.sentence == "niche is better than eoh by held-out gap of best: p = 0.029, 4 runs per group"


def test_where_nobody_knows_which_scores_are_better_the_lower_ones_are_named() -> None:
    runs = [made(method, seed, gap + seed / 100) for method, gap in (("eoh", 0.1), ("niche", 0.5)) for seed in range(4)]
    found = verdicts(comparison([*map(unknown_gaps, runs)]))
    assert [each.sentence for each in found] == ["eoh is lower than niche by best score: p = 0.029, 4 runs per group"]


def test_a_difference_that_is_not_significant_is_said_to_be_that() -> None:
    runs = [made(method, seed, seed / 10) for method in ("eoh", "niche") for seed in range(4)]
    (found,) = verdicts(comparison(runs))
    assert found.sentence == "No significant difference in best gap between eoh and niche (p = 1.00; 4 runs per group)"
    assert not found.is_significant
    alone = [made(method, 0, 0.1) for method in ("eoh", "niche")]
    (found,) = verdicts(comparison(alone))
    assert found.sentence == "No test of eoh and niche by best gap: it takes 2 runs or more of each"
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
    assert [each.least_p for each in found] == pytest.approx([2 * 2 / 70] * 2)  # one correction for both tasks


def test_a_verdict_on_pairs_says_so_and_follows_the_test_where_one_far_run_turns_the_mean() -> None:
    gaps = {"eoh": [*(0.1 + seed / 100 for seed in range(11)), 99.0], "niche": [0.2 + s / 50 for s in range(12)]}
    runs = [made(method, seed, gap) for method, of in gaps.items() for seed, gap in enumerate(of)]
    (found,) = verdicts(comparison(runs))
    assert found.sentence == "eoh is better than niche by best gap: p = 0.034, 12 runs per group, paired by seed"
