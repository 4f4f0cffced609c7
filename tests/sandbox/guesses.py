"""A small task of which a program must not know what comes: guess each number before it is shown."""

import numpy as np

import behavesim.task as bt
from behavesim.trajectory import Trajectory


class Guesses(bt.Task):
    """Guess as many numbers as you can, each from those before it."""

    template = "def guess(shown):\n    return 0\n"
    objective = bt.Objective("maximise", 20.0)

    def instances(self, split):
        return [np.random.RandomState(seed).randint(1, 1000, size=20) for seed in (1, 2)]

    def solve(self, function, instance):
        return np.array([int(function(instance[:step])) for step in range(20)])  # views, whose base is the whole

    def score(self, instance, solution):
        if solution.shape != (20,):
            raise bt.InvalidSolution("20 guesses, one for each number")
        return float((solution == instance).sum())

    def trajectory(self, instance, solution):
        return Trajectory.prefixes(solution)


task = Guesses()
