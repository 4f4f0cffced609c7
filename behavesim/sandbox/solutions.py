"""Solutions of programs, read from the bytes that their processes sent."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from numpy.typing import NDArray

from behavesim.base.errors import TaskError
from behavesim.sandbox.again import settled
from behavesim.sandbox.connection import Ran
from behavesim.sandbox.frames import FrameError, decode, whole_answers
from behavesim.sandbox.isolation import LEVELS
from behavesim.sandbox.limits import MEGABYTE, Limits
from behavesim.sandbox.messages import OUT_OF_MEMORY, Ending
from behavesim.sandbox.runner import RunnerPool
from behavesim.sandbox.stateless import answers_apart
from behavesim.sandbox.wire import ADVICE, encode_question
from behavesim.state.protocols import Postponed, Solved, unnoticed
from behavesim.task import Solution
from behavesim.task.verdict import Failure

T = TypeVar("T")


class SolutionPool(RunnerPool):
    """A sandbox of programs that are functions: reads their solutions from the bytes that come back."""

    async def evaluate(self, source: str, postponed: Postponed = unnoticed, /) -> Solved | Failure:
        """Run one program on every instance; return its solutions or its failure.

        The program runs in a process without the instances if the task says so. This waits until a worker is free;
        cancelling kills the program. `postponed` is called each time that the program must run again because the
        machine may be the cause of its ending. Raises SandboxError if that is still in doubt after the last try, if the
        sandbox itself fails, or if the pool was not entered.
        """
        ran = await settled(self.runner, self._limits, source, postponed, may_signal=self._may_signal)
        return result(ran, self._limits, self.runner.ready.instances)

    async def answers(
        self, source: str, calls: Sequence[tuple[Any, ...]], postponed: Postponed = unnoticed, /
    ) -> Solved | Failure:
        """Make calls of a program's function in one new process without instances, in the order given.

        A call is a tuple of arguments; there must be at least one. The solutions of the Solved are the answers; a
        Failure is that of the program, or of the first call that failed. This waits until a worker is free; cancelling
        kills the program. `postponed` is called each time that the program must run again because the machine may be
        the cause of its ending. Raises TaskError if arguments cannot be sent. Raises SandboxError if the sandbox fails,
        was not entered, or the machine stays in doubt.
        """
        questions = b"".join(map(_encoded, calls))
        ran = await settled(self.runner, self._limits, source, postponed, questions, self._may_signal)
        found = _decoded(ran, self._limits, partial(whole_answers, count=len(calls), limit=self._limits.output))
        return found if isinstance(found, Failure) else _solved(ran, self._limits, found)

    @property
    def _may_signal(self) -> bool:
        """Whether programs can send signals, and so kill their own process: below `strong`."""
        return LEVELS.index(self.isolation) < LEVELS.index("strong")


def result(ran: Ran, limits: Limits, instances: int) -> Solved | Failure:
    """Return the solutions that a program sent, or its failure; either has the CPU time of its processes.

    `limits` are those the program ran under; `instances` is the number of solutions expected. A frame that cannot be
    read, or holds another number of solutions, is a failure with the reason "output".
    """
    held = _decoded(ran, limits, partial(decode, instances=instances))
    return held if isinstance(held, Failure) else _solved(ran, limits, *answers_apart(held))


def _solved(
    ran: Ran, limits: Limits, solutions: tuple[Solution, ...], answers: tuple[NDArray[Any], ...] = ()
) -> Solved:
    """Return the solutions of a program, with its CPU time and what of that counts towards the limit."""
    ending = ran.program or ran.ending
    return Solved(solutions, ran.cpu_s, answers, limits.counted_s(ending.cpu_s, ending.first_s))


def _decoded(ran: Ran, limits: Limits, decoder: Callable[[bytes], T | Failure]) -> T | Failure:
    """Return what `decoder` reads from the bytes that a program sent, or a failure with the program's CPU time (s).

    It is a failure if the program ended badly or sent too many bytes or none. It is one too if `decoder` returns a
    Failure or raises FrameError; the latter has the reason "output".
    """
    held: T | Failure
    sent = frame_of(ran, limits)
    try:
        held = sent if isinstance(sent, Failure) else decoder(sent)
    except FrameError as error:
        held = Failure("output", str(error))
    return replace(held, cpu_s=ran.cpu_s) if isinstance(held, Failure) else held


def frame_of(ran: Ran, limits: Limits) -> bytes | Failure:
    """Return the bytes that a process sent; a failure without CPU time if they are too many or none.

    It is a failure, too, if the process was killed, took too much CPU time, or exited with another status than 0. The
    process of a program apart is looked at first.
    """
    if ran.program is not None:
        # this one's end comes first: how the process with the instances ended may only follow from it
        at = replace(ran.program, instance=ran.ending.instance)  # which the program itself does not know
        if failed := _ended_badly(at, limits):
            return failed
    if ran.frame is None:
        return Failure("output", f"more than {limits.output_mb} MB came; return smaller solutions")
    return _ended_badly(ran.ending, limits) or ran.frame or _left(0)


def _encoded(arguments: tuple[Any, ...]) -> bytes:
    """Return a call's arguments as bytes; raises TaskError, with advice, if they cannot be sent."""
    try:
        return encode_question(arguments)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise TaskError(f"`solve` calls the function with what cannot be sent ({error}); {ADVICE}") from error


def _ended_badly(ending: Ending, limits: Limits) -> Failure | None:
    """Return the failure of a process that was stopped, exited with another status than 0, or exceeded its CPU time.

    None if the process ended well, or exceeded its CPU time `beside_others`. The failure's `cpu_s` is left at 0.
    """
    allowed_s, spent = limits.allowed_s(ending.first_s), limits.spent(ending.cpu_s, ending.first_s)
    reached = ending.reached(limits.uncounted_s(ending.first_s))
    if ending.killed in ("wall", "waited"):
        said = f"still not done after {limits.wall_s:g} s by the clock, with {spent}"
        return Failure("timeout", f"{said}{reached}")
    code = os.waitstatus_to_exitcode(ending.status)
    if ending.killed == "cpu" or (code in (-signal.SIGXCPU, -signal.SIGKILL) and ending.cpu_s > allowed_s):
        said = f"still not done after the {limits.timeout_s:.3g} s of CPU time that count"
        return Failure("timeout", f"{said}{reached}")
    # beside others the limit is NEAR times as long: a program that took longer was killed
    if not ending.killed and ending.cpu_s > allowed_s and not ending.beside_others:
        return Failure("timeout", f"it took {spent}{reached}")
    if code == OUT_OF_MEMORY:
        return Failure("memory", "the program asked for more memory than its limit")
    if code == -signal.SIGKILL:
        held = f"it held {ending.peak_bytes // MEGABYTE} MB"
        return Failure("memory", f"killed, also alone, for lack of the machine's memory or by itself; {held}")
    if code == -signal.SIGSYS:
        return Failure("forbidden", "the program made a system call that no program may make")
    if code < 0:
        # most real-time signals have no name
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return Failure("crash", f"the program's process was killed by {name}")
    return _left(code) if code else None


def _left(code: int) -> Failure:
    """Return the failure of a program that ended its process with the exit status `code`."""
    return Failure("exit", f"the program ended its process itself, with status {code}")
