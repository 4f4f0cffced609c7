"""Study "prediction": what the similarity of two programs says of instances that nobody has seen. Not in the paper."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.statistics import Paired, Sample, paired, sample
from behavesim.analysis.table import RATIO, SCORE, Cell, Column, Estimate, Table
from behavesim.base.errors import UsageError
from behavesim.code_similarity.named import NAMES, of_source, source_matrix
from behavesim.code_similarity.optional import missing

PROGRAMS = 100
"""The best distinct programs of a run: those among which a person chooses."""
EQUAL = 0.01
"""Programs whose mean scores in the search are this near to one another, as a fraction, count as equal."""

TARGETS = ("score alike", "fail alike", "nothing added")
SCORES = "scores"

Pairs = NDArray[np.float64]
"""(pairs,) one value for each pair of a run's programs."""


@dataclass(frozen=True)
class Prediction:
    """Of one run: Spearman's correlation of each metric with each target, over all pairs and over those of equal score.

    Keys are (metric, target, whether of equal score alone), and a correlation is None where there is none, as where all
    values are equal; `milliseconds` are what a pair took each metric.
    """

    run: str
    programs: int
    pairs: int
    equal_pairs: int
    correlations: Mapping[tuple[str, str, bool], float | None]
    milliseconds: Mapping[str, float]


@dataclass(frozen=True)
class PredictionStudy:
    """What some runs of different seeds say together."""

    runs: tuple[Prediction, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those that could be computed, BehaveSim first."""
        return tuple(self.runs[0].milliseconds)

    def sample(self, metric: str, target: str, is_equal: bool) -> Sample | None:
        """The correlation over those runs that have one; None where none has."""
        values = [run.correlations[metric, target, is_equal] for run in self.runs]
        known = [value for value in values if value is not None]
        return sample(known) if known else None

    def ahead(self, metric: str, target: str, is_equal: bool) -> Paired | None:
        """How much more BehaveSim correlates than another metric, paired by run; None where no run has both."""
        ours, theirs = ("behavesim", target, is_equal), (metric, target, is_equal)
        pairs = [(run.correlations[ours], run.correlations[theirs]) for run in self.runs]
        differences = [mine - other for mine, other in pairs if mine is not None and other is not None]
        return paired(differences) if differences else None

    def document(self) -> dict[str, Any]:
        """`{runs, rows}`: a row a metric, target and choice of pairs."""
        rows = [
            {
                "metric": metric,
                "target": target,
                "equal_scores": is_equal,
                "correlation": _plain(self.sample(metric, target, is_equal)),
                "behavesim_ahead": None if metric == "behavesim" else _plain(self.ahead(metric, target, is_equal)),
            }
            for is_equal in (False, True)
            for target in TARGETS
            for metric in self.metrics
        ]
        runs = [
            {"run": run.run, "programs": run.programs, "pairs": run.pairs, "equal_pairs": run.equal_pairs}
            for run in self.runs
        ]
        return {"runs": runs, "rows": rows, "milliseconds": dict(self._milliseconds())}

    def tables(self) -> tuple[Table, ...]:
        """The correlations over all pairs, those over pairs of equal score, and what a pair costs."""
        columns = (Column("metric"), Column("ms a pair", SCORE))
        rows: tuple[tuple[Cell, ...], ...] = tuple(self._milliseconds())
        cost = Table("cost", "what it takes to compare two programs that have been run", columns, rows)
        return self._correlations(False), self._correlations(True), cost

    def _correlations(self, is_equal: bool) -> Table:
        which = "pairs of equal score in the search" if is_equal else "all pairs"
        rows: list[tuple[Cell, ...]] = []
        for metric in self.metrics:
            samples = [self.sample(metric, target, is_equal) for target in TARGETS]
            rows.append((metric, *map(_estimate, samples)))
        columns = (Column("metric"), *(Column(target, RATIO) for target in TARGETS))
        programs, pairs = sum(run.programs for run in self.runs), sum(run.pairs for run in self.runs)
        counted = sum(run.equal_pairs for run in self.runs) if is_equal else pairs
        caption = (
            f"Spearman's correlation, mean over {len(self.runs)} runs; {programs} programs, {counted} pairs in all."
        )
        return Table("correlations", f"similarity and unseen instances: {which}", columns, tuple(rows), caption)

    def _milliseconds(self) -> Iterator[tuple[str, float]]:
        for metric in self.metrics:
            yield metric, float(np.mean([run.milliseconds[metric] for run in self.runs]))


def chosen(run: Run) -> list[Candidate]:
    """The best distinct programs of a run."""
    return run.ranked()[:PROGRAMS]


def study(runs: Sequence[Run], unseen: Mapping[str, Sequence[float]]) -> PredictionStudy:
    """The predictions of some runs on one task; `unseen` are the scores of programs on held-out instances."""
    return PredictionStudy(tuple(prediction(run, unseen) for run in runs))


def prediction(run: Run, unseen: Mapping[str, Sequence[float]]) -> Prediction:
    """What the metrics say of a run's programs; `unseen` holds the scores of their sources on held-out instances.

    Programs that failed there are not among its keys, and are left out. Raises UsageError where less than two are left.
    """
    programs = [each for each in chosen(run) if each.source in unseen]
    if len(programs) < 2:
        raise UsageError(f"run {run.folder.run} has {len(programs)} programs to compare there; it takes two or more")
    rows, columns = np.triu_indices(len(programs), 1)
    seen = np.array([each.scores for each in programs])
    held_out = np.array([unseen[each.source or ""] for each in programs])
    targets = _targets(held_out if run.state.objective.direction == "minimise" else -held_out, rows, columns)
    means = seen.mean(axis=1)
    is_equal = np.abs(means[rows] - means[columns]) <= EQUAL * np.abs(means[rows])
    correlations: dict[tuple[str, str, bool], float | None] = {}
    milliseconds: dict[str, float] = {}
    for metric, values, seconds in _similarities(run, programs, seen, rows, columns):
        milliseconds[metric] = 1000 * seconds / len(rows)
        for target, truth in targets.items():
            correlations[metric, target, False] = _spearman(values, truth)
            correlations[metric, target, True] = _spearman(values[is_equal], truth[is_equal])
    counts = len(programs), len(rows), int(is_equal.sum())
    return Prediction(run.folder.run, *counts, correlations, milliseconds)


def _targets(costs: NDArray[np.float64], rows: Any, columns: Any) -> dict[str, Pairs]:
    """What a user wants to know of each pair, from the (programs, instances) costs, the lower the better.

    Costs count in relation to an instance's mean. To fail alike is to have the same profile over instances, whatever
    the level; nothing is added where the better of both on each instance is no better than the better of the two.
    """
    costs = costs / np.abs(costs.mean(axis=0))
    level = costs.mean(axis=1)
    profile = costs - level[:, None]
    profile /= np.maximum(np.linalg.norm(profile, axis=1, keepdims=True), 1e-12)
    together = np.minimum(costs[rows], costs[columns]).mean(axis=1)
    return {
        "score alike": -np.abs(level[rows] - level[columns]),
        "fail alike": (profile[rows] * profile[columns]).sum(axis=1),
        "nothing added": together - np.minimum(level[rows], level[columns]),
    }


def _similarities(
    run: Run, programs: Sequence[Candidate], seen: NDArray[np.float64], rows: Any, columns: Any
) -> Iterator[tuple[str, Pairs, float]]:
    """Each metric with its values and the seconds it took; `scores` is how near the scores of the search are."""
    sources = [each.source or "" for each in programs]
    started = time.perf_counter()
    matrix = run.matrix([each.candidate for each in programs])
    yield "behavesim", matrix[rows, columns], time.perf_counter() - started
    started = time.perf_counter()
    yield SCORES, -np.linalg.norm(seen[rows] - seen[columns], axis=1), time.perf_counter() - started
    for name in NAMES:
        if not missing(name, None):
            started = time.perf_counter()
            matrix = source_matrix(of_source(name, sources), sources)
            yield name, matrix[rows, columns], time.perf_counter() - started


def _spearman(a: Pairs, b: Pairs) -> float | None:
    from scipy.stats import spearmanr

    if len(np.unique(a)) < 2 or len(np.unique(b)) < 2:
        return None
    return float(spearmanr(a, b).statistic)


def _estimate(found: Sample | None) -> Estimate | None:
    return None if found is None else Estimate(found.mean, found.sd, found.low, found.high)


def _plain(found: Sample | Paired | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)
