"""Checks programs that must keep nothing between calls: some calls are repeated in fresh processes.

A program's process sends its answers beside its solutions. Trusted code runs the task's own `solve` on these answers:
they must lead to the solutions that came. Then it draws some of the calls at random and repeats each in a fresh process
that has the program and this call's arguments, but no instance and no other call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Solution, Task, as_arrays

ANSWERS = "(answers)"
"""The name of the array of an instance's answers, one row for each call, that is sent beside its solution."""
ASKED_AGAIN = 16
"""Number of a program's calls that are repeated, over all instances; each costs a process.

If a share p of a program's answers depends on more than the arguments, it passes with probability (1 - p) ** 16 at
most: 0.2 for p = 0.1, 1.5e-5 for p = 0.5.
"""
TOLERANCE = 1e-9
"""Largest relative difference between two answers in floating point that count as equal: rounding may differ."""


class Recorder:
    """Calls a program's function with positional arguments, and keeps a copy of each answer in `answers`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.answers: list[Any] = []

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's answer."""
        answer = self._function(*arguments)
        self.answers.append(np.array(answer))
        return answer


@dataclass(frozen=True)
class AnsweredCall:
    """A call that a program answered.

    `instance` and `step` count from 0: `step` is the number of the call among those on this instance.
    """

    instance: int
    step: int
    arguments: tuple[Any, ...]
    answer: NDArray[Any]

    def difference(self, again: Solution) -> str:
        """Return in words how a second answer differs from the first; '' if it does not."""
        second = as_arrays(again)[""]
        if _same(self.answer, second):
            return ""
        what = f"call {self.step + 1} on instance {self.instance + 1} was answered"
        return f"{what} with {second!s:.60}, and first with {self.answer!s:.60}"


class Script:
    """Replaces a program's function: returns the given answers in order, and keeps the arguments of some calls.

    `calls` counts the calls so far; `questions` maps each step in `steps` to a copy of its arguments.
    """

    def __init__(self, answers: NDArray[Any], steps: Collection[int] = ()) -> None:
        self._answers = answers
        self._steps = frozenset(steps)
        self.calls = 0
        self.questions: dict[int, tuple[Any, ...]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Return the next answer; raises InvalidSolution if none is left."""
        step, self.calls = self.calls, self.calls + 1
        if step >= len(self._answers):
            raise InvalidSolution("a program must answer each question once")
        if step in self._steps:
            self.questions[step] = deepcopy(arguments)
        return self._answers[step]


def answers_apart(solutions: Sequence[Solution]) -> tuple[tuple[Solution, ...], tuple[NDArray[Any], ...]]:
    """Split what a program's process sent into the task's solutions and the answers sent beside them.

    The answers are one array for each instance; they are empty if the task is not stateless.
    """
    named = [as_arrays(solution) for solution in solutions]
    answers = tuple(each.pop(ANSWERS) for each in named if ANSWERS in each)
    return tuple(each[""] if list(each) == [""] else each for each in named), answers


def calls_to_repeat(
    task: Task,
    instances: Sequence[Any],
    solutions: Sequence[Solution],
    answers: Sequence[NDArray[Any]],
    draw: np.random.Generator,
) -> list[AnsweredCall]:
    """Return up to ASKED_AGAIN calls, drawn uniformly from a program's calls on all instances, in random order.

    The task's `solve` runs on the program's `answers`, one array for each instance; the program does not run. Raises
    InvalidSolution if answers are missing or lead to another solution, and what `solve` raises.
    """
    if len(answers) != len(instances) or any(given.ndim == 0 for given in answers):
        raise InvalidSolution("a program's answers must come with its solutions")
    steps = _drawn([len(given) for given in answers], draw)
    found = []
    for number, (instance, solution, given) in enumerate(zip(instances, solutions, answers, strict=True)):
        stand_in = Script(given, [step for at, step in steps if at == number])
        led_to = task.solve(stand_in, deepcopy(instance))
        if stand_in.calls != len(given) or not _equal(as_arrays(led_to), as_arrays(solution)):
            raise InvalidSolution("a program's answers must lead to its solution")
        found += [AnsweredCall(number, step, asked, given[step]) for step, asked in stand_in.questions.items()]
    return [found[place] for place in draw.permutation(len(found))]


def _drawn(lengths: Sequence[int], draw: np.random.Generator) -> list[tuple[int, int]]:
    """Draw the calls to repeat, as (instance, step); `lengths` are the numbers of calls on each instance."""
    ends = np.cumsum(lengths)
    chosen = draw.choice(int(ends[-1]), size=min(int(ends[-1]), ASKED_AGAIN), replace=False)
    at = np.searchsorted(ends, chosen, side="right")
    steps = chosen - (ends - lengths)[at]
    return list(zip(at.tolist(), steps.tolist(), strict=True))


def _same(left: NDArray[Any], right: NDArray[Any]) -> bool:
    if left.dtype.kind == right.dtype.kind == "f":
        return left.shape == right.shape and bool(np.allclose(left, right, rtol=TOLERANCE, atol=0.0, equal_nan=True))
    return bool(np.array_equal(left, right))


def _equal(left: dict[str, NDArray[Any]], right: dict[str, NDArray[Any]]) -> bool:
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)
