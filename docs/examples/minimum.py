"""Find the minimum of a rugged function: the program returns points, and trusted code says how high it lies."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import behavesim as bs

TEMPLATE = '''
import numpy as np


def height(x: float, y: float, shift: float) -> float:
    return np.sin(3 * (x - shift)) * np.cos(3 * (y + shift)) + ((x - shift) ** 2 + (y + shift) ** 2) / 20


def search(shift: float) -> np.ndarray:
    """
    Returns the 20 points (x, y) in the square [-5, 5]² that were visited; the last one should lie as low as possible.
    Args:
        shift: Moves the landscape; see height.
    """
    points = np.random.default_rng(0).uniform(-5, 5, (20, 2))
    return np.array(sorted(points, key=lambda point: -height(point[0], point[1], shift)))
'''


def height(x: float, y: float, shift: float) -> float:
    """The height of the landscape at a point; `shift` moves it, so that no answer can be learnt by heart."""
    return float(np.sin(3 * (x - shift)) * np.cos(3 * (y + shift)) + ((x - shift) ** 2 + (y + shift) ** 2) / 20)


class Minimum(bs.Task):
    """Find a low point of a function with many local minima; the score is its mean height: the lower the better."""

    template = TEMPLATE
    objective = bs.Objective("minimise")
    normaliser = 15.0  # the square's diagonal is a little shorter

    def instances(self, split: bs.Split) -> Sequence[float]:
        """Five shifts for each split."""
        seed = {"search": 1, "validation": 2, "held-out": 3}[split]
        return list(np.random.default_rng(seed).uniform(-1, 1, 5))

    def solve(self, search: Callable[..., Any], shift: float) -> np.ndarray:
        """Runs in the sandbox: the evaluator's part that calls the program."""
        return np.asarray(search(shift), dtype=float)

    def score(self, shift: float, solution: Any) -> float:
        """Runs in trusted code: it takes the point, not the program's word for its height."""
        if solution.shape != (20, 2) or not (np.abs(solution) <= 5).all():
            raise bs.InvalidSolution("20 points in the square are wanted")
        return height(*solution[-1], shift)

    def trajectory(self, shift: float, solution: Any) -> bs.Trajectory:
        """The points that were visited, in order."""
        return bs.Trajectory.vectors(np.clip(np.nan_to_num(solution), -5, 5))


task = Minimum()
