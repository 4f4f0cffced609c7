"""The sandbox: programs run in processes of their own, a few at a time, and only arrays come back."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

from behavesim.base.errors import SandboxError, TaskError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.apart import ADVICE, encode_question
from behavesim.sandbox.connection import ProcessOutput, ZygoteDied, connected
from behavesim.sandbox.frames import FrameError, decode, whole_answer
from behavesim.sandbox.isolation import LEVELS
from behavesim.sandbox.layers import LAYERS
from behavesim.sandbox.limits import MEGABYTE, Limits
from behavesim.sandbox.messages import OUT_OF_MEMORY, Assignment, Ending, Ready
from behavesim.sandbox.stateless import answers_apart
from behavesim.sandbox.supervisor import ZygoteSupervisor
from behavesim.state.protocols import Solved
from behavesim.state.verdict import Failure
from behavesim.task import Split, TaskReference

PRELOADED = (
    *("bisect", "collections", "copy", "dataclasses", "fractions", "functools", "heapq", "itertools", "math"),
    *("operator", "random", "re", "statistics", "string", "time", "typing"),
    *("numpy.fft", "numpy.linalg", "numpy.ma", "numpy.polynomial", "numpy.random"),
)
"""What candidates import most."""
SCIENTIFIC = (
    *("scipy.cluster.hierarchy", "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize"),
    *("scipy.sparse.csgraph", "scipy.spatial", "scipy.special", "scipy.stats"),
)
"""What would cost a candidate most of a second to import anew, and all others a few milliseconds to be forked with."""
FIRST_USE_S = 10.0
"""CPU seconds that may go into what is computed at first use, such as compiling, before the first program runs."""


NOT_ENTERED = "a Pool must be entered (`async with Pool(…) as pool`) before it is used"


@dataclass(frozen=True)
class _Zygotes:
    """Two zygotes that differ in what they have imported: only the second has scipy."""

    basic: ZygoteSupervisor
    scientific: ZygoteSupervisor

    def for_program(self, source: str) -> ZygoteSupervisor:
        """The zygote with the modules that a program is likely to import."""
        return self.scientific if "scipy" in source else self.basic


class Pool:
    """Runs programs on the instances of one split; an asynchronous context, outside of which nothing of it is left.

    `isolation` is the level that a self-test found, `notes` say what is missing or different from the best. Where the
    level is below `strong`, entering raises UsageError unless `allow_weak_isolation`. `layers` are for tests. How long
    to wait for a zygote is a matter of `clock`.

    There are two zygotes: one for the programs that name scipy, started when the first of them comes, and one for all
    others. They have the modules `preloaded` imported already; that for scipy has the `scientific` ones as well. Two
    more never load the task. They are started where a program must run apart from the instances: all programs of an
    online task do, and some calls of a stateless one.
    """

    def __init__(
        self,
        task: TaskReference,
        split: Split,
        workers: int,
        limits: Limits | None = None,
        allow_weak_isolation: bool = False,
        layers: tuple[str, ...] = LAYERS,
        preloaded: tuple[str, ...] = PRELOADED,
        scientific: tuple[str, ...] = SCIENTIFIC,
        clock: Heartbeat | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._clock = clock or Heartbeat()
        self._assignment = Assignment(task.place(), split, self._limits, layers, preloaded, FIRST_USE_S)
        self._scientific_modules = scientific
        self._with_task = self._zygotes(self._assignment, self._accept)
        self._apart: _Zygotes | None = None
        self._allow_weak_isolation = allow_weak_isolation
        self._free = asyncio.Semaphore(workers)
        self._ready: Ready | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._with_task.basic.connection()
        except BaseException:
            await self._close()
            raise
        ready = self._entered()
        without = replace(self._assignment, task="", entry_point=ready.entry_point, hidden=ready.hidden)
        self._apart = self._zygotes(without, self._compare)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        pairs = [self._with_task, *([] if self._apart is None else [self._apart])]
        await asyncio.gather(*(each.close() for pair in pairs for each in (pair.basic, pair.scientific)))

    def _zygotes(self, assignment: Assignment, accept: Callable[[Ready], None]) -> _Zygotes:
        scientific = replace(assignment, preloaded=assignment.preloaded + self._scientific_modules)
        made = (ZygoteSupervisor(each, accept, self._clock) for each in (assignment, scientific))
        return _Zygotes(*made)

    @property
    def isolation(self) -> str:
        """strong+, strong, partial or process."""
        return self._entered().isolation

    @property
    def notes(self) -> tuple[str, ...]:
        """What keeps the isolation from being the best, a line each."""
        return self._entered().notes

    async def evaluate(self, source: str) -> Solved | Failure:
        """Run one program on every instance; raises SandboxError if the sandbox itself fails, never for the program.

        Where the task is online, the program runs apart from the instances. Cancelling kills the program.
        """
        run = self._run_apart if self._entered().online else self._run
        async with self._free:
            try:
                return await run(source)
            except ZygoteDied:  # not the program's fault: once more
                return await run(source)

    async def answer(self, source: str, arguments: tuple[Any, ...]) -> Solved | Failure:
        """Call a program's function once, in a process without instances; its answer comes in place of solutions.

        Raises SandboxError if the sandbox itself fails, TaskError where the arguments cannot be sent.
        """
        asked = _as_question(arguments)
        async with self._free:
            try:
                run = await (await self._alone(source).connection()).run(source, asked)
            except ZygoteDied:
                run = await (await self._alone(source).connection()).run(source, asked)
        return _answered(run, self._limits)

    async def _run(self, source: str) -> Solved | Failure:
        zygote = self._with_task.for_program(source)
        return result(await (await zygote.connection()).run(source), self._limits, self._entered().instances)

    async def _run_apart(self, source: str) -> Solved | Failure:
        """One process solves the instances, and asks another, which has the program and no instance."""
        solving, answering = await self._with_task.basic.connection(), await self._alone(source).connection()
        with connected() as (link, end):
            program = asyncio.create_task(answering.lend(end))
            try:
                solved = await solving.run(source, link=link)
                link.close()  # or the program would wait for a question
                ending = await program
            finally:
                program.cancel()
                await asyncio.wait([program])
        found = _ended_badly(ending, self._limits) or result(solved, self._limits, self._entered().instances)
        return replace(found, cpu_s=ending.cpu_s + solved.ending.cpu_s)

    def _alone(self, source: str) -> ZygoteSupervisor:
        """The zygote for a program that is to have nothing of the task."""
        if self._apart is None:
            raise SandboxError(NOT_ENTERED)
        return self._apart.for_program(source)

    def _accept(self, ready: Ready) -> None:
        """Take a zygote of the task; raises UsageError where its level is too weak."""
        self._compare(ready)
        self._ready = ready
        if LEVELS.index(ready.isolation) < LEVELS.index("strong") and not self._allow_weak_isolation:
            raise UsageError(
                f"programs would run at isolation level {ready.isolation!r}, too weak for code that nobody has read: "
                f"{'; '.join(ready.notes)}. Mend that, or accept it with --allow-weak-isolation"
            )

    def _compare(self, ready: Ready) -> None:
        """Raise SandboxError where a zygote's level is weaker than the one the run began with."""
        if self._ready and LEVELS.index(ready.isolation) < LEVELS.index(self._ready.isolation):
            raise SandboxError(f"the isolation fell from {self._ready.isolation} to {ready.isolation}; start again")

    def _entered(self) -> Ready:
        if self._ready is None:
            raise SandboxError(NOT_ENTERED)
        return self._ready


def result(run: ProcessOutput, limits: Limits, instances: int) -> Solved | Failure:
    """What a program's run comes to."""
    failure = _no_frame(run, limits)
    if failure is None:
        try:
            held = decode(run.frame, instances)
        except FrameError as error:
            failure = Failure("output", str(error))
        else:
            if not isinstance(held, Failure):
                solutions, answers = answers_apart(held)
                return Solved(solutions, run.ending.cpu_s, answers)
            failure = held
    return replace(failure, cpu_s=run.ending.cpu_s)


def _answered(run: ProcessOutput, limits: Limits) -> Solved | Failure:
    """The one answer of a program apart, in place of a solution."""
    failure = _no_frame(run, limits)
    if failure is None:
        try:
            answer = whole_answer(run.frame, limits.output_mb * MEGABYTE)
        except FrameError as error:
            failure = Failure("output", str(error))
        else:
            if not isinstance(answer, Failure):
                return Solved((answer,), run.ending.cpu_s)
            failure = answer
    return replace(failure, cpu_s=run.ending.cpu_s)


def _as_question(arguments: tuple[Any, ...]) -> bytes:
    try:
        return encode_question(arguments)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise TaskError(f"`solve` calls the function with what cannot be sent ({error}); {ADVICE}") from error


def _no_frame(run: ProcessOutput, limits: Limits) -> Failure | None:
    """Why a process sent nothing that could be read."""
    if run.overflowed:
        return Failure("output", f"more than {limits.output_mb} MB came; return smaller solutions")
    if failure := _ended_badly(run.ending, limits):
        return failure
    return None if run.frame else _left(0)


def _ended_badly(ending: Ending, limits: Limits) -> Failure | None:
    """Why a process ended otherwise than of itself with status 0."""
    if ending.killed == "wall":
        return Failure("timeout", f"still not done after {limits.wall_s:g} s by the clock, some of them spent waiting")
    code = os.waitstatus_to_exitcode(ending.status)
    if ending.killed == "cpu" or (code in (-signal.SIGXCPU, -signal.SIGKILL) and ending.cpu_s >= limits.timeout_s):
        return Failure("timeout", f"still not done after {limits.timeout_s:g} s of CPU time")
    if code == OUT_OF_MEMORY:
        return Failure("memory", "the program asked for more memory than its limit")
    if code == -signal.SIGKILL:  # by the kernel: no program can signal another, and the zygote would have said so
        held_mb = ending.peak_bytes // MEGABYTE
        return Failure("memory", f"the machine or container had no more memory; the program held {held_mb} MB")
    if code == -signal.SIGSYS:
        return Failure("forbidden", "the program made a system call that no program may make")
    if code < 0:
        return Failure("crash", f"the program's process was killed by {_signal_name(-code)}")
    return _left(code) if code else None


def _left(code: int) -> Failure:
    return Failure("exit", f"the program ended its process itself, with status {code}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"  # real-time signals but for the first and the last have no names
