"""Programs that are to keep nothing between calls: what they answered is asked again elsewhere, and in another order.

A program's process sends its answers beside its solutions. Trusted code sees that these answers lead to these
solutions, and puts some of the questions once more, from the last back to the first, in a process that has asked
nothing before. Whoever planned ahead, counted calls or wrote into an argument has nothing of that there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.sandbox.frames import decode, encode_solutions
from behavesim.state.verdict import Failure
from behavesim.task import InvalidSolution, Solution, Task, as_arrays

ANSWERS = "(answers)"
"""The name under which the answers of an instance, an array of one row a call, travel beside its solution."""
STEPS = "steps"
ASKED_AGAIN = 8
"""Calls for each instance that are made again."""
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


def script(
    source: str, task: Task, instances: Sequence[Any], solutions: Sequence[Solution], answers: Sequence[NDArray[Any]]
) -> bytes:
    """What a fresh process needs to put questions again: all answers, and the steps, drawn by the program's text.

    No program takes part in this. Raises InvalidSolution where there are no answers, or such as lead elsewhere.
    """
    if len(answers) != len(instances) or any(given.ndim == 0 for given in answers):
        raise InvalidSolution("a program's answers must come with its solutions")
    draw = np.random.default_rng(list(hashlib.sha256(source.encode(errors="replace")).digest()))
    for instance, solution, given in zip(instances, solutions, answers, strict=True):
        stand_in = Script(given)
        found = task.solve(stand_in, deepcopy(instance))
        if stand_in.calls != len(given) or not _equal(as_arrays(found), as_arrays(solution)):
            raise InvalidSolution("a program's answers must lead to its solution")
    parts = [{"": given, STEPS: _steps(len(given), draw)} for given in answers]
    return encode_solutions(parts, sum(array.nbytes for part in parts for array in part.values()))


def questions(
    encoded: bytes, solve: Callable[[Callable[..., Any], Any], Solution], instances: Sequence[Any]
) -> list[dict[int, tuple[Any, ...]]]:
    """What was asked at the steps of a script, for each instance; to be known before the program is there."""
    parts = decode(encoded, len(instances))
    assert not isinstance(parts, Failure), "a script comes from the trusted process"
    asked = []
    for instance, part in zip(instances, map(as_arrays, parts), strict=True):
        stand_in = Script(part[""], part[STEPS].tolist())
        solve(stand_in, instance)
        asked.append(stand_in.questions)
    return asked


def asked_again(function: Callable[..., Any], asked: Sequence[dict[int, tuple[Any, ...]]]) -> list[list[Any]]:
    """The answers for each instance, in the order of the steps, to questions put from the last back to the first."""
    backwards = [[np.array(function(*each[step])) for step in sorted(each, reverse=True)] for each in reversed(asked)]
    return [answers[::-1] for answers in reversed(backwards)]


def difference(encoded: bytes, again: Sequence[Solution]) -> str:
    """Where a program answered otherwise the second time, in words; '' where it did not."""
    parts = decode(encoded, len(again))
    assert not isinstance(parts, Failure), "a script comes from the trusted process"
    for number, (part, second) in enumerate(zip(map(as_arrays, parts), map(as_arrays, again), strict=True), 1):
        steps = np.sort(part[STEPS])
        first, then = part[""][steps], second.get("", np.empty(0))
        if first.shape != then.shape:
            return f"on instance {number} its answers have another form"
        for step, left, right in zip(steps.tolist(), first, then, strict=True):
            if not _same(left, right):
                return (
                    f"call {step + 1} on instance {number} was answered with {right!s:.60}, and first with {left!s:.60}"
                )
    return ""


def _steps(calls: int, draw: np.random.Generator) -> NDArray[np.int64]:
    """Which of an instance's calls are made again."""
    return draw.choice(calls, size=min(calls, ASKED_AGAIN), replace=False)


def _same(left: NDArray[Any], right: NDArray[Any]) -> bool:
    if left.dtype.kind == right.dtype.kind == "f":
        return bool(np.allclose(left, right, rtol=SAME, atol=0.0, equal_nan=True))
    return bool(np.array_equal(left, right))


def _equal(left: dict[str, NDArray[Any]], right: dict[str, NDArray[Any]]) -> bool:
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)
