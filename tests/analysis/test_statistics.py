"""What a few runs say about many, by definition and at the edges."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from behavesim.analysis.statistics import (
    compare_pairs,
    holm,
    mann_whitney,
    mean_difference,
    sample,
    share_greater,
    signed_rank,
    summarise_pairs,
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


def test_an_interval_begins_where_its_test_can_reject() -> None:
    few, enough = sample([1.0, 2.0, 3.0, 4.0, 5.0]), sample([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert few.sd == pytest.approx(2.5**0.5) and (few.low, few.high) == (None, None)
    assert (enough.low, enough.high) == (1.0, 6.0)
    assert mean_difference([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]).low is None  # its p is 0.1 at least
    found = mean_difference([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 9.0])
    assert (found.low, found.high) == (-8.0, -1.0)


Interval = Callable[[np.random.Generator, int], tuple[float | None, float | None]]


def of_the_mean(rng: np.random.Generator, size: int) -> tuple[float | None, float | None]:
    found = sample(rng.normal(0, 1, size).tolist())
    return found.low, found.high


def of_the_difference(rng: np.random.Generator, size: int) -> tuple[float | None, float | None]:
    found = mean_difference(rng.normal(0, 1, size).tolist(), rng.normal(0, 1, size).tolist())
    return found.low, found.high


@pytest.mark.parametrize("size", [5, 6, 10, 15])
@pytest.mark.parametrize("interval", [of_the_mean, of_the_difference])
def test_an_interval_that_is_shown_holds_the_truth_as_often_as_it_says(interval: Interval, size: int) -> None:
    if interval(np.random.default_rng(0), size)[0] is None:
        assert (interval, size) == (of_the_mean, 5)
        return
    rng, draws = np.random.default_rng([1, size]), 600
    found = [interval(rng, size) for _ in range(draws)]
    held = [low is not None and high is not None and low <= 0 <= high for low, high in found]
    assert np.mean(held) > 0.95 - 3 * (0.95 * 0.05 / draws) ** 0.5  # three standard errors of the simulation


def agrees(low: float | None, high: float | None, p: float | None) -> None:
    if low is not None and high is not None and not low <= 0 <= high:
        assert p is not None and p < 0.05


@settings(max_examples=80, deadline=None)
@given(st.lists(TIED, min_size=4, max_size=9), st.lists(TIED, min_size=4, max_size=9))
def test_no_interval_leaves_out_zero_where_its_test_does_not_with_ties_either(a: list[float], b: list[float]) -> None:
    found = mean_difference(a, b)
    agrees(found.low, found.high, found.p)
    within = compare_pairs(a[: len(b)], b[: len(a)])
    agrees(within.low, within.high, within.p)
    whole = sample(a)
    assert whole.low is None or whole.high is None or whole.low <= whole.mean <= whole.high


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 12), st.integers(4, 12), st.floats(0, 3))
def test_without_ties_an_interval_leaves_out_zero_just_where_p_is_significant(
    seed: int, m: int, n: int, shift: float
) -> None:
    rng = np.random.default_rng(seed)
    found = mean_difference(rng.normal(shift, 1, m).tolist(), rng.normal(0, 1, n).tolist())
    assert found.p is not None and found.low is not None and found.high is not None
    assert (found.p < 0.05) == (not found.low <= 0 <= found.high)
    within = summarise_pairs(rng.normal(shift, 1, n).tolist())
    assert within.p is not None
    if within.low is not None and within.high is not None:
        assert (within.p < 0.05) == (not within.low <= 0 <= within.high)


def test_pairs_by_seed_show_what_seeds_have_in_common_hides() -> None:
    rng = np.random.default_rng(0)
    shown = {"paired": 0, "independent": 0}
    for _ in range(300):  # ten seeds, a correlation of 0.5 and a difference of one standard deviation
        shared = rng.normal(0, 0.5**0.5, 10)
        a, b = (shared + rng.normal(shift, 0.5**0.5, 10) for shift in (1.0, 0.0))
        shown["paired"] += (compare_pairs(a.tolist(), b.tolist()).p or 1) < 0.05
        shown["independent"] += (mean_difference(a.tolist(), b.tolist()).p or 1) < 0.05
    assert shown["paired"] / 300 == pytest.approx(0.77, abs=0.08)
    assert shown["independent"] / 300 == pytest.approx(0.54, abs=0.08)


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
    assert summarise_pairs([0.0, 1.0, 2.0, 3.0, -0.5]).mean == pytest.approx(1.1)
    assert summarise_pairs([1.0, 2.0, 3.0, 4.0, 5.0]).p == pytest.approx(
        2 / 2**5
    )  # all 32 ways to give signs are as likely
    assert (summarise_pairs([0.0, 0.0]).p, summarise_pairs([1.0]).p) == (1.0, None)


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


def test_the_test_of_many_pairs_is_the_normal_approximation() -> None:
    from scipy.stats import wilcoxon

    rng = np.random.default_rng(4)
    differences = rng.integers(-9, 12, size=110).astype(float).tolist()
    asymptotic = wilcoxon(differences, method="asymptotic", zero_method="wilcox").pvalue
    assert signed_rank(differences) == pytest.approx(asymptotic, rel=1e-6)


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
