"""Sim of one pair of runs by its definition: all distances between states, then a measure over them.

This covers every kind, measure and option; the settings are checked here. The kernels for a whole archive give the same
bits for the common ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property
from itertools import combinations, product
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import DistanceError, TrajectoryError
from behavesim.trajectory import AlgorithmRun, Samples, Trajectory, describe_value, trajectories_of

# How two trajectories are compared: by dynamic time warping (dtw), edit distance with real penalty (erp), the mean
# distance at equal steps (mean), or the mean cosine of equal steps' segments (cosine, for vectors only).
Measure = Literal["dtw", "erp", "mean", "cosine"]
# The distance of two states, before normalisation; a state is an array of tokens or coordinates.
Distance = Callable[[NDArray[Any], NDArray[Any]], float]

# How far above the normaliser a distance may lie because of rounding, as a fraction of the normaliser.
TOLERANCE = 1e-9
# Largest normaliser, and largest coordinate in a run: squares and sums of such numbers do not overflow.
LARGEST = 1e100


@dataclass(frozen=True)
class MeasureSettings:
    """The settings of `BehaveSim`, which describes them; raises TrajectoryError if one is out of range."""

    normaliser: float | Literal["pair"]
    measure: Measure = "dtw"
    truncate: float = 0.0
    skip: int = 0
    clip: bool = True
    _: KW_ONLY
    distance: Distance | None = None
    gap: tuple[float, ...] | None = None
    strict: bool = True

    def __post_init__(self) -> None:
        if self.measure not in get_args(Measure):
            raise TrajectoryError(f"measure must be one of {', '.join(get_args(Measure))}; got {self.measure!r}")
        if self.normaliser != "pair" and not (_is_real(self.normaliser) and 1 / LARGEST <= self.normaliser <= LARGEST):
            raise TrajectoryError(
                "normaliser must be a positive number, the greatest distance two solutions of the problem can have, "
                f"from {1 / LARGEST:g} to {LARGEST:g}, or 'pair'; got {self.normaliser!r}"
            )
        if not (_is_real(self.truncate) and 0 <= self.truncate <= 1):
            raise TrajectoryError(f"truncate must be a proportion from 0 to 1; got {self.truncate!r}")
        check_count("skip", self.skip, 0)
        for name in ("clip", "strict"):
            if not isinstance(value := getattr(self, name), bool | np.bool_):  # the text "no" would count as true
                raise TrajectoryError(f"{name} must be True or False; got {value!r}")
        if self.measure == "cosine" and self.distance is not None:
            raise TrajectoryError("measure='cosine' compares directions and takes no distance; leave `distance` out")
        if self.gap is not None:
            object.__setattr__(self, "gap", tuple(np.asarray(self.gap).ravel().tolist()))

    def length(self, states: int) -> int:
        """Return how many states of a run `truncate` leaves: without the last floor(truncate * states), at least 1."""
        # the truncation k of the paper's appendix "Influences of PSTraj Truncation and Sampling Parameters"; 1e-9, as
        # 0.29 * 100 is 28.999999999999996
        return max(1, states - math.floor(self.truncate * states + 1e-9))

    def kept(self, states: int) -> NDArray[np.intp]:
        """Return the indices, ascending, of the run's states that are compared: truncated, then sampled."""
        # sampling (the paper's n, same appendix) leaves out `skip` states between kept ones; first and last stay
        last = self.length(states) - 1
        stride = np.arange(0, last + 1, min(self.skip, last) + 1)  # numpy takes no larger numbers than 64 bits
        return stride if stride[-1] == last else np.append(stride, last)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the kernels for a whole archive apply: measure "dtw", no skipped states, no own `distance`."""
        return self.measure == "dtw" and self.skip == 0 and self.distance is None

    @cached_property
    def unit(self) -> float:
        """Divisor of the sum of distances; 1.0 for "pair", where each distance was divided before."""
        return 1.0 if self.normaliser == "pair" else float(self.normaliser)

    def check_distance(self, distance: float) -> None:
        """Raise DistanceError if `strict` and a distance is NaN or, but for rounding, above the normaliser."""
        if self.strict and not distance <= self.unit * (1 + TOLERANCE):
            raise DistanceError(
                f"two states are {distance:g} apart, more than the task's `normaliser` of {self.unit:g}; raise it"
            )


def _is_real(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_count(name: str, value: object, least: int) -> None:
    """Raise TrajectoryError, which says `name`, if a value is not an integer of at least `least`; a bool is none."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise TrajectoryError(f"{name} must be an integer, {least} or more; got {value!r}")


# (m, n) distances between m states and n states, before division by the settings' unit.
Costs = NDArray[np.float64]
# Indices of states, ascending.
Indices = NDArray[np.intp]


def raw_similarity(x: AlgorithmRun, y: AlgorithmRun, settings: MeasureSettings) -> float:
    """Return Sim(x, y) before clipping, at most 1.0 (paper, "Similarity Between PSTrajs").

    Raises TrajectoryError if the two cannot be compared, DistanceError as `BehaveSim` does.
    """
    # first the common case: the checks below take as long as a short comparison
    if isinstance(x, Trajectory) and isinstance(y, Trajectory) and x.kind == y.kind == "prefixes" and settings.is_plain:
        return _prefix_dtw(x, y, settings)
    check_run(x)
    check_run(y)
    check_pair(x, y, settings)
    if x == y:
        return 1.0
    similarity = _cosine(x, y, settings) if settings.measure == "cosine" else _by_costs(x, y, settings)
    check_finite(similarity)
    return similarity


def check_run(run: Any) -> None:
    """Raise TrajectoryError if `run` is neither a Trajectory nor Samples."""
    if not isinstance(run, Trajectory | Samples):
        raise TrajectoryError(
            f"expected a Trajectory, as Trajectory.prefixes(…) makes, or Samples; got {describe_value(run)}"
        )


def check_alike(x: AlgorithmRun, y: AlgorithmRun) -> None:
    """Raise TrajectoryError if two runs differ in kind, or are vectors of different dimensions."""
    if x.kind != y.kind:
        raise TrajectoryError(f"trajectories of one instance must be of one kind; got {x.kind} and {y.kind}")
    if x.kind == "vectors":
        dimensions = [run.data.shape[1] for run in (*trajectories_of(x), *trajectories_of(y))]
        if min(dimensions) != max(dimensions):
            raise TrajectoryError(f"vectors must have the same dimensions; got {min(dimensions)} and {max(dimensions)}")


def check_pair(x: AlgorithmRun, y: AlgorithmRun, settings: MeasureSettings) -> None:
    """Raise TrajectoryError if two runs differ in kind or dimensions, or do not suit the measure and normaliser."""
    check_alike(x, y)
    if x.kind == "vectors" and settings.normaliser == "pair" and settings.measure != "cosine":
        raise TrajectoryError("vectors have no pairwise normaliser; give the greatest distance of the problem")
    if settings.measure == "cosine" and x.kind != "vectors":
        raise TrajectoryError(f"measure='cosine' needs vectors; got {x.kind}")
    if settings.measure == "cosine" and (isinstance(x, Samples) or isinstance(y, Samples)):
        raise TrajectoryError("measure='cosine' is not defined for samples; use dtw, erp or mean, or a fixed seed")


def check_coordinates(run: AlgorithmRun) -> None:
    """Raise TrajectoryError if a coordinate is beyond ±1e100 (`LARGEST`), so that a comparison could overflow."""
    largest = max(float(abs(each.data).max()) for each in trajectories_of(run)) if run.kind == "vectors" else 0.0
    if largest > LARGEST:
        raise TrajectoryError(f"coordinates must lie within ±{LARGEST:g}, or distances overflow; got {largest:g}")


def check_finite(similarities: float | NDArray[np.float64]) -> None:
    """Raise TrajectoryError if a similarity is infinite or not a number."""
    if not np.isfinite(similarities).all():
        raise TrajectoryError(
            "these trajectories have no finite similarity: their distances are too large for floating point; "
            "rescale the vectors"
        )


@cache
def _scalar() -> Any:
    """Return the kernels' module; cached, as an import statement takes a third of the time of a short comparison."""
    from behavesim.similarity.kernels import scalar

    return scalar


def _prefix_dtw(run_x: Trajectory, run_y: Trajectory, settings: MeasureSettings) -> float:
    """Return unclipped Sim of two prefix trajectories by dynamic time warping, without the table of all distances."""
    x, y = run_x.data, run_y.data
    if settings.truncate:
        x, y = x[: settings.length(len(x))], y[: settings.length(len(y))]
    x, y = x.astype(np.int64), y.astype(np.int64)
    longer, shorter = len(x), len(y)
    if longer < shorter:  # `max` and `min` would take 4 % of a short comparison's time
        longer, shorter = shorter, longer
    reciprocals = 1.0 / np.arange(1, longer + 1) if settings.normaliser == "pair" else None
    if settings.strict and reciprocals is None and longer > settings.unit:  # a distance is at most the longer length
        check_prefix_distances(x, y, settings)
    # sums of integers are exact, far below 2**53: the kernel for archives finds the same bits in 16-bit integers
    total = _scalar().prefix_dtw(x, y, reciprocals)
    return float(1.0 - total / (settings.unit * shorter))


def check_prefix_distances(x: NDArray[Any], y: NDArray[Any], settings: MeasureSettings) -> None:
    """Raise DistanceError if a prefix of x and a prefix of y, integer decisions, are too far apart for the settings."""
    if not np.array_equal(x, y):  # equal runs have no distance but 0 on the path that counts
        _, largest = _scalar().edit_distances(x.astype(np.int64), y.astype(np.int64))
        settings.check_distance(largest)


def _by_costs(x: AlgorithmRun, y: AlgorithmRun, settings: MeasureSettings) -> float:
    scalar, cost = _scalar(), _expected_costs(x, y, settings)
    occurring: tuple[Costs, ...] = (cost,)
    if settings.measure == "dtw":
        total = scalar.dtw(cost)
    elif settings.measure == "mean":
        occurring = (cost.diagonal(),)
        total = occurring[0].cumsum()[-1]  # `sum` adds pairwise and rounds otherwise
    else:
        gaps = _gap_costs(x, settings), _gap_costs(y, settings)
        occurring = (cost, *gaps)
        total = scalar.erp(cost, *gaps)
    if total != 0 or settings.distance is not None:  # distances of 0 are within any normaliser
        for distances in occurring:
            settings.check_distance(distances.max())
    return float(1.0 - total / (settings.unit * min(cost.shape)))


def _cosine(x: AlgorithmRun, y: AlgorithmRun, settings: MeasureSettings) -> float:
    """Return the mean cosine of the segments; raises TrajectoryError if a run has one state or overflows."""
    assert isinstance(x, Trajectory) and isinstance(y, Trajectory), "check_pair refuses samples"
    states_x, states_y = (run.data[settings.kept(len(run))] for run in (x, y))
    if min(len(states_x), len(states_y)) < 2:
        raise TrajectoryError("measure='cosine' compares segments between states: it needs two states; got one")
    cosine = float(_scalar().mean_cosine(states_x, states_y))
    if not np.isfinite(cosine):
        raise TrajectoryError("the segments between these states are too long for floating point; rescale the vectors")
    return cosine


def _expected_costs(x: AlgorithmRun, y: AlgorithmRun, settings: MeasureSettings) -> Costs:
    """Return the (m, n) distances between the kept states; between samples, half the energy distance, at least 0."""
    # E d(X, Y) - E d(X, X') / 2 - E d(Y, Y') / 2, estimated without bias (U-statistic): X' is always another
    # sample than X. With one sample, E d(X, X') counts as 0, so between two trajectories it is their states' distance.
    steps_x, steps_y = settings.kept(len(x)), settings.kept(len(y))
    pairs = list(product(trajectories_of(x), trajectories_of(y)))
    total = np.zeros((len(steps_x), len(steps_y)))
    for a, b in pairs:  # one table at a time: samples of many long runs would fill the memory
        total += _costs(a, steps_x, b, steps_y, settings)
    spread = _spread(x, settings)[:, None] / 2 + _spread(y, settings)[None, :] / 2
    return np.asarray(np.maximum(total / len(pairs) - spread, 0.0))


def _spread(run: AlgorithmRun, settings: MeasureSettings) -> Costs:
    """Return, (steps,), the mean distance between two different samples at each kept step; 0 for a single sample."""
    steps = settings.kept(len(run))
    runs = combinations(trajectories_of(run), 2)
    pairs = [_costs(a, steps, b, steps, settings).diagonal().copy() for a, b in runs]  # a view would keep its table
    return np.mean(pairs, axis=0) if pairs else np.zeros(len(steps))


def _gap_costs(run: AlgorithmRun, settings: MeasureSettings) -> Costs:
    """Return, (steps,), the distance of each kept state to ERP's reference state."""
    reference = _reference(trajectories_of(run)[0], settings)
    return _expected_costs(run, reference, settings)[:, 0].copy()


def _reference(like: Trajectory, settings: MeasureSettings) -> Trajectory:
    """Return ERP's reference, a trajectory of one state: the settings' gap; else empty, or the origin."""
    if like.kind == "vectors":
        gap = np.zeros(like.data.shape[1]) if settings.gap is None else np.asarray(settings.gap)
        if gap.shape != like.data.shape[1:]:
            raise TrajectoryError(f"gap must have the states' {like.data.shape[1]} dimensions; got {gap.size}")
        return Trajectory.vectors(gap[None, :])
    tokens = np.asarray(settings.gap or ())
    return Trajectory.sets([tokens]) if like.kind == "sets" else Trajectory.sequences([tokens])


def _costs(x: Trajectory, steps_x: Indices, y: Trajectory, steps_y: Indices, settings: MeasureSettings) -> Costs:
    """Return the (m, n) distances between the states `steps_x` of x and `steps_y` of y."""
    # steps after a run's end mean its last state: one sample may have fewer states than another
    steps_x, steps_y = np.minimum(steps_x, len(x) - 1), np.minimum(steps_y, len(y) - 1)
    if settings.distance is not None:
        cost = _own_costs(x, steps_x, y, steps_y, settings.distance)
    else:
        cost = _all_costs(x, y, steps_x[-1] + 1, steps_y[-1] + 1)[np.ix_(steps_x, steps_y)]
    if settings.normaliser == "pair":
        cost = cost * (1.0 / np.maximum(np.maximum.outer(_sizes(x)[steps_x], _sizes(y)[steps_y]), 1))
    return cost


def _all_costs(x: Trajectory, y: Trajectory, m: int, n: int) -> Costs:
    """Return the (m, n) distances, by the kind's own measure, of the first m states of x and the first n of y."""
    scalar = _scalar()
    if x.kind == "vectors":
        return np.asarray(scalar.vector_costs(x.data[:m], y.data[:n]))
    if x.kind == y.kind == "prefixes":
        return np.asarray(scalar.edit_table(x.data[:m].astype(np.int64), y.data[:n].astype(np.int64)))
    return np.asarray(scalar.token_costs(*_states_of(x, m), *_states_of(y, n), x.kind == "sets"))


def _own_costs(x: Trajectory, steps_x: Indices, y: Trajectory, steps_y: Indices, distance: Distance) -> Costs:
    """Return the (m, n) distances between states by a person's function."""
    cost = np.empty((len(steps_x), len(steps_y)))
    states_y = [y.state(j) for j in steps_y]
    for row, i in enumerate(steps_x):
        for column, state in enumerate(states_y):
            found = distance(x.state(i), state)
            try:
                # numpy would take the text "3"
                cost[row, column] = np.nan if isinstance(found, str | bytes) else found
            except (TypeError, ValueError):
                cost[row, column] = np.nan
            if not 0 <= cost[row, column] < np.inf:
                raise DistanceError(
                    "`distance` must return a finite number, 0 or more; "
                    f"got {describe_value(found)} for states {i} and {steps_y[column]}"
                )
    return cost


def _states_of(run: Trajectory, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tokens of the first `count` states, end to end, and where each ends."""
    if run.ends is not None:
        return run.data[: run.ends[count - 1]].astype(np.int64), run.ends[:count]
    written_out = [run.data[: i + 1] for i in range(count)]
    return np.concatenate(written_out).astype(np.int64), np.cumsum(_sizes(run)[:count])


def _sizes(run: Trajectory) -> NDArray[np.int64]:
    """Return, (states,), the number of tokens in each state."""
    return np.arange(1, len(run) + 1) if run.ends is None else np.diff(run.ends, prepend=0)
