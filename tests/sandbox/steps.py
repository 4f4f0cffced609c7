"""A small task whose programs are to keep nothing between calls: visit points on a line, one after another."""

import numpy as np

import behavesim.task as bt
from behavesim.trajectory import Trajectory


class Steps(bt.Task):
    """Visit all the points, one after another, in as short a tour as you can."""

    template = "def go(points, left):\n    return left[0]\n"
    objective = bt.Objective("minimise", 10.0)
    stateless = True

    def instances(self, split):
        return [np.random.RandomState(seed).rand(30) for seed in (1, 2)]

    def solve(self, function, instance):
        offered, left, tour = instance.copy(), list(range(30)), []
        while left:
            tour.append(int(function(offered, np.array(left))))
            left.remove(tour[-1])
        return np.array(tour)

    def score(self, instance, solution):
        if sorted(solution.tolist()) != list(range(30)):
            raise bt.InvalidSolution("the tour must visit each point once")
        return float(np.abs(np.diff(instance[solution])).sum())

    def trajectory(self, instance, solution):
        return Trajectory.prefixes(solution)


task = Steps()
