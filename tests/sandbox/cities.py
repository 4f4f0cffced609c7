"""A tiny task for the sandbox's tests: visit points on a line; the tour's length is the score."""

import numpy as np

import behavesim.task as bt
from behavesim.trajectory import Trajectory


class Cities(bt.Task):
    """Visit all the points, first to last, in as short a tour as you can."""

    template = "def order(points):\n    return list(range(len(points)))\n"
    objective = bt.Objective("minimise", 10.0)

    def instances(self, split):
        seeds = {"search": (1, 2), "validation": (3,), "held-out": (4,)}[split]
        return [np.random.RandomState(seed).rand(10) for seed in seeds]

    def solve(self, function, instance):
        return np.asarray(function(instance))

    def score(self, instance, solution):
        if sorted(solution.tolist()) != list(range(10)):
            raise bt.InvalidSolution("the tour must visit each point once")
        return float(np.abs(np.diff(instance[solution])).sum())

    def trajectory(self, instance, solution):
        return Trajectory.prefixes(solution)


task = Cities()
