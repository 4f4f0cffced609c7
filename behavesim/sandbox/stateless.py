"""Checks programs that must keep nothing between calls: some calls are repeated in fresh processes.

A program's process sends its answers beside its solutions. Trusted code runs the task's own `solve` on these answers:
they must lead to the solutions that came. Then it draws some of the calls at random and repeats them in a few fresh
processes. Such a process has the program and the arguments of its calls, but no instance, and no two calls on one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Solution, Task, as_arrays

ANSWERS = "(answers)"
"""The name of the array of all answers on an instance, one row for each call, that is sent beside its solution."""
ASKED_AGAIN = 16
"""Most calls of a program that are repeated, over all instances.

Let p be the share of a program's answers, on average over the instances, that depend on more than the arguments. Then
it passes with probability (1 - p) ** 16 at most: 0.2 for p = 0.1, 1.5e-5 for p = 0.5.
"""
TOGETHER = 4
"""Most calls that one fresh process repeats, each on another instance: what it may keep of them is of no use to it.

A process of its own for each call would cost a program that numba compiles 16 times the 6 s of its compilation.
"""
TOLERANCE = 1e-9
"""Largest relative difference between two floating-point answers that count as equal: rounding may differ."""


@dataclass(frozen=True)
class AnsweredCall:
    """A call that a program answered.

    `instance` is the index of the instance, `step` that of the call among those on this instance; both count from 0.
    `arguments` are a copy of what the function was called with.
    """

    instance: int
    step: int
    arguments: tuple[Any, ...]
    answer: NDArray[Any]

    def difference(self, again: Solution) -> str:
        """Return words that show both answers if a second one, `again`, differs from the first; "" if it does not.

        Floating-point numbers may differ by TOLERANCE, relatively. Each answer is cut to 60 characters.
        """
        second = as_arrays(again)[""]
        if _same(self.answer, second):
            return ""
        what = f"call {self.step + 1} on instance {self.instance + 1} was answered"
        return f"{what} with {second!s:.60}, and first with {self.answer!s:.60}"


class Script:
    """Replaces a program's function: returns the given answers in order, and keeps the arguments of some calls.

    `calls` is the number of calls so far. `questions` maps the index of each call in `steps` that was made to a copy of
    its arguments; indices count from 0.
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

    There is one array of answers for each solution that came with answers: none if the task is not stateless.
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
) -> list[list[AnsweredCall]]:
    """Return up to ASKED_AGAIN calls, drawn from a program's calls on all instances, in random order.

    All instances give equally many, one more or less, unless one has too few calls. Each call on an instance is equally
    likely. A list is for one process: it has at most TOGETHER calls, on different instances. The task's `solve` runs on
    the program's `answers`, one array for each instance; the program does not run. Raises InvalidSolution if answers
    are missing, too many or lead to another solution, and what `solve` raises.
    """
    if len(answers) != len(instances) or any(given.ndim == 0 for given in answers):
        raise InvalidSolution("a program's answers must come with its solutions")
    drawn = _drawn([len(given) for given in answers], draw)
    found: dict[tuple[int, int], AnsweredCall] = {}
    for number, (instance, solution, given) in enumerate(zip(instances, solutions, answers, strict=True)):
        stand_in = Script(given, [step for at, step in drawn if at == number])
        led_to = task.solve(stand_in, deepcopy(instance))
        if stand_in.calls != len(given) or not _equal(as_arrays(led_to), as_arrays(solution)):
            raise InvalidSolution("a program's answers must lead to its solution")
        found |= {(number, at): AnsweredCall(number, at, asked, given[at]) for at, asked in stand_in.questions.items()}
    return _divided([found[call] for call in drawn])


def _drawn(counts: Sequence[int], draw: np.random.Generator) -> list[tuple[int, int]]:
    """Draw at most ASKED_AGAIN different calls, and return the indices (instance, step) of each.

    `counts` has the number of calls on each instance. A round draws one further call on each instance that has one
    left, in random order. Rounds follow each other until there are enough calls.
    """
    steps = [draw.permutation(count)[:ASKED_AGAIN].tolist() for count in counts]
    rounds = (
        [(number, each[turn]) for number, each in enumerate(steps) if turn < len(each)] for turn in range(ASKED_AGAIN)
    )
    shuffled = ([calls[at] for at in draw.permutation(len(calls))] for calls in rounds)
    return list(islice(chain.from_iterable(shuffled), ASKED_AGAIN))


def _divided(calls: Sequence[AnsweredCall]) -> list[list[AnsweredCall]]:
    """Put each call, in order, into the first list with room: at most TOGETHER in each, no two on one instance."""
    processes = list[list[AnsweredCall]]()
    for call in calls:
        for known in processes:
            if len(known) < TOGETHER and all(each.instance != call.instance for each in known):
                known.append(call)
                break
        else:
            processes.append([call])
    return processes


def _same(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Whether two answers are equal, except for rounding if both are in floating point; NaN equals NaN."""
    if left.dtype.kind == right.dtype.kind == "f":
        return left.shape == right.shape and bool(np.allclose(left, right, rtol=TOLERANCE, atol=0.0, equal_nan=True))
    return bool(np.array_equal(left, right))


def _equal(left: dict[str, NDArray[Any]], right: dict[str, NDArray[Any]]) -> bool:
    """Whether two solutions have the same names of arrays and exactly equal numbers; NaN equals nothing."""
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)
