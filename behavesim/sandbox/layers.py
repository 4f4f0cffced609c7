"""The layers that confine programs: `Confinement` for a function, `TreeConfinement` for an evaluator with its programs.

The zygote applies the layers that all its children share (`prepare`). Each child applies the rest: the steps of
`Confinement`. The second preset has a keeper, which enters a root folder of its own, and a nursery within that.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import resource
import signal
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

from behavesim.base.errors import SandboxError
from behavesim.sandbox import kernel, landlock, namespaces, processes, seccomp
from behavesim.sandbox.limits import MEGABYTE, Limits

# The names of the layers that a machine may lack, and that tests switch off; the others are always on.
LAYERS = ("user", "namespaces", "landlock", "seccomp")
# The number of the user and group without rights.
NOBODY = 65534
# Threads that the user may start beyond those running when the zygote starts, if there is no seccomp filter.
SPARE_TASKS = 256
# Most files that a candidate may have open; a program needs a few for its imports.
OPEN_FILES = 64
# A number that stands for no limit: larger than any limit, and within 64 bits even after an addition.
_NO_BOUND = 1 << 62
# Zeros for a `struct sigaction`, which is shorter: they set the default action of a signal.
_AS_BY_DEFAULT = bytes(256)
T = TypeVar("T")
# One action for a layer, prepared before the first fork; it raises OSError if it fails.
Step = Callable[[], object]
# A step of a child, and a name for people if it can be left out where the kernel lacks it; else "".
NamedStep = tuple[str, Step]
# Name of the step that keeps other processes of the same user from reading the zygote's memory.
UNTRACED = "protection from being traced"
# The name of each kind of resource limit.
_LIMITS = {value: name for name, value in vars(resource).items() if name.startswith("RLIMIT_")}
# The option of prctl(2) after which no program that a process starts has more rights than the process.
PR_SET_NO_NEW_PRIVS = 38


@dataclass(frozen=True)
class Confinement:
    """The layers that a zygote has applied, and those prepared for its children."""

    limits: Limits
    zygote: int  # its process id
    address_space: int  # of the zygote, in bytes; 0 if unknown
    tasks: int  # limit on the user's threads
    # None without the layer: a descriptor of the zygote's namespace of processes, what puts a child under Landlock's
    # rules, and a seccomp filter as BPF code
    own_pids: int | None = None
    landlock: Step | None = None
    calls: bytes | None = None
    failed: Mapping[str, str] = field(default_factory=dict)  # why a layer or a named step failed here, by its name
    notes: tuple[str, ...] = ()  # what keeps the level from "strong+", a line each
    all_pids: int | None = None  # a descriptor of /proc as it was before the layers, for the zygote alone
    memory: int = 0  # of the machine or container, in bytes; 0 if unknown

    def fork(self) -> int:
        """Fork a child, which must then call `confine_child`; return its process id, or 0 in the child.

        With namespaces, the child is alone in a new namespace of processes. Raises OSError if a step fails.
        """
        alone, fork, as_usual = self._forking
        _ = self._before_closing, self._after_closing  # prepared here: a child would pay for it each time
        for step in alone:
            step()
        pid = fork()
        if pid:
            for step in as_usual:
                step()
        return pid

    def confine_child(self, *fds: int) -> None:
        """Apply the remaining layers to this child and close its files, except `fds` and 0 to 2 (/dev/null)."""
        for step in self._before_closing:
            step()
        first = 3
        for fd in sorted(fds):
            os.closerange(first, fd)
            first = fd + 1
        os.closerange(first, 1 << 12)  # the zygote never holds more than a few
        for step in self._after_closing:
            step()

    @cached_property
    def _forking(self) -> tuple[tuple[Step, ...], Callable[[], int], tuple[Step, ...]]:
        """What to do before a fork, how to fork, what to do after it in the parent."""
        # The fork returns 0 in the child, which does none of the rest. Without namespaces there is nothing else to do.
        # os.fork also repairs in the child what other threads may have left unfinished. There are none, and that takes
        # a fifth of the time of an evaluation.
        fork = kernel.prepare_call("fork")
        if self.own_pids is None:
            return (), fork, ()
        return (namespaces.next_child_alone(),), fork, (namespaces.next_child_as_usual(self.own_pids),)

    @cached_property
    def _before_closing(self) -> tuple[Step, ...]:
        # Landlock's rules are one of the child's files
        return tuple(step for name, step in self.steps() if name not in self.failed)

    def steps(self) -> Iterator[NamedStep]:
        """Yield all steps of a child before it closes its files, in their order, also those that fail here."""
        yield from self._leave_zygote()
        yield from self._have_own_files()
        yield from self._limit_resources()
        yield from self._give_up_rights()
        if self.landlock is not None:
            yield "", self.landlock

    def _have_own_files(self) -> Iterator[NamedStep]:
        yield from ()

    @cached_property
    def _after_closing(self) -> tuple[Step, ...]:
        # the filter of system calls comes last: it would forbid the other steps
        return () if self.calls is None else (seccomp.installation(self.calls),)

    def _leave_zygote(self) -> Iterator[NamedStep]:
        """Yield steps that give the child a session and default signals, and on Linux end it when the zygote dies."""
        yield "", partial(signal.set_wakeup_fd, -1)
        for each in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            # signal.signal takes as long as all others
            yield "", kernel.prepare_call("sigaction", each, _AS_BY_DEFAULT, None)
        yield "sessions", os.setsid
        if processes.LINUX:
            yield "PR_SET_PDEATHSIG", kernel.prepare_prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if self.own_pids is None:  # otherwise the kernel has killed the namespace's processes with the zygote
            yield "", partial(_leave_orphaned, self.zygote)

    def _limit_resources(self) -> Iterator[NamedStep]:
        bounds = {
            resource.RLIMIT_AS: self.address_space + self.limits.memory if self.address_space else _NO_BOUND,
            # the zygote enforces it more exactly, but not on every system
            resource.RLIMIT_CPU: math.ceil(self.limits.kill_s(math.inf)) + 1,
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NOFILE: OPEN_FILES,
        }
        if self.calls is None:  # against fork bombs; the kernel counts all the user's threads and does not limit root
            bounds[resource.RLIMIT_NPROC] = self.tasks
        yield from limit_resources(bounds)

    def _give_up_rights(self) -> Iterator[NamedStep]:
        if processes.LINUX:
            # No setuid program gains rights. The kernel demands this before Landlock and before a filter.
            yield "PR_SET_NO_NEW_PRIVS", kernel.prepare_prctl(PR_SET_NO_NEW_PRIVS, 1)
            # those of root, if it stayed root, and those over the zygote's namespaces
            yield "the loss of capabilities", kernel.prepare_capability_drop()


def prepare(wanted: Collection[str], limits: Limits, hidden: Collection[Path] = ()) -> Confinement:
    """Apply the shared layers to this process, the zygote, and prepare those of its children.

    `wanted` are names from LAYERS; one that fails is left out, and `failed` says why. With namespaces, only a child of
    the calling process returns. With Landlock, files at and below `hidden` paths cannot be read even among the
    libraries, nor files beside a project's code that may hold keys. Raises SandboxError if this process's limit on
    address space leaves too little for `limits`.
    """
    all_pids, memory = processes.open_processes(), processes.memory_of_machine()
    address_space, tasks = begin(limits, SPARE_TASKS)
    readable = landlock.readable_paths()
    projects = landlock.project_folders()
    unseen = {*hidden, *(path for each in projects for path in namespaces.secrets(each, namespaces.SHARED_DEPTH))}
    attempts = Attempts(wanted)
    attempts.try_layer("user", lambda: leave_root(readable))
    if not processes.LINUX:
        attempts.failed["landlock"] = attempts.failed["seccomp"] = attempts.failed["namespaces"] = "this is not Linux"
        return Confinement(limits, os.getpid(), address_space, tasks, failed=attempts.failed)
    own_pids = attempts.try_layer("namespaces", namespaces.enter)
    landlocked = attempts.try_layer("landlock", lambda: landlock.restriction(landlock.readable(readable, unseen)))
    calls = attempts.try_layer("seccomp", seccomp.program)
    # no other process of this user may trace the zygote and its children, or read their memory
    attempts.take(UNTRACED, kernel.prepare_prctl(kernel.PR_SET_DUMPABLE, 0))
    return Confinement(
        *(limits, os.getpid(), address_space, tasks, own_pids, landlocked, calls),
        failed=attempts.failed,
        all_pids=all_pids,
        memory=memory,
    )


def begin(limits: Limits, spare_tasks: int) -> tuple[int, int]:
    """Prepare this process to apply layers; return the size of its address space (bytes) and a limit on threads.

    That limit is the number of threads of this process's user now, plus `spare_tasks`. Raises SandboxError if the limit
    on address space is too low for `limits.memory_mb`.
    """
    processes.adopt_orphans()
    with contextlib.suppress(OSError):
        # if memory runs out, Linux kills this process and its children before others, such as the daemon
        Path("/proc/self/oom_score_adj").write_text("1000")
    address_space = processes.address_space()
    left_mb = (hard_limit(resource.RLIMIT_AS) - address_space) // MEGABYTE
    if left_mb < limits.memory_mb:
        raise SandboxError(
            f"the limit on address space (ulimit -v) leaves a program {left_mb} MB where memory_mb promises it "
            f"{limits.memory_mb}; raise that limit, or lower memory_mb"
        )
    return address_space, processes.tasks_of_user() + spare_tasks


class Attempts:
    """Applies layers one by one, if they are among the `wanted` names; `failed` says why one failed, by its name."""

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted = wanted
        self.failed: dict[str, str] = {}

    def try_layer(self, layer: str, apply: Callable[[], T]) -> T | None:
        """Return what `apply` returns; None if `layer` is not wanted, or if `apply` raises OSError."""
        return self.take(layer, apply) if layer in self._wanted else None

    def take(self, name: str, step: Callable[[], T]) -> T | None:
        """Return what a step returns, None if it raises OSError; then `failed` says why."""
        try:
            return step()
        except OSError as error:
            self.failed[name] = error.strerror or str(error)
            return None


def leave_root(readable: tuple[Path, ...]) -> None:
    """Change this process's user from root to nobody: root may access files that a program must not touch.

    Raises PermissionError, and changes nothing, if the user nobody could not read one of the `readable` paths.
    """
    if os.geteuid() != 0:
        return
    if not landlock.open_to_everybody(readable):
        raise PermissionError(
            0, "Python lies where only root may read, so that programs keep root's user; the other layers hold them"
        )
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    processes.die_with_parent(signal.SIGTERM)  # a change of user cancels the earlier request


def _leave_orphaned(zygote: int) -> None:
    """Exit with status 1 if the zygote has died: the kernel's signal comes only for a later death."""
    if os.getppid() != zygote:
        os._exit(1)


def limit_resources(bounds: Mapping[int, int]) -> Iterator[NamedStep]:
    """Yield steps that set resource limits, soft and hard, to the values in `bounds` by kind (RLIMIT_…)."""
    # a lower hard limit of this process (`ulimit`) stays in force
    for kind, bound in bounds.items():
        lowest = min(bound, hard_limit(kind))
        yield _LIMITS[kind], partial(_set_limit, kind, lowest)


def _set_limit(kind: int, bound: int) -> None:
    try:
        resource.setrlimit(kind, (bound, bound))
    except ValueError as error:  # what Python raises if the kernel says EPERM or EINVAL
        raise PermissionError(errno.EPERM, str(error)) from error


def hard_limit(kind: int) -> int:
    """Return the hard limit `kind` (RLIMIT_…) of this process; _NO_BOUND, 2 ** 62, if it has none."""
    _, hard = resource.getrlimit(kind)
    return _NO_BOUND if hard == resource.RLIM_INFINITY else hard


# Most threads in all processes of one evaluation: enough for pools of workers, too few to fill a machine's table.
MOST_PROCESSES = 512
# Most files that all processes of one evaluation may have open together.
#
# Unread data in a pair of sockets (up to 0.2 MB in each) counts for no process. This limit keeps it below 2 GB.
MOST_FILES = 8192
# Size in MB of each folder of `namespaces.SCRATCH` in an evaluation, and of the largest file that a program can write.
#
# What the folders hold takes memory in addition to `memory_mb`. The size is enough for a build or a data set, and too
# small to fill a machine.
SCRATCH_MB = 512
# Most files that one process may have open, the default of most systems.
OPEN_FILES_OF_TREE = 1024
# Most queued signals and timers, which the kernel counts over all processes of a user.
_SIGNALS = 1024


@dataclass(frozen=True)
class TreeConfinement(Confinement):
    """The layers that the keeper has applied to itself, and those that the nursery and its children apply later."""

    # With `own_pids`, the keeper has a network and a root folder of its own.
    readable: tuple[Path, ...] = ()  # besides the machine's programs
    proc: int | None = None  # with `own_pids`, a descriptor of a writable /proc, which only the nursery uses, once

    def _have_own_files(self) -> Iterator[NamedStep]:
        if self.own_pids is not None:
            yield "", partial(namespaces.enter_scratch, SCRATCH_MB, self.readable)
            # the keeper may then read how much memory the child shares; no other evaluation sees the child
            yield UNTRACED, kernel.prepare_prctl(kernel.PR_SET_DUMPABLE, 1)

    def _limit_resources(self) -> Iterator[NamedStep]:
        # of each process; the keeper limits all of a tree together
        bounds = {
            # what the evaluator has loaded does not count: this runs when the nursery forks its first child
            # RLIMIT_AS would end runtimes that reserve addresses without using them, such as those of Java and Go
            resource.RLIMIT_DATA: processes.data_memory() + self.limits.memory,
            resource.RLIMIT_CPU: math.ceil(self.limits.kill_s(0.0)) + 1,
            **_shared_bounds(),
            resource.RLIMIT_NPROC: self.tasks,
        }
        yield from limit_resources(bounds)

    def enter_nursery(self) -> TreeConfinement:
        """Confine the nursery, a fork of the keeper, before it loads an evaluator; return what its children apply.

        With namespaces, only a child of the calling process returns. There it may still make namespaces and mounts, to
        isolate its children, but cannot change the keeper's mounts. Raises OSError if a layer fails.
        """
        kept, own_pids = 0, None
        if self.own_pids is not None and self.proc is not None:
            own_pids, kept = namespaces.nest(self.proc), kernel.SYS_ADMIN
            os.close(self.proc)
            os.close(self.own_pids)
            namespaces.enter_scratch(SCRATCH_MB, self.readable, has_own_processes=False)
        processes.adopt_orphans()
        steps: tuple[NamedStep, ...] = (
            *limit_resources(_shared_bounds()),
            ("PR_SET_NO_NEW_PRIVS", kernel.prepare_prctl(PR_SET_NO_NEW_PRIVS, 1)),
            ("the loss of capabilities", kernel.prepare_capability_drop(kept)),
            (UNTRACED, kernel.prepare_prctl(kernel.PR_SET_DUMPABLE, 0)),
        )
        for name, step in steps:
            if name not in self.failed:
                step()
        if self.calls is not None:
            seccomp.installation(seccomp.nursery_program())()
        return replace(self, own_pids=own_pids, proc=None, zygote=os.getpid())


def _shared_bounds() -> dict[int, int]:
    # of the nursery and of each process of an evaluation: bytes for sizes, else numbers
    return {
        resource.RLIMIT_FSIZE: SCRATCH_MB * MEGABYTE,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: OPEN_FILES_OF_TREE,
        resource.RLIMIT_SIGPENDING: _SIGNALS,  # only Linux has this one and the next
        resource.RLIMIT_MSGQUEUE: 0,
    }


def prepare_tree(
    wanted: Collection[str],
    limits: Limits,
    readable: tuple[Path, ...],
    hidden: tuple[Path, ...],
    workers: int,
    devices: tuple[Path, ...] = (),
) -> TreeConfinement:
    """Apply the shared layers to this process, the keeper; prepare those of the nursery and of its children.

    `wanted` are names from LAYERS; one that fails is left out, and `failed` says why. With namespaces, only a child of
    the calling process returns. `readable` can be read besides Python, its libraries and the machine's programs; with
    namespaces, `hidden` paths and what `namespaces.unreadable` finds cannot. At most `workers` evaluations run at once;
    they may use `devices`.

    Raises SandboxError if one of these is no device, the system is not Linux or has no pidfds, the limit on address
    space is too low, or a folder is too large to be looked through.
    """
    if not processes.LINUX:
        raise SandboxError("an evaluator and its program are confined together by Linux alone; use a Linux machine")
    processes.require_handles()
    namespaces.check_devices(devices)
    given = [path.resolve() for path in readable]
    unseen = (*hidden, *namespaces.unreadable([*given, *landlock.project_folders()]))
    every = {*given, *landlock.readable_paths(), *landlock.interpreter_paths()}
    seen = tuple(sorted(path for path in every if path.exists()))
    # the kernel counts all evaluations together: one that starts too many must not stop the others before the keeper
    # has killed it
    address_space, tasks = begin(limits, workers * MOST_PROCESSES)
    attempts = Attempts(wanted)
    attempts.try_layer("user", lambda: leave_root(seen))
    own = attempts.try_layer("namespaces", partial(_enter_root, (*seen, *devices), unseen))
    landlocked = attempts.try_layer("landlock", partial(_restrict_files, seen, devices, own is not None))
    filtered = attempts.try_layer("seccomp", partial(seccomp.tree_program, may_connect=own is not None))
    attempts.take(UNTRACED, kernel.prepare_prctl(kernel.PR_SET_DUMPABLE, 0))
    own_pids, proc = own or (None, None)
    return TreeConfinement(
        *(limits, os.getpid(), address_space, tasks, own_pids, landlocked, filtered),
        failed=attempts.failed,
        readable=seen,
        proc=proc,
    )


def _enter_root(seen: Collection[Path], unseen: Collection[Path]) -> tuple[int, int]:
    """Enter namespaces and a root folder of their own; return a descriptor of that of processes, and of a /proc."""
    # Only a child of the calling process returns.
    namespaces.try_in_child(partial(_rehearse_root, seen, unseen))
    return namespaces.enter_untried(), namespaces.enter_root(seen, unseen)


def _rehearse_root(seen: Collection[Path], unseen: Collection[Path]) -> None:
    """Do with namespaces and mounts what the keeper, the nursery and its children will do; raises OSError."""
    namespaces.enter_untried()
    own = namespaces.nest(namespaces.enter_root(seen, unseen))
    namespaces.enter_scratch(SCRATCH_MB, seen, has_own_processes=False)
    namespaces.next_child_alone()()
    child = os.fork()
    if child == 0:
        return namespaces.enter_scratch(SCRATCH_MB, seen)
    if os.waitpid(child, 0)[1]:
        raise ChildProcessError("a process in namespaces failed")  # and has sent why
    namespaces.next_child_as_usual(own)()
    return None


def _restrict_files(seen: Collection[Path], devices: Collection[Path], has_own_root: bool) -> Step:
    """Return a step that lets a child read and execute only what it may see, and write only to devices and SCRATCH.

    Raises OSError if the kernel makes no Landlock rules.
    """
    landlock.restriction(())
    shown = (Path("/"),) if has_own_root else (*seen, *map(Path, namespaces.SYSTEM))
    written = (*map(Path, (*namespaces.DEVICES, *namespaces.SCRATCH)), *devices)
    allowed = [(path, landlock.READ | landlock.EXECUTE) for path in shown]
    allowed += [(path, landlock.EVERYTHING) for path in written]
    # each child makes its own rules: they name folders that it mounts
    return lambda: landlock.restriction(allowed)()
