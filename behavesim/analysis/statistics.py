"""Statistics of a few runs: exact tests of differences, and the confidence intervals that the same tests give.

An interval holds the shifts that its test does not reject (Hodges and Lehmann). So it cannot contradict the p-value
beside it, and it is None where even the clearest data of that size could not reject anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from behavesim.analysis.table import Estimate

# A difference is significant if its p-value is below this; intervals cover 1 − this (95 %). The field's convention.
SIGNIFICANCE = 0.05
# Least number of values, or of pairs, that have an interval: with 5, no outcome of the signed-rank test has a p-value
# below 2 / 2^5 = 0.0625.
FEWEST = 6
# Largest number of values, of both groups together or of pairs, for an exact test and its interval; above, the normal
# approximation is used, which is accurate there and faster.
EXACT = 100
# Values that differ by less than this fraction of the largest absolute value count as equal (rounding errors).
ROUNDING = 1e-9


@dataclass(frozen=True)
class Sample:
    """Values of independent runs, with their mean, standard deviation (n − 1) and 95 % confidence interval of the mean.

    The interval is that of Wilcoxon's signed-rank test, which assumes a symmetric distribution; it always holds the
    mean. `sd` is None for a single value, `low` and `high` are for fewer than FEWEST values.
    """

    values: tuple[float, ...]
    mean: float
    sd: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class MeanDifference:
    """Mean of a − mean of b, with its 95 % confidence interval and the p-value of a two-sided test.

    If `pairs` is None, the test is Mann and Whitney's. Otherwise it is Wilcoxon's signed-rank test of the differences
    within so many pairs. The interval is that of the test: it leaves out 0 only if p is below 0.05.

    `superiority` is P(a > b), ties counting half (Vargha and Delaney's A). Greater is not better: if lower values are
    better, 1 means that a is always worse. Values are None if the groups are too small for them.
    """

    difference: float
    low: float | None
    high: float | None
    p: float | None
    superiority: float | None
    pairs: int | None


@dataclass(frozen=True)
class Paired:
    """Differences within pairs: their mean, its 95 % confidence interval, and the p-value of Wilcoxon's two-sided test.

    Differences of 0 are left out of the test and not of the interval. `low` and `high` are None for fewer than FEWEST
    pairs, `p` is for fewer than two.
    """

    mean: float
    low: float | None
    high: float | None
    p: float | None


def mean_of_all(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values; None if there are none or one of them is None."""
    return None if None in values else mean_of_known(values)


def mean_of_known(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are not None; None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def summarise_pairs(differences: Sequence[float]) -> Paired:
    """Return the summary of differences within pairs, at least one."""
    p = signed_rank(differences)
    return Paired(float(np.mean(differences)), *_widen_to_agree(_signed_rank_interval(differences), p), p)


def average_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Return the rank of each value from 1, (values,); equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places])


def signed_rank(differences: Sequence[float]) -> float | None:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; None for fewer than two differences.

    For up to EXACT differences the test is exact, with and without ties. Differences of 0 are left out; the p-value is
    1 if all are 0.
    """
    if len(differences) < 2:
        return None
    # 0 is among the values, so that a difference which is 0 but for rounding falls on its level and is left out
    *sizes, zero = _levels([*map(abs, differences), 0.0])
    signs = [difference > 0 for difference, size in zip(differences, sizes, strict=True) if size > zero]
    sizes_left = [size for size in sizes if size > zero]
    ranks = (2 * average_ranks(sizes_left)).astype(int)  # doubled: ranks of ties are halves
    above = int(ranks[signs].sum())
    if len(ranks) > EXACT:  # each rank is in the sum or not: its mean is half of all, its variance a quarter of squares
        off = abs(above - ranks.sum() / 2) / math.sqrt((ranks.astype(float) ** 2).sum() / 4)
        return math.erfc(off / math.sqrt(2))
    return _two_sided(rank_sum_chances(ranks), above)


def least_p(a: int, b: int, tests: int = 1) -> float:
    """Return the smallest two-sided Mann–Whitney p-value of `a` and `b` values, after Holm for `tests` tests."""
    return 1.0 if min(a, b) < 2 else min(1.0, tests * 2 / math.comb(a + b, a))


def least_p_of_pairs(pairs: int, tests: int = 1) -> float:
    """Return the smallest signed-rank p-value of so many pairs, corrected as by `least_p`."""
    return min(1.0, tests * 2.0 ** (1 - pairs))


def rank_sum_chances(ranks: Iterable[int]) -> NDArray[np.float64]:
    """Return the probability of each sum, from 0 to that of all ranks, if each rank counts with probability 1/2."""
    chances = np.ones(1)
    for rank in ranks:  # the rank counts or not: the distribution, and the same shifted by it, half each
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    return chances


def sample(values: Sequence[float]) -> Sample:
    """Return values, at least one, with their mean, standard deviation and confidence interval."""
    mean = float(np.mean(values))
    low, high = _signed_rank_interval(values)
    if low is not None and high is not None:  # a mean that a few far values move out of the interval is held too
        low, high = min(low, mean), max(high, mean)
    return Sample(tuple(values), mean, float(np.std(values, ddof=1)) if len(values) > 1 else None, low, high)


def estimate(found: Sample | None) -> Estimate | None:
    """Return a sample as the cell of a table; None for None."""
    return None if found is None else Estimate(found.mean, found.sd, found.low, found.high)


def mean_difference(a: Sequence[float], b: Sequence[float]) -> MeanDifference:
    """Return how the values of two independent groups differ; each must have at least one."""
    between = float(np.mean(a) - np.mean(b))
    if len(a) < 2 or len(b) < 2:
        return MeanDifference(between, None, None, None, None, None)
    p = mann_whitney(a, b)
    shifts = np.subtract.outer(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)).ravel()
    interval = _widen_to_agree(_interval_of(shifts, _rejected_divisions(*sorted((len(a), len(b))))), p)
    return MeanDifference(between, *interval, p, share_greater(a, b), None)


def compare_pairs(a: Sequence[float], b: Sequence[float]) -> MeanDifference:
    """Return how the values of two groups differ that belong together in pairs, a[i] with b[i]; at least one pair."""
    found = summarise_pairs([ours - theirs for ours, theirs in zip(a, b, strict=True)])
    greater = None if found.p is None else share_greater(a, b)
    return MeanDifference(found.mean, found.low, found.high, found.p, greater, len(a))


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the two-sided p-value of the Mann–Whitney U test; 1 if all values are equal.

    For up to EXACT values of both groups together the test is exact, with and without ties.
    """
    # levels, not values: 0.1 + 0.2 and 0.3 are a tie, which floats would break at random
    levels = _levels([*a, *b])
    if len(set(levels)) == 1:
        return 1.0
    if len(levels) > EXACT:
        from scipy.stats import mannwhitneyu  # scipy.stats takes a second to load

        split = levels[: len(a)], levels[len(a) :]
        return float(mannwhitneyu(*split, alternative="two-sided", method="asymptotic").pvalue)
    ranks = (2 * average_ranks(levels)).astype(int)  # doubled: ranks of ties are halves
    return _two_sided(_division_chances(ranks.tolist(), len(a)), int(ranks[: len(a)].sum()))


def _division_chances(ranks: Sequence[int], chosen: int) -> NDArray[np.float64]:
    """Return the probability of each sum of `chosen` of the ranks, if all ways to choose them are equally likely."""
    ways = np.zeros((chosen + 1, sum(ranks) + 1))  # ways[k, s]: to choose k of the ranks so that they sum to s
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank].copy()  # both sides overlap: without a copy a rank could be chosen twice
    return np.asarray(ways[-1] / ways[-1].sum())


def share_greater(a: Sequence[float], b: Sequence[float]) -> float:
    """Return P(a > b), ties counting half (Vargha and Delaney's A); `a` and `b` must have at least one value each."""
    levels = np.array(_levels([*a, *b]))
    left, right = levels[: len(a), None], levels[None, len(a) :]
    return float(((left > right) + 0.5 * (left == right)).mean())


def _levels(values: Sequence[float]) -> list[int]:
    """Return an integer per value, ordered as the values are; values that differ only by rounding get the same one."""
    array = np.asarray(values, dtype=np.float64)
    order = np.argsort(array, kind="stable")
    steps = np.diff(array[order], prepend=array[order[:1]])
    levels = np.empty(len(array), dtype=int)
    levels[order] = np.cumsum(steps > ROUNDING * np.abs(array).max(initial=0.0))
    return levels.tolist()


def _two_sided(chances: NDArray[np.float64], found: int) -> float:
    """Return twice the probability of the smaller tail at the sum `found`, at most 1; `chances[s]` is that of sum s."""
    return min(1.0, 2 * float(min(chances[: found + 1].sum(), chances[found:].sum())))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p-values of a family of tests after Holm's step-down correction; those that are None do not count."""
    # the smallest p is multiplied by the number of tests, the next by one less, and so on
    ascending = sorted(p for p in p_values if p is not None)
    corrected: dict[float | None, float] = {}  # equal p-values get one correction: the first of them decides
    least = 0.0  # a larger p-value is never corrected to a smaller one: where a test fails, all later ones fail
    for place, p in enumerate(ascending):
        corrected[p] = least = max(least, min(1.0, (len(ascending) - place) * p))
    return [corrected.get(p) for p in p_values]


def _signed_rank_interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    # Its ends are means of two values (Walsh averages): shifting the values by one of these changes the sum of ranks.
    array = np.asarray(values, dtype=np.float64)
    first, second = np.triu_indices(len(array))
    return _interval_of((array[first] + array[second]) / 2, _rejected_rank_sums(len(array)))


def _interval_of(shifts: NDArray[np.float64], rejected: int) -> tuple[float | None, float | None]:
    if rejected == 0:
        return None, None
    ordered = np.sort(shifts)
    return float(ordered[rejected - 1]), float(ordered[-rejected])


def _widen_to_agree(interval: tuple[float | None, float | None], p: float | None) -> tuple[float | None, float | None]:
    # The number of shifts to leave out is that for data without ties, while the test counts the ties that there are: so
    # with ties the two can differ by a step, and a reader would see an interval without 0 beside a p-value above 0.05.
    low, high = interval
    if low is None or high is None or p is None or p < SIGNIFICANCE:
        return interval
    return min(low, 0.0), max(high, 0.0)


@cache
def _rejected_rank_sums(values: int) -> int:
    """Return how many sums of signed ranks, counted from 0, the two-sided test of so many values rejects at 5 %."""
    return _count_rejected(rank_sum_chances(range(1, values + 1)))


@cache
def _rejected_divisions(few: int, many: int) -> int:
    """Return how many values of U, counted from 0, the two-sided Mann–Whitney test of such groups rejects at 5 %."""
    if few + many > EXACT:  # as the test itself: normal, with its correction for continuity
        from scipy.stats import norm

        spread = math.sqrt(few * many * (few + many + 1) / 12)
        return max(0, math.ceil(few * many / 2 - 0.5 + float(norm.ppf(SIGNIFICANCE / 2)) * spread))
    least = few * (few + 1) // 2  # the sum of ranks at which U is 0
    return _count_rejected(_division_chances(range(1, few + many + 1), few)[least:])


# The sum up to which a one-sided tail, doubled, stays below the level: so many shifts the interval leaves out.
def _count_rejected(chances: NDArray[np.float64]) -> int:
    return int((2 * np.cumsum(chances) < SIGNIFICANCE).sum())
