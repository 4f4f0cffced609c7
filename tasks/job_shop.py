"""The job shop, by priority: a program ranks the jobs that wait for a machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from behavesim_tasks.grammars import RANKING
from behavesim_tasks.known import objective_of
from behavesim_tasks.taillard import orders, times
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Objective, Solution, Split, Task, as_integers, first_greatest
from behavesim.trajectory import Trajectory

TEMPLATE = '''\
import numpy as np


def priority(ready: np.ndarray, time: np.ndarray, work_left: np.ndarray, steps_left: np.ndarray) -> np.ndarray:
    """
    Returns the priority with which each waiting job gets the machine; the job of greatest priority does.
    Args:
        ready: When each job can begin on the machine, shape (jobs,).
        time: How long it takes there, shape (jobs,).
        work_left: Time of all its steps that are left, this one included, shape (jobs,).
        steps_left: Number of its steps that are left, this one included, shape (jobs,).

    Return:
        Array of shape (jobs,) with the priority of each.
    """
    return work_left
'''

GRAMMAR = f"""
left: vector = 1.0 * work_left
time_here: vector = 1.0 * time
steps: vector = 1.0 * steps_left
begins: vector = 1.0 * (ready - ready.min())
after: vector = 1.0 * (work_left - time)
mean_step: vector = work_left / steps_left
waiting: scalar = len(time)

vector = left | left | after | -time_here | steps | -begins | mean_step
vector = vector - number * time_here | vector - number * begins | vector + number * left | vector / time_here
{RANKING}"""
"""Grammar of the offline proposer: work left, processing times and begins, combined."""

SEEDS: dict[Split, tuple[tuple[int, int, int], ...]] = {
    "search": ((15, 840612802, 398197754), (15, 1314640371, 386720536), (20, 533484900, 317419073)),
    "validation": ((15, 1227221349, 316176388), (15, 342269428, 1806358582), (20, 1894307698, 1474268163)),
    "held-out": (
        *((15, 1603221416, 1501949241), (15, 1357584978, 1734077082), (15, 44531661, 1374316395)),
        *((20, 874340513, 509669280), (20, 1124986343, 1209573668), (20, 1463788335, 529048107)),
    ),
}
"""Jobs and Taillard's seeds of times and of machines, by split; there are 15 machines."""
SHIFTED = 5
"""Number of shifted instances, of 10 jobs on 6 machines with times from 1 to 200."""
FT06 = (
    (
        (1, 3, 6, 7, 3, 6),
        (8, 5, 10, 10, 10, 4),
        (5, 4, 8, 9, 1, 7),
        (5, 5, 5, 3, 8, 9),
        (9, 3, 5, 4, 3, 1),
        (3, 3, 9, 10, 4, 1),
    ),
    (
        (2, 0, 1, 3, 5, 4),
        (1, 2, 4, 5, 0, 3),
        (2, 3, 5, 0, 1, 4),
        (1, 0, 2, 3, 4, 5),
        (2, 1, 4, 5, 0, 3),
        (1, 3, 5, 0, 4, 2),
    ),
)
"""Times and machines of the steps of Fisher and Thompson's 6 jobs (1963), which are in the held-out split."""
OPTIMA: dict[Split, tuple[int, ...]] = {
    "search": (1231, 1244, 1357),
    "validation": (1218, 1175, 1367),
    "held-out": (1224, 1238, 1227, 1342, 1345, 1339, 55),
    "shifted": (1491, 1452, 1514, 1659, 1625),
}
"""Shortest makespan of each instance: ta01, ta02, ta11; ta03, ta04, ta12; ta05 to ta07, ta13 to ta15, ft06; shifted."""
PROVED = "optimal, as published with Taillard's instances"
"""How OPTIMA are known."""
SOLVED = "optimal, by CP-SAT of OR-tools"
"""How those of the shifted split are known."""
UNIT = "makespan"
"""What scores are numbers of."""


@dataclass(frozen=True)
class Shop:
    """One instance: `times` and `machines` of each job's steps in order, both (jobs, steps) int64."""

    times: NDArray[np.int64] = field(repr=False)
    machines: NDArray[np.int64] = field(repr=False)


class Progress:
    """A schedule under construction: what each job has done, and when each machine is free."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        jobs, self._steps = shop.times.shape
        self.done = np.zeros(jobs, np.int64)
        """Number of steps that each job has done."""
        self.free = np.zeros(self._steps, np.int64)
        """When each machine is free."""
        self.end = np.zeros(jobs, np.int64)
        """When each job's last step ends."""

    def conflict(self) -> NDArray[np.int64]:
        """Return the jobs that wait for one machine, as Giffler and Thompson (1960) choose it; empty when all is done.

        It is the machine on which some step can end first. A job waits if its step can begin before that end.
        """
        jobs = np.flatnonzero(self.done < self._steps)
        if not len(jobs):
            return jobs
        machines, begins, times = self.step_of(jobs)
        first = int((begins + times).argmin())
        waiting: NDArray[np.int64] = jobs[(machines == machines[first]) & (begins < begins[first] + times[first])]
        return waiting

    def step_of(self, jobs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the machine of each job's next step, when that can begin, and how long it takes."""
        machines = self._shop.machines[jobs, self.done[jobs]]
        return machines, np.maximum(self.end[jobs], self.free[machines]), self._shop.times[jobs, self.done[jobs]]

    def do(self, job: int) -> None:
        """Schedule the next step of a job, as early as the job and its machine allow."""
        (machine,), (begin,), (time,) = self.step_of(np.array([job]))
        self.free[machine] = self.end[job] = begin + time
        self.done[job] += 1


class JobShop(Task):
    """Schedule jobs that visit machines in their own orders, so that the last job is done as early as possible.

    A machine does one step at a time. At each decision several jobs wait for a machine. The function receives when each
    can begin there, how long it takes, and what is left of it. It returns a priority for each; the job of greatest
    priority gets the machine. The score is the mean time at which the last job is done: the less the better.
    """

    kind = "priority"
    search_size = "3 instances of 15 and 20 jobs on 15 machines"
    shifted = "two sets of machines, one before the other, times up to 200"
    used_by = "Taillard (1993), and LLM4AD with other instances"
    template = TEMPLATE
    rules = """\
- There are 3 instances: two of 15 jobs and one of 20. Each job has 15 steps, one on each machine. Times are whole
  numbers from 1 to 99.
- The waiting jobs are those that could begin on a machine before the first of them would be done there. The function
  is called for two jobs or more, about 200 times an instance; its arrays are its own.
- The answer must have one number for each waiting job. The greatest must be finite; of equal ones the first job gets
  the machine."""
    grammar = GRAMMAR
    objective = objective_of("minimise", OPTIMA["search"], PROVED, UNIT)
    normaliser = 300
    score_scale = 30.0

    def instances(self, split: Split) -> Sequence[Shop]:
        """Return the instances of a split: Taillard's of 15 machines; the held-out split also has ft06."""
        if split == "shifted":
            return two_sets(np.random.RandomState(6027))
        drawn = [Shop(times(first, jobs, 15), orders(second, jobs, 15)) for jobs, first, second in SEEDS[split]]
        return [*drawn, Shop(*map(np.array, FT06))] if split == "held-out" else drawn

    def in_words(self, instance: Shop, decision: int) -> str:
        """Return the chosen job as a phrase such as "job 7"."""
        return f"job {decision}"

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of OPTIMA."""
        return objective_of("minimise", OPTIMA[split], SOLVED if split == "shifted" else PROVED, UNIT)

    def solve(self, function: Callable[..., Any], instance: Shop) -> Solution:
        """Return the job of each step in the order of decisions, (jobs * steps,) int64.

        Raises InvalidSolution if an answer is not one number for each job, or its greatest is not finite.
        """
        progress, order = Progress(instance), []
        left = instance.times[:, ::-1].cumsum(axis=1)[:, ::-1]  # time of a step and of all after it
        while len(jobs := progress.conflict()):
            place = 0
            if len(jobs) > 1:
                _, begins, durations = progress.step_of(jobs)
                done = progress.done[jobs]
                answer = function(begins, durations, left[jobs, done], left.shape[1] - done)
                place = first_greatest(answer, len(jobs))
            progress.do(int(jobs[place]))
            order.append(jobs[place])
        return np.array(order, dtype=np.int64)

    def score(self, instance: Shop, solution: Solution) -> float:
        """Return when the last job is done; raises InvalidSolution if the solution has not every step of every job."""
        progress = Progress(instance)
        for job in _checked(instance, solution).tolist():
            progress.do(job)
        return float(progress.end.max())

    def trajectory(self, instance: Shop, solution: Solution) -> Trajectory:
        """Return the growing schedule: state i is the jobs of the first i + 1 steps; raises as `score` does."""
        return Trajectory.prefixes(_checked(instance, solution))


def two_sets(random: np.random.RandomState) -> list[Shop]:
    """Return shops whose jobs visit machines 0 to 2 in any order, then 3 to 5, as in Demirkol's instances (1998)."""
    routes = [[[*random.permutation(3), *(3 + random.permutation(3))] for _ in range(10)] for _ in range(SHIFTED)]
    return [Shop(random.randint(1, 201, (10, 6)).astype(np.int64), np.array(each, np.int64)) for each in routes]


def _checked(instance: Shop, solution: Solution) -> NDArray[np.int64]:
    jobs, steps = instance.times.shape
    order = as_integers(solution, jobs, f"the jobs of {jobs * steps} steps", jobs * steps)
    if (np.bincount(order, minlength=jobs) != steps).any():
        raise InvalidSolution(f"expected each of {jobs} jobs {steps} times")
    return order


task = JobShop()
