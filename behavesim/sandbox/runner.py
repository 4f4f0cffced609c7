"""Runs programs in zygotes of this machine, and returns what their processes sent as it came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol, Self

from behavesim.base.errors import SandboxError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.connection import Ran, ZygoteDied, connected
from behavesim.sandbox.isolation import LEVELS
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import Assignment, Ready
from behavesim.sandbox.others import Others
from behavesim.sandbox.supervisor import ZygoteSupervisor

NOT_ENTERED = "a Pool must be entered (`async with Pool(…) as pool`) before it is used"
"""The message of the SandboxError for a pool that was not entered."""


class Runner(Protocol):
    """Runs programs in confined processes, here (`ZygoteRunner`) or on other machines; an async context manager."""

    @property
    def ready(self) -> Ready:
        """What is known since entering: the isolation, and the task's number of instances, among others.

        Raises SandboxError if the runner was not entered.
        """
        ...

    async def run(self, source: str, question: bytes = b"", alone: bool = False) -> Ran:
        """Run a program on every instance, or let it answer one encoded call (see `wire.encode_question`).

        Waits until a place is free, or with `alone` until all are, on the machine where it runs. Cancelling kills the
        program. Raises SandboxError if the sandbox itself fails.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...


class Places:
    """The places for programs on a machine: `count` run at once. They get their places in the order of asking."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._free = asyncio.Semaphore(count)
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def taken(self, alone: bool = False) -> AsyncIterator[None]:
        """Wait for a place, or with `alone` for all of them, and keep what was taken until the block ends."""
        async with AsyncExitStack() as places:
            async with self._turn:  # two that need all places would wait for each other
                for _ in range(self._count if alone else 1):
                    await places.enter_async_context(self._free)
            yield

    async def tried(self, run: Callable[[], Awaitable[Ran]], alone: bool) -> Ran:
        """Await `run()` in a place, or with `alone` in all and with a note on other processes, and return its result.

        If the zygote dies, `run` is called once more: the program is not at fault. Raises ZygoteDied if it dies again.
        """
        async with self.taken(alone):
            others = Others() if alone else None
            try:
                ran = await run()
            except ZygoteDied:
                ran = await run()
            return ran.beside_others() if others and others.were_busy(ran.cpu_s) else ran


class RunnerPool:
    """Base class of sandboxes that let a runner run programs, and read here what their processes sent.

    An async context manager, which enters and leaves the runner. `limits` are those that programs run under.
    """

    def __init__(self, runner: Runner, limits: Limits) -> None:
        self._runner = runner
        self._limits = limits

    async def __aenter__(self) -> Self:
        await self._runner.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._runner.__aexit__(*raised)

    @property
    def isolation(self) -> str:
        """The isolation level: "strong+", "strong", "partial" or "process", from the strongest to the weakest.

        Raises SandboxError if the pool was not entered: the level is found then.
        """
        return self._runner.ready.isolation

    @property
    def notes(self) -> Sequence[str]:
        """What keeps the isolation from "strong+", a line each; raises SandboxError if the pool was not entered."""
        return self._runner.ready.notes


class _Zygotes(NamedTuple):
    """Two zygotes that differ in their libraries alone; each starts when it is first needed."""

    plain: ZygoteSupervisor
    scientific: ZygoteSupervisor
    """Has scipy imported, too."""

    def serving(self, source: str) -> ZygoteSupervisor:
        """Return the zygote in which this program runs."""
        return self.scientific if "scipy" in source else self.plain


class ZygoteRunner:
    """Runs programs on the instances of one split on this machine, at most `workers` at once.

    Entering starts the first zygote and tests the isolation. It raises UsageError if the level is below `strong`,
    unless `allow_weak_isolation`, and SandboxError if the zygote does not start. Leaving ends all processes.

    There are two zygotes with the task. One serves programs that mention scipy: it has the modules `scientific`
    imported besides those of the assignment, and starts with the first such program. The other serves all other
    programs. Two more zygotes never load the task. They start when a program must run apart from the instances, as all
    programs of an online or apart task and some calls of a stateless one.
    """

    def __init__(
        self,
        assignment: Assignment,
        scientific: tuple[str, ...],
        workers: int,
        allow_weak_isolation: bool,
        clock: Heartbeat | None = None,
    ) -> None:
        self._clock = clock or Heartbeat()
        self._assignment = assignment
        self._scientific_modules = scientific
        self._with_task = self._zygotes(assignment, self._accept)
        self._without_task: _Zygotes | None = None
        self._allow_weak_isolation = allow_weak_isolation
        self._places = Places(workers)
        self._ready: Ready | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._with_task.plain.connection()
        except BaseException:
            await self._close()
            raise
        ready = self.ready
        without = replace(self._assignment, task="", entry_point=ready.entry_point, hidden=ready.hidden)
        self._without_task = self._zygotes(without, self._refuse_weaker)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def _close(self) -> None:
        await asyncio.gather(*(each.close() for each in (*self._with_task, *(self._without_task or ()))))

    def _zygotes(self, assignment: Assignment, accept: Callable[[Ready], None]) -> _Zygotes:
        """Return two supervisors whose zygotes are not started yet: one without scipy, one that imports it first."""
        scientific = replace(assignment, preloaded=(*assignment.preloaded, *self._scientific_modules))
        return _Zygotes(
            ZygoteSupervisor(assignment, accept, self._clock),
            ZygoteSupervisor(scientific, accept, self._clock),
        )

    @property
    def ready(self) -> Ready:
        """The first message of the task's zygote that started last; raises SandboxError if there is none yet."""
        if self._ready is None:
            raise SandboxError(NOT_ENTERED)
        return self._ready

    async def run(self, source: str, question: bytes = b"", alone: bool = False) -> Ran:
        """Run a program on every instance, apart from them if the task says so, or let it answer one encoded call.

        Waits until a worker is free, or with `alone` until all are. Cancelling kills the program. Raises SandboxError
        if the sandbox itself fails or was not entered.
        """
        if question:
            return await self._places.tried(partial(self._answer, source, question), alone)
        run = self._run_apart if self.ready.apart else self._run_with_task
        return await self._places.tried(partial(run, source), alone)

    async def _run_with_task(self, source: str) -> Ran:
        zygote = await self._with_task.serving(source).connection()
        return await zygote.run(source)

    async def _answer(self, source: str, question: bytes) -> Ran:
        zygote = await self._zygote_without_task(source).connection()
        return await zygote.run(source, question)

    async def _run_apart(self, source: str) -> Ran:
        """Solve the instances in one process that calls another, which has the program and no instance."""
        solving = await self._with_task.plain.connection()
        answering = await self._zygote_without_task(source).connection()
        with connected() as (link, end):
            program = asyncio.create_task(answering.lend(end))
            try:
                solved = await solving.run(source, link=link)
                link.close()  # ends the program, which waits for the next call
                return replace(solved, program=await program)
            finally:
                program.cancel()
                await asyncio.wait([program])

    def _zygote_without_task(self, source: str) -> ZygoteSupervisor:
        """Return the zygote without the task that a program needs; raises SandboxError if the pool was not entered."""
        if self._without_task is None:
            raise SandboxError(NOT_ENTERED)
        return self._without_task.serving(source)

    def _accept(self, ready: Ready) -> None:
        """Keep a zygote's first message; raises UsageError if its isolation is too weak, SandboxError if it fell."""
        self._refuse_weaker(ready)
        self._ready = ready
        if not self._allow_weak_isolation:
            refuse_weak(ready, "programs")

    def _refuse_weaker(self, ready: Ready) -> None:
        """Raise SandboxError if a zygote's isolation is weaker than that of the task's zygote that started last."""
        refuse_weaker(ready, self._ready)


def refuse_weaker(ready: Ready, before: Ready | None) -> None:
    """Raise SandboxError if a zygote's isolation is weaker than that of the one before, if there was one."""
    if before and LEVELS.index(ready.isolation) < LEVELS.index(before.isolation):
        raise SandboxError(f"the isolation fell from {before.isolation} to {ready.isolation}; start again")


def refuse_weak(ready: Ready, what: str) -> None:
    """Raise UsageError if a zygote's isolation is below "strong"; `what` names in the message what would run in it."""
    if LEVELS.index(ready.isolation) < LEVELS.index("strong"):
        raise UsageError(
            f"{what} would run at isolation level {ready.isolation!r}, too weak for code that nobody has read: "
            f"{'; '.join(ready.notes)}. Mend that, or accept it with --allow-weak-isolation"
        )
