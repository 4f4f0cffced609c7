"""The settings of the measure, checked when they are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import DistanceError, TrajectoryError

Measure = Literal["dtw", "erp", "mean", "cosine"]
"""How two trajectories are compared: by dynamic time warping (dtw), edit distance with real penalty (erp), the mean
distance at equal steps (mean), or the mean cosine of equal steps' segments (cosine, for vectors only)."""
Distance = Callable[[NDArray[Any], NDArray[Any]], float]
"""The distance of two states, before normalisation; a state is an array of tokens or coordinates."""

TOLERANCE = 1e-9
"""How far above the normaliser a distance may lie because of rounding, as a fraction of the normaliser."""
LARGEST = 1e100
"""Largest normaliser, and largest coordinate in a run: squares and sums of such numbers do not overflow."""


@dataclass(frozen=True)
class MeasureSettings:
    """The settings of `BehaveSim`; raises TrajectoryError if one is out of range.

    normaliser: what distances of states are divided by, 1e-100 to 1e100; "pair" is the longer state's length. truncate:
    share, 0 to 1, of a run's states left out at its end; the first stays. skip: states left out between two that are
    compared. clip: bound Sim to [0, 1]. distance: a person's distance of two states, not with "cosine"; None for that
    of their kind. gap: ERP's reference state; None for an empty one or the origin. strict: refuse distances above the
    normaliser.
    """

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
        if self.measure == "cosine" and self.distance is not None:
            raise TrajectoryError("measure='cosine' compares directions and takes no distance; leave `distance` out")
        if self.gap is not None:
            object.__setattr__(self, "gap", tuple(np.asarray(self.gap).ravel().tolist()))

    def length(self, states: int) -> int:
        """Return how many of a run's states `truncate` leaves: all but the last floor(truncate * states), at least 1.

        This is the truncation k of the paper's appendix "Influences of PSTraj Truncation and Sampling Parameters".
        """
        return max(1, states - math.floor(self.truncate * states + 1e-9))  # 0.29 * 100 is 28.999999999999996

    def kept(self, states: int) -> NDArray[np.intp]:
        """Return the indices, ascending, of those of a run's states that are compared: truncated, then sampled.

        Sampling n, the same appendix's, skips `skip` states between kept ones; it keeps the first and the last.
        """
        last = self.length(states) - 1
        stride = np.arange(0, last + 1, self.skip + 1)
        return stride if stride[-1] == last else np.append(stride, last)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the kernels for a whole archive apply: measure "dtw", no skipped states, no own `distance`."""
        return self.measure == "dtw" and self.skip == 0 and self.distance is None

    @cached_property
    def unit(self) -> float:
        """What the sum of distances is divided by; 1.0 for "pair", where each distance was divided before."""
        return 1.0 if self.normaliser == "pair" else float(self.normaliser)

    def check_distance(self, distance: float) -> None:
        """Raise DistanceError if `strict` and a distance is NaN or above the normaliser (1 for "pair").

        Rounding is allowed for: TOLERANCE, a fraction of the normaliser.
        """
        if self.strict and not distance <= self.unit * (1 + TOLERANCE):
            raise DistanceError(
                f"a distance of {distance:g} occurs, outside 0 to {self.unit:g}; "
                "normaliser must be the greatest distance two solutions of the problem can have"
            )


def _is_real(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_count(name: str, value: object, least: int) -> None:
    """Raise TrajectoryError, which says `name`, if a value is not an integer of at least `least`; a bool is none."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise TrajectoryError(f"{name} must be an integer, {least} or more; got {value!r}")
