"""The job shop, by priority: a program ranks the jobs that wait for a machine."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import JOB_SHOP
from behavesim_tasks.decisions import DecisionTask, Drawn, Function, Integers, Random, Sizes
from behavesim_tasks.schedule import Schedule, draw_orders, draw_times

from behavesim.task import InvalidSolution, Solution, Split, as_integers, first_greatest

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

# Jobs and Taillard's seeds of times and of machines, by split; there are 15 machines.
SEEDS: Sizes = {
    "search": ((15, 840612802, 398197754), (15, 1314640371, 386720536), (20, 533484900, 317419073)),
    "validation": ((15, 1227221349, 316176388), (15, 342269428, 1806358582), (20, 1894307698, 1474268163)),
    "held-out": (
        *((15, 1603221416, 1501949241), (15, 1357584978, 1734077082), (15, 44531661, 1374316395)),
        *((20, 874340513, 509669280), (20, 1124986343, 1209573668), (20, 1463788335, 529048107)),
    ),
}
KINDS: Sizes = {**SEEDS, "held-out": (*SEEDS["held-out"], ("published",)), "shifted": (("two sets",),) * 5}
# Times and machines of the steps of Fisher and Thompson's 6 jobs (1963), which are in the held-out split.
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


@dataclass(frozen=True)
class Shop:
    """One instance: `times` and `machines` of each job's steps in order, both (jobs, steps) int64."""

    times: Integers = field(repr=False)
    machines: Integers = field(repr=False)


class JobShop(Drawn, DecisionTask):
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
    grammar = grammars.JOB_SHOP
    best_known = JOB_SHOP
    objective = JOB_SHOP.objective("minimise", "makespan")
    normaliser = 300
    score_scale = 30.0
    seed, kinds = 6024, KINDS

    @staticmethod
    def draw(random: Random, *kind: Any) -> Shop:
        """Return a shop of so many jobs on 15 machines by seeds of Taillard's that are drawn, or one of two sets."""
        if kind[0] == "two sets":
            return _two_sets(random)[0]
        first, second = random.randint(1, 2**31 - 1, 2).tolist()
        return Shop(draw_times(first, kind[0], 15), draw_orders(second, kind[0], 15))

    def instances(self, split: Split) -> list[Shop]:
        """Return Taillard's instances of 15 machines, for held-out also ft06; for shifted only those of `_two_sets`."""
        if split == "shifted":
            return _two_sets(Random(6027))
        shops = [
            Shop(draw_times(first, jobs, 15), draw_orders(second, jobs, 15)) for jobs, first, second in SEEDS[split]
        ]
        return [*shops, Shop(*map(np.array, FT06))] if split == "held-out" else shops

    def in_words(self, instance: Shop, decision: int) -> str:
        """Return the job `decision` as a phrase such as "job 7"."""
        return f"job {decision}"

    def solve(self, function: Function, instance: Shop) -> Solution:
        """Return the job of each step in order, (jobs * steps,); raises InvalidSolution for unusable priorities."""
        schedule, order = Schedule(instance.times, instance.machines), []
        left = instance.times[:, ::-1].cumsum(axis=1)[:, ::-1]  # time of a step and of all after it
        while len(jobs := schedule.conflict()):
            place = 0
            if len(jobs) > 1:
                _, begins, durations = schedule.step_of(jobs)
                done = schedule.done[jobs]
                answer = function(begins, durations, left[jobs, done], left.shape[1] - done)
                place = first_greatest(answer, len(jobs))
            schedule.do(int(jobs[place]))
            order.append(jobs[place])
        return np.array(order, dtype=np.int64)

    def checked(self, instance: Shop, solution: Solution) -> Integers:
        """Return the jobs as int64; raises InvalidSolution unless it has each job once for each of its steps."""
        jobs, steps = instance.times.shape
        order = as_integers(solution, jobs, f"the jobs of {jobs * steps} steps", jobs * steps)
        if (np.bincount(order, minlength=jobs) != steps).any():
            raise InvalidSolution(f"expected each of {jobs} jobs {steps} times")
        return order

    def score(self, instance: Shop, solution: Solution) -> float:
        """Return when the last job is done; raises InvalidSolution for an invalid solution."""
        schedule = Schedule(instance.times, instance.machines)
        for job in self.checked(instance, solution).tolist():
            schedule.do(job)
        return float(schedule.end.max())


def _two_sets(random: Random) -> list[Shop]:
    """Return 5 shops of 10 jobs that visit machines 0 to 2, then 3 to 5, as in Demirkol's instances (1998)."""
    # The machines of a set are visited in any order; times are from 1 to 200.
    routes = [[[*random.permutation(3), *(3 + random.permutation(3))] for _ in range(10)] for _ in range(5)]
    return [Shop(random.randint(1, 201, (10, 6)).astype(np.int64), np.array(each, np.int64)) for each in routes]


task = JobShop()
