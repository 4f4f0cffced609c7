"""The sandbox: runs each program in a process of its own, a few at a time; only arrays come back."""

from __future__ import annotations

from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.layers import LAYERS
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import TaskAssignment
from behavesim.sandbox.runner import TaskRunner
from behavesim.sandbox.solutions import SolutionPool
from behavesim.task import Split, TaskReference

PRELOADED = (
    *("bisect", "collections", "copy", "dataclasses", "fractions", "functools", "heapq", "itertools", "math"),
    *("operator", "random", "re", "statistics", "string", "time", "typing"),
    *("numpy.fft", "numpy.linalg", "numpy.ma", "numpy.polynomial", "numpy.random"),
)
"""Modules that candidates import most; every zygote has them imported."""
SCIENTIFIC = (
    *("scipy.cluster.hierarchy", "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize"),
    *("scipy.sparse.csgraph", "scipy.spatial", "scipy.special", "scipy.stats"),
)
"""Modules of scipy, for a second zygote.

Importing them would cost a candidate most of a second. Forking a process that has them costs a few milliseconds more.
"""
FIRST_USE_S = 10.0
"""Most CPU time (s) that a zygote spends on running the template once, so that children compile and load less."""


class Pool(SolutionPool):
    """Runs programs on the instances of one split on this machine, at most `workers` at once.

    An async context manager. Making one raises TaskError if `task` is not installed. Entering raises UsageError if the
    isolation level is below `strong`, unless `allow_weak_isolation`, and SandboxError if the sandbox does not start.
    `limits` are those of each program, the default ones if None. Each program's process is forked from one that has the
    modules `preloaded` imported, and for programs that mention scipy `scientific`, too: a zygote. Time limits on
    zygotes go by `clock`, a new one if None. Each instance is begun at most `starts` times (`instances_begun`). Tests
    give fewer `layers`. Zygotes are started through the command `wall`, unless that is empty.
    """

    def __init__(
        self,
        task: TaskReference,
        split: Split,
        workers: int,
        limits: Limits | None = None,
        allow_weak_isolation: bool = False,
        layers: tuple[str, ...] = LAYERS,
        preloaded: tuple[str, ...] = PRELOADED,
        scientific: tuple[str, ...] = SCIENTIFIC,
        clock: Heartbeat | None = None,
        starts: int = 1,
        wall: str = "",
    ) -> None:
        limits = limits or Limits()
        given = (task.place(), split, preloaded, FIRST_USE_S)
        assignment = TaskAssignment(*given, starts=starts, layers=layers, limits=limits, wall=wall)
        super().__init__(TaskRunner(assignment, scientific, workers, allow_weak_isolation, clock), limits)
