"""The layers between a candidate and everything else: one function for each, with its reason.

The zygote puts on what all its children share (`prepare`); each child puts on the rest (`Confinement.enclose`).
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
"""The layers that a machine may lack, and that tests switch off; the others are always on."""
NOBODY = 65534
SPARE_TASKS = 256
_NO_BOUND = 1 << 62
_AS_BY_DEFAULT = bytes(256)
"""A `struct sigaction`, which is shorter, of zeros."""
T = TypeVar("T")
Step = Callable[[], object]
"""What is to be done for a layer, laid out before the first fork; it raises OSError where that fails."""
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38


@dataclass(frozen=True)
class _Steps:
    """What is done by the zygote ahead of a fork, by the child before and after its files are closed, and by the zygote
    afterwards."""

    ahead: tuple[Step, ...]
    fork: Callable[[], int]
    first: tuple[Step, ...]
    last: tuple[Step, ...]
    afterwards: tuple[Step, ...]


@dataclass(frozen=True)
class Confinement:
    """The layers that this zygote put on, and those prepared for its children; None stands for one it could not have.

    `own_pids`, `rules` and `calls` are a file of the namespace, a Landlock ruleset and a seccomp program.
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
        """Fork a child, which is to `enclose` itself: its number here, 0 there; raises OSError."""
        for step in self._steps.ahead:
            step()
        pid = self._steps.fork()
        if pid:
            for step in self._steps.afterwards:
                step()
        return pid

    def enclose(self, *fds: int) -> None:
        """Put the other layers on this process, a child that keeps these open files; raises OSError where one fails."""
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
    """Put on the shared layers, and build the rules of the children's, so far as they are wanted and can be had.

    `hidden` files and folders are not to be read though they may lie among the libraries.
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
    """Raise SandboxError where this process's own limit would leave a program less memory than it is promised."""
    left_mb = (_hard_limit(resource.RLIMIT_AS) - address_space) // MEGABYTE
    if left_mb < limits.memory_mb:
        raise SandboxError(
            f"the limit on address space (ulimit -v) leaves a program {left_mb} MB where memory_mb promises it "
            f"{limits.memory_mb}; raise that limit, or lower memory_mb"
        )


def leave_root(readable: tuple[Path, ...]) -> None:
    """Be nobody, where this process is root: what a program must not touch would otherwise be its own.

    Raises OSError where nobody could not read Python itself; then the other layers must hold alone.
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
    processes.die_with_parent(signal.SIGTERM)  # a change of user undid it


def detach() -> Iterator[Step]:
    """Leave the zygote's session and its way with signals."""
    yield partial(signal.set_wakeup_fd, -1)
    for each in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        yield kernel.prepared("sigaction", each, _AS_BY_DEFAULT, None)  # Python's own way takes as long as all else
    yield os.setsid


def die_with_zygote(zygote: int | None) -> Iterator[Step]:
    """Be killed when the zygote dies, however it dies: nobody else would. It may have died already, which the kernel
    does not tell; in a namespace (None) that has killed this process too."""
    if processes.LINUX:
        yield processes.prepared_to_die_with_parent(signal.SIGKILL)
    if zygote is not None:
        yield partial(_leave_orphaned, zygote)


def limit_resources(limits: Limits, address_space: int) -> Iterator[Step]:
    """Bound memory, CPU, files and dumps, on every system; soft and hard alike, or a program could raise them.

    What this process was itself limited to (`ulimit`) remains where it is less.
    """
    cpu_s = math.ceil(limits.timeout_s) + 1  # the zygote is more exact; this holds where it cannot look
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
    """Close all files but `fds`, the candidate's own sockets. Standard input, output and error lead nowhere already in
    the zygote, so that a flood of printing fills nothing.
    """
    first = 3
    for fd in sorted(fds):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, 1 << 12)  # the zygote never holds more than a few


def limit_processes(tasks: int) -> Step:
    """Bound fork and thread bombs where no filter forbids them. It counts all that the user runs, and does nothing for
    root."""
    return _limit(resource.RLIMIT_NPROC, tasks)


def forbid_new_privileges() -> Step:
    """No program run from here gains rights (setuid); the kernel also asks it of those who filter their calls."""
    return kernel.prepared_prctl(_PR_SET_NO_NEW_PRIVS, 1)


def hide_memory() -> None:
    """No process of the same user may trace the zygote or its children, or read their memory."""
    kernel.prctl(_PR_SET_DUMPABLE, 0)


def be_first_to_go() -> None:
    """Where the machine runs out of memory, the kernel shall take a child or the zygote, and not the daemon."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def drop_capabilities() -> Step:
    """Root's rights, where the user remained root, and those of a namespace's master: a program must not have them."""
    return kernel.prepared_to_drop_capabilities()


def restrict_files(rules: int) -> Step:
    """Python and its libraries can be read, the task and other files not; nothing can be written, made or removed."""
    return landlock.restriction(rules)


def restrict_calls(program: bytes) -> Step:
    """No sockets, no processes, no signals to others, no writing, nothing that a computation does not need."""
    return seccomp.installation(program)


def _leave_orphaned(zygote: int) -> None:
    if os.getppid() != zygote:
        os._exit(1)


def _limit(kind: int, bound: int) -> Step:
    lowest = min(bound, _hard_limit(kind))
    return partial(resource.setrlimit, kind, (lowest, lowest))


def _hard_limit(kind: int) -> int:
    """The greatest value this process may give a limit."""
    _, hard = resource.getrlimit(kind)
    return _NO_BOUND if hard == resource.RLIM_INFINITY else hard
