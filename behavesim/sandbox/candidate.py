"""What happens in a candidate's own process: its program is run on every instance and the solutions are sent."""

from __future__ import annotations

import random
import signal
import types
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.random  # numpy loads it late, which here would be in each child
from numpy.typing import NDArray

from behavesim.sandbox.apart import Remote, Unanswered, send
from behavesim.sandbox.frames import FrameError, encode_failure, encode_solutions
from behavesim.sandbox.program import function_of, why
from behavesim.sandbox.remains import Solve
from behavesim.sandbox.stateless import ANSWERS, Recorder
from behavesim.task import as_arrays


@dataclass(frozen=True)
class Work:
    """What every program of a zygote is run on; made before the forks, so that no fork has to."""

    solve: Solve
    entry_point: str
    instances: tuple[Any, ...]
    output_limit: int
    stateless: bool = False


def rehearse(template: str, work: Work, timeout_s: float) -> None:
    """Run the task's own template on the first instance, so that what is computed at first use is there before the
    forks, each of which would compute it again. Whether the template is any good is for the search to find out.

    It may take so many seconds of CPU time; one that never ends is left at it then, and comes to its timeout later."""
    before = signal.signal(signal.SIGVTALRM, _give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, timeout_s)
    try:
        outcome(template, replace(work, instances=deepcopy(work.instances[:1])))  # or programs met one that was used
    except TimeoutError:  # in the last instant
        return
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def _give_up(*_: object) -> None:
    raise TimeoutError


def perform(work: Work, source: str, fd: int, link: int | None = None) -> None:
    """Run a program on the work, and send what comes of it."""
    send(fd, outcome(source, work, link))


def outcome(source: str, work: Work, link: int | None = None) -> bytes:
    """The frame to send: the solutions of the program in `source`, or why there are none.

    With a link the program is not loaded here: the process at its other end answers for it.
    """
    random.seed(0)  # again: a hook of the standard library seeds it by entropy in each fork
    try:
        function = _function(source, work, link)
        solutions = [_solution(function, each, work) for each in work.instances]
        return encode_solutions(solutions, work.output_limit)
    except Unanswered as unanswered:
        return encode_failure(unanswered.failure.reason, unanswered.failure.message)
    except BaseException as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        return encode_failure(*why(error))


def _function(source: str, work: Work, link: int | None) -> Callable[..., Any]:
    if link is None:
        return function_of(source, work.entry_point)
    return Remote(link, source, work.output_limit)


def settle_randomness() -> None:
    """Make programs that seed nothing give equal results in every fork of this process, with new generators too."""
    random.Random.seed = _seed_never_by_entropy  # type: ignore[method-assign]
    random.seed = types.MethodType(_seed_never_by_entropy, random.seed.__self__)  # type: ignore[attr-defined]
    np.random.bit_generator.randbits = random.Random(0).getrandbits  # type: ignore[attr-defined]  # of default_rng()
    np.random.seed(0)


_seed = random.Random.seed


def _seed_never_by_entropy(self: random.Random, a: Any = None, version: int = 2) -> None:
    _seed(self, 0 if a is None else a, version)


def _solution(function: Callable[..., Any], instance: Any, work: Work) -> dict[str, NDArray[Any]]:
    """The solution of an instance, with what was answered on the way where that is asked again."""
    if not work.stateless:
        return _arrays(work.solve(function, instance))
    recorder = Recorder(function)
    solution = _arrays(work.solve(recorder, instance))
    return _arrays({**solution, ANSWERS: recorder.answers})


def _arrays(solution: object) -> dict[str, NDArray[Any]]:
    try:
        return as_arrays(solution)
    except (TypeError, ValueError) as error:
        raise FrameError(f"a solution must be an array of numbers: {error}") from error
