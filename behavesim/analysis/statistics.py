"""What a few runs say about many: means with their uncertainty, and tests of differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIGNIFICANCE = 0.05
"""Level of the tests, and 1 − the coverage of the intervals: the convention of the field."""
RESAMPLES = 10_000
EXACT = 100
"""Values of both groups together up to which the Mann–Whitney test is exact; above, it is the normal approximation."""
ROUNDING = 1e-9
"""Values that are nearer to one another than this fraction of the largest of them count as equal."""


@dataclass(frozen=True)
class Sample:
    """Values of independent runs: mean, standard deviation (n − 1), and a 95 % bootstrap interval of the mean.

    The last three are None for fewer than two values.
    """

    values: tuple[float, ...]
    mean: float
    sd: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class MeanDifference:
    """The mean of a less the mean of b with a 95 % bootstrap interval, tested by Mann and Whitney (two-sided).

    `superiority` is the chance that a run of a has a greater value than one of b, ties counting half (Vargha and
    Delaney's A). All but the difference are None where either has fewer than two values.
    """

    difference: float
    low: float | None
    high: float | None
    p: float | None
    superiority: float | None


@dataclass(frozen=True)
class Paired:
    """Differences within pairs: their mean with a 95 % bootstrap interval, and Wilcoxon's signed-rank test (two-sided).

    All but the mean are None for fewer than two pairs.
    """

    mean: float
    low: float | None
    high: float | None
    p: float | None


def mean_of_all(values: Sequence[float | None]) -> float | None:
    """The mean of values; None where there is none, or where one of them is unknown."""
    return None if None in values else mean_of_known(values)


def mean_of_known(values: Sequence[float | None]) -> float | None:
    """The mean of those values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def paired(differences: Sequence[float]) -> Paired:
    """The summary of at least one difference."""
    whole = sample(differences)
    return Paired(whole.mean, whole.low, whole.high, signed_rank(differences))


def signed_rank(differences: Sequence[float]) -> float | None:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; None for fewer than two differences.

    The test is exact, with ties and without: every way to give the ranks signs has the same chance. Differences of zero
    are left out; the p-value is 1 if all are zero.
    """
    from scipy.stats import rankdata  # scipy.stats takes a second to load

    if len(differences) < 2:
        return None
    *sizes, zero = _levels([*map(abs, differences), 0.0])
    signs = [difference > 0 for difference, size in zip(differences, sizes, strict=True) if size > zero]
    ranks = (2 * rankdata([size for size in sizes if size > zero])).astype(int)  # doubled: ranks of ties are halves
    chances = np.ones(1)  # chances[s]: that the ranks with a plus sum to s
    for rank in ranks:
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    return _two_sided(chances, int(ranks[signs].sum()))


def sample(values: Sequence[float]) -> Sample:
    """The summary of at least one value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Sample(tuple(values), mean, None, None, None)
    low, high = _interval(_resampled_means(values, 0))
    return Sample(tuple(values), mean, float(np.std(values, ddof=1)), low, high)


def mean_difference(a: Sequence[float], b: Sequence[float]) -> MeanDifference:
    """How the values of a and b differ; each has at least one."""
    between = float(np.mean(a) - np.mean(b))
    if len(a) < 2 or len(b) < 2:
        return MeanDifference(between, None, None, None, None)
    low, high = _interval(_resampled_means(a, 0) - _resampled_means(b, 1))
    return MeanDifference(between, low, high, mann_whitney(a, b), share_greater(a, b))


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the two-sided p-value of the Mann–Whitney U test; 1 if all values are equal.

    The test is exact, with ties and without, for up to 100 values of both groups together: every way to divide the
    values has the same chance. For more values it is the normal approximation.
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
        ways[1:, rank:] += ways[:-1, :-rank].copy()
    return _two_sided(ways[-1] / ways[-1].sum(), int(ranks[: len(a)].sum()))


def share_greater(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the share of pairs in which the value of a is greater; ties count half."""
    levels = np.array(_levels([*a, *b]))
    left, right = levels[: len(a), None], levels[None, len(a) :]
    return float(((left > right) + 0.5 * (left == right)).mean())


def _levels(values: Sequence[float]) -> list[int]:
    """Return whole numbers in the order of the values; values that differ by rounding alone get the same number."""
    array = np.asarray(values, dtype=np.float64)
    order = np.argsort(array, kind="stable")
    steps = np.diff(array[order], prepend=array[order[:1]])
    levels = np.empty(len(array), dtype=int)
    levels[order] = np.cumsum(steps > ROUNDING * np.abs(array).max(initial=0.0))
    return levels.tolist()


def _two_sided(chances: NDArray[np.float64], found: int) -> float:
    """Return twice the chance of the smaller tail, at most 1; `chances[s]` is that of a sum of s."""
    return min(1.0, 2 * float(min(chances[: found + 1].sum(), chances[found:].sum())))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction of a family of tests, in the order given; tests without a p-value do not count."""
    order = sorted((index for index, p in enumerate(p_values) if p is not None), key=lambda index: p_values[index] or 0)
    corrected: list[float | None] = [None] * len(p_values)
    least = 0.0
    for place, index in enumerate(order):
        least = max(least, min(1.0, (len(order) - place) * (p_values[index] or 0.0)))
        corrected[index] = least
    return corrected


def _resampled_means(values: Sequence[float], stream: int) -> NDArray[np.float64]:
    """Means of samples drawn with replacement; the generator is fixed, so that a report can be made again."""
    rng = np.random.default_rng([len(values), stream])
    picks = rng.integers(len(values), size=(RESAMPLES, len(values)))
    return np.asarray(np.asarray(values, dtype=np.float64)[picks].mean(axis=1))


def _interval(means: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(means, [SIGNIFICANCE / 2, 1 - SIGNIFICANCE / 2]).tolist()
    return low, high
