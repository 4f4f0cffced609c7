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
def nearest(distances, seen):
    best = -1
    for j in range(len(seen)):
        if not seen[j] and (best < 0 or distances[j] < distances[best]):
            best = j
    return best

def order(points):
    weights = Weights(minimize_scalar(lambda x: (x - 1) ** 2).x)
    distances = cdist(points[:, None], points[:, None]) ** weights.power
    tour, seen = [0], np.zeros(len(points), bool)
    while len(tour) < len(points):
        seen[tour[-1]] = True
        tour.append(nearest(distances[tour[-1]], seen))
    return np.array(tour)
"""
