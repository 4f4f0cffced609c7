"""A schedule of a job shop under construction, and Taillard's generator of shop problems (1993)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from behavesim_tasks.decisions import Integers
from numpy.typing import NDArray


class Schedule:
    """What each job has done so far, and when each machine is free."""

    def __init__(self, times: Integers, machines: Integers) -> None:
        """Begin an empty schedule; `times` and `machines` are of each job's steps in order, both (jobs, steps)."""
        self._times, self._machines = times, machines
        jobs, self._steps = times.shape
        self.done = np.zeros(jobs, np.int64)
        """Number of steps that each job has done."""
        self.free = np.zeros(self._steps, np.int64)
        """When each machine is free."""
        self.end = np.zeros(jobs, np.int64)
        """When the last step that each job has done ends; 0 before the first."""

    def conflict(self) -> Integers:
        """Return the jobs that wait for one machine, as Giffler and Thompson (1960) choose it; empty when all is done.

        It is the machine on which some step can end first. A job waits if its step can begin before that end.
        """
        jobs = np.flatnonzero(self.done < self._steps)
        if not len(jobs):
            return jobs
        machines, begins, times = self.step_of(jobs)
        first = int((begins + times).argmin())
        waiting: Integers = jobs[(machines == machines[first]) & (begins < begins[first] + times[first])]
        return waiting

    def step_of(self, jobs: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the machine of each job's next step, when that can begin, and how long it takes."""
        machines = self._machines[jobs, self.done[jobs]]
        return machines, np.maximum(self.end[jobs], self.free[machines]), self._times[jobs, self.done[jobs]]

    def do(self, job: int) -> None:
        """Schedule the next step of a job, as early as the job and its machine allow."""
        (machine,), (begin,), (time,) = self.step_of(np.array([job]))
        self.free[machine] = self.end[job] = begin + time
        self.done[job] += 1


def fractions(seed: int) -> Iterator[float]:
    """Yield the numbers in (0, 1) that the generator of Bratley, Fox and Schrage gives for a seed, without end."""
    while True:
        seed = 16807 * (seed % 127_773) - 2836 * (seed // 127_773)
        seed += 2_147_483_647 if seed < 0 else 0
        yield seed / 2_147_483_647


def draw_times(seed: int, rows: int, columns: int) -> NDArray[np.int64]:
    """Return the processing times that a seed of Taillard's gives, in 1…99, (rows, columns) int64, row by row."""
    draws = fractions(seed)
    return np.array([[1 + int(next(draws) * 99) for _ in range(columns)] for _ in range(rows)], dtype=np.int64)


def draw_orders(seed: int, jobs: int, machines: int) -> NDArray[np.int64]:
    """Return the order in which each job visits the machines, by a seed of Taillard's: (jobs, machines) int64."""
    draws = fractions(seed)
    found = np.tile(np.arange(machines), (jobs, 1))
    for row in found:
        for place in range(machines):
            other = place + int(next(draws) * (machines - place))
            row[place], row[other] = row[other], row[place]
    return found
