"""What programs sent: the bytes as they came for a referee, or the solutions in them for code that trusts both."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

from behavesim.sandbox.again import settled
from behavesim.sandbox.connection import Ran
from behavesim.sandbox.frames import FrameError, decode
from behavesim.sandbox.isolation import LEVELS
from behavesim.sandbox.limits import MEGABYTE, Limits
from behavesim.sandbox.messages import OUT_OF_MEMORY, Ending
from behavesim.sandbox.runner import RunnerPool
from behavesim.sandbox.stateless import answers_apart
from behavesim.state.protocols import Postponed, unnoticed
from behavesim.task.verdict import Failure, Sent, Solved


class SolutionPool(RunnerPool):
    """A sandbox of programs that are functions."""

    async def send(self, source: str, postponed: Postponed = unnoticed, questions: bytes = b"", /) -> Sent | Failure:
        """Run one program on every instance, and return the bytes that it sent, or its failure.

        With `questions` (calls, each as `wire.encode_question` returns it) it answers these instead, in the order
        given, in a new process without instances.

        The program runs in a process without the instances if the task says so. This waits until a worker is free;
        cancelling kills the program. `postponed` is called each time that the program must run again because the
        machine may be the cause of its ending. Raises SandboxError if that is still in doubt after the last try, if the
        sandbox itself fails, or if the pool was not entered.
        """
        ran = await settled(self.runner, self._limits, source, postponed, questions, self._may_signal)
        return sent_by(ran, self._limits, self.runner.ready.instances)

    async def evaluate(self, source: str, postponed: Postponed = unnoticed, /) -> Solved | Failure:
        """Run one program as `send` does, and return its solutions, read in this process, or its failure."""
        sent = await self.send(source, postponed)
        return sent if isinstance(sent, Failure) else solved_in(sent)

    @property
    def _may_signal(self) -> bool:
        """Whether programs can send signals, and so kill their own process: below `strong`."""
        return LEVELS.index(self.isolation) < LEVELS.index("strong")


def sent_by(ran: Ran, limits: Limits, instances: int) -> Sent | Failure:
    """Return the bytes that a program sent, or its failure if it ended badly; either has its processes' CPU time.

    `limits` are those the program ran under; `instances` is the number of solutions expected.
    """
    found = frame_of(ran, limits)
    if isinstance(found, Failure):
        return replace(found, cpu_s=ran.cpu_s)
    ending = ran.program or ran.ending
    return Sent(found, instances, ran.cpu_s, limits.counted_s(ending.cpu_s, ending.first_s))


def solved_in(sent: Sent) -> Solved | Failure:
    """Return the solutions in what a program sent, or the failure; its reason is "output" if it cannot be read."""
    try:
        held = decode(sent.data, sent.instances)
    except FrameError as error:
        held = Failure("output", str(error))
    if isinstance(held, Failure):
        return replace(held, cpu_s=sent.cpu_s)
    solutions, answers = answers_apart(held)
    return Solved(solutions, sent.cpu_s, answers, sent.counted_s)


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


def _ended_badly(ending: Ending, limits: Limits) -> Failure | None:
    """Return the failure of a process that was stopped, exited with another status than 0, or exceeded its CPU time.

    None if the process ended well, or exceeded its CPU time `beside_others`. The failure's `cpu_s` is left at 0.
    """
    allowed_s, counted_s = limits.allowed_s(ending.first_s), limits.counted_s(ending.cpu_s, ending.first_s)
    reached = ending.reached(limits.uncounted_s(ending.first_s))
    if ending.killed in ("wall", "asleep", "waited"):
        said = f"stopped after {limits.wall_s:g} s: it slept or waited ({counted_s:.2g} s of CPU time)"
        return Failure("timeout", f"{said}{reached}")
    code = os.waitstatus_to_exitcode(ending.status)
    if ending.killed == "cpu" or (code in (-signal.SIGXCPU, -signal.SIGKILL) and ending.cpu_s > allowed_s):
        said = f"still not done after the {limits.timeout_s:.3g} s of CPU time that count"
        return Failure("timeout", f"{said}{reached}")
    # beside others the limit is NEAR times as long: a program that took longer was killed
    if not ending.killed and ending.cpu_s > allowed_s and not ending.beside_others:
        return Failure("timeout", f"{counted_s:.3g} s of CPU time; the limit is {limits.timeout_s:.3g} s{reached}")
    if code == OUT_OF_MEMORY:
        return Failure("memory", "the program asked for more memory than its limit")
    if code == -signal.SIGKILL:
        held = f"the second time alone ({ending.peak_bytes // MEGABYTE} MB held)"
        return Failure("memory", f"ended by SIGKILL, twice, {held}: out of memory, or it killed itself")
    if code == -signal.SIGSYS:
        return Failure("forbidden", "the program made a system call that no program may make")
    if code < 0:
        # most real-time signals have no name
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return Failure("crash", f"the program's process was killed by {name}")
    return _left(code) if code else None


def _left(code: int) -> Failure:
    """Return the failure of a program that ended its process with the exit status `code`."""
    return Failure("exit", f"the program called os._exit({code})")
