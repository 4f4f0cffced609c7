"""Groups of runs by their rank over tasks and seeds (Demšar 2006)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from behavesim.analysis.groups import Family, RunGroup
from behavesim.analysis.metric import Metric
from behavesim.analysis.statistics import SIGNIFICANCE


@dataclass(frozen=True)
class Ranks:
    """The mean rank of each group in a metric, 1 the best, over `blocks`: the tasks and seeds that all groups have.

    `p` is that of Friedman's test of whether all rank alike, None for two groups; two groups whose mean ranks are
    further apart than `critical` differ at the level of .05 (Nemenyi).
    """

    metric: str
    means: Mapping[str, float]
    blocks: int
    p: float | None
    critical: float


def ranks(groups: Sequence[RunGroup], metric: Metric) -> Ranks | None:
    """The ranks of groups of runs; None where fewer than two groups share two tasks or seeds."""
    values: dict[str, dict[tuple[Family, int], float]] = {}
    for group in groups:
        for run in group.runs:
            if (value := run.metrics[metric.name]) is not None:
                values.setdefault(group.label, {})[group.family, run.summary.seed] = value
    shared = sorted(set.intersection(*map(set, values.values()))) if values else []
    if len(values) < 2 or len(shared) < 2:
        return None
    sign = -1 if metric.direction == "higher" else 1
    table = np.array([[sign * of_group[block] for of_group in values.values()] for block in shared])
    return _ranks(metric.name, list(values), table)


def _ranks(metric: str, labels: Sequence[str], table: np.ndarray) -> Ranks:
    """Of a (blocks, groups) table of values of which lower ones are better."""
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
