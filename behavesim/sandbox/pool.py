"""The sandbox: runs each program in a process of its own, a few at a time; only arrays come back."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

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
"""Modules that candidates import most; every zygote has them imported."""
SCIENTIFIC = (
    *("scipy.cluster.hierarchy", "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize"),
    *("scipy.sparse.csgraph", "scipy.spatial", "scipy.special", "scipy.stats"),
)
"""Modules of scipy, for a second zygote.

Importing them would cost a candidate most of a second. Forking a process that has them costs a few milliseconds more.
"""
FIRST_USE_S = 10.0
"""CPU time (s) for the template's rehearsal in a zygote, which includes what is compiled at first use."""

NOT_ENTERED = "a Pool must be entered (`async with Pool(…) as pool`) before it is used"
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class _Zygotes:
    """Two zygotes, of which only the second has scipy imported."""

    basic: ZygoteSupervisor
    scientific: ZygoteSupervisor

    def for_program(self, source: str) -> ZygoteSupervisor:
        """Return the zygote with scipy if the program's text contains "scipy", else the other."""
        return self.scientific if "scipy" in source else self.basic


class Pool:
    """Runs programs on the instances of one split, at most `workers` at once; an async context manager.

    Entering starts the first zygote and tests the isolation. It raises UsageError if the level is below `strong`,
    unless `allow_weak_isolation`, and SandboxError if the zygote does not start. Leaving ends all processes. Time
    limits on zygotes go by `clock`; tests switch off `layers`.

    There are two zygotes with the task. One serves programs that mention scipy: it has the modules `scientific`
    imported besides `preloaded`, and starts with the first such program. The other serves all other programs. Two more
    zygotes never load the task. They start when a program must run apart from the instances, as all programs of an
    online task and some calls of a stateless one.
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
        """The isolation level found on entering: "strong+", "strong", "partial" or "process"."""
        return self._entered().isolation

    @property
    def notes(self) -> tuple[str, ...]:
        """What keeps the isolation from the best level, a line each."""
        return self._entered().notes

    async def evaluate(self, source: str) -> Solved | Failure:
        """Run one program on every instance; return its solutions or its failure.

        For an online task the program runs apart from the instances. Waits until a worker is free. Cancelling kills the
        program. Raises SandboxError if the sandbox itself fails.
        """
        run = self._run_apart if self._entered().online else self._run
        return await self._tried(run, source)

    async def answer(self, source: str, arguments: tuple[Any, ...]) -> Solved | Failure:
        """Call a program's function once, in a process without instances; the answer is the one solution returned.

        Raises TaskError if the arguments cannot be sent, SandboxError if the sandbox itself fails.
        """
        return await self._tried(self._run_once, source, _encoded(arguments))

    async def _tried(self, run: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of `run` once a worker is free; run again if the zygote dies, not the program's fault."""
        async with self._free:
            try:
                return await run(*args, **kwargs)
            except ZygoteDied:
                return await run(*args, **kwargs)

    async def _run(self, source: str) -> Solved | Failure:
        zygote = self._with_task.for_program(source)
        return result(await (await zygote.connection()).run(source), self._limits, self._entered().instances)

    async def _run_once(self, source: str, question: bytes) -> Solved | Failure:
        zygote = await self._alone(source).connection()
        return _answered(await zygote.run(source, question), self._limits)

    async def _run_apart(self, source: str) -> Solved | Failure:
        """Solve the instances in one process that calls another, which has the program and no instance."""
        solving, answering = await self._with_task.basic.connection(), await self._alone(source).connection()
        with connected() as (link, end):
            program = asyncio.create_task(answering.lend(end))
            try:
                solved = await solving.run(source, link=link)
                link.close()  # ends the program, which waits for the next call
                ending = await program
            finally:
                program.cancel()
                await asyncio.wait([program])
        found = _ended_badly(ending, self._limits) or result(solved, self._limits, self._entered().instances)
        return replace(found, cpu_s=ending.cpu_s + solved.ending.cpu_s)

    def _alone(self, source: str) -> ZygoteSupervisor:
        """Return the zygote without the task for a program; raises SandboxError if the pool was not entered."""
        if self._apart is None:
            raise SandboxError(NOT_ENTERED)
        return self._apart.for_program(source)

    def _accept(self, ready: Ready) -> None:
        """Accept a zygote of the task; raises UsageError if its isolation is too weak, and as `_compare`."""
        self._compare(ready)
        self._ready = ready
        if LEVELS.index(ready.isolation) < LEVELS.index("strong") and not self._allow_weak_isolation:
            raise UsageError(
                f"programs would run at isolation level {ready.isolation!r}, too weak for code that nobody has read: "
                f"{'; '.join(ready.notes)}. Mend that, or accept it with --allow-weak-isolation"
            )

    def _compare(self, ready: Ready) -> None:
        """Raise SandboxError if a zygote's isolation is weaker than that of the zygote before."""
        if self._ready and LEVELS.index(ready.isolation) < LEVELS.index(self._ready.isolation):
            raise SandboxError(f"the isolation fell from {self._ready.isolation} to {ready.isolation}; start again")

    def _entered(self) -> Ready:
        if self._ready is None:
            raise SandboxError(NOT_ENTERED)
        return self._ready


def result(run: ProcessOutput, limits: Limits, instances: int) -> Solved | Failure:
    """Return the solutions that a program's process sent, or its failure; either has the process's CPU time."""
    held = _decoded(run, limits, partial(decode, instances=instances))
    if isinstance(held, Failure):
        return held
    solutions, answers = answers_apart(held)
    return Solved(solutions, run.ending.cpu_s, answers)


def _answered(run: ProcessOutput, limits: Limits) -> Solved | Failure:
    """Return the one answer of a program apart, in place of solutions, or its failure."""
    answer = _decoded(run, limits, partial(whole_answer, limit=limits.output_mb * MEGABYTE))
    return answer if isinstance(answer, Failure) else Solved((answer,), run.ending.cpu_s)


def _decoded(run: ProcessOutput, limits: Limits, decoder: Callable[[bytes], T | Failure]) -> T | Failure:
    try:
        held = _no_frame(run, limits) or decoder(run.frame)
    except FrameError as error:
        held = Failure("output", str(error))
    return replace(held, cpu_s=run.ending.cpu_s) if isinstance(held, Failure) else held


def _encoded(arguments: tuple[Any, ...]) -> bytes:
    try:
        return encode_question(arguments)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise TaskError(f"`solve` calls the function with what cannot be sent ({error}); {ADVICE}") from error


def _no_frame(run: ProcessOutput, limits: Limits) -> Failure | None:
    """Return why a process sent no frame; None if it sent one."""
    if run.overflowed:
        return Failure("output", f"more than {limits.output_mb} MB came; return smaller solutions")
    if failure := _ended_badly(run.ending, limits):
        return failure
    return None if run.frame else _left(0)


def _ended_badly(ending: Ending, limits: Limits) -> Failure | None:
    """Return the failure of a process that did not exit with status 0; None if it did."""
    if ending.killed == "wall":
        return Failure("timeout", f"still not done after {limits.wall_s:g} s by the clock, some of them spent waiting")
    code = os.waitstatus_to_exitcode(ending.status)
    if ending.killed == "cpu" or (code in (-signal.SIGXCPU, -signal.SIGKILL) and ending.cpu_s >= limits.timeout_s):
        return Failure("timeout", f"still not done after {limits.timeout_s:g} s of CPU time")
    if code == OUT_OF_MEMORY:
        return Failure("memory", "the program asked for more memory than its limit")
    if code == -signal.SIGKILL:  # by the kernel: the zygote would have said so, and no program may signal another
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
        return f"signal {number}"  # most real-time signals have no name
