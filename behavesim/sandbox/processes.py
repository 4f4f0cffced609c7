"""Functions of the operating system on processes, and what whole trees of them use; macOS has only some of them."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from behavesim.base.errors import SandboxError
from behavesim.sandbox import kernel

# Whether this system is Linux: others have only some of these functions.
LINUX = sys.platform == "linux"
# Bytes in a unit of `ru_maxrss`, the peak of resident memory.
MAXRSS_UNIT = 1 << 10 if LINUX else 1

# The option of prctl(2) that makes a process the parent of its descendants' orphans.
_PR_SET_CHILD_SUBREAPER = 36


def wake_on(*signals: signal.Signals) -> socket.socket:
    """Handle `signals` from now on; return a non-blocking socket that receives each one's number as a byte."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    signal.set_wakeup_fd(theirs.detach(), warn_on_full_buffer=False)
    for each in signals:
        signal.signal(each, lambda *_: None)
    return ours


def die_with_parent(by: signal.Signals) -> None:
    """Have the kernel send this process the signal `by` when its parent dies, where the kernel can."""
    if LINUX:
        # without it, this process ends when the parent's end of its socket closes
        with contextlib.suppress(OSError):
            kernel.prepare_prctl(kernel.PR_SET_PDEATHSIG, by)()


def adopt_orphans() -> None:
    """Become the parent of descendants whose parents die, so that `kill_strays` finds them, where the kernel can."""
    if LINUX:
        with contextlib.suppress(OSError):
            kernel.prepare_prctl(_PR_SET_CHILD_SUBREAPER, 1)()


def reap(pid: int) -> tuple[int, resource.struct_rusage] | None:
    """Reap the child `pid` if it has ended; return its wait status and resource usage, None if it still runs.

    On Linux, what an ended child left in its process group is killed first.
    """
    if sys.platform == "linux":  # the unreaped child keeps its number, so that no other process can have it yet
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return None
        kill_tree(pid)
    reaped, status, usage = os.wait4(pid, os.WNOHANG)
    return (status, usage) if reaped else None


def kill_tree(pid: int) -> None:
    """Kill the child `pid`, which must not have been reaped, and all processes in the group that it leads, if any."""
    # a process that is gone, or that this one may not kill, is passed over
    for kill in (os.kill, os.killpg):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def kill_strays(known: Collection[int]) -> None:
    """Kill and reap all children except `known`: descendants of candidates that left their group. Linux only."""
    while strays := [pid for pid in _children() if pid not in known]:
        for pid in strays:
            os.kill(pid, signal.SIGKILL)
        for pid in strays:
            os.waitpid(pid, 0)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process so far (s); 0 if it was reaped, or the system is not Linux."""
    if not LINUX:
        return 0.0
    try:
        return time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3)
    except OSError:
        return 0.0


def open_processes() -> int | None:
    """Return a descriptor of /proc, through which namespaces hide nothing; None if it cannot be opened."""
    try:
        return os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) if LINUX else None
    except OSError:
        return None


def seconds_without_a_core(pid: int, proc: int | None = None) -> float:
    """Return how long a process's main thread has waited for a free core so far (s); 0 if the system does not say.

    `pid` is its number here; in `proc`, a descriptor from `open_processes` (None: /proc), it may have another.
    """
    if not LINUX:
        return 0.0
    try:
        handle = os.pidfd_open(pid)
        try:
            _, waited_ns, _ = _text_in(proc, f"{pid_of(handle, proc)}/schedstat").split()
        finally:
            os.close(handle)
    except (OSError, ValueError):
        return 0.0
    return int(waited_ns) / 1e9


def pid_of(handle: int, proc: int | None = None) -> int:
    """Return the number that the process behind the pidfd `handle` has in `proc` (None: /proc); -1 if it is gone.

    Raises ValueError if `handle` is no pidfd or its process cannot be seen there, OSError if `proc` cannot be read.
    """
    _, found = _text_in(proc, f"self/fdinfo/{handle}").split("Pid:", 1)
    if (pid := int(found.split(None, 1)[0])) == 0:
        raise ValueError("the process is in another namespace")
    return pid


def start_time(pid: int) -> int:
    """Return when a process started (clock ticks), unlike any later one with its number; OSError if it is gone."""
    return int(_stat_fields(Path(f"/proc/{pid}"))[_STARTED])


def require_handles() -> None:
    """Raise SandboxError if this kernel cannot name processes by pidfds, by which a keeper knows evaluations."""
    try:
        handle = os.pidfd_open(os.getpid())
        try:
            signal.pidfd_send_signal(handle, 0)
            pid_of(handle)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        raise SandboxError(
            f"an evaluator cannot be confined here: the kernel lacks pidfd_open or what belongs to it ({error}); use "
            "Linux 5.3 or later. Tasks with `solve` and `score` need less"
        ) from error


def _text_in(proc: int | None, path: str) -> str:
    place = path if proc is not None else f"/proc/{path}"
    fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    try:
        return os.read(fd, 1 << 16).decode()
    finally:
        os.close(fd)


def memory_of_machine() -> int:
    """Return the memory of this machine or the lowest limit of its control groups (bytes); 0 except on Linux."""
    if not LINUX:
        return 0
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")]
    groups = Path("/proc/self/cgroup")
    for line in groups.read_text().splitlines() if groups.exists() else ():
        _, kinds, path = line.split(":", 2)
        root, name = ("memory", "memory.limit_in_bytes") if kinds else ("", "memory.max")
        if kinds in ("", "memory"):
            place = Path("/sys/fs/cgroup", root)
            inner = place / path[1:]
            found += [_limit_in(each / name) for each in (inner, *inner.parents) if each.is_relative_to(place)]
    return min(filter(None, found))


def _limit_in(file: Path) -> int:
    # 0 if there is no such file, or it sets no limit
    with contextlib.suppress(OSError, ValueError):
        return int(file.read_text())
    return 0


def address_space() -> int:
    """Return the size of this process's address space in bytes; 0 except on Linux."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE") if LINUX else 0


def data_memory() -> int:
    """Return the size of this process's private memory that it may write to (bytes); raises OSError except on Linux."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGESIZE")


def tasks_of_user() -> int:
    """Return the number of threads that run as this process's user; 0 except on Linux."""
    tasks, own = 0, os.geteuid()
    for process in filter(str.isdecimal, os.listdir("/proc")) if LINUX else ():  # noqa: PTH208 (a fifth of the time)
        with contextlib.suppress(OSError):
            about = os.stat(f"/proc/{process}/task")  # noqa: PTH116
            if about.st_uid == own:
                tasks += about.st_nlink - 2  # one link for each thread, besides those that every folder has
    return tasks


def threads() -> int:
    """Return the number of this process's threads; except on Linux, only those that Python started."""
    return sum(1 for _ in Path("/proc/self/task").iterdir()) if LINUX else threading.active_count()


def _children() -> list[int]:
    with contextlib.suppress(OSError):
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    return []


# The unit of times in /proc: clock ticks in a second.
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
# The unit of resident memory in /proc: bytes in a page.
_PAGE = os.sysconf("SC_PAGESIZE")
_STATE, _PARENT, _FIRST_TIME, _THREADS, _STARTED, _RESIDENT = 0, 1, 11, 17, 19, 21
"""Fields of /proc/PID/stat behind the command's name; from _FIRST_TIME on, two own times and two of reaped children."""
# States in /proc of a thread that runs or waits for a core, and of one that waits for a disk.
_AWAKE = (b"R", b"D")
# Lines of /proc/PID/smaps_rollup on memory that no file backs; shared memory is divided among the processes.
_SHARED_BY_ALL = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
# Lines of /proc/PID/status on the same memory; shared memory counts in full for each process.
_ALL_OF_ONE = ("RssAnon:", "RssShmem:", "VmSwap:")


@dataclass(frozen=True)
class Process:
    """One process, as the kernel describes it in /proc."""

    parent: int
    cpu_s: float  # its own
    reaped_s: float  # CPU time of children that it waited for
    resident: int  # bytes, shared memory and files included
    threads: int
    started: int  # clock ticks since the machine did: another process may get its number
    is_awake: bool  # its main thread runs, or waits for a core or a disk


class CpuMeter:
    """CPU seconds of a tree of processes over its life, from repeated readings; `most_s` is the last result."""

    def __init__(self) -> None:
        self.most_s = 0.0
        self._gone_s = 0.0
        self._living: dict[tuple[int, int], float] = {}

    def read(self, members: Mapping[int, Process]) -> float:
        """Return the CPU seconds so far of a tree with these living `members`, ended ones included; it never falls."""
        # the kernel drops the time of a process that nobody waits for: its last reading is kept
        living = {(pid, process.started): process.cpu_s for pid, process in members.items()}
        self._gone_s += sum(cpu_s for each, cpu_s in self._living.items() if each not in living)
        self._living = living
        own_s = sum(living.values())
        # Both sums are too low. This one lacks processes that nobody waited for; the other lacks those that started and
        # ended between two readings.
        with_reaped_s = own_s + sum(process.reaped_s for process in members.values())
        self.most_s = max(self.most_s, own_s + self._gone_s, with_reaped_s)
        return self.most_s


def all_processes() -> dict[int, Process]:
    """Return all processes that this process can see in /proc, by process id; empty where there is no /proc."""
    found: dict[int, Process] = {}
    with contextlib.suppress(OSError), os.scandir("/proc") as folder:
        for entry in folder:
            # a process may end between these lines
            with contextlib.suppress(OSError):
                if entry.name.isdecimal():
                    found[int(entry.name)] = _read_process(Path(entry.path))
    return found


def with_descendants(root: int, seen: Mapping[int, Process], without: Collection[int] = ()) -> dict[int, Process]:
    """Return the process `root` and its descendants among `seen`, except those in `without` and theirs."""
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
    """Whether processes together hold more than `limit` bytes of memory that no file backs (see `_held`)."""
    # The exact sum takes the kernel milliseconds. This one is never smaller: files count, and shared memory for each.
    if sum(process.resident for process in members.values()) <= limit:
        return False
    return sum(_held(pid, process.resident) for pid, process in members.items()) > limit


def _held(pid: int, resident: int) -> int:
    """Return the bytes of memory of a process that no file backs, swap included; 0 if it has ended."""
    # Shared memory is divided among the processes, or counts in full if smaps_rollup cannot be read. A kernel that
    # counts neither, such as gVisor's, says how much is `resident`, with files.
    for file, names in (("smaps_rollup", _SHARED_BY_ALL), ("status", _ALL_OF_ONE)):
        # the process has ended, or keeps the first file to itself: then all that it shares counts as its own
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
            if found := [int(line.split()[1]) << 10 for line in lines if line.startswith(names)]:
                return sum(found)
            if file == "status":
                return resident
    return 0


def _read_process(folder: Path) -> Process:
    fields = _stat_fields(folder)
    own, reaped = (sum(map(int, fields[at : at + 2])) / _TICKS_A_SECOND for at in (_FIRST_TIME, _FIRST_TIME + 2))
    resident = int(fields[_RESIDENT]) * _PAGE
    threads, started, is_awake = int(fields[_THREADS]), int(fields[_STARTED]), fields[_STATE] in _AWAKE
    return Process(int(fields[_PARENT]), own, reaped, resident, threads, started, is_awake)


def _stat_fields(folder: Path) -> list[bytes]:
    """Return what `stat` in a folder of /proc says behind the command's name, which may hold anything."""
    return (folder / "stat").read_bytes().rpartition(b")")[2].split()


def threads_awake(members: Mapping[int, Process]) -> int:
    """Return how many threads of these processes run, or wait for a core or a disk."""
    found = 0
    for pid, process in members.items():
        if process.threads == 1:
            found += process.is_awake
            continue
        with contextlib.suppress(OSError):  # it has ended
            for folder in Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    found += _stat_fields(folder)[_STATE] in _AWAKE
    return found


def open_files(members: Mapping[int, Process]) -> int:
    """Return the number of open files of all processes together; 0 before Linux 6.2, which does not count them."""
    found = 0
    for pid in members:
        with contextlib.suppress(OSError):  # it has ended
            found += Path(f"/proc/{pid}/fd").stat().st_size
    return found
