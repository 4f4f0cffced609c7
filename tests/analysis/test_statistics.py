"""What a few runs say about many, by definition and at the edges."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from behavesim.analysis.statistics import (
    holm,
    mann_whitney,
    mean_difference,
    paired,
    sample,
    share_greater,
    signed_rank,
)

TIED = st.integers(0, 4).map(float)
"""Values among which there are ties."""


def by_division(a: list[float], b: list[float]) -> float:
    """The p-value of the Mann–Whitney test by its definition: over all ways to divide the values."""
    from scipy.stats import rankdata

    ranks = rankdata([*a, *b])
    sums = np.array([sum(chosen) for chosen in combinations(ranks, len(a))])
    found = ranks[: len(a)].sum()
    return min(1.0, 2 * min((sums <= found).mean(), (sums >= found).mean()))


def by_signs(differences: list[float]) -> float:
    """The p-value of Wilcoxon's signed-rank test by its definition: over all ways to give signs."""
    from scipy.stats import rankdata

    kept = np.array([each for each in differences if each])
    ranks = rankdata(np.abs(kept))
    sums = np.array([ranks[np.array(signs, dtype=int) > 0].sum() for signs in product((-1, 1), repeat=len(kept))])
    found = ranks[kept > 0].sum()
    return min(1.0, 2 * min((sums <= found).mean(), (sums >= found).mean()))


def test_a_sample_has_a_mean_a_spread_and_an_interval_around_it() -> None:
    values = np.random.default_rng(0).normal(3.0, 1.0, 40).tolist()
    found = sample(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.sd == pytest.approx(np.std(values, ddof=1))
    assert found.low is not None and found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.std(values) / np.sqrt(40), rel=0.1)
    assert found.low < found.mean < found.high


def test_one_value_says_nothing_of_its_spread() -> None:
    assert (sample([2.0]).sd, sample([2.0]).low) == (None, None)
    assert mean_difference([2.0], [1.0, 3.0]).p is None
    assert mean_difference([2.0], [1.0, 3.0]).difference == 0.0


def test_two_values_have_a_spread_and_an_interval_from_one_to_the_other() -> None:
    found = sample([1.0, 3.0])
    assert found.sd == pytest.approx(2**0.5)
    assert (found.mean, found.low, found.high) == (2.0, 1.0, 3.0)


def test_a_report_can_be_made_again() -> None:
    assert sample([1.0, 2.0, 5.0]) == sample([1.0, 2.0, 5.0])
    assert mean_difference([1.0, 2.0, 5.0], [2.0, 3.0]) == mean_difference([1.0, 2.0, 5.0], [2.0, 3.0])


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    found = [sample(rng.normal(0, 1, 30).tolist()) for _ in range(200)]
    held = sum(each.low is not None and each.high is not None and each.low <= 0 <= each.high for each in found)
    assert 175 <= held <= 200


def test_the_test_is_exact_for_few_values_without_ties() -> None:
    # of the 20 ways to split six values three and three, the two extreme ones are as far apart as this
    assert mann_whitney([1, 2, 3], [4, 5, 6]) == pytest.approx(2 / 20)


def test_the_test_is_exact_for_few_values_with_ties() -> None:
    # of the 6 ways to divide 1, 2, 2, 3 in two, all of which stand for themselves, 4 are as far apart as this
    assert mann_whitney([1, 2], [2, 3]) == pytest.approx(4 / 6)
    assert mann_whitney([1, 1, 1, 1, 2], [2, 3, 3, 3, 3]) < 0.02


def test_equal_values_differ_with_probability_one_by_chance() -> None:
    assert mann_whitney([2.0, 2.0], [2.0, 2.0, 2.0]) == 1.0


def test_pairs_are_tested_by_the_signs_and_ranks_of_their_differences() -> None:
    assert paired([0.0, 1.0, 2.0, 3.0, -0.5]).mean == pytest.approx(1.1)
    assert paired([1.0, 2.0, 3.0, 4.0, 5.0]).p == pytest.approx(2 / 2**5)  # all 32 ways to give signs are as likely
    assert (paired([0.0, 0.0]).p, paired([1.0]).p) == (1.0, None)


@settings(max_examples=60, deadline=None)
@given(st.lists(TIED, min_size=2, max_size=5), st.lists(TIED, min_size=2, max_size=7))
def test_the_test_is_that_of_its_definition(a: list[float], b: list[float]) -> None:
    assert mann_whitney(a, b) == pytest.approx(by_division(a, b))
    assert mann_whitney(b, a) == pytest.approx(mann_whitney(a, b))


def test_groups_of_unequal_size_are_tested_exactly_too() -> None:
    few, many = [0.0, 1.0, 1.0], [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0, 6.0, 6.0, 7.0, 8.0, 8.0]
    assert mann_whitney(few, many) == pytest.approx(by_division(few, many))


def test_where_there_are_too_many_values_to_divide_the_test_is_approximate() -> None:
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(3)
    a, b = rng.integers(9, size=60).astype(float).tolist(), (rng.integers(9, size=60) + 1.0).tolist()
    assert mann_whitney(a, b) == pytest.approx(mannwhitneyu(a, b, method="asymptotic").pvalue)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=9))
def test_the_test_of_pairs_is_that_of_its_definition(differences: list[float]) -> None:
    assert signed_rank(differences) == pytest.approx(by_signs(differences))


def test_values_that_differ_by_rounding_alone_are_ties() -> None:
    rounded = [0.3 - 0.2, 0.2 - 0.1, 0.1 - 0.3, 0.1 + 0.2 - 0.3]  # 0.1, 0.1, -0.2 and 0, but for their last digits
    assert len({abs(each) for each in rounded}) == 4
    assert signed_rank(rounded) == signed_rank([1.0, 1.0, -2.0, 0.0])
    a, b = [0.3 - 0.2, 0.5], [0.2 - 0.1, 0.7]
    assert mann_whitney(a, b) == mann_whitney([1.0, 5.0], [1.0, 7.0])
    assert share_greater(a, b) == share_greater([1.0, 5.0], [1.0, 7.0])


def test_superiority_counts_pairs() -> None:
    assert share_greater([2.0, 4.0], [1.0, 2.0, 3.0]) == pytest.approx((1 + 0.5 + 3) / 6)


def test_a_difference_is_signed_and_its_interval_excludes_zero_where_the_samples_part() -> None:
    found = mean_difference([1.0, 1.1, 0.9, 1.0], [2.0, 2.1, 1.9, 2.0])
    assert found.difference == pytest.approx(-1.0)
    assert found.high is not None and found.high < 0
    assert found.superiority == 0.0


def test_holm_steps_down() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([None, 0.02, None, 0.5]) == [None, 0.04, None, 0.5]
    assert holm([]) == []
