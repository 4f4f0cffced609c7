"""Black-box optimisation on BBOB's functions: a program proposes one point after another. Needs the package `ioh`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from behavesim_tasks import grammars

from behavesim.task import Objective, Solution, Split, Task, as_numbers
from behavesim.trajectory import Trajectory

TEMPLATE = '''\
import numpy as np


def propose(points: np.ndarray, values: np.ndarray, budget: int) -> np.ndarray:
    """
    Returns the point to evaluate next; lower values are better.
    Args:
        points: All points so far, shape (evaluated, dimensions); each coordinate is between -5 and 5.
        values: The function's value at each of them, shape (evaluated,).
        budget: Number of evaluations in all.

    Return:
        Array of shape (dimensions,); coordinates beyond -5 and 5 are set to these.
    """
    random = np.random.default_rng(len(points))
    dimensions = points.shape[1]
    if len(points) == 0:
        return np.zeros(dimensions)
    best = points[np.argmin(values)]
    width = 2.0 * 0.01 ** (len(points) / budget)
    return best + width * random.normal(size=dimensions)
'''

# Number of dimensions of every function.
DIMENSIONS = 5
# Number of evaluations of a function.
BUDGET = 200
# Smallest difference from the least value that counts, as is the custom with these functions.
FLOOR = 1e-8
# BBOB's numbers of function and instance, by split.
FUNCTIONS: dict[Split, tuple[tuple[int, int], ...]] = {
    "search": ((1, 1), (2, 1), (6, 1), (8, 1), (10, 1), (14, 1), (15, 1), (17, 1), (21, 1), (22, 1)),
    "validation": ((1, 2), (6, 2), (8, 2), (10, 2), (15, 2), (21, 2)),
    "held-out": ((1, 3), (2, 3), (6, 3), (8, 3), (10, 3), (14, 3), (15, 3), (17, 3), (21, 3), (22, 3)),
}


@dataclass(frozen=True)
class Function:
    """One instance: a function of BBOB by its number, and the number of its shift and rotation."""

    number: int
    instance: int


@cache  # not kept in the instances: these are copied, and ioh's functions cannot be
def problem(function: Function) -> Any:
    """Return the function itself, as ioh has it; raises ImportError if `ioh` is not installed."""
    try:
        import ioh
    except ImportError as error:
        raise ImportError("it needs the package ioh: pip install 'behavesim[bbob]'") from error
    return ioh.get_problem(function.number, function.instance, DIMENSIONS, ioh.ProblemClass.BBOB)


class BlackBox(Task):
    """Minimise functions of five variables that can only be evaluated, 200 times each.

    The function under design is called once for each evaluation, with all points so far and their values, and returns
    the next point. It may keep things between calls. The score is the mean over functions of log10(best value - least
    value), at least -8: the less the better.
    """

    kind = "black-box"
    search_size = f"{len(FUNCTIONS['search'])} functions of BBOB in {DIMENSIONS} dimensions, {BUDGET} evaluations each"
    used_by = "LLaMEA, and BBOB's own lists with larger budgets"
    template = TEMPLATE
    rules = f"""\
- There are {len(FUNCTIONS["search"])} functions: of BBOB {", ".join(str(each) for each, _ in FUNCTIONS["search"])},
  each with one shift and rotation. The optimum is between -5 and 5 in each coordinate.
- The function is called {BUDGET} times for each of them, first with empty arrays of shapes (0, {DIMENSIONS}) and (0,).
- The answer must be {DIMENSIONS} finite numbers. The program does not see the function, only values at its points."""
    grammar = grammars.BBOB
    objective = Objective("minimise", unit="log10 of the distance to the optimum")
    normaliser = 10 * math.sqrt(DIMENSIONS)
    score_scale = 0.3
    online = True

    def instances(self, split: Split) -> Sequence[Function]:
        """Return the functions of a split; raises ImportError if `ioh` is not installed."""
        functions = [Function(*numbers) for numbers in FUNCTIONS[split]]
        for function in functions:
            problem(function)  # here, so that the absence of `ioh` is said before a search begins
        return functions

    def solve(self, function: Callable[..., Any], instance: Function) -> Solution:
        """Return the points in order, (BUDGET, DIMENSIONS); raises InvalidSolution for an answer that is no point."""
        points, values = np.empty((BUDGET, DIMENSIONS)), np.empty(BUDGET)
        for count in range(BUDGET):
            answer = function(points[:count].copy(), values[:count].copy(), BUDGET)
            points[count] = np.clip(as_numbers(answer, (DIMENSIONS,), "a point"), -5, 5)
            values[count] = problem(instance)(points[count])
        return points

    def score(self, instance: Function, solution: Solution) -> float:
        """Return log10(best value - least value), -8 or more; raises InvalidSolution unless there are BUDGET points."""
        points = as_numbers(solution, (BUDGET, DIMENSIONS), "points")
        best = min(float(problem(instance)(point)) for point in np.clip(points, -5, 5))
        return math.log10(max(best - float(problem(instance).optimum.y), FLOOR))

    def trajectory(self, instance: Function, solution: Solution) -> Trajectory:
        """Return the points in the order of evaluation; raises InvalidSolution unless they are BUDGET finite points."""
        return Trajectory.vectors(as_numbers(solution, (BUDGET, DIMENSIONS), "points"))


task = BlackBox()
