"""The permutation flow shop, constructively: a program chooses which job comes next on all machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from behavesim_tasks.grammars import RANKING
from behavesim_tasks.known import objective_of
from behavesim_tasks.taillard import times
from numpy.typing import NDArray

from behavesim.task import Objective, Solution, Split, Task, as_permutation, first_greatest
from behavesim.trajectory import Trajectory

TEMPLATE = '''\
import numpy as np


def priority(times: np.ndarray, front: np.ndarray) -> np.ndarray:
    """
    Returns the priority with which each job comes next; the job of greatest priority does.
    Args:
        times: Processing times of the jobs that are left, shape (jobs, machines).
        front: When each machine has done all jobs so far, shape (machines,).

    Return:
        Array of shape (jobs,) with the priority of each.
    """
    machines = times.shape[1]
    slope = 2 * np.arange(machines) - machines + 1
    return times @ slope
'''

GRAMMAR = f"""
machines: count = times.shape[1]
total: vector = times.sum(axis=1)
slope: vector = times @ (2 * np.arange(machines) - machines + 1)
first: vector = times[:, 0]
last: vector = times[:, -1]
longest: vector = times.max(axis=1)
left: scalar = len(times)
gaps: matrix = np.diff(front) - times[:, :-1]
idle: vector = np.maximum(-gaps, 0).sum(axis=1)
late: vector = np.maximum(gaps, 0).sum(axis=1)
early: vector = (np.maximum(-gaps, 0) / np.arange(1, machines)).sum(axis=1)

vector = slope | slope | total | -total | first | -first | last | longest | -idle | -late | -early
vector = vector - number * idle | vector - number * early | vector - number * late
{RANKING}"""
"""Grammar of the offline proposer: Palmer's slope, total times, and how a job fits behind the jobs so far."""

SEEDS: dict[Split, tuple[tuple[int, int, int], ...]] = {
    "search": ((20, 5, 873654221), (20, 5, 379008056), (20, 10, 587595453), (20, 10, 1401007982)),
    "validation": ((20, 5, 1866992158), (20, 5, 216771124), (20, 10, 873136276)),
    "held-out": ((20, 5, 495070989), (20, 5, 402959317), (20, 10, 268827376), (20, 10, 1634173168)),
}
"""Jobs, machines and Taillard's seed of each instance, by split."""
OPTIMA: dict[Split, tuple[int, ...]] = {
    "search": (1278, 1359, 1582, 1659),
    "validation": (1081, 1293, 1496),
    "held-out": (1235, 1195, 1377, 1419),
}
"""Shortest makespan of each instance, in order."""
PROVED = "optimal, as published with Taillard's instances"
"""How OPTIMA are known."""
UNIT = "makespan"
"""What scores are numbers of."""


class FlowShop(Task):
    """Order jobs that pass all machines in one order, so that the last job is done as early as possible.

    Each job visits machine 0, machine 1 and so on, and all machines take the jobs in the same order. At each step the
    function receives the jobs that are left, with their time on each machine, and when each machine is done with the
    jobs so far. It returns a priority for each; the job of greatest priority comes next. The score is the mean time at
    which the last job is done: the less the better.
    """

    kind = "constructive"
    search_size = "4 instances of 20 jobs on 5 and 10 machines"
    used_by = "Taillard (1993), and EoH and LLM4AD with other programs"
    template = TEMPLATE
    rules = """\
- There are 4 instances of 20 jobs: two on 5 machines and two on 10. Times are whole numbers from 1 to 99.
- The function is called 19 times for an instance: the last job is added without a call. Its arrays are its own.
- The answer must have one number for each job that is left. The greatest must be finite; of equal ones the first job
  comes next."""
    grammar = GRAMMAR
    objective = objective_of("minimise", OPTIMA["search"], PROVED, UNIT)
    normaliser = 20
    score_scale = 20.0

    def instances(self, split: Split) -> Sequence[NDArray[np.int64]]:
        """Return the instances of a split: times of the jobs on the machines, (jobs, machines) int64."""
        return [times(seed, machines, jobs).T.copy() for jobs, machines, seed in SEEDS[split]]

    def in_words(self, instance: NDArray[np.int64], decision: int) -> str:
        """Return the chosen job as a phrase such as "job 7"."""
        return f"job {decision}"

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of OPTIMA."""
        return objective_of("minimise", OPTIMA[split], PROVED, UNIT)

    def solve(self, function: Callable[..., Any], instance: NDArray[np.int64]) -> Solution:
        """Return the order of the jobs, (jobs,) int64.

        Raises InvalidSolution if an answer is not one number for each job, or its greatest is not finite.
        """
        left, order, front = np.arange(len(instance)), [], np.zeros(instance.shape[1], np.int64)
        while len(left) > 1:
            job = left[first_greatest(function(instance[left], front.copy()), len(left))]
            front = _done(front, instance[job])
            left = left[left != job]
            order.append(job)
        return np.array([*order, *left], dtype=np.int64)

    def score(self, instance: NDArray[np.int64], solution: Solution) -> float:
        """Return when the last job is done; raises InvalidSolution if the order is not of every job once."""
        front = np.zeros(instance.shape[1], np.int64)
        for job in _checked(instance, solution):
            front = _done(front, instance[job])
        return float(front[-1])

    def trajectory(self, instance: NDArray[np.int64], solution: Solution) -> Trajectory:
        """Return the growing order: state i is the first i + 1 jobs; raises InvalidSolution as `score` does."""
        return Trajectory.prefixes(_checked(instance, solution))


def _done(front: NDArray[np.int64], job: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return when each machine is done if a job with these times comes next and begins as early as it can."""
    after, end = front.copy(), 0
    for machine, time in enumerate(job.tolist()):
        end = max(end, int(front[machine])) + time
        after[machine] = end
    return after


def _checked(instance: NDArray[np.int64], solution: Solution) -> NDArray[np.int64]:
    return as_permutation(solution, len(instance), f"an order of {len(instance)} jobs")


task = FlowShop()
