"""What the zygote asks of the operating system about processes; Linux has all of it, macOS some."""

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

from behavesim.sandbox import kernel

LINUX = sys.platform == "linux"
MAXRSS_UNIT = 1 << 10 if LINUX else 1
"""Bytes in a unit of ru_maxrss."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def wake_on(*signals: signal.Signals) -> socket.socket:
    """A socket from which a byte, the signal's number, can be read for each of the signals that arrived."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    signal.set_wakeup_fd(theirs.detach(), warn_on_full_buffer=False)
    for each in signals:
        signal.signal(each, lambda *_: None)
    return ours


def die_with_parent(by: signal.Signals) -> None:
    """Have the kernel send this process a signal when its parent dies (Linux; elsewhere a closed socket must do)."""
    if LINUX:
        prepared_to_die_with_parent(by)()


def prepared_to_die_with_parent(by: signal.Signals) -> kernel.Call:
    """The call that has the kernel do so (Linux)."""
    return kernel.prepared_prctl(_PR_SET_PDEATHSIG, by)


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parents died, so that `kill_strays` finds them (Linux)."""
    if LINUX:
        kernel.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def reap(pid: int) -> tuple[int, resource.struct_rusage] | None:
    """The wait status and usage of a child if it has ended, after what it left in its process group was killed."""
    if sys.platform == "linux":  # while the dead child still holds its number, which nobody else can then have
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return None
        kill_tree(pid)
    reaped, status, usage = os.wait4(pid, os.WNOHANG)
    return (status, usage) if reaped else None


def kill_tree(pid: int) -> None:
    """Kill an unreaped child and whatever it left in its process group."""
    for kill in (os.kill, os.killpg):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def kill_strays(known: Collection[int]) -> None:
    """Kill all children but the known ones: descendants of candidates that left their process group."""
    while strays := [pid for pid in _children() if pid not in known]:
        for pid in strays:
            os.kill(pid, signal.SIGKILL)
        for pid in strays:
            os.waitpid(pid, 0)


def cpu_seconds(pid: int) -> float:
    """The CPU time of a running process so far, in seconds; 0 where nobody tells (then RLIMIT_CPU alone must do)."""
    if not LINUX:
        return 0.0
    try:
        return time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3)
    except OSError:
        return 0.0  # it has just ended


def seconds_without_a_core(pid: int) -> float:
    """How long a running process has been ready to compute so far while others did; 0 where nobody tells."""
    try:
        _, waited_ns, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    except (OSError, ValueError):
        return 0.0
    return int(waited_ns) / 1e9


def address_space() -> int:
    """The bytes of this process's address space (Linux; elsewhere 0)."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE") if LINUX else 0


def tasks_of_user() -> int:
    """The number of threads that run as this process's user (Linux; elsewhere 0)."""
    tasks = 0
    for process in Path("/proc").glob("[0-9]*") if LINUX else ():
        with contextlib.suppress(OSError):
            if process.stat().st_uid == os.geteuid():
                tasks += sum(1 for _ in (process / "task").iterdir())
    return tasks


def threads() -> int:
    """The number of this process's threads (Linux; elsewhere those that Python started)."""
    return sum(1 for _ in Path("/proc/self/task").iterdir()) if LINUX else threading.active_count()


def _children() -> list[int]:
    with contextlib.suppress(OSError):
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    return []
