"""Eight optimisers on Rosenbrock's function; their iterates are the trajectories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Point = NDArray[np.float64]
"""Shape (2,): a point of the plane."""
Iterates = NDArray[np.float64]
"""Shape (steps, 2): the points an optimiser visited, the start first."""

BOX = 2.0
"""Random starts are drawn from the square [-BOX, BOX]²."""
FIXED = ((-1.2, 1.0), (-1.5, -1.0))
"""The first two starts: the usual one of the literature, and another."""
STARTS = 10
"""Number of starts of each optimiser: those of FIXED, and random ones."""
STEPS = 500
"""Steps of SGD and Adam, which have no stopping rule."""
SGD_RATE, LONGEST_GRADIENT = 1e-3, 50.0
"""Step size of SGD, and the norm to which a longer gradient is cut."""
ADAM_RATE, ADAM_DECAY = 0.05, (0.9, 0.999)
"""Step size of Adam, and its usual decay rates of the mean and of the square."""
OPTIMUM = (1.0, 1.0)
"""The point where Rosenbrock's function is 0, its minimum."""


def starts(seed: int = 2026) -> list[Point]:
    """Return ten starts: the two FIXED ones and eight drawn uniformly from the box with `seed`."""
    rng = np.random.default_rng(seed)
    return [*map(np.array, FIXED), *rng.uniform(-BOX, BOX, (STARTS - len(FIXED), 2))]


def _by_scipy(method: str, start: Point, derivatives: int = 0, **options: Any) -> Iterates:
    """Return the iterates of scipy's `minimize` on Rosenbrock's function, start first.

    `derivatives` is the number of derivatives that the method is given: 0, 1 or 2.
    """
    from scipy.optimize import minimize, rosen, rosen_der, rosen_hess

    iterates = [start.copy()]
    minimize(
        rosen,
        start,
        method=method,
        jac=rosen_der if derivatives else None,
        hess=rosen_hess if derivatives > 1 else None,
        callback=lambda x: iterates.append(np.array(x)),  # a copy: scipy may use the array again
        options=options,
    )
    return np.array(iterates)


def _sgd(start: Point) -> Iterates:
    """Return the iterates of gradient descent. It clips the gradient: else starts in the box's corners diverge."""
    from scipy.optimize import rosen_der

    iterates = [start]
    for _ in range(STEPS):
        gradient = rosen_der(iterates[-1])
        length = float(np.linalg.norm(gradient))  # 0 at the optimum, so not to be divided by
        iterates.append(iterates[-1] - SGD_RATE * gradient * min(1.0, LONGEST_GRADIENT / max(length, 1e-300)))
    return np.array(iterates)


def _adam(start: Point) -> Iterates:
    """Return the iterates of Adam (Kingma and Ba 2015)."""
    from scipy.optimize import rosen_der

    iterates, mean, square = [start], np.zeros(2), np.zeros(2)
    for step in range(1, STEPS + 1):
        gradient = rosen_der(iterates[-1])
        mean = ADAM_DECAY[0] * mean + (1 - ADAM_DECAY[0]) * gradient
        square = ADAM_DECAY[1] * square + (1 - ADAM_DECAY[1]) * gradient**2
        unbiased = mean / (1 - ADAM_DECAY[0] ** step), square / (1 - ADAM_DECAY[1] ** step)
        iterates.append(iterates[-1] - ADAM_RATE * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8))
    return np.array(iterates)


OPTIMISERS: Mapping[str, Callable[[Point], Iterates]] = {
    "CG": lambda start: _by_scipy("CG", start, derivatives=1),
    "Newton-CG": lambda start: _by_scipy("Newton-CG", start, derivatives=2),
    "SGD": _sgd,
    "Adam": _adam,
    "BFGS": lambda start: _by_scipy("BFGS", start, derivatives=1),
    "L-BFGS-B": lambda start: _by_scipy("L-BFGS-B", start, derivatives=1),
    "NelderMead": lambda start: _by_scipy("Nelder-Mead", start),
    "NelderMead-Adaptive": lambda start: _by_scipy("Nelder-Mead", start, adaptive=True),
}
"""Functions from a start to the iterates, keyed by the optimisers' names in the paper.

NelderMead and NelderMead-Adaptive find the same iterates here: in two dimensions both have the same coefficients."""
