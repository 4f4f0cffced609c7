"""A tool's processes: the CPU time and the memory of all of them, and the end of those that go on."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
LASTING_S = 1.0
"""A process that lives longer is counted by itself."""
_SUBREAPER = 36


@dataclass
class ProcessTree:
    """The CPU seconds of a process tree, its long-lived processes by themselves, and its memory at most."""

    root: int
    lasting: dict[int, float] = field(default_factory=dict)
    peak_mb: float = 0.0
    _seen_at: dict[int, float] = field(default_factory=dict)

    def pids(self) -> Iterator[int]:
        """Every living process, parents before their children."""
        rest = [self.root]
        while rest:
            yield (pid := rest.pop())
            with suppress(OSError):  # it may just have ended
                for children in Path(f"/proc/{pid}/task").glob("*/children"):
                    rest += map(int, children.read_text().split())

    def total_s(self) -> float:
        """CPU seconds up to now: each living process's own and that of the children it has waited for."""
        return sum(map(sum, map(_seconds, self.pids())))

    def look(self) -> None:
        """Take in who lives how long, and what that took."""
        now = time.monotonic()
        for pid in self.pids():
            if now - self._seen_at.setdefault(pid, now) > LASTING_S and (own_s := _seconds(pid)[0]):
                self.lasting[pid] = own_s

    def weigh(self) -> None:
        """Take in the memory of all."""
        self.peak_mb = max(self.peak_mb, sum(map(_proportional_mb, self.pids())))

    def kill(self) -> None:
        """End all of it at once."""
        for pid in list(self.pids()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of what a tool leaves behind, so that it can be waited for, and so counted."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)


def ended_children_s() -> float:
    """CPU seconds of all processes below this one that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reap() -> None:
    """Wait for what a tool left behind; what goes on for five seconds all the same is ended."""
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
    """A process's own, and those of the children it has waited for; zeros where it has just ended."""
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
