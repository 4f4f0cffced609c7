"""Linux namespaces: an empty network, no view of other processes, and rights that have no effect outside."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from behavesim.sandbox import kernel, processes

NEW_MOUNTS, NEW_UTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NET = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
"""Flags of clone(2) for new namespaces: of mounts, host name, shared memory by name, users, processes, network."""
HOSTNAME = "sandbox"
"""The machine's name inside the namespaces."""
COVERED = ("/proc", "/dev/shm")
"""Folders that `enter` covers, so that they are empty and read-only; one that does not exist is skipped.

Outside, /proc has the kernel's data on processes, and /dev/shm the memory that processes share by name."""
_PRIVATE, RECURSIVE = 1 << 18, 1 << 14
"""Flags of mount(2): later mounts show in this namespace only; act on all mounts below, too."""
READ_ONLY, NO_SETUID, NO_DEVICES, _NO_EXECUTION = 1, 2, 4, 8
"""Flags of mount(2): nothing can be written; programs get no rights of their owners; no devices; no programs start."""


def enter() -> int:
    """Enter new namespaces of mounts, host name, shared memory, users, processes and network, and cover COVERED.

    Returns a descriptor of the new namespace of processes. Only a child process returns: it is process 1 of that
    namespace. The calling process waits for it and exits with it. Raises OSError in the calling process if the machine
    forbids any step. Another child tries all steps first, since a partial move cannot be undone.
    """
    try_in_child(_rehearse)
    return enter_untried()


def _rehearse() -> None:
    own = enter_untried()
    next_child_alone()()
    next_child_as_usual(own)()


def next_child_alone() -> kernel.Call:
    """Return a prepared call after which this process's next child is process 1 of a new namespace of processes."""
    return kernel.prepared("unshare", NEW_PIDS)


def next_child_as_usual(own: int) -> kernel.Call:
    """Return a prepared call that undoes `next_child_alone`; `own` is a descriptor of this process's own namespace."""
    return kernel.prepared("setns", own, NEW_PIDS)


def enter_untried() -> int:
    """Enter the namespaces of `enter`, without a trial, and cover COVERED; return a descriptor of that of processes.

    Only a child process returns, as from `enter`. Raises OSError if the machine forbids a step; earlier steps are then
    done.
    """
    own = _move(NEW_USER | NEW_MOUNTS | NEW_UTS | NEW_IPC | NEW_NET | NEW_PIDS, Path("/proc/self"))
    socket.sethostname(HOSTNAME)
    # what is mounted below shows in this namespace only
    mount("none", "/", "none", _PRIVATE | RECURSIVE)
    for folder in COVERED:
        if Path(folder).is_dir():
            mount_memory(folder, READ_ONLY | NO_SETUID | NO_DEVICES | _NO_EXECUTION, size=4096, entries=2)
    return own


def mount_memory(folder: str, flags: int, size: int, entries: int, mode: str = "755") -> None:
    """Mount an empty folder in memory for `size` bytes and `entries` files and folders; raises OSError if it fails.

    A limit on the bytes alone is not enough: an empty file has none, and takes the kernel 1 kB that is charged to no
    process.
    """
    mount("tmpfs", folder, "tmpfs", flags, f"size={size},nr_inodes={entries},mode={mode}")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount a file system of type `kind` at `target` by mount(2); raises OSError if it fails.

    `flags` are bits such as READ_ONLY; `data` are the file system's own options, separated by commas.
    """
    kernel.prepared("mount", source.encode(), target.encode(), kind.encode(), flags, data.encode())()


def nest(proc: int) -> int:
    """Enter further namespaces of users, mounts and processes; return a descriptor of the new one of processes.

    Only a child process returns, as from `enter`. There, earlier mounts can be neither changed nor removed. `proc` is a
    descriptor of a /proc that can be written to. Raises OSError if the machine forbids any step; some may be done then.
    """
    return _move(NEW_USER | NEW_MOUNTS | NEW_PIDS, Path(f"/proc/self/fd/{proc}/self"))


def _move(kinds: int, about: Path) -> int:
    """Enter new namespaces: `kinds` are NEW_… flags, NEW_USER and NEW_PIDS among them.

    `about` is /proc/self, in a /proc that can be written to. Only a child process returns, with a descriptor of its
    namespace of processes. Raises OSError if the machine forbids a step.
    """
    uid, gid = os.geteuid(), os.getegid()
    kernel.prepared_prctl(kernel.PR_SET_DUMPABLE, 1)()  # otherwise, after a change of user, root owns the files below
    kernel.prepared("unshare", kinds)()
    (about / "setgroups").write_text("deny")  # the kernel demands it before a group is mapped
    (about / "uid_map").write_text(f"{uid} {uid} 1")
    (about / "gid_map").write_text(f"{gid} {gid} 1")
    _continue_inside()
    return os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)


def _continue_inside() -> None:
    """Fork, and return only in the child; the calling process waits for it and exits with its exit code.

    The child is process 1 of the new namespace: when it dies, the kernel kills all processes in it. If a signal ends
    the child, the exit code is the signal's number.
    """
    inside = os.fork()
    if inside == 0:
        processes.die_with_parent(signal.SIGKILL)
        return
    os.closerange(3, 1 << 16)  # so that the zygote's socket closes when the zygote itself ends
    _, status = os.waitpid(inside, 0)
    os._exit(abs(os.waitstatus_to_exitcode(status)))


def try_in_child(steps: Callable[[], object]) -> None:
    """Take `steps` in a forked child, which may enter namespaces and fork; raises OSError, with advice, if one fails.

    A step that fails half-way through cannot be undone, so a process tries all of them in a child first.
    """
    ours, theirs = os.pipe()
    trial = os.fork()
    if trial == 0:
        code = 1
        try:
            steps()
            code = 0
        except OSError as error:
            os.write(theirs, f"{error.errno or 0} {error.strerror or error}".encode())
        finally:
            os._exit(code)
    os.close(theirs)
    with open(ours, "rb") as reading:  # noqa: PTH123 (a descriptor)
        number, _, said = reading.read().decode().partition(" ")
    if os.waitpid(trial, 0)[1]:
        raise OSError(int(number or 0), _why_not(int(number or 0), said))


def _why_not(number: int, said: str) -> str:
    """Return why a machine has no namespaces, from the error's number and text."""
    if number in (errno.ENOSPC, errno.EUSERS):
        with contextlib.suppress(OSError):
            most = Path("/proc/sys/user/max_user_namespaces").read_text().strip()
            return f"no user namespaces here (user.max_user_namespaces is {most})"
    if number in (errno.EPERM, errno.EACCES):
        return (
            f"no user namespaces here ({said}; see kernel.unprivileged_userns_clone, "
            "kernel.apparmor_restrict_unprivileged_userns, or the profile of the container)"
        )
    return f"no namespaces here ({said or 'a trial of them was killed'})"
