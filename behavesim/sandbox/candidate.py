"""Runs a program on every instance, in the candidate's own process, and sends the solutions."""

from __future__ import annotations

import random
import signal
import types
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.random  # numpy loads it at first use, which would be in each child
from numpy.typing import NDArray

from behavesim.sandbox.apart import Remote, Unanswered, send
from behavesim.sandbox.frames import FrameError, encode_failure, encode_solutions
from behavesim.sandbox.program import function_of, reason_and_message
from behavesim.sandbox.remains import Solve
from behavesim.sandbox.stateless import ANSWERS, Recorder
from behavesim.task import as_arrays


@dataclass(frozen=True)
class Work:
    """What every program of a zygote is run with; made once, before the forks.

    `output_limit` is in bytes of arrays. For a `stateless` task, the answers are sent beside the solutions.
    """

    solve: Solve
    entry_point: str
    instances: tuple[Any, ...]
    output_limit: int
    stateless: bool = False


def rehearse(template: str, work: Work, timeout_s: float) -> None:
    """Run the template on the first instance before any fork, for at most `timeout_s` seconds of CPU time.

    What Python and numpy compute at first use is then done once, and not again in each child. The template's result is
    ignored: if it fails or takes too long, its own evaluation reports that later.
    """
    before = signal.signal(signal.SIGVTALRM, _give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, timeout_s)
    try:
        outcome(template, replace(work, instances=deepcopy(work.instances[:1])))  # `solve` may change its instance
    except TimeoutError:  # the alarm came after `outcome` had caught all else
        return
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def _give_up(*_: object) -> None:
    raise TimeoutError


def perform(work: Work, source: str, fd: int, link: int | None = None) -> None:
    """Run a program on every instance and write its outcome to the socket `fd`; see `outcome` for `link`."""
    send(fd, outcome(source, work, link))


def outcome(source: str, work: Work, link: int | None = None) -> bytes:
    """Return the frame to send: one solution for each instance, or the program's failure.

    With a `link`, a socket, the program is not loaded here: the process at its other end answers the calls.
    """
    random.seed(0)  # after each fork the standard library seeds it by entropy
    try:
        function = _function(source, work, link)
        solutions = [_solution(function, each, work) for each in work.instances]
        return encode_solutions(solutions, work.output_limit)
    except Unanswered as unanswered:
        return encode_failure(unanswered.failure.reason, unanswered.failure.message)
    except BaseException as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        return encode_failure(*reason_and_message(error))


def _function(source: str, work: Work, link: int | None) -> Callable[..., Any]:
    if link is None:
        return function_of(source, work.entry_point)
    return Remote(link, source, work.output_limit)


def settle_randomness() -> None:
    """Seed `random` and numpy in this process, so that programs that seed nothing give equal results in every fork.

    New generators without a seed (`random.Random()`, `numpy.random.default_rng()`) are seeded the same way.
    """
    random.Random.seed = _seed_never_by_entropy  # type: ignore[method-assign]
    random.seed = types.MethodType(_seed_never_by_entropy, random.seed.__self__)  # type: ignore[attr-defined]
    np.random.bit_generator.randbits = random.Random(0).getrandbits  # type: ignore[attr-defined]  # for default_rng()
    np.random.seed(0)


_seed = random.Random.seed


def _seed_never_by_entropy(self: random.Random, a: Any = None, version: int = 2) -> None:
    _seed(self, 0 if a is None else a, version)


def _solution(function: Callable[..., Any], instance: Any, work: Work) -> dict[str, NDArray[Any]]:
    """Return the solution of an instance as named arrays; for a stateless task the answers of all calls are added.

    Raises FrameError if the solution is no array of numbers, and what `solve` or the program raises.
    """
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
