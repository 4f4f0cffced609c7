"""What a few runs say about many: means with their uncertainty, and tests of differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
RESAMPLES = 10_000
FEW = 8
"""Values of each group up to which all ways to divide them can be counted, as ties make it necessary."""


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
class Difference:
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
    """The two-sided p-value of Wilcoxon's signed-rank test; zeros are left out, 1 where all are, None for one.

    Exact, with ties and without: all ways to give the ranks signs are as likely.
    """
    from scipy.stats import rankdata

    if len(differences) < 2:
        return None
    kept = np.array([difference for difference in differences if difference])
    ranks = (2 * rankdata(np.abs(kept))).astype(int)  # doubled, those of ties are whole numbers too
    chances = np.ones(1)  # of each sum of the ranks with a plus, by how many of them have been given signs
    for rank in ranks:
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    positive = int(ranks[kept > 0].sum())
    return min(1.0, 2 * float(chances[: min(positive, int(ranks.sum()) - positive) + 1].sum()))


def sample(values: Sequence[float]) -> Sample:
    """The summary of at least one value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Sample(tuple(values), mean, None, None, None)
    low, high = _interval(_resampled_means(values, 0))
    return Sample(tuple(values), mean, float(np.std(values, ddof=1)), low, high)


def difference(a: Sequence[float], b: Sequence[float]) -> Difference:
    """How the values of a and b differ; each has at least one."""
    between = float(np.mean(a) - np.mean(b))
    if len(a) < 2 or len(b) < 2:
        return Difference(between, None, None, None, None)
    low, high = _interval(_resampled_means(a, 0) - _resampled_means(b, 1))
    return Difference(between, low, high, mann_whitney(a, b), superiority(a, b))


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """The two-sided p-value of the Mann–Whitney U test; 1 where all values are equal.

    Exact for up to eight values each, with ties and without; beyond, ties call for the normal approximation.
    """
    from scipy.stats import PermutationMethod, mannwhitneyu

    together = {*a, *b}
    if len(together) == 1:
        return 1.0
    counts = len(together) < len(a) + len(b) and max(len(a), len(b)) <= FEW
    method = PermutationMethod(n_resamples=math.comb(2 * FEW, FEW)) if counts else "auto"
    return float(mannwhitneyu(a, b, alternative="two-sided", method=method).pvalue)


def superiority(a: Sequence[float], b: Sequence[float]) -> float:
    """The share of pairs in which the value of a is greater, ties counting half."""
    left, right = np.asarray(a)[:, None], np.asarray(b)[None, :]
    return float(((left > right) + 0.5 * (left == right)).mean())


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
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return low, high
