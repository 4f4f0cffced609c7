"""Circle packing: a program places n circles in the unit square; the sum of their radii counts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from behavesim_tasks import grammars
from numpy.typing import NDArray

from behavesim.task import Disks, InvalidSolution, Objective, Solution, Split, Task, as_numbers
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

# Length by which two circles may overlap, or one reach out of the square of side 1, because of rounding.
TOLERANCE = 1e-9

# The number of circles in each instance of each split.
SIZES: dict[Split, tuple[int, ...]] = {"search": (26,), "validation": (20, 32), "held-out": (10, 17, 23, 29, 40)}


@dataclass(frozen=True)
class Circles:
    """One instance: the number of circles to pack."""

    n: int


def greatest_distance(n: int) -> float:
    """Return D of the paper's solution distance: the greatest Euclidean distance between two arrays of n circles.

    A row (x, y, r) is at most √2 from another, or from the zeros of a circle not yet placed: two opposite corners of
    the square, at radius 0. Circles of radius 0 may share a place, so all n rows can be that far apart.
    """
    return math.sqrt(2 * n)


class CirclePacking(Task):
    """Pack circles into the unit square so that none overlap and the sum of their radii is as great as possible.

    The function receives the number of circles and returns an array with a row (x, y, radius) for each. Every circle
    must lie inside the square, and no two may overlap; a radius may be zero. The score is the sum of the radii.
    """

    kind = "packing"
    search_size = f"1 instance of {SIZES['search'][0]} circles"
    used_by = "AlphaEvolve, OpenEvolve, ShinkaEvolve, BehaveSim (the paper)"
    template = TEMPLATE
    rules = f"""\
- The function is called once, with n = {SIZES["search"][0]}; it must work for other numbers of circles too.
- The answer must have the shape (n, 3) and hold finite numbers, radii of 0 or more.
- Circles that overlap, or reach out of the square, by more than {TOLERANCE:g} are refused: what an optimiser finds
  should be shrunk by a little more than its own tolerance, such as 1e-7, before it is returned.
- A good answer moves all circles and radii together, for instance by scipy.optimize, from more than one start."""
    grammar = grammars.CPP
    objective = Objective("maximise", 2.635983, "found by searches since AlphaEvolve, not proved", unit="sum of radii")
    normaliser = greatest_distance(26)
    score_scale = 0.1

    def instances(self, split: Split) -> Sequence[Circles]:
        """Return the instances of a split: 26 circles for the search, other numbers for the others."""
        return tuple(Circles(n) for n in SIZES[split])

    def picture(self, instance: Circles) -> Disks:
        """Return the picture that draws each state as disks in the unit square."""
        return Disks()

    def solve(self, function: Callable[..., Any], instance: Circles) -> Solution:
        """Return what the function returns, as a float64 array; its shape is checked by `score`.

        Raises InvalidSolution if that is not an array of numbers.
        """
        answer = function(instance.n)
        try:
            circles = np.asarray(answer)
        except ValueError as error:
            raise InvalidSolution(f"expected an array of numbers: {error}") from error
        if circles.dtype.kind not in "fiu":
            raise InvalidSolution(f"expected an array of numbers, got one of {circles.dtype}")
        return circles.astype(np.float64)

    def score(self, instance: Circles, solution: Solution) -> float:
        """Return the sum of the radii; raises InvalidSolution if the circles are not (n, 3) or break a rule."""
        # fsum rounds once, so that the score is the same on every machine
        return math.fsum(_check_circles(instance, solution)[:, 2].tolist())

    def trajectory(self, instance: Circles, solution: Solution) -> Trajectory:
        """Return the square filling up: state i holds the first i + 1 circles in returned order, the others as zeros.

        Raises InvalidSolution if the circles are not (n, 3) or break a rule.
        """
        circles = np.clip(_check_circles(instance, solution), 0, 1)  # the tolerance lets them be slightly outside
        placed = np.tri(instance.n)[:, :, None] * circles[None, :, :]
        return Trajectory.vectors(placed.reshape(instance.n, -1))


def _check_circles(instance: Circles, solution: Solution) -> NDArray[np.float64]:
    """Return the circles as (n, 3) float64; raises InvalidSolution if they are not (n, 3) or break a rule."""
    n = instance.n
    circles = as_numbers(solution, (n, 3), "circles")
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


task = CirclePacking()
