"""AlgoTune's convention: a class with `generate_problem`, `solve` and `is_solution`; the score is the speed-up.

A program solves the problems in its own process, whose CPU time the kernel measures. Its answers are judged in another.
"""

from __future__ import annotations

import ast
import copy
import inspect
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.base.text import read_text_file
from behavesim.evaluators.answers import from_json, to_json
from behavesim.evaluators.conventions import Convention, Description, EvaluatorFile, Judge, Result, Run, Source
from behavesim.evaluators.modules import StandIns, module_of, program_at
from behavesim.evaluators.source import functions_of
from behavesim.evaluators.tracing import ANSWERS, Recorder, answer_steps, numbers_in

# The methods by which the class is found.
_METHODS = ("generate_problem", "solve", "is_solution")
# A program that does all but solve: its CPU time is taken off that of the others.
IDLE = "def solve(problem):\n    return None\n"
# Environment variables: the size of the problems and how many there are, which the judge chooses, and whether the
# task's own `solve` takes the program's place, to be timed in the same way.
SIZE, COUNT, REFERENCE = "BEHAVESIM_SIZE", "BEHAVESIM_COUNT", "BEHAVESIM_REFERENCE"
# The size of the problems is doubled until the reference takes this many CPU seconds for one, or up to the largest.
_LONG_ENOUGH_S, _SMALLEST, _LARGEST = 0.05, 8, 1 << 14
# The size is not doubled once a solution has more than so many characters: all of them together are sent.
_LONGEST = 100_000
# There are so many problems that the reference takes this many CPU seconds for all, within two bounds.
_IN_ALL_S, _FEWEST, _MOST = 0.25, 5, 20


class Task:
    """Stand-in for AlgoTune's base class of tasks."""

    def __init__(self, **others: Any) -> None:
        """Take any arguments, as the original does."""


def register_task(_: str) -> Callable[[type], type]:
    """Return a decorator that leaves a class as it is."""
    return lambda found: found


class AlgoTune(Convention):
    """The first program is the task's own `solve`, the reference, whose speed is 1."""

    called_as = "AlgoTune calls tasks"
    shape = "a class with `generate_problem`, `solve` and `is_solution`"
    example = "--evaluator task.py --program solver.py"
    is_of_classes = has_program = True

    def finds(self, source: Source) -> bool:
        """Whether the class that is meant, or any if none is, has the three methods."""
        classes = source.classes.items()
        return any(_is_task(node) for name, node in classes if source.name in ("", name))

    def describe(self, file: EvaluatorFile, allow_weak_isolation: bool = False) -> Description:
        """Make the first program of the methods that a solution needs, and all that stands beside the class."""
        source = Source(file.evaluator.partition(":")[0])
        task = next(filter(_is_task, source.classes.values()))
        kept = [node for node in task.body if getattr(node, "name", "") not in ("generate_problem", "is_solution")]
        solver = ast.ClassDef("Solver", [], [], kept, [])
        # AlgoTune's own is left out
        beside = [node for node in source.tree.body if node is not task and "AlgoTuneTasks" not in ast.unparse(node)]
        text = ast.unparse(ast.fix_missing_locations(ast.Module([*beside, solver], [])))
        said = source.path.parent / "description.txt"
        about = read_text_file(said, "text").strip() if said.is_file() else ast.get_docstring(task) or ""
        return Description(f"{text}\n", "", about)

    def load(self, file: EvaluatorFile) -> Run:
        """Make the task's object; return what gives a program's answers to the problems.

        Raises TaskError if the file cannot be imported or has no such class.
        """
        task = _task_of(file)

        def run(program: Path, recorder: Recorder) -> Result:
            size, count = int(os.environ[SIZE]), int(os.environ[COUNT])
            is_reference = REFERENCE in os.environ  # asked before the program can set it
            solve = _solver(program_at(program))
            problems = [task.generate_problem(n=size, random_seed=seed) for seed in range(count)]
            return Result(None, answer=_as_text([(task.solve if is_reference else solve)(each) for each in problems]))

        return run

    def load_judge(self, file: EvaluatorFile) -> Judge:
        """Make the task's object, and choose the size of the problems and their number by the task's own `solve`.

        Return what judges answers to them; for an empty answer it says both numbers. Raises TaskError as `load` does.
        """
        task = _task_of(file)
        size, taken_s = _size(task)
        count = min(max(int(_IN_ALL_S / taken_s), _FEWEST), _MOST)
        problems = [task.generate_problem(n=size, random_seed=seed) for seed in range(count)]

        def judge(answer: str, speed: float) -> Result:
            if not answer:
                return Result(0.0, {SIZE: float(size), COUNT: float(count)})
            answers = [from_json(each) for each in json.loads(answer)]
            for seed, (problem, solution) in enumerate(zip(problems, answers, strict=True)):
                if not task.is_solution(problem, solution):
                    return Result(None, failure=f"the answer to problem {seed} is no solution", is_stated=True)
            steps = answer_steps([numbers_in(each) for each in answers])
            return Result(speed, {"score": speed}, steps=steps, traced=ANSWERS)

        return judge


def _is_task(node: ast.ClassDef) -> bool:
    return functions_of(node).keys() >= set(_METHODS)


def _task_of(file: EvaluatorFile) -> Any:
    StandIns({"AlgoTuneTasks.base": {"Task": Task, "register_task": register_task}}).install()
    place, _, name = file.evaluator.partition(":")
    module = module_of(place)
    classes = [each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == module.__name__]
    fitting = [each for each in classes if all(callable(getattr(each, method, None)) for method in _METHODS)]
    found = next((each for each in fitting if not name or each.__name__ == name), None)
    if found is None:
        raise TaskError(f"{module.__file__} has no class with the methods {', '.join(_METHODS)}; name another file")
    return found()


def _as_text(answers: Sequence[Any]) -> str:
    return json.dumps([to_json(each) for each in answers])


def _size(task: Any) -> tuple[int, float]:
    """Return the size of problems, and the CPU seconds that the reference takes for one."""
    size = _SMALLEST
    while True:
        problem = task.generate_problem(n=size, random_seed=0)
        taken_s = _seconds(task.solve, problem)
        is_long = taken_s >= _LONG_ENOUGH_S or len(_as_text([task.solve(problem)])) > _LONGEST
        if is_long or size >= _LARGEST:
            return size, max(taken_s, 1e-6)
        size *= 2


def _seconds(solve: Callable[[Any], Any], problem: Any) -> float:
    """Return the CPU seconds of a call on a copy of a problem, the fewer of two: the first may load and compile."""
    taken_s: list[float] = []
    for _ in range(2):
        given, begun = copy.deepcopy(problem), time.process_time()
        solve(given)
        taken_s.append(time.process_time() - begun)
    return min(taken_s)


def _solver(module: ModuleType) -> Callable[[Any], Any]:
    found = module.Solver().solve if hasattr(module, "Solver") else getattr(module, "solve", None)
    if not callable(found):
        raise ValueError("the program defines neither a class `Solver` with a method `solve` nor a function `solve`")
    return found  # type: ignore[no-any-return]


algotune = AlgoTune()
