"""Programs that must work wherever isolation is strong."""

NUMPY_HEURISTIC = """
import numpy as np

def order(points):
    left, tour = set(range(1, len(points))), [0]
    while left:
        tour.append(min(left, key=lambda i: abs(points[i] - points[tour[-1]])))
        left.remove(tour[-1])
    return np.array(tour)
"""
SCIPY_AND_NUMBA_HEURISTIC = """
import numpy as np
from dataclasses import dataclass
from numba import njit
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist

@dataclass
class Weights:
    power: "float"

@njit
def nearest(distances):
    n = len(distances)
    tour, seen = np.zeros(n, np.int64), np.zeros(n, np.bool_)
    seen[0] = True
    for step in range(1, n):
        best = -1
        for j in range(n):
            if not seen[j] and (best < 0 or distances[tour[step - 1], j] < distances[tour[step - 1], best]):
                best = j
        tour[step] = best
        seen[best] = True
    return tour

def order(points):
    weights = Weights(minimize_scalar(lambda x: (x - 1) ** 2).x)
    return nearest(cdist(points[:, None], points[:, None]) ** weights.power)
"""
