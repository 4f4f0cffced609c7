"""Functions of the operating system on processes, for the zygote; macOS has only some of them."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Collection
from pathlib import Path

from behavesim.base.errors import SandboxError
from behavesim.sandbox import kernel

LINUX = sys.platform == "linux"
"""Whether this system is Linux: others have only some of these functions."""
MAXRSS_UNIT = 1 << 10 if LINUX else 1
"""Bytes in a unit of `ru_maxrss`, the peak of resident memory."""

_PR_SET_CHILD_SUBREAPER = 36
"""The option of prctl(2) that makes a process the parent of its descendants' orphans."""


def wake_on(*signals: signal.Signals) -> socket.socket:
    """Return a non-blocking socket that receives one byte, the signal's number, whenever a signal is handled.

    `signals` are handled from now on, and have no other effect on this process.
    """
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
            kernel.prepared_prctl(kernel.PR_SET_PDEATHSIG, by)()


def adopt_orphans() -> None:
    """Have this process become the parent of descendants whose own parents die, so that `kill_strays` finds them.

    Does nothing except on Linux, and where the kernel lacks it, as gVisor does.
    """
    if LINUX:
        with contextlib.suppress(OSError):
            kernel.prepared_prctl(_PR_SET_CHILD_SUBREAPER, 1)()


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
    """Kill the child `pid`, which must not have been reaped, and all processes in the group that it leads, if any.

    Processes that are gone, or that this process may not kill, are passed over.
    """
    for kill in (os.kill, os.killpg):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def kill_strays(known: Collection[int]) -> None:
    """Kill and reap all children except those with the process ids `known`; does nothing except on Linux.

    The others are descendants of candidates that left their process group.
    """
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
    """Return a descriptor of /proc; None if it cannot be opened, or the system is not Linux.

    Through it this process sees the same processes after it has entered namespaces.
    """
    try:
        return os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) if LINUX else None
    except OSError:
        return None


def seconds_without_a_core(pid: int, proc: int | None = None) -> float:
    """Return how long a process's main thread has waited for a free core so far (s); 0 if the system does not say.

    `pid` is the number by which this process knows it. `proc` is a descriptor from `open_processes`, in which it may
    have another number; None for /proc as this process sees it.
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
    """Return the number that the process behind the pidfd `handle` has in `proc`; -1 if the process is gone.

    `proc` is a descriptor from `open_processes`; None for /proc as this process sees it. Raises ValueError if `handle`
    is no pidfd or its process cannot be seen there, OSError if `proc` cannot be read.
    """
    _, found = _text_in(proc, f"self/fdinfo/{handle}").split("Pid:", 1)
    if (pid := int(found.split(None, 1)[0])) == 0:
        raise ValueError("the process is in another namespace")
    return pid


def started(pid: int) -> int:
    """Return when a process started, in clock ticks since the machine did, which tells it from others with its number.

    Raises OSError if there is no such process here, or it cannot be seen.
    """
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])


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
    """Return the text of the file `path` in the folder `proc`, a descriptor, or in /proc if that is None.

    Raises OSError if it cannot be read.
    """
    place = path if proc is not None else f"/proc/{path}"
    fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    try:
        return os.read(fd, 1 << 16).decode()
    finally:
        os.close(fd)


def memory_of_machine() -> int:
    """Return the memory of this machine or, if lower, the lowest limit of the control groups of this process (bytes).

    It is 0 except on Linux.
    """
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
    """Return the number of bytes in a file of a control group; 0 if there is no such file, or it sets no limit."""
    with contextlib.suppress(OSError, ValueError):
        return int(file.read_text())
    return 0


def address_space() -> int:
    """Return the size of this process's address space in bytes; 0 except on Linux."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE") if LINUX else 0


def data_memory() -> int:
    """Return the size of this process's private memory that it may write to, with its stack (bytes).

    Raises OSError if the system is not Linux.
    """
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
    """Return the process ids of this process's children; none except on Linux."""
    with contextlib.suppress(OSError):
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    return []
