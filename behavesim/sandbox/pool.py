"""The sandbox: programs run in processes of their own, a few at a time, and only arrays come back."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from types import TracebackType
from typing import Self

from behavesim.base.errors import SandboxError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.connection import ProcessOutput, ZygoteDied
from behavesim.sandbox.frames import FrameError, decode
from behavesim.sandbox.isolation import LEVELS
from behavesim.sandbox.layers import LAYERS
from behavesim.sandbox.limits import MEGABYTE, Limits
from behavesim.sandbox.messages import OUT_OF_MEMORY, Assignment, Ready
from behavesim.sandbox.stateless import parted
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


class Pool:
    """Runs programs on the instances of one split; an asynchronous context, outside of which nothing of it is left.

    `isolation` is the level that a self-test found, `notes` say what is missing or different from the best. Where the
    level is below `strong`, entering raises UsageError unless `allow_weak_isolation`. `layers` are for tests. How long
    to wait for a zygote is a matter of `clock`.

    There are two zygotes: one for the programs that name scipy, started when the first of them comes, and one for all
    others. They have the modules `preloaded` imported already; that for scipy has the `scientific` ones as well.
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
        clock = clock or Heartbeat()
        assignment = Assignment(task.place(), split, self._limits, layers, preloaded, FIRST_USE_S)
        self._basic = ZygoteSupervisor(assignment, self._accept, clock)
        with_scipy = replace(assignment, preloaded=preloaded + scientific)
        self._scientific = ZygoteSupervisor(with_scipy, self._accept, clock)
        self._allow_weak_isolation = allow_weak_isolation
        self._free = asyncio.Semaphore(workers)
        self._ready: Ready | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._basic.connection()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        await asyncio.gather(self._basic.close(), self._scientific.close())

    @property
    def isolation(self) -> str:
        """strong+, strong, partial or process."""
        return self._entered().isolation

    @property
    def notes(self) -> tuple[str, ...]:
        """What keeps the isolation from being the best, a line each."""
        return self._entered().notes

    async def evaluate(self, source: str, script: bytes = b"") -> Solved | Failure:
        """Run one program on every instance; raises SandboxError if the sandbox itself fails, never for the program.

        With a script (`stateless.script`) it is asked the questions of that. Cancelling kills the program.
        """
        zygote = self._scientific if "scipy" in source else self._basic
        async with self._free:
            try:
                run = await (await zygote.connection()).run(source, script)
            except ZygoteDied:  # not the program's fault: once more
                run = await (await zygote.connection()).run(source, script)
        return result(run, self._limits, self._entered().instances)

    def _accept(self, ready: Ready) -> None:
        """Refuse a level that is too weak, or weaker than the one the run began with."""
        if self._ready and LEVELS.index(ready.isolation) < LEVELS.index(self._ready.isolation):
            raise SandboxError(f"the isolation fell from {self._ready.isolation} to {ready.isolation}; start again")
        self._ready = ready
        if LEVELS.index(ready.isolation) < LEVELS.index("strong") and not self._allow_weak_isolation:
            raise UsageError(
                f"programs would run at isolation level {ready.isolation!r}, too weak for code that nobody has read: "
                f"{'; '.join(ready.notes)}. Mend that, or accept it with --allow-weak-isolation"
            )

    def _entered(self) -> Ready:
        if self._ready is None:
            raise SandboxError("a Pool must be entered (`async with Pool(…) as pool`) before it is used")
        return self._ready


def result(run: ProcessOutput, limits: Limits, instances: int) -> Solved | Failure:
    """What a program's run comes to."""
    failure = _ended_badly(run, limits)
    if failure is None:
        try:
            held = decode(run.frame, instances)
        except FrameError as error:
            failure = Failure("output", str(error))
        else:
            if not isinstance(held, Failure):
                solutions, answers = parted(held)
                return Solved(solutions, run.ending.cpu_s, answers)
            failure = held
    return replace(failure, cpu_s=run.ending.cpu_s)


def _ended_badly(run: ProcessOutput, limits: Limits) -> Failure | None:
    ending = run.ending
    if run.overflowed:
        return Failure("output", f"more than {limits.output_mb} MB came; return smaller solutions")
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
    if code > 0 or not run.frame:
        return Failure("exit", f"the program ended its process itself, with status {code}")
    return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"  # real-time signals but for the first and the last have no names
