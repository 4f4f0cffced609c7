"""Measures how well behaviours recorded from calls agree with trajectories defined by hand, and what recording costs.

`python -m benchmarks.traces [--programs 24] [--budget 120] [--tasks tsp asp cpp bin_packing]` lets the offline proposer
write programs for tasks whose trajectories are defined by hand. Each is evaluated as a class evaluator would do it,
while its calls are recorded. For each rule of what to record it prints Spearman's rank correlation, over all pairs of
programs, between similarity by the traces and by the trajectories, and what recording costs; then its cost for a call.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from behavesim.application.python import search_sync
from behavesim.evaluators.tracing import MOST_RANKED, MOST_STEPS, Recorder, fingerprint, token
from behavesim.similarity import BehaveSim
from behavesim.task import Task, TaskReference
from behavesim.trajectory import Trajectory

# The arguments and the returned value of each call, in order.
Calls = Sequence[tuple[tuple[Any, ...], Any]]
# Evaluations, with and without recording, of which the median is taken.
ROUNDS = 9
# Function that returns a trace, a number for each step, of a program's calls.
Rule = Callable[[Calls], list[int]]


def chosen_entries(calls: Calls) -> list[int]:
    """Return a hash for each call: of the returned value, or for a one-dimensional array of what it chose.

    That is the entries of its array arguments of that shape, at the index of the greatest number returned.
    """
    return [token(_entries(args, returned)) for args, returned in calls]


def _entries(args: tuple[Any, ...], returned: Any) -> Any:
    if getattr(returned, "ndim", 0) != 1 or not returned.size:
        return returned
    return [arg[returned.argmax()] for arg in args if getattr(arg, "shape", None) == returned.shape]


def ranked(calls: Calls) -> list[int]:
    """Return the indices of at most MOST_RANKED calls, those first that returned the greatest numbers.

    If the first call did not return a float, return the `fingerprint` of every call instead.
    """
    if not isinstance(calls[0][1], float):
        return [fingerprint(returned) for _, returned in calls]
    values = [float(returned) for _, returned in calls]
    return sorted(range(len(values)), key=values.__getitem__, reverse=True)[:MOST_RANKED]


# The rules that are compared, by their names in the table.
RULES: dict[str, Rule] = {
    "arguments": lambda calls: [token(list(args)) for args, _ in calls],
    "value": lambda calls: [token(returned) for _, returned in calls],
    "arguments and value": lambda calls: [token([*args, returned]) for args, returned in calls],
    "chosen entries": chosen_entries,
    "choice": lambda calls: [fingerprint(returned) for _, returned in calls],
    "choice, priorities ranked": ranked,
}


@dataclass(frozen=True)
class Class:
    """A class evaluator around a task: its instances are solved and scored in one process with the program."""

    task: Task

    def evaluate_program(self, source: str, function: Callable[..., Any]) -> float:
        """Return the mean score of a program."""
        solutions = [(each, self.task.solve(function, each)) for each in map(_short, self.task.instances("search"))]
        return self.task.mean_score([float(self.task.score(*solved)) for solved in solutions])


def _short(instance: Any) -> Any:
    """Return an instance of bin packing with its first 1000 items alone: the trajectory shows the first 100."""
    return replace(instance, sizes=instance.sizes[:1000]) if type(instance).__name__ == "Items" else instance


def programs(name: str, count: int, budget: int) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield source and trajectories of the last `count` feasible programs of an offline run of `budget` candidates."""
    with tempfile.TemporaryDirectory() as folder:
        run = search_sync(
            name, budget=budget, method="funsearch", proposer="genetic", workers=1, runs_dir=folder, recommend=False
        )
        feasible = [each for each in run.candidates if each.score is not None]
        for each in feasible[-count:]:
            yield each.source, run.trajectories([each.candidate])[0]


def thinned(steps: list[int]) -> list[int]:
    """Return the steps, or every second, fourth, … of them from the first on, so that at most MOST_STEPS are left."""
    while len(steps) > MOST_STEPS:
        steps = steps[::2]
    return steps


def correlations(name: str, count: int, budget: int) -> tuple[int, dict[str, float]]:
    """Return the number of pairs of programs, and each rule's rank correlation with the trajectories of a task.

    `count` and `budget` are those of `programs`. Rules with long traces come twice, thinned and cut at the end; "as
    shipped" is what the evaluators record.
    """
    task = TaskReference(name).load()
    by_hand, calls, shipped = [], [], []
    for source, trajectories in programs(name, count, budget):
        recorder, seen = Recorder(), []  # type: Recorder, list[tuple[tuple[Any, ...], Any]]
        for way in ("all", "shipped"):
            names: dict[str, Any] = {}
            exec(source, names)
            function = names[task.entry_point]

            def noted(*args: Any, function: Any = function, seen: Any = seen) -> Any:
                copies = [np.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
                returned = function(*args)
                seen.append((tuple(copies), returned))
                return returned

            handed = noted if way == "all" else recorder.watching(function)
            Class(task).evaluate_program(source, handed)
        by_hand.append(trajectories)
        calls.append([list(rule(seen)) for rule in RULES.values()])
        shipped.append(list(recorder.steps))
    upper = np.triu_indices(len(by_hand), 1)
    hand = BehaveSim(normaliser=task.normaliser, clip=False).matrix(by_hand)[upper]
    found = {}
    for place, rule in enumerate(RULES):
        for way, cut in (("thinned", thinned), ("first", lambda steps: steps[:MOST_STEPS])):
            if way == "thinned" or any(len(each[place]) > MOST_STEPS for each in calls):
                found[f"{rule}, {way}"] = _agreement(hand, [cut(each[place]) for each in calls])
    return len(hand), {**found, "as shipped": _agreement(hand, shipped)}


def _agreement(hand: Any, traces: list[list[int]]) -> float:
    algorithms = [[Trajectory.prefixes(trace)] for trace in traces]
    traced = BehaveSim(normaliser="pair", clip=False).matrix(algorithms)
    return float(spearmanr(hand, traced[np.triu_indices(len(traces), 1)]).statistic)


def cost_of(name: str) -> tuple[int, float, float]:
    """Return the calls of an evaluation of a task's template, its CPU ms, and how many of these recording takes.

    The times are the medians of ROUNDS evaluations with and as many without recording, in turn.
    """
    task = TaskReference(name).load()
    names: dict[str, Any] = {}
    exec(task.template, names)
    function, counted = names[task.entry_point], itertools.count()
    Class(task).evaluate_program("", lambda *args: (next(counted), function(*args))[1])
    taken: dict[bool, list[float]] = {False: [], True: []}
    for is_recorded in (False, True) * ROUNDS:
        handed = Recorder().watching(function) if is_recorded else function
        begun = time.process_time()
        Class(task).evaluate_program("", handed)
        taken[is_recorded].append(1e3 * (time.process_time() - begun))
    without, with_it = (statistics.median(taken[each]) for each in (False, True))
    return next(counted), without, with_it - without


def cost_us(returned: Any, calls: int = 20_000) -> float:
    """Return the microseconds of wall time that recording adds to a call that returns this, a mean of `calls`."""
    recorder = Recorder()
    taken = []
    for function in (lambda *args: returned, recorder.watching(lambda *args: returned)):
        begun = time.perf_counter()
        for _ in itertools.repeat(None, calls):
            function(1, 2)
        taken.append(time.perf_counter() - begun)
    return (taken[1] - taken[0]) / calls * 1e6


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=24)
    parser.add_argument("--budget", type=int, default=120, help="programs of the run, the last of which are taken")
    parser.add_argument("--tasks", nargs="*", default=["tsp", "asp", "cpp", "bin_packing"])
    given = parser.parse_args()
    for name in given.tasks:
        pairs, found = correlations(name, given.programs, given.budget)
        print(f"{name}: {pairs} pairs")
        for rule, correlation in found.items():
            print(f"  {rule:<40}{correlation:>7.3f}", flush=True)
        calls, without, more = cost_of(name)
        print(f"  an evaluation makes {calls} calls in {without:.1f} CPU ms; recording adds {more:.1f} ms", flush=True)
    for words, returned in (("an integer", 3), ("a number", 0.5), ("50 numbers", np.random.rand(50))):
        print(f"a call that returns {words}: {cost_us(returned):.2f} µs")


if __name__ == "__main__":
    main()
