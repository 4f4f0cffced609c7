"""Groups are ranked over the tasks that all of them have."""

from __future__ import annotations

import pytest

from behavesim.analysis.comparison import comparison
from behavesim.analysis.held_out import HeldOutMean
from tests.analysis.examples import UNKNOWN, grid, made, tried


def test_a_group_that_is_always_better_has_rank_one() -> None:
    from scipy.stats import friedmanchisquare

    found = comparison(grid(3)).ranks
    assert found is not None
    assert dict(found.means) == {"eoh": 1.0, "niche": 2.0, "best-of-n": 3.0}
    assert found.tasks == 2  # the three seeds of a task are no further data sets
    assert found.p == pytest.approx(friedmanchisquare([1, 1], [2, 2], [3, 3]).pvalue)


def test_the_critical_difference_is_that_of_the_published_table() -> None:
    found = comparison(grid(3)).ranks
    assert found is not None
    assert found.critical == pytest.approx(2.343 * (3 * 4 / (6 * 2)) ** 0.5, abs=1e-3)  # Demšar 2006, Table 5


def test_equal_values_share_their_rank_and_nothing_is_tested_of_two_groups() -> None:
    found = comparison([made(method, 0, 0.5, task) for method in ("eoh", "niche") for task in ("tsp", "asp")]).ranks
    assert found is not None
    assert (dict(found.means), found.p) == ({"eoh": 1.5, "niche": 1.5}, None)


def test_there_are_no_ranks_where_groups_share_one_task_or_a_gap_is_unknown() -> None:
    assert comparison([made(method, seed, 0.1) for method in ("eoh", "niche") for seed in range(5)]).ranks is None
    of_eoh, of_niche = [made("eoh", 0, 0.1), made("eoh", 0, 0.1, "asp")], made("niche", 0, 0.2)
    assert comparison([*of_eoh, of_niche, made("niche", 0, None, "asp")]).ranks is None


def test_ranks_are_by_the_primary_metric_where_all_tasks_have_one() -> None:
    runs = [tried(run, HeldOutMean(0.1, -(run.summary.top10_gap or 0.0)), UNKNOWN) for run in grid(3)]
    found = comparison(runs).ranks
    assert found is not None and found.metric == "held_out_best_gap"
    assert dict(found.means) == {"eoh": 3.0, "niche": 2.0, "best-of-n": 1.0}
