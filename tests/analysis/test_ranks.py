"""Groups are ranked over the tasks and seeds that all of them have."""

from __future__ import annotations

import pytest

from behavesim.analysis.comparison import comparison
from tests.analysis.examples import grid, made


def test_a_group_that_is_always_better_has_rank_one() -> None:
    from scipy.stats import friedmanchisquare

    found = comparison(grid(3)).ranks
    assert found is not None
    assert dict(found.means) == {"eoh": 1.0, "niche": 2.0, "best-of-n": 3.0}
    assert found.blocks == 6  # two tasks, three seeds
    assert found.p == pytest.approx(friedmanchisquare([1] * 6, [2] * 6, [3] * 6).pvalue)


def test_the_critical_difference_is_that_of_the_published_table() -> None:
    found = comparison(grid(3)).ranks
    assert found is not None
    assert found.critical == pytest.approx(2.343 * (3 * 4 / (6 * 6)) ** 0.5, abs=1e-3)  # Demšar 2006, Table 5


def test_equal_values_share_their_rank_and_nothing_is_tested_of_two_groups() -> None:
    found = comparison([made(method, seed, 0.5) for method in ("eoh", "niche") for seed in range(2)]).ranks
    assert found is not None
    assert (dict(found.means), found.p) == ({"eoh": 1.5, "niche": 1.5}, None)


def test_there_are_no_ranks_where_groups_share_one_seed_or_a_gap_is_unknown() -> None:
    assert comparison([made("eoh", 0, 0.1), made("niche", 0, 0.2)]).ranks is None
    assert (
        comparison([made("eoh", 0, 0.1), made("eoh", 1, 0.1), made("niche", 0, 0.2), made("niche", 1, None)]).ranks
        is None
    )
