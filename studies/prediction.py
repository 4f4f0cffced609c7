"""Study "prediction": does similarity predict how programs score on unseen instances? It is not in the paper."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.statistics import Paired, Sample, estimate, sample, summarise_pairs
from behavesim.analysis.table import RATIO, SCORE, Cell, Column, Table
from behavesim.base.errors import UsageError
from behavesim.base.text import validation_message
from behavesim.code_similarity.metric import NAMES, missing, of_source, source_matrix

# Largest number of best distinct programs taken from a run: those among which a person chooses.
PROGRAMS = 100
# Relative difference (fraction) of mean search scores up to which two programs count as equal.
EQUAL = 0.01

# What a similarity may predict of two programs on unseen instances: that their mean scores are near each other, that
# they are weak on the same instances, or that the better of the two alone is as good as both together.
TARGETS = ("score alike", "fail alike", "nothing added")

# Shape (pairs,): one value for each pair of a run's programs.
Pairs = NDArray[np.float64]


@dataclass(frozen=True)
class Correlation:
    """Spearman's correlation of a metric with a target, over the pairs of a run's programs."""

    metric: str
    target: str
    """What is predicted of two programs, as TARGETS names it, such as "fail alike"."""
    equal_scores: bool
    """Whether only the pairs whose search scores count as equal (EQUAL) are correlated."""
    value: float | None
    """Spearman's rank correlation, between -1 and 1; None if the metric or the target is equal for all pairs."""


@dataclass(frozen=True)
class Prediction:
    """What the metrics say of one run's programs on unseen instances."""

    run: str
    """The run's name."""
    programs: int
    """Number of programs compared."""
    pairs: int
    """Number of their pairs."""
    equal_pairs: int
    """Number of pairs whose search scores count as equal (EQUAL)."""
    correlations: tuple[Correlation, ...]
    """One for each metric and target, over all pairs and over those of equal score."""
    milliseconds: Mapping[str, float]
    """Wall-clock time of each metric for a pair, in milliseconds."""

    def correlation(self, metric: str, target: str, is_equal: bool) -> float | None:
        """Return a metric's correlation with a target, None if unknown.

        `is_equal`: over the pairs whose search scores count as equal, else over all.
        """
        wanted = (metric, target, is_equal)
        return next((e.value for e in self.correlations if (e.metric, e.target, e.equal_scores) == wanted), None)


@dataclass(frozen=True)
class PredictionStudy:
    """The predictions of several runs with different seeds."""

    runs: tuple[Prediction, ...]
    """At least one."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that could be computed for the first run, BehaveSim first."""
        return tuple(self.runs[0].milliseconds)

    def sample(self, metric: str, target: str, is_equal: bool) -> Sample | None:
        """Return the correlations of a metric with a target in the runs that have one; None if no run has.

        `is_equal`: only over pairs of equal search score, else over all.
        """
        values = [run.correlation(metric, target, is_equal) for run in self.runs]
        known = [value for value in values if value is not None]
        return sample(known) if known else None

    def ahead(self, metric: str, target: str, is_equal: bool) -> Paired | None:
        """Return BehaveSim's correlation with a target minus another metric's, paired by run; None if no run has both.

        `is_equal`: only over pairs of equal search score, else over all.
        """
        pairs = [
            (run.correlation("behavesim", target, is_equal), run.correlation(metric, target, is_equal))
            for run in self.runs
        ]
        differences = [ours - theirs for ours, theirs in pairs if ours is not None and theirs is not None]
        return summarise_pairs(differences) if differences else None

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{runs, rows, milliseconds}`, from which `read_study` makes it again.

        `rows` has, for each metric and target, the `correlation` and how far BehaveSim's is ahead (`behavesim_ahead`),
        over all pairs, and over those of equal score where `equal_scores` is true. Both are null if unknown, the latter
        for BehaveSim too.
        `milliseconds` are for a pair, by metric, the mean over runs.
        """
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
        runs = [asdict(run) for run in self.runs]
        return {"runs": runs, "rows": rows, "milliseconds": dict(self._milliseconds())}

    def tables(self) -> tuple[Table, ...]:
        """Return three tables: correlations over all pairs, over pairs of equal score, and the time for a pair."""
        columns = (Column("metric"), Column("ms a pair", SCORE))
        rows: tuple[tuple[Cell, ...], ...] = tuple(self._milliseconds())
        cost = Table("cost", "what it takes to compare two programs that have been run", columns, rows)
        return self._correlations(False), self._correlations(True), cost

    def _correlations(self, is_equal: bool) -> Table:
        which = "pairs of equal score in the search" if is_equal else "all pairs"
        rows: list[tuple[Cell, ...]] = [
            (metric, *(estimate(self.sample(metric, target, is_equal)) for target in TARGETS))
            for metric in self.metrics
        ]
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


def choose_programs(run: Run) -> list[Candidate]:
    """Return a run's distinct programs, best first, at most PROGRAMS."""
    return run.ranked()[:PROGRAMS]


def read_study(path: Path) -> PredictionStudy:
    """Return the study whose document is in a file; raises UsageError if there is none, or it is not one."""
    try:
        document = TypeAdapter(dict[str, Any]).validate_json(path.read_bytes())
        kept = Annotated[tuple[Prediction, ...], Field(min_length=1)]
        return PredictionStudy(TypeAdapter[tuple[Prediction, ...]](kept).validate_python(document.get("runs")))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; name runs to compute the study of them") from None
    except ValidationError as error:
        raise UsageError(
            f"{path} is not what `behavesim study prediction --json` prints: {validation_message(error)}"
        ) from None


def study(runs: Sequence[Run], unseen: Mapping[str, Sequence[float]]) -> PredictionStudy:
    """Compute the predictions of runs on one task; `unseen` maps a program's source to its held-out instances' scores.

    Programs missing from it are left out. Raises as `prediction` does.
    """
    return PredictionStudy(tuple(prediction(run, unseen) for run in runs))


def prediction(run: Run, unseen: Mapping[str, Sequence[float]]) -> Prediction:
    """Correlate each metric with each target, over the pairs of a run's best distinct programs.

    `unseen` maps a program's source to its score on each held-out instance. Programs missing from it (they failed
    there) are left out. Raises UsageError if fewer than two are left, if the run's task cannot be loaded, or if a
    metric cannot read a program; and as `Run.matrix` does.
    """
    programs = [each for each in choose_programs(run) if each.source in unseen]
    if len(programs) < 2:
        raise UsageError(f"run {run.folder.run} has {len(programs)} programs to compare there; it takes two or more")
    rows, columns = np.triu_indices(len(programs), 1)
    seen = np.array([each.scores for each in programs])
    held_out = np.array([unseen[each.source or ""] for each in programs])
    targets = _targets(held_out if run.state.objective.direction == "minimise" else -held_out, rows, columns)
    means = seen.mean(axis=1)
    # A person would take either of these, so another metric has to tell them apart.
    is_equal = np.abs(means[rows] - means[columns]) <= EQUAL * np.abs(means[rows])
    correlations = list[Correlation]()
    milliseconds: dict[str, float] = {}
    for metric, values, seconds in _similarities(run, programs, seen, rows, columns):
        milliseconds[metric] = 1000 * seconds / len(rows)
        for target, truth in targets.items():
            correlations += [
                Correlation(metric, target, False, _spearman(values, truth)),
                Correlation(metric, target, True, _spearman(values[is_equal], truth[is_equal])),
            ]
    counts = len(programs), len(rows), int(is_equal.sum())
    return Prediction(run.folder.run, *counts, tuple(correlations), milliseconds)


def _targets(costs: NDArray[np.float64], rows: Any, columns: Any) -> dict[str, Pairs]:
    """Return the targets of the pairs (`rows[k]`, `columns[k]`), from costs of shape (programs, instances)."""
    # Lower costs are better; they are first divided by the instance's mean. A program's level is its mean cost, its
    # profile what is left without the level, scaled to length 1. "score alike" is minus the difference of levels. "fail
    # alike" is the scalar product of the profiles. "nothing added" is minus the gain of taking the better program on
    # each instance, over the better of the two levels.
    costs = costs / np.abs(costs.mean(axis=0))
    level = costs.mean(axis=1)
    profile = costs - level[:, None]
    # A program that is equally good everywhere has no profile; it stays zero.
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
    """Yield each metric's name, its similarities of the pairs (`rows[k]`, `columns[k]`), and its wall-clock seconds."""
    # The metric `scores` is minus the distance of the programs' search scores, `seen`, (programs, instances). Metrics
    # that are not installed or need an embedding model are left out.
    sources = [each.source or "" for each in programs]
    names = [name for name in NAMES if not missing(name, None)]
    for name in ("behavesim", "scores", *names):
        started = time.perf_counter()
        match name:
            case "behavesim":
                values = run.matrix([each.candidate for each in programs])[rows, columns]
            case "scores":
                values = -np.linalg.norm(seen[rows] - seen[columns], axis=1)
            case _:
                values = source_matrix(of_source(name, sources), sources)[rows, columns]
        yield name, values, time.perf_counter() - started


def _spearman(a: Pairs, b: Pairs) -> float | None:
    """Return Spearman's rank correlation; None if either side has fewer than two different values."""
    from scipy.stats import spearmanr

    # scipy would warn and return NaN.
    if len(np.unique(a)) < 2 or len(np.unique(b)) < 2:
        return None
    return float(spearmanr(a, b).statistic)


def _plain(found: Sample | Paired | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)
