"""Routes from a depot, node 0: drawing of customers, and the check that all tasks of vehicles share."""

from __future__ import annotations

import numpy as np
from behavesim_tasks.places import DIGITS, clustered, uniform
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Solution, as_integers


def drawn(
    random: np.random.RandomState, size: int, in_clusters: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Return places of a depot and `size` customers in the unit square, demands from 1 to 9, and all distances.

    Without clusters all places are uniform; with them the depot is in the corner (0, 0).
    """
    if in_clusters:
        places = np.vstack([np.zeros(2), np.round(clustered(random, size), DIGITS)])
    else:
        places = uniform(random, size + 1)
    demands = np.append(0, random.randint(1, 10, size=size)).astype(np.int64)
    return places, demands, np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=-1))


def checked(solution: Solution, demands: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    """Return the visits as int64: from the depot to the depot, with every customer once and no route too full.

    Raises InvalidSolution for anything else.
    """
    nodes = len(demands)
    visits = as_integers(solution, nodes, "visits of nodes")
    if len(visits) < 2 or visits[0] != 0 or visits[-1] != 0 or not (visits[1:] | visits[:-1]).all():
        raise InvalidSolution("expected routes that begin and end at the depot, 0, none of them empty")
    if not np.array_equal(np.sort(visits[visits > 0]), np.arange(1, nodes)):
        raise InvalidSolution(f"expected every customer of 1…{nodes - 1} once")
    fullest = int(np.bincount((visits == 0).cumsum(), weights=demands[visits]).max())
    if fullest > capacity:
        raise InvalidSolution(f"expected routes that take up to {capacity}, one takes {fullest}")
    return visits
