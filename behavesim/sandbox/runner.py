"""Runs programs in zygotes of this machine, and returns what their processes sent as it came."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import NamedTuple, Protocol, Self

from behavesim.base.errors import SandboxError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.connection import RawResult, ZygoteDied, ZygoteSupervisor, open_socket_pair
from behavesim.sandbox.isolation import LEVELS
from behavesim.sandbox.messages import Assignment, Ready, TaskAssignment

# The message of the SandboxError for a pool that was not entered.
NOT_ENTERED = "a Pool must be entered (`async with Pool(…) as pool`) before it is used"


class Runner(Protocol):
    """Runs programs in confined processes, here (`ZygoteRunner`) or on other machines; an async context manager."""

    @property
    def ready(self) -> Ready:
        """What is known since entering; raises SandboxError before."""
        ...

    async def run(self, source: str, alone: bool = False) -> RawResult:
        """Run a program on every instance.

        Waits until a place is free on the machine where it runs, or with `alone` until no other program runs there.
        Cancelling kills the program. Raises SandboxError if the sandbox fails, TaskError if an evaluator can no longer
        be loaded.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...


class Slots:
    """The places for programs on a machine: `count` run at once. Programs get places in the order of asking."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._free = asyncio.Semaphore(count)
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def held(self, alone: bool = False) -> AsyncIterator[None]:
        """Wait for a place, or with `alone` for all of them, and keep what was taken until the block ends."""
        async with AsyncExitStack() as places:
            # only one may collect places, else two that want all would each hold some and wait for ever
            async with self._turn:
                for _ in range(self._count if alone else 1):
                    await places.enter_async_context(self._free)
            yield


class ZygoteRunner:
    """Runs programs in processes that zygotes of this machine fork, at most `workers` at once.

    The first zygote starts on entering. For functions three more start when a program first needs them. One has
    imported the modules `scientific`, too: it serves programs that mention scipy. The other two, with and without these
    modules, never load the task. They run programs that must not see the instances: those of an online, apart or
    stateless task.

    An async context manager. Entering raises UsageError if the isolation is below `strong`, unless
    `allow_weak_isolation`, TaskError if an evaluator cannot be loaded, and SandboxError if the zygote does not start.
    Time limits on zygotes go by `clock`, a new one if None.
    """

    def __init__(
        self,
        assignment: Assignment,
        workers: int,
        allow_weak_isolation: bool,
        clock: Heartbeat | None = None,
        scientific: tuple[str, ...] = (),
    ) -> None:
        self._assignment = assignment
        self._scientific = scientific
        self._allow_weak_isolation = allow_weak_isolation
        self._clock = clock or Heartbeat()
        self._places = Slots(workers)
        self._ready: Ready | None = None
        # by whether they have loaded the task or evaluator, and the scientific modules
        self._zygotes = {(True, False): ZygoteSupervisor(assignment, self._accept, self._clock)}

    async def __aenter__(self) -> Self:
        try:
            await self._zygotes[True, False].connection()
        except BaseException:
            await self.__aexit__()
            raise
        if isinstance(self._assignment, TaskAssignment):
            self._add_zygotes(self._assignment, self.ready)
        return self

    def _add_zygotes(self, assignment: TaskAssignment, ready: Ready) -> None:
        """Supervise the zygotes that start when a program first needs them."""
        bare = replace(assignment, task="", entry_point=ready.entry_point, hidden=ready.hidden)
        for has_task, each, accept in ((True, assignment, self._accept), (False, bare, self._refuse_weaker)):
            scientific = replace(each, preloaded=(*each.preloaded, *self._scientific))
            self._zygotes[has_task, True] = ZygoteSupervisor(scientific, accept, self._clock)
            self._zygotes.setdefault((has_task, False), ZygoteSupervisor(each, accept, self._clock))

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(each.close() for each in self._zygotes.values()))

    @property
    def ready(self) -> Ready:
        """The first message of the zygote that started last; raises SandboxError if there is none yet."""
        if self._ready is None:
            raise SandboxError(NOT_ENTERED)
        return self._ready

    async def run(self, source: str, alone: bool = False) -> RawResult:
        """Run a program as the zygote's assignment says; see `Runner.run`."""
        async with self._places.held(alone):
            others = MachineLoad() if alone else None
            try:
                ran = await self._run(source)
            except ZygoteDied:  # the program is not at fault: it runs once more, in the next zygote
                ran = await self._run(source)
            return ran.beside_others() if others and others.were_busy(ran.cpu_s) else ran

    async def _run(self, source: str) -> RawResult:
        """Run a program in the zygote for it; raises ZygoteDied if that dies."""
        if self.ready.apart:
            return await self._run_apart(source)
        return await (await self._zygote_for(source).connection()).run(source)

    def _zygote_for(self, source: str, has_task: bool = True) -> ZygoteSupervisor:
        return self._zygotes[has_task, bool(self._scientific) and "scipy" in source]

    async def _run_apart(self, source: str) -> RawResult:
        """Run a program that sees no instance: one process solves the instances and calls others with the program."""
        solving = await self._zygotes[True, False].connection()
        answering = await self._zygote_for(source, has_task=False).connection()
        with ExitStack() as sockets:
            links = [sockets.enter_context(open_socket_pair()) for _ in range(self.ready.apart)]
            first, *fresh = [child_socket for _, child_socket in links]
            programs = [
                asyncio.create_task(answering.fork_answerer(first)),
                *(asyncio.create_task(answering.fork_when_asked(each)) for each in fresh),
            ]
            try:
                solved = await solving.run(source, [program_socket for program_socket, _ in links])
                for program_socket, _ in links:
                    program_socket.close()  # ends the program if it waits for the next call
                ends = await asyncio.gather(*programs)
                return replace(solved, program_ends=tuple(filter(None, ends)))
            finally:
                for program in programs:
                    program.cancel()
                await asyncio.wait(programs)

    def _accept(self, ready: Ready) -> None:
        self._refuse_weaker(ready)
        self._ready = ready
        if not self._allow_weak_isolation and LEVELS.index(ready.isolation) < LEVELS.index("walled"):
            raise UsageError(
                f"{self._assignment.content} would run at isolation level {ready.isolation!r}, too weak for code that "
                f"nobody has read: {'; '.join(ready.notes)}. Mend that, or accept it with --allow-weak-isolation"
            )

    def _refuse_weaker(self, ready: Ready) -> None:
        """Raise SandboxError if a zygote's isolation is weaker than that of the one accepted last, if there is one."""
        before = self._ready
        if before and LEVELS.index(ready.isolation) < LEVELS.index(before.isolation):
            raise SandboxError(f"the isolation fell from {before.isolation} to {ready.isolation}; start again")


# Share of the machine's cores that others keep busy, from which a program's CPU time may be longer for it.
#
# Beside other work a compilation of numba took up to 1.6 times as long here, in CPU time; the machine had two cores.
_MUCH = 0.1


class MachineLoad:
    """Whether other processes made the machine busy during a run, which makes CPU times longer."""

    def __init__(self, statistics: Path = Path("/proc/stat")) -> None:
        """Begin to watch; `statistics` is where the kernel says how long the cores have worked."""
        self._statistics = statistics
        self._began, self._before = monotonic(), _work(statistics)

    def were_busy(self, own_s: float) -> bool:
        """Whether others surely kept more than a tenth of the cores busy; `own_s` is the program's own CPU time."""
        before, now = self._before, _work(self._statistics)
        if before is None or now is None:
            return False
        return now.busy_s - before.busy_s - own_s > _MUCH * now.cores * (monotonic() - self._began)


class _Work(NamedTuple):
    # the machine's cores, and how long they have worked since it started, all together (s)

    cores: int
    busy_s: float


def _work(statistics: Path) -> _Work | None:
    """Return cores and their work from a file such as /proc/stat; None if it cannot be read or has another form."""
    # A core that another virtual machine has counts as working.
    try:
        each = [line.split() for line in statistics.read_text().splitlines() if line.startswith("cpu")]
        user, nice, system, _, _, irq, softirq, steal = map(int, each[0][1:9])
    except (OSError, ValueError, IndexError):
        return None
    return _Work(len(each) - 1, (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK"))
