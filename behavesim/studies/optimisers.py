"""Eight optimisers on Rosenbrock's function; their iterates are the trajectories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Point = NDArray[np.float64]
Iterates = NDArray[np.float64]
"""Shape (steps, 2): the points an optimiser visited, the start first."""

BOX = 2.0
"""Starts are drawn from [-2, 2]²."""
FIXED = ((-1.2, 1.0), (-1.5, -1.0))
STARTS = 10
STEPS = 500
SGD_RATE, LONGEST_GRADIENT = 1e-3, 50.0
ADAM_RATE, ADAM_DECAY = 0.05, (0.9, 0.999)
OPTIMUM = (1.0, 1.0)


def starts(seed: int = 2026) -> list[Point]:
    """Return ten starts: two fixed ones and eight drawn uniformly from the box."""
    rng = np.random.default_rng(seed)
    return [*map(np.array, FIXED), *rng.uniform(-BOX, BOX, (STARTS - len(FIXED), 2))]


def _by_scipy(method: str, start: Point, derivatives: int = 0, **options: Any) -> Iterates:
    """Return the iterates of a scipy optimiser that uses the first `derivatives` derivatives (0, 1 or 2)."""
    from scipy.optimize import minimize, rosen, rosen_der, rosen_hess

    iterates = [start.copy()]
    minimize(
        rosen,
        start,
        method=method,
        jac=rosen_der if derivatives else None,
        hess=rosen_hess if derivatives > 1 else None,
        callback=lambda x: iterates.append(np.array(x)),
        options=options,
    )
    return np.array(iterates)


def _sgd(start: Point) -> Iterates:
    """Gradient descent with a clipped gradient: without it, starts in the box's corners diverge."""
    from scipy.optimize import rosen_der

    iterates = [start]
    for _ in range(STEPS):
        gradient = rosen_der(iterates[-1])
        length = float(np.linalg.norm(gradient))
        iterates.append(iterates[-1] - SGD_RATE * gradient * min(1.0, LONGEST_GRADIENT / max(length, 1e-300)))
    return np.array(iterates)


def _adam(start: Point) -> Iterates:
    """Adam (Kingma and Ba 2015)."""
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
"""Keyed by the paper's names. In two dimensions the last two are equal: the adaptive coefficients are the standard."""
