"""Sim of one pair of runs by its definition: all distances between states, then a measure over them.

This covers every kind, measure and option. The kernels for a whole archive give the same bits for the common ones.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import DistanceError, TrajectoryError
from behavesim.similarity.settings import LARGEST, MeasureSettings
from behavesim.trajectory import AlgorithmRun, Samples, Trajectory, described, trajectories_of

Costs = NDArray[Any]
"""(m, n) distances between states before division by the unit: int64 for whole numbers of edits, else float64."""


def raw_similarity(x: AlgorithmRun, y: AlgorithmRun, settings: MeasureSettings) -> float:
    """Return Sim(x, y) before clipping, at most 1.0 (paper, "Similarity Between PSTrajs").

    Raises TrajectoryError if the two cannot be compared, DistanceError if a distance is above the normaliser or the
    settings' own distance function returns no finite number of 0 or more.
    """
    if isinstance(x, Trajectory) and isinstance(y, Trajectory) and x.kind == y.kind == "prefixes" and settings.is_plain:
        return _prefix_dtw(x, y, settings)
    check_run(x)
    check_run(y)
    check_comparable(x, y, settings)
    if x == y:
        return 1.0
    similarity = _cosine(x, y, settings) if settings.measure == "cosine" else _by_costs(x, y, settings)
    check_finite(similarity)
    return similarity


def check_finite(similarities: float | NDArray[np.float64]) -> None:
    """Raise TrajectoryError if a similarity is infinite or not a number."""
    if not np.isfinite(similarities).all():
        raise TrajectoryError(
            "these trajectories have no finite similarity: their distances are too large for floating point; "
            "rescale the vectors"
        )


def check_coordinates(run: AlgorithmRun) -> None:
    """Raise TrajectoryError if a coordinate is beyond ±1e100 (`LARGEST`), so that a comparison could overflow."""
    largest = max(float(abs(each.data).max()) for each in trajectories_of(run)) if run.kind == "vectors" else 0.0
    if largest > LARGEST:
        raise TrajectoryError(f"coordinates must lie within ±{LARGEST:g}, or distances overflow; got {largest:g}")


def check_comparable(x: AlgorithmRun, y: AlgorithmRun, settings: MeasureSettings) -> None:
    """Raise TrajectoryError if two runs differ in kind or dimensions, or do not suit the measure and normaliser."""
    check_alike(x, y)
    if x.kind == "vectors" and settings.normaliser == "pair" and settings.measure != "cosine":
        raise TrajectoryError("vectors have no pairwise normaliser; give the greatest distance of the problem")
    if settings.measure == "cosine" and x.kind != "vectors":
        raise TrajectoryError(f"measure='cosine' needs vectors; got {x.kind}")
    if settings.measure == "cosine" and (isinstance(x, Samples) or isinstance(y, Samples)):
        raise TrajectoryError("measure='cosine' is not defined for samples; use dtw, erp or mean, or a fixed seed")


def check_run(run: Any) -> None:
    """Raise TrajectoryError if `run` is neither a Trajectory nor Samples."""
    if not isinstance(run, Trajectory | Samples):
        raise TrajectoryError(
            f"expected a Trajectory, as Trajectory.prefixes(…) makes, or Samples; got {described(run)}"
        )


def check_alike(x: AlgorithmRun, y: AlgorithmRun) -> None:
    """Raise TrajectoryError if two runs differ in kind, or are vectors of different dimensions."""
    if x.kind != y.kind:
        raise TrajectoryError(f"trajectories of one instance must be of one kind; got {x.kind} and {y.kind}")
    if x.kind == "vectors":
        dimensions = [run.data.shape[1] for run in (*trajectories_of(x), *trajectories_of(y))]
        if min(dimensions) != max(dimensions):
            raise TrajectoryError(f"vectors must have the same dimensions; got {min(dimensions)} and {max(dimensions)}")


@cache
def _scalar() -> Any:
    """Return the kernels' module; cached, as an import statement takes a third of the time of a short comparison."""
    from behavesim.similarity.kernels import scalar

    return scalar


def _prefix_dtw(run_x: Trajectory, run_y: Trajectory, settings: MeasureSettings) -> float:
    x, y = run_x.data, run_y.data
    if settings.truncate:
        x, y = (run.data[: settings.granularity.length(len(run))] for run in (run_x, run_y))
    x, y = x.astype(np.int64), y.astype(np.int64)
    longer, shorter = len(x), len(y)
    if longer < shorter:
        longer, shorter = shorter, longer
    if settings.normaliser == "pair":
        total = _scalar().prefix_dtw_pairwise(x, y, 1.0 / np.arange(1, longer + 1))
    else:
        if settings.strict and longer > settings.unit:  # a distance is at most the longer length
            check_prefix_distances(x, y, settings)
        total = _scalar().prefix_dtw(x, y)  # exact: sums are far below 2**53
    return float(1.0 - total / (settings.unit * shorter))


def check_prefix_distances(x: Costs, y: Costs, settings: MeasureSettings) -> None:
    """Raise DistanceError if the settings are strict and two prefixes of x and y are further apart than the normaliser.

    x, y: the decisions of two runs; equal ones are not checked.
    """
    if not np.array_equal(x, y):
        settings.check_distance(_scalar().furthest_prefixes(x.astype(np.int64), y.astype(np.int64)))


def _by_costs(x: AlgorithmRun, y: AlgorithmRun, settings: MeasureSettings) -> float:
    scalar = _scalar()
    cost = _expected_costs(x, y, settings)
    occurring: tuple[Costs, ...]
    if settings.measure == "dtw":
        total, occurring = scalar.dtw(cost), (cost,)
    elif settings.measure == "mean":
        total, occurring = scalar.diagonal_sum(cost), (cost.diagonal(),)
    else:
        x_gap, y_gap = (_gap_costs(run, settings).astype(cost.dtype) for run in (x, y))
        total, occurring = scalar.erp(cost, x_gap, y_gap), (cost, x_gap, y_gap)
    if total != 0 or settings.distance is not None:  # distances of 0 are within any normaliser
        for distances in occurring:
            settings.check_distance(distances.max())
    return float(1.0 - total / (settings.unit * min(cost.shape)))


def _cosine(x: AlgorithmRun, y: AlgorithmRun, settings: MeasureSettings) -> float:
    assert isinstance(x, Trajectory) and isinstance(y, Trajectory), "of samples it is refused"
    states_x, states_y = (run.data[settings.granularity.kept(len(run))] for run in (x, y))
    if min(len(states_x), len(states_y)) < 2:
        raise TrajectoryError("measure='cosine' compares segments between states: it needs two states; got one")
    cosine = float(_scalar().mean_cosine(states_x, states_y))
    if not np.isfinite(cosine):
        raise TrajectoryError("the segments between these states are too long for floating point; rescale the vectors")
    return cosine


def _expected_costs(x: AlgorithmRun, y: AlgorithmRun, settings: MeasureSettings) -> Costs:
    """Return the (m, n) distances between states; between samples, half the energy distance, at least 0.

    It is E d(X, Y) - E d(X, X') / 2 - E d(Y, Y') / 2, estimated without bias (U-statistic): X' is always another sample
    than X. With one sample, E d(X, X') counts as 0.
    """
    if isinstance(x, Trajectory) and isinstance(y, Trajectory):
        kept = settings.granularity.kept
        return _costs(x, kept(len(x)), y, kept(len(y)), settings)
    steps_x, steps_y = (settings.granularity.kept(len(run)) for run in (x, y))
    pairs = [_costs(a, steps_x, b, steps_y, settings) for a, b in product(trajectories_of(x), trajectories_of(y))]
    spread = _spread(x, settings)[:, None] / 2 + _spread(y, settings)[None, :] / 2
    return np.asarray(np.maximum(np.mean(pairs, axis=0) - spread, 0.0))


def _spread(run: AlgorithmRun, settings: MeasureSettings) -> Costs:
    """Return, (steps,), the mean distance between two different samples at each kept step; 0 for a single sample."""
    steps = settings.granularity.kept(len(run))
    pairs = [_costs(a, steps, b, steps, settings).diagonal() for a, b in combinations(trajectories_of(run), 2)]
    return np.mean(pairs, axis=0) if pairs else np.zeros(len(steps))


def _gap_costs(run: AlgorithmRun, settings: MeasureSettings) -> Costs:
    """Return, (steps,), the distance of each kept state to ERP's reference state."""
    reference = _reference(trajectories_of(run)[0], settings)
    return np.ascontiguousarray(_expected_costs(run, reference, settings)[:, -1])


def _reference(like: Trajectory, settings: MeasureSettings) -> Trajectory:
    """Return ERP's reference, a trajectory of one state: the settings' gap; else an empty sequence, set or the origin.

    Raises TrajectoryError if the gap does not have the dimensions of the states.
    """
    if like.kind == "vectors":
        gap = np.zeros(like.data.shape[1]) if settings.gap is None else np.asarray(settings.gap)
        if gap.shape != like.data.shape[1:]:
            raise TrajectoryError(f"gap must have the states' {like.data.shape[1]} dimensions; got {gap.size}")
        return Trajectory.vectors(gap[None, :])
    tokens = np.asarray(settings.gap or ())
    return Trajectory.sets([tokens]) if like.kind == "sets" else Trajectory.sequences([tokens])


def _costs(x: Trajectory, steps_x: Costs, y: Trajectory, steps_y: Costs, settings: MeasureSettings) -> Costs:
    """Return the distances between the states `steps_x` of x and `steps_y` of y.

    For the normaliser "pair", each is divided by the length of the longer state. Steps after a run's end mean its last
    state.
    """
    steps_x, steps_y = np.minimum(steps_x, len(x) - 1), np.minimum(steps_y, len(y) - 1)  # a run stays in its last state
    if settings.distance is not None:
        cost = _own_costs(x, steps_x, y, steps_y, settings)
    else:
        cost = _all_costs(x, y, steps_x[-1] + 1, steps_y[-1] + 1)[np.ix_(steps_x, steps_y)]
    if settings.normaliser == "pair":
        cost = cost * (1.0 / np.maximum(np.maximum.outer(_sizes(x)[steps_x], _sizes(y)[steps_y]), 1))
    return np.ascontiguousarray(cost)


def _all_costs(x: Trajectory, y: Trajectory, m: int, n: int) -> Costs:
    """Return the (m, n) distances, by the kind's own measure, of the first m states of x and the first n of y."""
    scalar = _scalar()
    if x.kind == "vectors":
        return np.asarray(scalar.vector_costs(x.data[:m], y.data[:n]))
    if x.kind == y.kind == "prefixes":
        return np.asarray(scalar.edit_table(x.data[:m].astype(np.int64), y.data[:n].astype(np.int64)))
    kernel = scalar.set_costs if x.kind == "sets" else scalar.sequence_costs
    return np.asarray(kernel(*_states(x, m), *_states(y, n)))


def _own_costs(x: Trajectory, steps_x: Costs, y: Trajectory, steps_y: Costs, settings: MeasureSettings) -> Costs:
    """Return the distances by the settings' own function; raises DistanceError if one is not finite or below 0."""
    assert settings.distance is not None
    cost = np.empty((len(steps_x), len(steps_y)))
    states_y = [y.state(j) for j in steps_y]
    for row, i in enumerate(steps_x):
        for column, state in enumerate(states_y):
            distance = settings.distance(x.state(i), state)
            try:
                cost[row, column] = distance
            except (TypeError, ValueError):
                cost[row, column] = np.nan
            if not 0 <= cost[row, column] < np.inf:
                raise DistanceError(
                    "`distance` must return a finite number, 0 or more; "
                    f"got {described(distance)} for states {i} and {steps_y[column]}"
                )
    return cost


def _states(run: Trajectory, count: int) -> tuple[Costs, Costs]:
    """Return the tokens of the first `count` states, end to end, and where each state ends."""
    if run.ends is None:  # prefixes, written out
        return np.concatenate([run.data[: i + 1] for i in range(count)]).astype(np.int64), np.cumsum(
            _sizes(run)[:count]
        )
    return run.data[: run.ends[count - 1]].astype(np.int64), run.ends[:count]


def _sizes(run: Trajectory) -> Costs:
    """Return, (states,), the number of tokens in each state."""
    return np.arange(1, len(run) + 1) if run.ends is None else np.diff(run.ends, prepend=0)
