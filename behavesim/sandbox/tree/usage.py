"""CPU time, memory, threads and open files of a process and all its descendants, from the kernel's /proc."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
"""The unit of times in /proc: clock ticks in a second."""
_PAGE = os.sysconf("SC_PAGESIZE")
"""The unit of resident memory in /proc: bytes in a page."""
_PARENT, _FIRST_TIME, _THREADS, _STARTED, _RESIDENT = 1, 11, 17, 19, 21
"""Fields of /proc/PID/stat behind the command's name; from _FIRST_TIME on, two own times and two of reaped children."""
_SHARED_BY_ALL = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
"""Lines of /proc/PID/smaps_rollup on memory that no file backs; shared memory is divided among the processes."""
_ALL_OF_ONE = ("RssAnon:", "RssShmem:", "VmSwap:")
"""Lines of /proc/PID/status on the same memory; shared memory counts in full for each process."""


@dataclass(frozen=True)
class Process:
    """One process: the id of its parent, its own CPU time (s), that of children it waited for, and number of threads.

    `resident` is its resident memory (bytes), shared memory and files included. `started` (clock ticks since the
    machine started) distinguishes it from an earlier process with the same id.
    """

    parent: int
    cpu_s: float
    reaped_s: float
    resident: int
    threads: int
    started: int


class CpuMeter:
    """CPU seconds of a tree of processes over its life, from repeated readings; `most_s` is the last result of `read`.

    The kernel drops the time of a process that nobody waits for. So the last reading of each process is kept.
    """

    def __init__(self) -> None:
        self.most_s = 0.0
        self._gone_s = 0.0
        self._living: dict[tuple[int, int], float] = {}

    def read(self, members: Mapping[int, Process]) -> float:
        """Return the tree's CPU seconds so far, ended processes included; the result never falls.

        `members` are the tree's living processes, by process id.
        """
        living = {(pid, process.started): process.cpu_s for pid, process in members.items()}
        self._gone_s += sum(cpu_s for each, cpu_s in self._living.items() if each not in living)
        self._living = living
        own_s = sum(living.values())
        # Both sums are too low. This one lacks processes that nobody waited for; the other lacks those that started and
        # ended between two readings.
        with_reaped_s = own_s + sum(process.reaped_s for process in members.values())
        self.most_s = max(self.most_s, own_s + self._gone_s, with_reaped_s)
        return self.most_s


def processes() -> dict[int, Process]:
    """Return all processes that this process can see in /proc, by process id; empty where there is no /proc."""
    found: dict[int, Process] = {}
    with contextlib.suppress(OSError), os.scandir("/proc") as folder:
        for entry in folder:
            # a process may end between these lines
            with contextlib.suppress(OSError):
                if entry.name.isdecimal():
                    found[int(entry.name)] = _process(Path(entry.path))
    return found


def tree(root: int, seen: Mapping[int, Process], without: Collection[int] = ()) -> dict[int, Process]:
    """Return the process `root` and its descendants, by process id; empty if `root` is not among `seen`.

    Descendants whose ids are in `without` are left out, with their own descendants.
    """
    children: dict[int, list[int]] = {}
    for pid, process in seen.items():
        children.setdefault(process.parent, []).append(pid)
    found: dict[int, Process] = {}
    waiting = [root] if root in seen else []
    while waiting:
        pid = waiting.pop()
        found[pid] = seen[pid]
        waiting += [child for child in children.get(pid, ()) if child not in without]
    return found


def holds_more(members: Mapping[int, Process], limit: int) -> bool:
    """Whether processes together hold more than `limit` bytes of memory that no file backs (see `_held`).

    The exact sum takes the kernel milliseconds. It is computed only if the sum of resident memory, in which files count
    too and shared memory counts for each process, is above the limit.
    """
    if sum(process.resident for process in members.values()) <= limit:
        return False
    return sum(_held(pid, process.resident) for pid, process in members.items()) > limit


def _held(pid: int, resident: int) -> int:
    """Return the bytes of memory of a process that no file backs, swap included; 0 if it has ended.

    Shared memory is divided among the processes, or counts in full if smaps_rollup cannot be read. A kernel that counts
    neither, such as gVisor's, says how much is `resident`, with files.
    """
    for file, names in (("smaps_rollup", _SHARED_BY_ALL), ("status", _ALL_OF_ONE)):
        # the process has ended, or keeps the first file to itself: then all that it shares counts as its own
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
            if found := [int(line.split()[1]) << 10 for line in lines if line.startswith(names)]:
                return sum(found)
            if file == "status":
                return resident
    return 0


def _process(folder: Path) -> Process:
    """Return what the kernel says of a process; raises OSError if it has ended. `folder` is its one in /proc."""
    fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()  # a command's name may hold anything
    own, reaped = (sum(map(int, fields[at : at + 2])) / _TICKS_A_SECOND for at in (_FIRST_TIME, _FIRST_TIME + 2))
    resident = int(fields[_RESIDENT]) * _PAGE
    return Process(int(fields[_PARENT]), own, reaped, resident, int(fields[_THREADS]), int(fields[_STARTED]))


def open_files(members: Mapping[int, Process]) -> int:
    """Return the number of open files of all processes together; 0 before Linux 6.2, which does not count them."""
    found = 0
    for pid in members:
        with contextlib.suppress(OSError):  # it has ended
            found += Path(f"/proc/{pid}/fd").stat().st_size
    return found
