"""The sandboxes: run each program in a process of its own, a few at a time, and say how it failed.

A program runs again, alone, as long as its ending may be the machine's fault. `Pool` runs functions, `TreePool` an
evaluator together with each program. Both have a `ZygoteRunner`, which runs programs on this machine; a cluster's
runner takes its place in a plain `ProgramPool`.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Protocol, Self

from behavesim.base.errors import SandboxError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.connection import RawResult, ZygoteDied, ZygoteSupervisor, open_socket_pair
from behavesim.sandbox.frames import read_solutions
from behavesim.sandbox.isolation import LEVELS
from behavesim.sandbox.layers import LAYERS, MOST_FILES, MOST_PROCESSES
from behavesim.sandbox.limits import MEGABYTE, Limits
from behavesim.sandbox.messages import (
    LOAD_S,
    OUT_OF_MEMORY,
    Assignment,
    ProcessEnd,
    Ready,
    TaskAssignment,
    TreeAssignment,
)
from behavesim.sandbox.program import failed_again
from behavesim.state.protocols import Postponed, unnoticed
from behavesim.task import Split, TaskReference
from behavesim.task.verdict import Block, Failure, Sent, Solved

# The message of the SandboxError for a pool that was not entered.
NOT_ENTERED = "a Pool must be entered (`async with Pool(…) as pool`) before it is used"


class Runner(Protocol):
    """Runs programs in confined processes, here (`ZygoteRunner`) or on other machines; an async context manager."""

    @property
    def ready(self) -> Ready:
        """What is known since entering; raises SandboxError before."""
        ...

    async def run(self, source: str, alone: bool = False, block: Block | None = None) -> RawResult:
        """Run a program on every instance of the split, or of a block.

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
        except BaseException:  # else a zygote that started all the same would live on
            await self.__aexit__()
            raise
        if isinstance(assignment := self._assignment, TaskAssignment):  # the others start when a program needs them
            bare = replace(assignment, task="", entry_point=self.ready.entry_point, hidden=self.ready.hidden)
            for has_task, each, accept in ((True, assignment, self._accept), (False, bare, self._refuse_weaker)):
                scientific = replace(each, preloaded=(*each.preloaded, *self._scientific))
                self._zygotes[has_task, True] = ZygoteSupervisor(scientific, accept, self._clock)
                self._zygotes.setdefault((has_task, False), ZygoteSupervisor(each, accept, self._clock))
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(each.close() for each in self._zygotes.values()))

    @property
    def ready(self) -> Ready:
        """The first message of the zygote that started last; raises SandboxError if there is none yet."""
        if self._ready is None:
            raise SandboxError(NOT_ENTERED)
        return self._ready

    async def run(self, source: str, alone: bool = False, block: Block | None = None) -> RawResult:
        """Run a program as the zygote's assignment says; see `Runner.run`."""
        async with self._places.held(alone):
            others = MachineLoad() if alone else None
            try:
                ran = await self._run(source, block)
            except ZygoteDied:  # the program is not at fault: it runs once more, in the next zygote
                ran = await self._run(source, block)
            return ran.beside_others() if others and others.were_busy(ran.cpu_s) else ran

    async def _run(self, source: str, block: Block | None) -> RawResult:
        """Run a program in the zygote for it; raises ZygoteDied if that dies."""
        if self.ready.apart:
            return await self._run_apart(source, block)
        return await (await self._zygote_for(source).connection()).run(source, block=block)

    def _zygote_for(self, source: str, has_task: bool = True) -> ZygoteSupervisor:
        return self._zygotes[has_task, bool(self._scientific) and "scipy" in source]

    async def _run_apart(self, source: str, block: Block | None) -> RawResult:
        """Run a program that sees no instance: one process solves the instances and calls others with the program."""
        solving = await self._zygotes[True, False].connection()
        answering = await self._zygote_for(source, has_task=False).connection()
        with ExitStack() as sockets:
            links = [sockets.enter_context(open_socket_pair()) for _ in range(self.ready.apart)]
            first, *fresh = [child_socket for _, child_socket in links]
            programs = [
                asyncio.create_task(answering.fork_answerer(first, block)),
                *(asyncio.create_task(answering.fork_when_asked(each, block)) for each in fresh),
            ]
            try:
                solved = await solving.run(source, [program_socket for program_socket, _ in links], block)
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
_BUSY_SHARE = 0.1


class MachineLoad:
    """Whether other processes made the machine busy during a run, which makes CPU times longer."""

    def __init__(self, statistics: Path = Path("/proc/stat")) -> None:
        """Begin to watch; `statistics` is where the kernel says how long the cores have worked."""
        self._statistics = statistics
        self._began, self._before = monotonic(), _cores_and_work(statistics)

    def were_busy(self, own_s: float) -> bool:
        """Whether others surely kept more than a tenth of the cores busy; `own_s` is the program's own CPU time."""
        before, now = self._before, _cores_and_work(self._statistics)
        if before is None or now is None:
            return False
        cores, busy_s = now
        return busy_s - before[1] - own_s > _BUSY_SHARE * cores * (monotonic() - self._began)


def _cores_and_work(statistics: Path) -> tuple[int, float] | None:
    """Return the number of cores, and how long they have worked since the machine started, all together (s).

    None if a file such as /proc/stat cannot be read or has another form.
    """
    # A core that another virtual machine has counts as working.
    try:
        each = [line.split() for line in statistics.read_text().splitlines() if line.startswith("cpu")]
        user, nice, system, _, _, irq, softirq, steal = map(int, each[0][1:9])
    except (OSError, ValueError, IndexError):
        return None
    return len(each) - 1, (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


# Seconds of waiting before each of three tries in which the program runs alone, after its first run was in doubt.
#
# The last is a minute: other work on the machine may need that long until it gives back time and memory.
PAUSES_S = (0.0, 10.0, 60.0)
# What a person can do, by the reason for which programs are put off.
_ADVICE = {
    "clock": "let other work on this machine end, then resume",
    "memory": "free memory, then resume; or go on with a smaller memory_mb (--fork NEW-ID)",
}


async def run_until_certain(
    runner: Runner,
    limits: Limits,
    source: str,
    postponed: Postponed,
    may_signal: bool = False,
    block: Block | None = None,
) -> RawResult:
    """Return the result of a program, once the machine had no part in how it ended; `limits` are those of the block.

    A program that ended by the clock, for lack of the machine's memory, or just above its limit on CPU time runs again
    alone; `postponed` is called before. `may_signal` is whether programs may kill their own processes. Raises
    SandboxError if the last try leaves it in doubt or the sandbox fails, TaskError if an evaluator can no longer be
    loaded.
    """
    ran = await runner.run(source, block=block)
    reason, words = fault_of_machine(ran, limits, False, may_signal)
    for pause_s in PAUSES_S:
        if not reason:
            return ran
        postponed(reason, words)
        await asyncio.sleep(pause_s)
        ran = await runner.run(source, alone=True, block=block)
        reason, words = fault_of_machine(ran, limits, True, may_signal)
    if not reason:
        return ran
    raise SandboxError(
        f"{len(PAUSES_S)} tries alone did not decide whether a program or this machine is at fault: {words}; "
        + _ADVICE[reason]
    )


def fault_of_machine(ran: RawResult, limits: Limits, is_alone: bool, may_signal: bool) -> tuple[str, str]:
    """Return why a program's end may be the machine's fault: "clock", "memory" or "cpu", and words for people.

    Both are empty if the end is the program's own. `is_alone` is whether no other program ran meanwhile.
    """
    # "asleep" is the program's own: it would sleep on any machine, and all workers would wait for a run alone. After a
    # run alone CPU time decides, with a longer limit if other processes kept the machine busy (`beside_others`), and
    # time by the clock unless the program had no core for most of it. A killed process is at fault then if it had half
    # of the machine's memory, or if it may have killed itself.
    for ending in (*ran.program_ends, ran.end):
        limit_s, usage = limits.limit_s(ending.first_s), limits.usage_text(ending.cpu_s, ending.first_s)
        if ending.killed == "waited" or (ending.killed == "wall" and not is_alone):
            return "clock", f"its time by the clock was over, after {usage}"
        is_machines = ending.killed == "machine" and not (is_alone and may_signal)
        if is_machines or (ending.is_killed(limits) and not is_alone):
            held = ending.peak_bytes // MEGABYTE
            return "memory", f"the machine or container had no more memory when it held {held} of {limits.memory_mb} MB"
        if not is_alone and not ending.killed and ending.cpu_s > limit_s:
            return "cpu", f"it took {usage}"
    return "", ""


class ProgramPool:
    """A sandbox: a `runner` runs programs, here or on other machines, and this says what came of each.

    `is_tree` is whether an evaluator runs together with each program: then the isolation is "strong+", "partial" or
    "process", and a program counts as one that solves one instance. An async context manager, which enters and leaves
    the runner.
    """

    def __init__(self, runner: Runner, limits: Limits, is_tree: bool = False) -> None:
        self.runner = runner
        self._limits = limits
        self._is_tree = is_tree

    async def __aenter__(self) -> Self:
        await self.runner.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.runner.__aexit__(*raised)

    @property
    def isolation(self) -> str:
        """The isolation level, one of `isolation.LEVELS`; raises SandboxError if the pool was not entered."""
        return self.runner.ready.isolation

    @property
    def notes(self) -> Sequence[str]:
        """What keeps the isolation from "strong+", a line each; raises SandboxError if the pool was not entered."""
        return self.runner.ready.notes

    async def send(
        self, source: str, postponed: Postponed = unnoticed, block: Block | None = None, /
    ) -> Sent | Failure:
        """Run one program, and return the bytes that its process sent, or its failure.

        It runs on the instances of the split, or on those of a block, for which limits grow in proportion.
        Waits until a worker is free; cancelling kills the program. `postponed` is called before each retry alone.
        Raises SandboxError if the sandbox fails, was not entered, or the last try leaves it in doubt; TaskError if an
        evaluator can no longer be loaded.
        """
        # below `strong` a program can send signals, and so kill its own process
        may_signal = self._is_tree or LEVELS.index(self.isolation) < LEVELS.index("strong")
        limits, instances = self._limits, self.runner.ready.instances
        if block is not None:
            limits, instances = limits.times(block.share), block.size
        ran = await run_until_certain(self.runner, limits, source, postponed, may_signal, block)
        frame = frame_of(ran, limits)
        if isinstance(frame, Failure):
            return replace(frame, cpu_s=ran.cpu_s)
        ending = (*ran.program_ends, ran.end)[0]
        return Sent(frame, instances, ran.cpu_s, limits.charged_s(ending.cpu_s, ending.first_s))

    async def evaluate(self, source: str, postponed: Postponed = unnoticed, /) -> Solved | Failure:
        """Run one program as `send` does, and return its solutions, read in this process, or its failure."""
        sent = await self.send(source, postponed)
        if isinstance(sent, Failure):
            return sent
        return read_solutions(sent.data, sent.instances, sent.cpu_s, sent.counted_s)


def frame_of(ran: RawResult, limits: Limits) -> bytes | Failure:
    """Return the bytes that a process sent, or its failure, without CPU time, if it ended badly or sent too much."""
    for at, ending in enumerate(ran.program_ends):
        # these ends come first: how the process with the instances ended may only follow from them
        if at == 0 and (failed := _ended_badly(replace(ending, instance=ran.end.instance), limits)):
            return failed  # the program itself does not know the instance
        if at and (failed := _ended_badly(ending, limits)):
            return failed_again(failed)
    if ran.frame is None and ran.end.killed not in ("memory", "processes", "files"):
        return Failure("output", f"more than {limits.output_mb} MB came; return smaller solutions")
    return _ended_badly(ran.end, limits) or ran.frame or _exited(0)


def _ended_badly(ending: ProcessEnd, limits: Limits) -> Failure | None:
    """Return the failure of a process that was stopped, exited with another status than 0, or exceeded its CPU time."""
    # None if the process ended well, or exceeded its CPU time `beside_others`. The failure's `cpu_s` is left at 0.
    limit_s, charged_s = limits.limit_s(ending.first_s), limits.charged_s(ending.cpu_s, ending.first_s)
    reached = ending.reached(limits.free_s(ending.first_s))
    if ending.killed in ("wall", "asleep", "waited"):
        said = f"stopped after {limits.wall_limit_s:g} s: it slept or waited ({charged_s:.2g} s of CPU time)"
        return Failure("timeout", f"{said}{reached}")
    # limits over all processes come before the status of one, which does not show them
    if ending.killed == "memory":
        return Failure("memory", f"the evaluation held more than {limits.memory_mb} MB of memory in all its processes")
    if ending.killed == "processes":
        return Failure("forbidden", f"the evaluation started more than {MOST_PROCESSES} processes and threads")
    if ending.killed == "files":
        return Failure("forbidden", f"the evaluation had more than {MOST_FILES} files open in all its processes")
    code = os.waitstatus_to_exitcode(ending.status)
    if ending.killed == "cpu" or (code in (-signal.SIGXCPU, -signal.SIGKILL) and ending.cpu_s > limit_s):
        said = f"still not done after the {limits.timeout_s:.3g} s of CPU time that count"
        return Failure("timeout", f"{said}{reached}")
    # beside others the limit is NEAR times as long: a program that took longer was killed
    if not ending.killed and ending.cpu_s > limit_s and not ending.beside_others:
        return Failure("timeout", f"{charged_s:.3g} s of CPU time; the limit is {limits.timeout_s:.3g} s{reached}")
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
        # native code that gets no more memory mostly ends like this, and not by a MemoryError
        is_near = ending.peak_bytes > 0.75 * limits.memory
        near = f", near its limit of {limits.memory_mb} MB of memory" if is_near else ""
        return Failure("crash", f"the program's process was killed by {name}{near}")
    return _exited(code) if code else None


def _exited(code: int) -> Failure:
    return Failure("exit", f"the program called os._exit({code})")


# Modules that candidates import most; every zygote has them imported.
PRELOADED = (
    *("bisect", "collections", "copy", "dataclasses", "fractions", "functools", "heapq", "itertools", "math"),
    *("operator", "random", "re", "statistics", "string", "time", "typing"),
    *("numpy.fft", "numpy.linalg", "numpy.ma", "numpy.polynomial", "numpy.random"),
)
# Modules of scipy, for a second zygote.
#
# Importing them would cost a candidate most of a second. Forking a process that has them costs a few milliseconds more.
SCIENTIFIC = (
    *("scipy.cluster.hierarchy", "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize"),
    *("scipy.sparse.csgraph", "scipy.spatial", "scipy.special", "scipy.stats"),
)


class Pool(ProgramPool):
    """Runs programs on the instances of one split on this machine, at most `workers` at once; an async context manager.

    Each program's process is forked from a zygote, which has imported the modules `preloaded`; another has imported
    `scientific`, too, for programs that mention scipy. Each instance is begun at most `starts` times
    (`begin_instances`). Programs may also run on blocks, which are taken from `further` instances beyond the split's.
    Time limits on zygotes go by `clock`, a new one if None. Zygotes are started through the command `wall`, unless that
    is empty. Tests give fewer `layers`.

    Making one raises TaskError if `task` is not installed. Entering raises UsageError if the isolation is below
    `strong`, unless `allow_weak_isolation`, and SandboxError if the sandbox does not start.
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
        starts: int = 1,
        wall: str = "",
        further: int = 0,
    ) -> None:
        limits = limits or Limits()
        given = (task.place(), split, preloaded)
        assignment = TaskAssignment(*given, starts=starts, further=further, layers=layers, limits=limits, wall=wall)
        super().__init__(ZygoteRunner(assignment, workers, allow_weak_isolation, clock, scientific), limits)


class TreePool(ProgramPool):
    """Runs evaluations on this machine, at most `workers` at once; an async context manager.

    Entering starts a confined process that calls the function `loader` ("module:name") with the text `given`, for at
    most `load_s` seconds of CPU time. Evaluator and programs may read the absolute paths `readable`, without the
    `hidden` ones below them where namespaces hold, and use the `devices`. `clock`, `wall` and `layers` are as for
    `Pool`.

    Entering raises UsageError if the isolation is below `strong+`, unless `allow_weak_isolation`; TaskError if the
    evaluator cannot be loaded; SandboxError if the sandbox does not start.
    """

    def __init__(
        self,
        loader: str,
        given: str,
        workers: int,
        limits: Limits,
        readable: Iterable[Path] = (),
        hidden: Iterable[Path] = (),
        allow_weak_isolation: bool = False,
        layers: tuple[str, ...] = LAYERS,
        clock: Heartbeat | None = None,
        load_s: float = LOAD_S,
        wall: str = "",
        devices: tuple[str, ...] = (),
    ) -> None:
        shown, unseen = tuple(map(str, readable)), tuple(map(str, hidden))
        assignment = TreeAssignment(
            *(loader, given, shown, load_s, workers, devices), limits=limits, layers=layers, hidden=unseen, wall=wall
        )
        super().__init__(ZygoteRunner(assignment, workers, allow_weak_isolation, clock), limits, is_tree=True)
