"""Runs a program on every instance, in the candidate's own process, and sends the solutions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.random  # numpy loads it at first use, which would be in each child
from numpy.typing import NDArray

from behavesim.base.plugins import TakesTooLong, cpu_limited
from behavesim.sandbox.apart import Remote, Unanswered
from behavesim.sandbox.frames import FrameError, encode_failure, encode_solutions
from behavesim.sandbox.program import function_of, reason_and_message
from behavesim.sandbox.progress import Progress
from behavesim.sandbox.remains import Solve
from behavesim.sandbox.stateless import ANSWERS
from behavesim.sandbox.wire import send
from behavesim.task import as_arrays


@dataclass(frozen=True)
class Work:
    """What every program of a zygote is run with; made once, before the forks.

    `solve` is the task's, `entry_point` the name of the program's function that it calls, `instances` are the split's.
    `output_limit` is the most bytes of all arrays that are sent: the solutions' and, for a `stateless` task, those of
    the function's answers.
    """

    solve: Solve
    entry_point: str
    instances: tuple[Any, ...]
    output_limit: int
    stateless: bool = False


def rehearse(template: str, work: Work, timeout_s: float) -> None:
    """Run the template on a copy of the first instance before any fork, for at most `timeout_s` seconds of CPU time.

    What Python and numpy compute at first use is then done once, and not again in each child. The template's result is
    ignored: if it fails or takes too long, its own evaluation reports that later.
    """
    # the alarm mostly comes inside `run_program`, which takes it for the template's failure
    with contextlib.suppress(TakesTooLong), cpu_limited(timeout_s):
        # a copy, since `solve` may change it
        run_program(template, replace(work, instances=deepcopy(work.instances[:1])), Progress())


def perform(work: Work, source: str, progress: Progress, fd: int, link: int | None = None) -> None:
    """Run a program on every instance, and write the frame of its solutions or its failure to the socket `fd`.

    `progress` records how far it got. `link` is a socket to the process that runs the program and answers its calls;
    None runs the program in this process. Raises OSError if the other end of `fd` is closed.
    """
    send(fd, run_program(source, work, progress, link))


def run_program(source: str, work: Work, progress: Progress, link: int | None = None) -> bytes:
    """Run a program on every instance; return the frame of its solutions, one for each, or of its failure.

    `progress` records how far it got. `link` is a socket to the process that runs the program and answers its calls;
    None runs the program in this process. Whatever the program raises, even SystemExit, becomes its failure.
    """
    try:
        limit = work.output_limit
        function = function_of(source, work.entry_point) if link is None else Remote(link, source, limit)
        counted = progress.counted(function)
        solutions = []
        for number, each in enumerate(work.instances, 1):
            progress.begin(number)
            solutions.append(_solution(counted, each, work))
        return encode_solutions(solutions, limit)
    except Unanswered as unanswered:
        return encode_failure(unanswered.failure.reason, unanswered.failure.message)
    except BaseException as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        return encode_failure(*reason_and_message(error))


def _solution(function: Callable[..., Any], instance: Any, work: Work) -> dict[str, NDArray[Any]]:
    """Return the solution of an instance as named arrays; for a stateless task the answers of all calls are one more.

    Raises FrameError if numpy makes no array of the solution, and what `solve` or the program raises. An array of
    objects passes here; `encode_solutions` refuses it.
    """
    answers: list[NDArray[Any]] = []

    def recorded(*arguments: Any) -> Any:
        answer = function(*arguments)
        answers.append(np.array(answer))  # a copy: the program may go on changing what it returned
        return answer

    solution = work.solve(recorded if work.stateless else function, instance)
    try:
        arrays = as_arrays(solution)
        return as_arrays({**arrays, ANSWERS: answers}) if work.stateless else arrays
    except (TypeError, ValueError) as error:
        raise FrameError(f"a solution must be an array of numbers: {error}") from error
