"""Statistics of a few runs: means with confidence intervals, and tests of differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.table import Estimate

SIGNIFICANCE = 0.05
"""A difference is significant if its p-value is below this; intervals cover 1 − this (95 %). The field's convention."""
RESAMPLES = 10_000
"""Number of bootstrap samples behind an interval, a usual choice."""
FEWEST = 5
"""Least number of values for which an interval is shown: a bootstrap of fewer says little more than their range."""
EXACT = 100
"""Largest number of values, of both groups together, for the exact Mann–Whitney test; above, the normal approximation
is used, which is accurate there and faster."""
ROUNDING = 1e-9
"""Values that differ by less than this fraction of the largest absolute value count as equal (rounding errors)."""


@dataclass(frozen=True)
class Sample:
    """Values of independent runs, with their mean, standard deviation (n − 1) and 95 % bootstrap interval of the mean.

    `sd`, `low` and `high` are None for a single value.
    """

    values: tuple[float, ...]
    mean: float
    sd: float | None
    low: float | None
    high: float | None

    @property
    def shown(self) -> tuple[float | None, float | None]:
        """The interval's ends as tables and figures show them: (None, None) for fewer than FEWEST values."""
        return (self.low, self.high) if len(self.values) >= FEWEST else (None, None)


@dataclass(frozen=True)
class MeanDifference:
    """Mean of a − mean of b, with its 95 % bootstrap interval and the two-sided p-value of the Mann–Whitney test.

    `superiority` is P(a > b), the share of pairs in which the value of a is greater, ties counting half (Vargha and
    Delaney's A). Greater is not better: if lower values are better, such as gaps, 1 means that a is always worse. All
    fields but `difference` are None if a or b has fewer than two values.
    """

    difference: float
    low: float | None
    high: float | None
    p: float | None
    superiority: float | None


@dataclass(frozen=True)
class Paired:
    """Differences within pairs: their mean, its 95 % bootstrap interval, and the p-value of Wilcoxon's test.

    That is the two-sided signed-rank test. All fields but the mean are None for fewer than two pairs.
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


def paired(differences: Sequence[float]) -> Paired:
    """Return the summary of differences within pairs, at least one."""
    whole = sample(differences)
    return Paired(whole.mean, whole.low, whole.high, signed_rank(differences))


def signed_rank(differences: Sequence[float]) -> float | None:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; None for fewer than two differences.

    The test is exact, with and without ties: it counts all ways to give signs to the ranks. Differences of 0 are left
    out; the p-value is 1 if all are 0.
    """
    from scipy.stats import rankdata  # scipy.stats takes a second to load

    if len(differences) < 2:
        return None
    *sizes, zero = _levels([*map(abs, differences), 0.0])
    signs = [difference > 0 for difference, size in zip(differences, sizes, strict=True) if size > zero]
    ranks = (2 * rankdata([size for size in sizes if size > zero])).astype(int)  # doubled: ranks of ties are halves
    return _two_sided(rank_sum_chances(ranks), int(ranks[signs].sum()))


def rank_sum_chances(ranks: Iterable[int]) -> NDArray[np.float64]:
    """Return the probability of each sum, from 0 to that of all ranks, if each rank counts with probability 1/2."""
    chances = np.ones(1)
    for rank in ranks:
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    return chances


def sample(values: Sequence[float]) -> Sample:
    """Return values, at least one, with their mean, standard deviation (n − 1) and 95 % bootstrap interval of it."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Sample(tuple(values), mean, None, None, None)
    low, high = _interval(_resampled_means(values, 0))
    return Sample(tuple(values), mean, float(np.std(values, ddof=1)), low, high)


def estimate(found: Sample | None) -> Estimate | None:
    """Return a sample's mean, standard deviation and shown interval as the cell of a table; None for None."""
    return None if found is None else Estimate(found.mean, found.sd, *found.shown)


def mean_difference(a: Sequence[float], b: Sequence[float]) -> MeanDifference:
    """Return how the values of two groups of runs differ, mean of a − mean of b; each must have at least one value."""
    between = float(np.mean(a) - np.mean(b))
    if len(a) < 2 or len(b) < 2:
        return MeanDifference(between, None, None, None, None)
    low, high = _interval(_resampled_means(a, 0) - _resampled_means(b, 1))
    return MeanDifference(between, low, high, mann_whitney(a, b), share_greater(a, b))


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the two-sided p-value of the Mann–Whitney U test; 1 if all values are equal.

    For up to 100 values of both groups together the test is exact, with and without ties: it counts all ways to divide
    the values into groups of these sizes. For more values it uses the normal approximation.
    """
    from scipy.stats import mannwhitneyu, rankdata  # scipy.stats takes a second to load

    levels = _levels([*a, *b])
    if len(set(levels)) == 1:
        return 1.0
    if len(levels) > EXACT:
        split = levels[: len(a)], levels[len(a) :]
        return float(mannwhitneyu(*split, alternative="two-sided", method="asymptotic").pvalue)
    ranks = (2 * rankdata(levels)).astype(int)  # doubled: ranks of ties are halves
    ways = np.zeros((len(a) + 1, int(ranks.sum()) + 1))  # ways[k, s]: to choose k of the ranks so that they sum to s
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank].copy()  # both sides overlap: without a copy a rank could be chosen twice
    return _two_sided(ways[-1] / ways[-1].sum(), int(ranks[: len(a)].sum()))


def share_greater(a: Sequence[float], b: Sequence[float]) -> float:
    """Return P(a > b): of all pairs of a value of `a` and a value of `b`, the share in which that of `a` is greater.

    It is in [0, 1]; ties count half (Vargha and Delaney's A). `a` and `b` must have at least one value each.
    """
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
    """Return the p-values of a family of tests after Holm's step-down correction, in the given order.

    A test without a p-value keeps None and does not count towards the family's size.
    """
    ascending = sorted(p for p in p_values if p is not None)
    corrected: dict[float | None, float] = {}  # equal p-values get one correction: the first of them decides
    least = 0.0
    for place, p in enumerate(ascending):
        corrected[p] = least = max(least, min(1.0, (len(ascending) - place) * p))
    return [corrected.get(p) for p in p_values]


def _resampled_means(values: Sequence[float], stream: int) -> NDArray[np.float64]:
    """Return the means of RESAMPLES bootstrap samples, each drawn from the values with replacement.

    The seed is fixed, so that reports are reproducible. Two samples that are subtracted need different streams.
    """
    rng = np.random.default_rng([len(values), stream])
    picks = rng.integers(len(values), size=(RESAMPLES, len(values)))
    return np.asarray(np.asarray(values, dtype=np.float64)[picks].mean(axis=1))


def _interval(means: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of bootstrap means."""
    low, high = np.quantile(means, [SIGNIFICANCE / 2, 1 - SIGNIFICANCE / 2]).tolist()
    return low, high
