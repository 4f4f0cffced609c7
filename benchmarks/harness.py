"""What the benchmarks share: ways that take turns and their costs, and what a tree of processes uses.

Absolute times drift with the machine. So what is compared takes turns in one run, and medians of rounds are shown.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Cost:
    """What one way took in each round: milliseconds for each of its units of work, such as an evaluation."""

    wall: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    """CPU time of this process."""
    cpu: list[float] = field(default_factory=list)
    """CPU time of this process and all below it."""

    @property
    def wall_ms(self) -> float:
        """The median of the wall time."""
        return statistics.median(self.wall)

    @property
    def own_ms(self) -> float:
        """The median of this process's CPU time."""
        return statistics.median(self.own)

    @property
    def cpu_ms(self) -> float:
        """The median of the CPU time of all processes."""
        return statistics.median(self.cpu)


# Does one unit of work; what it returns is awaited unless it is None.
Way = Callable[[], Awaitable[object] | None]


async def take_turns(rounds: int, ways: Mapping[str, Way], times: Mapping[str, int], units: int = 1) -> dict[str, Cost]:
    """Return what each way costs, by name: in each round every way runs `times` times, one after the other.

    A call of a way does `units` units of work.
    """
    costs = {name: Cost() for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            everything, own, began = cpu_of_everything(), time.process_time(), time.perf_counter()
            for _ in range(times[name]):
                if (waiting := way()) is not None:
                    await waiting
            each = 1e3 / (times[name] * units)
            costs[name].wall.append((time.perf_counter() - began) * each)
            costs[name].own.append((time.process_time() - own) * each)
            costs[name].cpu.append((cpu_of_everything() - everything) * each)
    return costs


def cpu_seconds() -> float:
    """Return the CPU seconds of this process so far, and of its ended children, which it has waited for."""
    return time.process_time() + ended_children_s()


def interleaved(rounds: int, *actions: Callable[[], object]) -> list[float]:
    """Return the median CPU seconds of each action over `rounds` rounds, in each of which all actions run in turn.

    One round more comes first and does not count.
    """
    times: list[list[float]] = [[] for _ in actions]
    for turn in range(rounds + 1):
        for action, taken in zip(actions, times, strict=True):
            start = cpu_seconds()
            action()
            if turn:
                taken.append(cpu_seconds() - start)
    return [statistics.median(taken) for taken in times]


def repeated(action: Callable[[], object], count: int) -> Callable[[], None]:
    """Return a function that does the action `count` times: once is too short for the clock."""

    def many() -> None:
        for _ in range(count):
            action()

    return many


TICK = os.sysconf("SC_CLK_TCK")
# Seconds after which a process counts as long-lived, and `ProcessTree.lasting` gets its CPU time.
LASTING_S = 1.0
_SUBREAPER = 36


@dataclass
class ProcessTree:
    """The process `root` and all below it.

    `lasting` has the own CPU seconds of each process that lived longer than LASTING_S, by id; `look` updates it.
    `peak_mb` is the most memory of all together, in MiB, at any call of `weigh`.
    """

    root: int
    lasting: dict[int, float] = field(default_factory=dict)
    peak_mb: float = 0.0
    _seen_at: dict[int, float] = field(default_factory=dict)

    def pids(self) -> Iterator[int]:
        """Yield the id of every living process of the tree, parents before their children; `root` without a check."""
        rest = [self.root]
        while rest:
            yield (pid := rest.pop())
            with suppress(OSError):  # it may just have ended
                for children in Path(f"/proc/{pid}/task").glob("*/children"):
                    rest += map(int, children.read_text().split())

    def total_s(self) -> float:
        """Return the CPU seconds so far of the living processes and of the ended children that they waited for."""
        return sum(map(sum, map(_seconds, self.pids())))

    def look(self) -> None:
        """Note which processes live now, and the CPU seconds so far of those first noted more than LASTING_S ago."""
        now = time.monotonic()
        for pid in self.pids():
            if now - self._seen_at.setdefault(pid, now) > LASTING_S and (own_s := _seconds(pid)[0]):
                self.lasting[pid] = own_s

    def weigh(self) -> None:
        """Raise `peak_mb` to the memory of all processes now; memory that n processes share counts 1/n in each."""
        self.peak_mb = max(self.peak_mb, sum(map(_proportional_mb, self.pids())))

    def kill(self) -> None:
        """Send SIGKILL to every process of the tree; does not wait for their ends."""
        for pid in list(self.pids()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def adopt_orphans() -> None:
    """Make this process the parent of orphans below it, so that it can wait for them and count their CPU time."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)


def ended_children_s() -> float:
    """Return the CPU seconds of this process's ended children that were waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of_everything() -> float:
    """Return the CPU seconds so far of this process and all below it, ended ones that were waited for included."""
    below = [pid for pid in ProcessTree(os.getpid()).pids() if pid != os.getpid()]
    # This process's own time is not from /proc, which counts in hundredths of a second.
    return time.process_time() + ended_children_s() + sum(sum(_seconds(pid)) for pid in below)


def reap() -> None:
    """Wait until this process has no children left; after five seconds kill those that still run."""
    deadline = time.monotonic() + 5
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0 and time.monotonic() > deadline:
            for orphan in set(ProcessTree(os.getpid()).pids()) - {os.getpid()}:
                with suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGKILL)
        time.sleep(0.01)


def _seconds(pid: int) -> tuple[float, float]:
    """Return a process's own CPU seconds, and those of the children it has waited for; zeros if it has ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        times = [int(each) / TICK for each in fields[11:15]]
        return times[0] + times[1], times[2] + times[3]
    return 0.0, 0.0


def _proportional_mb(pid: int) -> float:
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024
    return 0.0


async def lateness(work: asyncio.Future[Any], sleep_s: float) -> list[float]:
    """Return by how many seconds each sleep of `sleep_s` on the event loop ended late until the work was done."""
    late = []
    while not work.done():
        start = time.perf_counter()
        await asyncio.sleep(sleep_s)
        late.append(time.perf_counter() - start - sleep_s)
    return late


class Turns:
    """Times every turn of the running event loop: from when it has something to do until it waits again.

    `longest_s` is the longest so far, in seconds of wall time; `longest_cpu_s` the longest in CPU time of its thread,
    which leaves out what other threads and processes took meanwhile.
    """

    def __init__(self) -> None:
        self.longest_s = self.longest_cpu_s = 0.0
        selector: Any = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
        self._select, self._began = selector.select, (time.perf_counter(), time.thread_time())
        selector.select = self._timed

    def _timed(self, timeout: float | None = None) -> Any:
        wall, cpu = self._began
        self.longest_s = max(self.longest_s, time.perf_counter() - wall)
        self.longest_cpu_s = max(self.longest_cpu_s, time.thread_time() - cpu)
        ready = self._select(timeout)
        self._began = time.perf_counter(), time.thread_time()
        return ready
