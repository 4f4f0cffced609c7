"""The permutation flow shop, constructively: a program chooses which job comes next on all machines."""

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import FLOW_SHOP
from behavesim_tasks.decisions import DecisionTask, Drawn, Function, Integers, Random, Sizes
from behavesim_tasks.schedule import draw_times

from behavesim.task import Solution, Split, as_permutation, first_greatest

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

# Jobs, machines and Taillard's seed of each instance, by split.
SEEDS: Sizes = {
    "search": ((20, 5, 873654221), (20, 5, 379008056), (20, 10, 587595453), (20, 10, 1401007982)),
    "validation": ((20, 5, 1866992158), (20, 5, 216771124), (20, 10, 873136276)),
    "held-out": ((20, 5, 495070989), (20, 5, 402959317), (20, 10, 268827376), (20, 10, 1634173168)),
}


class FlowShop(Drawn, DecisionTask):
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
    grammar = grammars.FLOW_SHOP
    best_known = FLOW_SHOP
    objective = FLOW_SHOP.objective("minimise", "makespan")
    normaliser = 20
    score_scale = 20.0

    seed, kinds = 7124, SEEDS

    @staticmethod
    def draw(random: Random, jobs: int, machines: int, _: int) -> Integers:
        """Return times of so many jobs on so many machines, (jobs, machines) int64, by a seed of Taillard's drawn."""
        return draw_times(int(random.randint(1, 2**31 - 1)), machines, jobs).T.copy()

    def instances(self, split: Split) -> list[Integers]:
        """Return the instances of a split: times of the jobs on the machines, (jobs, machines) int64."""
        return [draw_times(seed, machines, jobs).T.copy() for jobs, machines, seed in SEEDS[split]]

    def in_words(self, instance: Integers, decision: int) -> str:
        """Return the job `decision` as a phrase such as "job 7"."""
        return f"job {decision}"

    def solve(self, function: Function, instance: Integers) -> Solution:
        """Return the order of the jobs, (jobs,) int64; raises InvalidSolution for unusable priorities."""
        left, order, front = np.arange(len(instance)), [], np.zeros(instance.shape[1], np.int64)
        while len(left) > 1:
            job = left[first_greatest(function(instance[left], front.copy()), len(left))]
            front = _done(front, instance[job])
            left = left[left != job]
            order.append(job)
        return np.array([*order, *left], dtype=np.int64)

    def checked(self, instance: Integers, solution: Solution) -> Integers:
        """Return the order of the jobs as int64; raises InvalidSolution unless it has every job once."""
        return as_permutation(solution, len(instance), f"an order of {len(instance)} jobs")

    def score(self, instance: Integers, solution: Solution) -> float:
        """Return when the last job is done; raises InvalidSolution for an invalid solution."""
        front = np.zeros(instance.shape[1], np.int64)
        for job in self.checked(instance, solution):
            front = _done(front, instance[job])
        return float(front[-1])


def _done(front: Integers, job: Integers) -> Integers:
    """Return when each machine is done, at `front` so far, after one more job with the times `job` on the machines."""
    after, end = front.copy(), 0
    for machine, time in enumerate(job.tolist()):
        end = max(end, int(front[machine])) + time
        after[machine] = end
    return after


task = FlowShop()
