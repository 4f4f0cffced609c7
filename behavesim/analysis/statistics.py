"""What a few runs say about many: means with their uncertainty, and tests of differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
RESAMPLES = 10_000


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
    """Differences within pairs: how often positive, zero and negative, their mean, and Wilcoxon's signed-rank test.

    The interval is a 95 % bootstrap interval of the mean; `p` is two-sided. Both are None for fewer than two pairs.
    """

    pairs: int
    positive: int
    zero: int
    negative: int
    mean: float
    low: float | None
    high: float | None
    p: float | None


def paired(differences: Sequence[float]) -> Paired:
    """The summary of at least one difference."""
    values = np.asarray(differences, dtype=np.float64)
    whole = sample(differences)
    signs = (int((values > 0).sum()), int((values == 0).sum()), int((values < 0).sum()))
    return Paired(len(values), *signs, whole.mean, whole.low, whole.high, signed_rank(differences))


def signed_rank(differences: Sequence[float]) -> float | None:
    """The two-sided p-value of Wilcoxon's signed-rank test; zeros are left out, 1 where all are, None for one."""
    from scipy.stats import wilcoxon

    if len(differences) < 2:
        return None
    return float(wilcoxon(differences).pvalue) if any(differences) else 1.0


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
    """The two-sided p-value of the Mann–Whitney U test; 1 where all values are equal."""
    from scipy.stats import mannwhitneyu

    if len({*a, *b}) == 1:
        return 1.0
    return float(mannwhitneyu(a, b, alternative="two-sided").pvalue)


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
