"""AlgoTune's convention: a class with `generate_problem`, `solve` and `is_solution`; the score is the speed-up."""

from __future__ import annotations

import copy
import inspect
import math
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.evaluators.conventions import Run
from behavesim.evaluators.modules import StandIns, module_of, program_at
from behavesim.evaluators.tracing import Recorder, Result, watch_module
from behavesim.task.evaluated import EvaluatorFile

# The methods by which the class is found.
METHODS = ("generate_problem", "solve", "is_solution")
# Number of problems, with the seeds 0, 1, …
_PROBLEMS = 5
# The size of the problems is doubled until the reference takes this many CPU seconds for one, or up to the largest.
_LONG_ENOUGH_S, _SMALLEST, _LARGEST = 0.02, 8, 1 << 14
# Each problem is solved so often, and the fastest counts: the first calls load and compile.
_TIMES = 3


class Task:
    """Stand-in for AlgoTune's base class of tasks."""

    def __init__(self, **others: Any) -> None:
        """Take any arguments, as the original does."""


def register_task(_: str) -> Callable[[type], type]:
    """Return a decorator that leaves a class as it is."""
    return lambda found: found


def load(file: EvaluatorFile) -> Run:
    """Make the task's object and its problems, and solve them by the task's own `solve`; return what times a program.

    Raises TaskError if the file cannot be imported or has no such class.
    """
    StandIns({"AlgoTuneTasks.base": {"Task": Task, "register_task": register_task}}).install()
    place, _, name = file.evaluator.partition(":")
    task = _task(module_of(place), name)
    problems = [task.generate_problem(n=_size(task), random_seed=seed) for seed in range(_PROBLEMS)]
    reference_s = sum(_fastest(task.solve, problem)[1] for problem in problems)

    def run(program: Path, recorder: Recorder) -> Result:
        watch_module(program, recorder)
        solve, taken_s = _solver(program_at(program)), 0.0
        for seed, problem in enumerate(problems):
            solution, seconds = _fastest(solve, problem)
            if not task.is_solution(copy.deepcopy(problem), solution):
                return Result(None, failure=f"the answer to problem {seed} is no solution", is_stated=True)
            taken_s += seconds
        score = reference_s / max(taken_s, 1e-9)
        return Result(score, {"score": score, "reference_s": reference_s, "cpu_s": taken_s})

    return run


def _task(module: ModuleType, name: str) -> Any:
    classes = [each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == module.__name__]
    fitting = [each for each in classes if all(callable(getattr(each, method, None)) for method in METHODS)]
    found = next((each for each in fitting if not name or each.__name__ == name), None)
    if found is None:
        raise TaskError(f"{module.__file__} has no class with the methods {', '.join(METHODS)}; name another file")
    return found()


def _size(task: Any) -> int:
    size = _SMALLEST
    while size < _LARGEST and _fastest(task.solve, task.generate_problem(n=size, random_seed=0))[1] < _LONG_ENOUGH_S:
        size *= 2
    return size


def _fastest(solve: Callable[[Any], Any], problem: Any) -> tuple[Any, float]:
    """Return the last solution, and the fewest CPU seconds of _TIMES calls, each on a copy of the problem."""
    fewest_s, solution = math.inf, None
    for _ in range(_TIMES):
        given = copy.deepcopy(problem)
        begun = time.process_time()
        solution = solve(given)
        fewest_s = min(fewest_s, time.process_time() - begun)
    return solution, fewest_s


def _solver(module: ModuleType) -> Callable[[Any], Any]:
    found = module.Solver().solve if hasattr(module, "Solver") else getattr(module, "solve", None)
    if not callable(found):
        raise ValueError("the program defines neither a class `Solver` with a method `solve` nor a function `solve`")
    return found  # type: ignore[no-any-return]
