"""Programs that must keep nothing between calls: some of their calls are made again where nothing else is known.

A program's process sends its answers beside its solutions. Trusted code lets the task's own `solve` run on these
answers: they must lead to the solutions that came. Then it draws some calls by a random number of its own, and makes
each again in a fresh process that has the program and this call's arguments, but no instance and no other call.
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
"""The name under which the answers of an instance, an array of one row a call, travel beside its solution."""
ASKED_AGAIN = 16
"""Calls of a program that are made again, over all instances; each costs a process.

A program passes with probability (1 - p) ** 16 at most if a share p of its answers depends on more than the arguments:
0.2 for a tenth of them, 1.5e-5 for half.
"""
SAME = 1e-9
"""How far, in relation to it, an answer that is no integer may lie from the first one by rounding."""


class Recorder:
    """A program's function that keeps a copy of what it answers."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.answers: list[Any] = []

    def __call__(self, *arguments: Any) -> Any:
        """The function's own answer."""
        answer = self._function(*arguments)
        self.answers.append(np.array(answer))
        return answer


@dataclass(frozen=True)
class Call:
    """A call that a program answered: which step of which instance (from 0), on what, and with what."""

    instance: int
    step: int
    arguments: tuple[Any, ...]
    answer: NDArray[Any]

    def difference(self, again: Solution) -> str:
        """Return in words how this time's answer differs from the first; '' where it does not."""
        second = as_arrays(again)[""]
        if _same(self.answer, second):
            return ""
        what = f"call {self.step + 1} on instance {self.instance + 1} was answered"
        return f"{what} with {second!s:.60}, and first with {self.answer!s:.60}"


class Script:
    """Stands in for a program: gives the answers that it gave, and keeps what was asked at some steps."""

    def __init__(self, answers: NDArray[Any], steps: Collection[int] = ()) -> None:
        self._answers = answers
        self._steps = frozenset(steps)
        self.calls = 0
        self.questions: dict[int, tuple[Any, ...]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """The next answer; raises InvalidSolution where there is none."""
        step, self.calls = self.calls, self.calls + 1
        if step >= len(self._answers):
            raise InvalidSolution("a program must answer each question once")
        if step in self._steps:
            self.questions[step] = deepcopy(arguments)
        return self._answers[step]


def parted(solutions: Sequence[Solution]) -> tuple[tuple[Solution, ...], tuple[NDArray[Any], ...]]:
    """Solutions as a task made them, and the answers that came beside them; no answers where none were kept."""
    named = [as_arrays(solution) for solution in solutions]
    answers = tuple(each.pop(ANSWERS) for each in named if ANSWERS in each)
    return tuple(each[""] if list(each) == [""] else each for each in named), answers


def calls_to_repeat(
    task: Task,
    instances: Sequence[Any],
    solutions: Sequence[Solution],
    answers: Sequence[NDArray[Any]],
    draw: np.random.Generator,
) -> list[Call]:
    """Return some of a program's calls, drawn evenly from those on all instances, in a random order.

    No program takes part in this. Raises InvalidSolution where answers are missing, or lead to another solution.
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
        found += [Call(number, step, asked, given[step]) for step, asked in stand_in.questions.items()]
    return [found[place] for place in draw.permutation(len(found))]


def _drawn(lengths: Sequence[int], draw: np.random.Generator) -> list[tuple[int, int]]:
    """(instance, step) of the calls to be made again, where the instances had so many calls."""
    ends = np.cumsum(lengths)
    chosen = draw.choice(int(ends[-1]), size=min(int(ends[-1]), ASKED_AGAIN), replace=False)
    at = np.searchsorted(ends, chosen, side="right")
    steps = chosen - (ends - lengths)[at]
    return list(zip(at.tolist(), steps.tolist(), strict=True))


def _same(left: NDArray[Any], right: NDArray[Any]) -> bool:
    if left.dtype.kind == right.dtype.kind == "f":
        return left.shape == right.shape and bool(np.allclose(left, right, rtol=SAME, atol=0.0, equal_nan=True))
    return bool(np.array_equal(left, right))


def _equal(left: dict[str, NDArray[Any]], right: dict[str, NDArray[Any]]) -> bool:
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)
