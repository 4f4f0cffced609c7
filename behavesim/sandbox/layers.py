"""The layers that confine a candidate: one function for each, with its reason.

The zygote applies the layers that all its children share (`prepare`); each child applies the rest
(`Confinement.enclose`).
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

from behavesim.base.errors import SandboxError
from behavesim.sandbox import kernel, landlock, libraries, namespaces, processes, seccomp
from behavesim.sandbox.limits import MEGABYTE, Limits

LAYERS = ("user", "namespaces", "landlock", "seccomp")
"""The layers that a machine may lack and that tests can switch off; the others are always on."""
NOBODY = 65534
"""The number of the user and group without rights."""
SPARE_TASKS = 256
"""Threads that the user may start beyond those running when the zygote starts, if only RLIMIT_NPROC limits them."""
_NO_BOUND = 1 << 62
_AS_BY_DEFAULT = bytes(256)
"""Zeros in place of a `struct sigaction`, which is shorter: the default action."""
T = TypeVar("T")
Step = Callable[[], object]
"""One action for a layer, prepared before the first fork; it raises OSError if it fails."""
_PR_SET_NO_NEW_PRIVS = 38


@dataclass(frozen=True)
class _Steps:
    """The steps of one fork: by the zygote `ahead` of it and `afterwards`, by the child `first` and `last`.

    The child closes its files between `first` and `last`. `fork` returns the child's process id, or 0 in the child.
    """

    ahead: tuple[Step, ...]
    fork: Callable[[], int]
    first: tuple[Step, ...]
    last: tuple[Step, ...]
    afterwards: tuple[Step, ...]


@dataclass(frozen=True)
class Confinement:
    """The layers that a zygote has applied, and those prepared for its children.

    `zygote` is its process id, `address_space` its size in bytes, `tasks` the limit on the user's threads. `own_pids`
    is a descriptor of its namespace of processes, `rules` one of a Landlock ruleset, `calls` a seccomp filter. Each of
    the three is None if the machine lacks that layer; `notes` say why, a line each.
    """

    limits: Limits
    zygote: int
    address_space: int
    tasks: int
    own_pids: int | None = None
    rules: int | None = None
    calls: bytes | None = None
    notes: tuple[str, ...] = ()

    def fork(self) -> int:
        """Fork a child, which must then call `enclose`; return its process id, or 0 in the child.

        Raises OSError if no process can be had.
        """
        for step in self._steps.ahead:
            step()
        pid = self._steps.fork()
        if pid:
            for step in self._steps.afterwards:
                step()
        return pid

    def enclose(self, *fds: int) -> None:
        """Apply the remaining layers to this child process and close all its files except `fds`.

        Raises OSError if a layer fails.
        """
        for step in self._steps.first:
            step()
        close_files(*fds)
        for step in self._steps.last:
            step()

    @cached_property
    def _steps(self) -> _Steps:
        own = self.own_pids
        first = [*detach(), *die_with_zygote(self.zygote if own is None else None)]
        first += limit_resources(self.limits, self.address_space)
        if self.calls is None:
            first.append(limit_processes(self.tasks))
        if processes.LINUX:
            first += [forbid_new_privileges(), drop_capabilities()]
        if self.rules is not None:
            first.append(restrict_files(self.rules))
        return _Steps(
            ahead=() if own is None else (namespaces.next_child_alone(),),
            fork=kernel.prepared_fork(),
            first=tuple(first),
            last=() if self.calls is None else (restrict_calls(self.calls),),
            afterwards=() if own is None else (namespaces.next_child_as_usual(own),),
        )


def prepare(wanted: tuple[str, ...], limits: Limits, hidden: tuple[Path, ...] = ()) -> Confinement:
    """Apply the shared layers to this process, the zygote, and prepare those of its children.

    `wanted` are names from LAYERS. A layer that fails is left out and noted. `hidden` files and folders cannot be read
    even if they lie among the libraries. Raises SandboxError if the memory limit cannot be kept.
    """
    processes.adopt_orphans()
    be_first_to_go()
    readable = libraries.readable_paths()
    address_space, tasks = processes.address_space(), processes.tasks_of_user() + SPARE_TASKS
    require_memory(limits, address_space)
    notes: list[str] = []

    def attempt(layer: str, put_on: Callable[[], T]) -> T | None:
        try:
            return put_on() if layer in wanted else None
        except OSError as error:
            notes.append(f"{layer}: {error.strerror or error}")
            return None

    attempt("user", lambda: leave_root(readable))
    if not processes.LINUX:
        return Confinement(
            limits, os.getpid(), address_space, tasks, notes=(*notes, "this system has none of Linux's layers")
        )
    own_pids = attempt("namespaces", namespaces.enter)
    rules = attempt("landlock", lambda: landlock.ruleset(readable, hidden))
    calls = attempt("seccomp", seccomp.program)
    hide_memory()
    return Confinement(limits, os.getpid(), address_space, tasks, own_pids, rules, calls, tuple(notes))


def require_memory(limits: Limits, address_space: int) -> None:
    """Raise SandboxError if this process's own limit leaves a program less memory than `limits.memory_mb`.

    `address_space` is this process's size in bytes.
    """
    left_mb = (_hard_limit(resource.RLIMIT_AS) - address_space) // MEGABYTE
    if left_mb < limits.memory_mb:
        raise SandboxError(
            f"the limit on address space (ulimit -v) leaves a program {left_mb} MB where memory_mb promises it "
            f"{limits.memory_mb}; raise that limit, or lower memory_mb"
        )


def leave_root(readable: tuple[Path, ...]) -> None:
    """Change this process's user from root to nobody: root may access files that a program must not touch.

    Does nothing for other users. Raises PermissionError if nobody could not read the `readable` paths; then only the
    other layers confine programs.
    """
    if os.geteuid() != 0:
        return
    if not libraries.open_to_everybody(readable):
        raise PermissionError(
            0, "Python lies where only root may read, so that programs keep root's user; the other layers hold them"
        )
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    processes.die_with_parent(signal.SIGTERM)  # a change of user cancels the earlier request


def detach() -> Iterator[Step]:
    """Yield steps that leave the zygote's session and restore the default action of its signals."""
    yield partial(signal.set_wakeup_fd, -1)
    for each in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        yield kernel.prepared("sigaction", each, _AS_BY_DEFAULT, None)  # signal.signal takes as long as all else here
    yield os.setsid


def die_with_zygote(zygote: int | None) -> Iterator[Step]:
    """Yield steps that have the kernel kill this process when the zygote dies, however it dies.

    The zygote may have died before: then this process exits. In a namespace (None) the kernel has killed it already.
    """
    if processes.LINUX:
        yield processes.prepared_to_die_with_parent(signal.SIGKILL)
    if zygote is not None:
        yield partial(_leave_orphaned, zygote)


def limit_resources(limits: Limits, address_space: int) -> Iterator[Step]:
    """Yield steps that limit memory, CPU time, written files, core dumps and open files.

    `address_space` is the zygote's size in bytes, which is added to the memory. Soft and hard limits are equal, so that
    a program cannot raise them. A lower limit of this process (`ulimit`) stays in force.
    """
    cpu_s = math.ceil(limits.timeout_s) + 1  # the zygote enforces it more exactly, but not on every system
    memory = address_space + limits.memory_mb * MEGABYTE if address_space else _NO_BOUND
    for kind, bound in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        yield _limit(kind, bound)


def close_files(*fds: int) -> None:
    """Close all files except 0 to 2 and `fds`, the candidate's sockets.

    Standard input, output and error lead to /dev/null since the zygote's start, so printing fills nothing.
    """
    first = 3
    for fd in sorted(fds):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, 1 << 12)  # the zygote never holds more than a few


def limit_processes(tasks: int) -> Step:
    """Return a step that limits the user's threads to `tasks`, against fork bombs where seccomp is missing.

    The kernel counts all threads of the user, and does not limit root's.
    """
    return _limit(resource.RLIMIT_NPROC, tasks)


def forbid_new_privileges() -> Step:
    """Return a step after which no setuid program gains rights; the kernel demands it before a seccomp filter."""
    return kernel.prepared_prctl(_PR_SET_NO_NEW_PRIVS, 1)


def hide_memory() -> None:
    """Stop other processes of this user from tracing the zygote and its children or reading their memory.

    Raises OSError if the kernel refuses.
    """
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


def be_first_to_go() -> None:
    """Have the kernel kill this process and its children before others, such as the daemon, if memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def drop_capabilities() -> Step:
    """Return a step that gives up all capabilities: those of root, if it stayed root, and those in its namespaces."""
    return kernel.prepared_to_drop_capabilities()


def restrict_files(rules: int) -> Step:
    """Return a step that applies Landlock rules: only Python and its libraries can be read, and nothing written."""
    return landlock.restriction(rules)


def restrict_calls(program: bytes) -> Step:
    """Return a step that applies a seccomp filter: no sockets, processes, signals to others or opening to write."""
    return seccomp.installation(program)


def _leave_orphaned(zygote: int) -> None:
    if os.getppid() != zygote:
        os._exit(1)


def _limit(kind: int, bound: int) -> Step:
    lowest = min(bound, _hard_limit(kind))
    return partial(resource.setrlimit, kind, (lowest, lowest))


def _hard_limit(kind: int) -> int:
    """Return the highest value that this process may give a limit."""
    _, hard = resource.getrlimit(kind)
    return _NO_BOUND if hard == resource.RLIM_INFINITY else hard
