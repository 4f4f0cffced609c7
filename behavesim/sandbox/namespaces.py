"""Linux namespaces: an empty network, no view of other processes, and rights that have no effect outside."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

from behavesim.sandbox import kernel, processes

NEW_MOUNTS, NEW_UTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NET = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
HOSTNAME = "sandbox"
"""The machine's name inside the namespaces."""
COVERED = ("/proc", "/dev/shm")
"""Folders that are empty inside: the kernel's data on processes, and memory shared by name."""
_PRIVATE, _RECURSIVE = 1 << 18, 1 << 14
_READ_ONLY_BARE = 1 | 2 | 4 | 8  # read-only, no setuid, no devices, no execution


def enter() -> int:
    """Enter new namespaces of every kind; return, in a child process, a descriptor of its namespace of processes.

    Only the child returns: it is process 1 of that namespace. The calling process waits for it and exits with it.
    Raises OSError if the machine forbids any step. A disposable child tries all steps first, since a partial move
    cannot be undone.
    """
    _try_in_child()
    return _enter()


def next_child_alone() -> kernel.Call:
    """Return a prepared call after which this process's next child is process 1 of a new namespace of processes."""
    return kernel.prepared("unshare", NEW_PIDS)


def next_child_as_usual(own: int) -> kernel.Call:
    """Return a prepared call that undoes `next_child_alone`; `own` is a descriptor of this process's own namespace."""
    return kernel.prepared("setns", own, NEW_PIDS)


def _enter() -> int:
    uid, gid = os.geteuid(), os.getegid()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # otherwise, after a change of user, the files below belong to root
    kernel.unshare(NEW_USER | NEW_MOUNTS | NEW_UTS | NEW_IPC | NEW_NET | NEW_PIDS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _continue_inside()
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    socket.sethostname(HOSTNAME)
    kernel.mount("none", "/", "none", _PRIVATE | _RECURSIVE)
    for folder in COVERED:
        if Path(folder).is_dir():
            kernel.mount("tmpfs", folder, "tmpfs", _READ_ONLY_BARE, "size=4k")
    return own


def _continue_inside() -> None:
    """Fork, and return only in the child; this process waits for the child and exits with its code.

    The child is process 1 of the new namespace: when it dies, the kernel kills all processes in it.
    """
    inside = os.fork()
    if inside == 0:
        processes.die_with_parent(signal.SIGKILL)
        return
    os.closerange(3, 1 << 16)  # so that the zygote's socket closes when the zygote itself ends
    _, status = os.waitpid(inside, 0)
    os._exit(abs(os.waitstatus_to_exitcode(status)))


def _try_in_child() -> None:
    trial = os.fork()
    if trial == 0:
        try:
            own = _enter()
            next_child_alone()()
            next_child_as_usual(own)()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or 1)
    _, status = os.waitpid(trial, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise OSError(code, f"no namespaces: {os.strerror(code)}")
