"""Circle packing: a program places n circles in the unit square; the sum of their radii counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Objective, Solution, Split, Task
from behavesim.trajectory import Trajectory

TEMPLATE = '''\
import math

import numpy as np


def pack_circles(n: int) -> np.ndarray:
    """
    Pack n circles in a unit square to maximize sum of radii.

    Args:
        n: Number of circles to pack
    Returns:
        Numpy array of shape (n, 3) where each row is (x, y, radius)
        All values should be between 0 and 1
        Circles must not overlap

    Important: Set "all" random seeds to 2025, including the packages (such as scipy sub-packages)
    involving random seeds.
    """
    np.random.seed(2025)
    if n == 0:
        return np.zeros((0, 3))

    circles = np.zeros((n, 3))

    # Place first circle in the center
    circles[0] = [0.5, 0.5, 0.5]

    for i in range(1, n):
        max_r = 0
        best_pos = (0.5, 0.5)

        # Generate candidate positions near existing circles and boundaries
        candidates = []
        for j in range(i):
            cx, cy, r = circles[j]
            for angle in np.linspace(0, 2*np.pi, 20):
                dx = np.cos(angle)
                dy = np.sin(angle)
                new_x = cx + (r + 0.01) * dx
                new_y = cy + (r + 0.01) * dy
                if 0 <= new_x <= 1 and 0 <= new_y <= 1:
                    candidates.append((new_x, new_y))

        # Add boundary points
        for b in np.linspace(0, 1, 20):
            candidates.extend([(b, 0), (b, 1), (0, b), (1, b)])

        # Evaluate each candidate
        for (cx, cy) in candidates:
            # Calculate maximum possible radius
            current_r = min(cx, 1 - cx, cy, 1 - cy)

            # Check against existing circles
            if i > 0:
                existing = circles[:i, :2]
                radii = circles[:i, 2]
                distances = np.sqrt((existing[:, 0] - cx)**2 + (existing[:, 1] - cy)**2)
                min_dist = np.min(distances - radii)
                current_r = min(current_r, min_dist)

            if current_r > max_r:
                max_r = current_r
                best_pos = (cx, cy)

        circles[i] = [best_pos[0], best_pos[1], max_r]

    return circles
'''

TOLERANCE = 1e-9
"""How far circles may reach into one another or out of the square: rounding, not room."""

SIZES: dict[Split, tuple[int, ...]] = {"search": (26,), "validation": (20, 32), "held-out": (10, 17, 23, 29, 40)}


@dataclass(frozen=True)
class Circles:
    """One instance: how many circles there are to pack."""

    n: int


def greatest_distance(n: int) -> float:
    """D of the paper's solution distance: the greatest Euclidean distance between two arrays of n circles.

    A row (x, y, r) is at most √2 from another, or from the zeros of a circle not yet placed: the square's opposite
    corners at radius 0. Circles of radius 0 may share a place, so that all n rows can be that far apart at once.
    """
    return math.sqrt(2 * n)


class CirclePacking(Task):
    """Pack circles into the unit square so that none overlap and the sum of their radii is as great as possible.

    The function receives the number of circles and returns an array with a row (x, y, radius) for each. Every circle
    must lie inside the square, and no two may overlap; a radius may be zero. The score is the sum of the radii.
    """

    template = TEMPLATE
    objective = Objective("maximise", best_known=2.635983)
    normaliser = greatest_distance(26)
    score_scale = 0.1

    def instances(self, split: Split) -> Sequence[Circles]:
        """26 circles for the search; other numbers elsewhere."""
        return tuple(Circles(n) for n in SIZES[split])

    def solve(self, function: Callable[..., Any], instance: Circles) -> Solution:
        """The circles in the order in which the function returns them, an (n, 3) float64 array."""
        try:
            return np.asarray(function(instance.n), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidSolution(f"expected an array of numbers: {error}") from error

    def score(self, instance: Circles, solution: Solution) -> float:
        """The sum of the radii."""
        return math.fsum(_checked(instance, solution)[:, 2].tolist())

    def trajectory(self, instance: Circles, solution: Solution) -> Trajectory:
        """The square filling up: state t holds the first t circles in returned order, the others zero."""
        circles = _checked(instance, solution)
        placed = np.tri(instance.n)[:, :, None] * circles[None, :, :]
        return Trajectory.vectors(placed.reshape(instance.n, -1))


def _checked(instance: Circles, solution: Solution) -> NDArray[np.float64]:
    n = instance.n
    if not isinstance(solution, np.ndarray) or solution.shape != (n, 3) or solution.dtype.kind not in "fiu":
        raise InvalidSolution(f"expected an array of numbers of shape ({n}, 3), got {_described(solution)}")
    circles = solution.astype(np.float64)
    if not np.isfinite(circles).all():
        raise InvalidSolution("expected finite numbers, got a non-finite one")
    centres, radii = circles[:, :2], circles[:, 2]
    if radii.min() < 0:
        raise InvalidSolution(f"expected radii of 0 or more, got {radii.min()}")
    outside = np.maximum(radii[:, None] - centres, centres + radii[:, None] - 1).max()
    if outside > TOLERANCE:
        raise InvalidSolution(f"expected circles inside the unit square, one reaches out of it by {outside:.3g}")
    first, second = np.triu_indices(n, 1)
    distances = np.hypot(*(centres[first] - centres[second]).T)
    overlap = (radii[first] + radii[second] - distances).max(initial=0.0)
    if overlap > TOLERANCE:
        raise InvalidSolution(f"expected circles that do not overlap, two do by {overlap:.3g}")
    return circles


def _described(solution: Any) -> str:
    if isinstance(solution, np.ndarray):
        return f"{solution.dtype} of shape {solution.shape}"
    return type(solution).__name__


task = CirclePacking()
