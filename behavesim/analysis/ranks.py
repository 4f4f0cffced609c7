"""Mean ranks of groups of runs over tasks and seeds (Demšar 2006)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from behavesim.analysis.groups import Family, RunGroup
from behavesim.analysis.metrics import Metric
from behavesim.analysis.statistics import SIGNIFICANCE


@dataclass(frozen=True)
class Ranks:
    """The mean rank of each group in a metric, by label; rank 1 is the best.

    `blocks` is the number of pairs of task and seed that all groups have. `p` is the p-value of Friedman's test that
    all groups rank alike; None for two groups, or if all groups have one value in every block. Two groups whose mean
    ranks differ by more than `critical` differ at the 0.05 level (Nemenyi).
    """

    metric: str
    means: Mapping[str, float]
    blocks: int
    p: float | None
    critical: float


def ranks(groups: Sequence[RunGroup], metric: Metric) -> Ranks | None:
    """Return the mean ranks of the groups by `metric`, whose `direction` is "lower" or "higher".

    Runs must have been given its value (`metric.measured`). Groups without any value are left out. None if fewer than
    two groups remain, or if these share fewer than two pairs of task and seed.
    """
    values: dict[str, dict[tuple[Family, int], float]] = {}
    for group in groups:
        for run in group.runs:
            if (value := run.metrics[metric.name]) is not None:
                values.setdefault(group.label, {})[group.family, run.summary.seed] = value
    shared = sorted(set.intersection(*map(set, values.values()))) if values else []
    if len(values) < 2 or len(shared) < 2:
        return None
    sign = -1 if metric.direction == "higher" else 1  # rank 1 goes to the lowest value
    table = np.array([[sign * of_group[block] for of_group in values.values()] for block in shared])
    return _ranks(metric.name, list(values), table)


def _ranks(metric: str, labels: Sequence[str], table: np.ndarray) -> Ranks:
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    blocks, size = table.shape
    means = rankdata(table, axis=1).mean(axis=0).tolist()
    differ = size > 2 and bool((table != table[:, :1]).any())
    spread = float(studentized_range.ppf(1 - SIGNIFICANCE, size, np.inf)) / math.sqrt(2)
    return Ranks(
        metric=metric,
        means=dict(zip(labels, means, strict=True)),
        blocks=blocks,
        p=float(friedmanchisquare(*table.T).pvalue) if differ else None,
        critical=spread * math.sqrt(size * (size + 1) / (6 * blocks)),
    )
