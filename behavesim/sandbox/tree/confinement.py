"""The layers around evaluations: those of the keeper, of the nursery that loads the evaluator, and of its children."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from behavesim.base.errors import SandboxError
from behavesim.sandbox import kernel, landlock, layers, libraries, namespaces, processes, seccomp
from behavesim.sandbox.layers import Confinement, NamedStep
from behavesim.sandbox.limits import MEGABYTE, Limits
from behavesim.sandbox.tree import root

MOST_PROCESSES = 512
"""Most threads in all processes of one evaluation: enough for pools of workers, too few to fill a machine's table."""
MOST_FILES = 8192
"""Most files that all processes of one evaluation may have open together.

Unread data in a pair of sockets (up to 0.2 MB in each) counts for no process. This limit keeps it below 2 GB.
"""
SCRATCH_MB = 512
"""Size in MB of each folder of `root.SCRATCH` in an evaluation, and of the largest file that a program can write.

What the folders hold takes memory in addition to `memory_mb`. The size is enough for a build or a data set, and too
small to fill a machine.
"""
OPEN_FILES = 1024
"""Most files that one process may have open, the default of most systems."""
_SIGNALS = 1024
"""Most queued signals and timers, which the kernel counts over all processes of a user."""


@dataclass(frozen=True)
class TreeConfinement(Confinement):
    """The layers that the keeper has applied to itself, and those that the nursery and its children apply later.

    If `own_pids` is not None, the keeper has a network and a root folder of its own. Then `proc` is a descriptor of a
    writable /proc, which only the nursery uses, once. `readable` are the files and folders that can be read besides the
    machine's programs. `has_landlock` is whether each child makes Landlock rules: they name folders that it mounts.
    Evaluations may use the `devices`.
    """

    readable: tuple[Path, ...] = ()
    has_landlock: bool = False
    devices: tuple[Path, ...] = ()
    proc: int | None = None

    def _have_own_files(self) -> Iterator[NamedStep]:
        """Yield the steps, with namespaces, that give the child scratch folders of its own."""
        if self.own_pids is not None:
            yield "", partial(root.enter_scratch, SCRATCH_MB, self.readable)
            # the keeper may then read how much memory the child shares; no other evaluation sees the child
            yield layers.UNTRACED, kernel.prepared_prctl(kernel.PR_SET_DUMPABLE, 1)

    def _limit_resources(self) -> Iterator[NamedStep]:
        """Yield steps that set the resource limits of each process; the keeper limits all processes together."""
        bounds = {
            # what the evaluator has loaded does not count: this runs when the nursery forks its first child
            # RLIMIT_AS would end runtimes that reserve addresses without using them, such as those of Java and Go
            resource.RLIMIT_DATA: processes.data_memory() + self.limits.memory,
            resource.RLIMIT_CPU: math.ceil(self.limits.most_s(0.0)) + 1,
            **_shared_bounds(),
            resource.RLIMIT_NPROC: self.tasks,
        }
        yield from layers.bounded(bounds)

    def steps(self) -> Iterator[NamedStep]:
        """Yield the steps of every confinement, then those of Landlock for a tree."""
        yield from super().steps()
        if self.has_landlock:
            yield "", self._restrict_files

    def _restrict_files(self) -> None:
        """Let this process read and execute only what it may see, and write only to devices and scratch folders."""
        seen = (Path("/"),) if self.own_pids is not None else (*self.readable, *map(Path, root.SYSTEM))
        written = (*map(Path, (*root.DEVICES, *root.SCRATCH)), *self.devices)
        allowed = [(path, landlock.READ | landlock.EXECUTE) for path in seen]
        rules = landlock.ruleset([*allowed, *((path, landlock.EVERYTHING) for path in written)])
        landlock.restriction(rules)()

    def enter_nursery(self) -> TreeConfinement:
        """Confine the nursery, a fork of the keeper, before it loads an evaluator; return what its children apply.

        If there are namespaces, it enters further ones: only a child of the calling process returns. There it may still
        make namespaces and mounts, to isolate its children, but cannot change the keeper's mounts. Raises OSError if a
        layer fails.
        """
        kept, own_pids = 0, None
        if self.own_pids is not None and self.proc is not None:
            own_pids, kept = namespaces.nest(self.proc), kernel.SYS_ADMIN
            os.close(self.proc)
            os.close(self.own_pids)
            root.enter_scratch(SCRATCH_MB, self.readable, has_own_processes=False)
        processes.adopt_orphans()
        steps: tuple[NamedStep, ...] = (
            *layers.bounded(_shared_bounds()),
            ("PR_SET_NO_NEW_PRIVS", kernel.prepared_prctl(layers.PR_SET_NO_NEW_PRIVS, 1)),
            ("the loss of capabilities", kernel.prepared_to_drop_capabilities(kept)),
            (layers.UNTRACED, kernel.prepared_prctl(kernel.PR_SET_DUMPABLE, 0)),
        )
        for name, step in steps:
            if name not in self.failed:
                step()
        if self.calls is not None:
            seccomp.installation(seccomp.nursery_program())()
        return replace(self, own_pids=own_pids, proc=None, zygote=os.getpid())


def _shared_bounds() -> dict[int, int]:
    """Return resource limits of the nursery and of each process of an evaluation: bytes for sizes, else numbers."""
    return {
        resource.RLIMIT_FSIZE: SCRATCH_MB * MEGABYTE,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_SIGPENDING: _SIGNALS,  # only Linux has this one and the next
        resource.RLIMIT_MSGQUEUE: 0,
    }


def prepare(
    wanted: Collection[str],
    limits: Limits,
    readable: tuple[Path, ...],
    hidden: tuple[Path, ...],
    workers: int,
    devices: tuple[Path, ...] = (),
) -> TreeConfinement:
    """Apply the shared layers to this process, the keeper; prepare those of the nursery and of its children.

    `wanted` are names from `layers.LAYERS`; one that fails is left out, and `failed` says why. With namespaces, only a
    child of the calling process returns. `readable` files and folders can be read besides Python, its libraries and the
    machine's programs. With namespaces, `hidden` paths and what `root.unreadable` finds cannot. At most `workers`
    evaluations run at once; they may use `devices`. Raises SandboxError if one of these is no
    device, if the system is not Linux or has no pidfds, if this process's limit on address space is too low, or if a
    folder is too large to be looked through.
    """
    if not processes.LINUX:
        raise SandboxError("an evaluator and its program are confined together by Linux alone; use a Linux machine")
    processes.require_handles()
    root.check_devices(devices)
    given = [path.resolve() for path in readable]
    unseen = (*hidden, *root.unreadable([*given, *libraries.project_folders()]))
    every = {*given, *libraries.readable_paths(), *libraries.interpreter_paths()}
    seen = tuple(sorted(path for path in every if path.exists()))
    # the kernel counts all evaluations together: one that starts too many must not stop the others before the keeper
    # has killed it
    address_space, tasks = layers.begin(limits, workers * MOST_PROCESSES)
    attempts = layers.Attempts(wanted)
    attempts.put_on("user", lambda: layers.leave_root(seen))
    own = attempts.put_on("namespaces", partial(_enter_root, (*seen, *devices), unseen))
    has_landlock = attempts.put_on("landlock", _landlock_works) or False
    filtered = attempts.put_on("seccomp", partial(seccomp.tree_program, may_connect=own is not None))
    attempts.take(layers.UNTRACED, kernel.prepared_prctl(kernel.PR_SET_DUMPABLE, 0))
    own_pids, proc = own or (None, None)
    return TreeConfinement(
        *(limits, os.getpid(), address_space, tasks, own_pids, None, filtered),
        failed=attempts.failed,
        readable=seen,
        has_landlock=has_landlock,
        devices=devices,
        proc=proc,
    )


def _enter_root(seen: Collection[Path], unseen: Collection[Path]) -> tuple[int, int]:
    """Enter namespaces and a root folder of their own; return a descriptor of that of processes, and of a /proc.

    Only a child of the calling process returns. Raises OSError, with nothing changed, if the machine forbids a step of
    this process, of the nursery or of its children.
    """
    namespaces.try_in_child(partial(_rehearse, seen, unseen))
    return namespaces.enter_untried(), root.enter(seen, unseen)


def _rehearse(seen: Collection[Path], unseen: Collection[Path]) -> None:
    """Do with namespaces and mounts what the keeper, the nursery and its children will do; raises OSError."""
    namespaces.enter_untried()
    own = namespaces.nest(root.enter(seen, unseen))
    root.enter_scratch(SCRATCH_MB, seen, has_own_processes=False)
    namespaces.next_child_alone()()
    child = os.fork()
    if child == 0:
        return root.enter_scratch(SCRATCH_MB, seen)
    if os.waitpid(child, 0)[1]:
        raise ChildProcessError("a process in namespaces failed")  # and has sent why
    namespaces.next_child_as_usual(own)()
    return None


def _landlock_works() -> bool:
    """Return True if the kernel makes Landlock rules; raises OSError if it does not."""
    os.close(landlock.ruleset(()))
    return True
