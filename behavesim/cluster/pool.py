"""Sandboxes on a cluster, which offer what `Pool` and `TreePool` offer on one machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from behavesim.base.errors import SandboxError
from behavesim.base.heartbeat import Heartbeat
from behavesim.cluster.facts import facts
from behavesim.cluster.link import Terms
from behavesim.cluster.messages import Order
from behavesim.cluster.parcel import Parcel, parcel_of_evaluator, parcel_of_file
from behavesim.cluster.places import scheduler_of
from behavesim.cluster.proof import proof
from behavesim.cluster.runner import ClusterRunner
from behavesim.evaluators.judge import folders_of_runs
from behavesim.sandbox.connection import Ran
from behavesim.sandbox.frames import PREFIX, header_limit
from behavesim.sandbox.limits import MEGABYTE, Limits
from behavesim.sandbox.messages import Ready
from behavesim.sandbox.runner import NOT_ENTERED
from behavesim.sandbox.solutions import SolutionPool
from behavesim.sandbox.tree.pool import ResultPool
from behavesim.task import Split, Task, TaskReference, instances_of
from behavesim.task.evaluated import EvaluatorFile

Tell = Callable[[str], None]
"""Shows a person one line of text."""


@dataclass(frozen=True)
class Cluster:
    """A cluster as the setting `workers` names it, and what its workers must fulfil.

    Workers whose software or processor differs are refused unless `allow_others`. `tell` gets a line when workers come,
    go or are refused. Time limits go by `clock`. `window` is the most programs in progress at once, None for no bound.
    """

    workers: str
    allow_weak_isolation: bool
    allow_others: bool
    tell: Tell
    clock: Heartbeat
    window: int | None = None
    sights: list[Callable[[], str]] = field(default_factory=list)
    """Gets a function that says what the workers do, as soon as there are some."""

    def functions(self, task: str, loaded: Task, split: Split, limits: Limits) -> SolutionPool:
        """Return the sandbox of programs that are functions, for the instances of a split; not entered yet.

        `task` is the task's name or its file. `limits` are those on this split. Raises TaskError if the task's files
        are too large or its instances cannot be hashed.
        """
        place = TaskReference(task).place()
        parcel = parcel_of_file(Path(place)) if place.endswith(".py") else Parcel({})
        name = Path(place).name if parcel.files else place
        given = self.allow_weak_isolation, parcel.hash, proof(loaded, split)
        order = Order("functions", name, split, *given, limits=limits)
        count = len(instances_of(loaded, split))
        most = PREFIX.size + header_limit(count) + limits.output_mb * MEGABYTE
        known = Ready("", (), count, loaded.runs_apart, loaded.entry_point)
        return SolutionPool(_Entered(self, self._terms(order, parcel, most), known), limits)

    def evaluator(self, file: EvaluatorFile, limits: Limits) -> ResultPool:
        """Return the sandbox of an evaluator and its programs, not entered yet; raises TaskError as `functions`."""
        parcel = parcel_of_evaluator(file, folders_of_runs(file))
        there = _relative(file).to_json()
        order = Order("evaluator", there, "search", self.allow_weak_isolation, parcel.hash, "", limits=limits)
        most = PREFIX.size + header_limit(0) + limits.output_mb * MEGABYTE
        return ResultPool(_Entered(self, self._terms(order, parcel, most), Ready("", (), 0)), limits)

    def _terms(self, order: Order, parcel: Parcel, most: int) -> Terms:
        return Terms(order, parcel, facts(), self.allow_others, most)


class _Entered:
    """A runner on a cluster that is found, or started on this machine, on entering."""

    def __init__(self, cluster: Cluster, terms: Terms, known: Ready) -> None:
        self._cluster = cluster
        self._terms = terms
        self._known = known
        self._stack = AsyncExitStack()
        self._runner: ClusterRunner | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            scheduler = await stack.enter_async_context(scheduler_of(self._cluster.workers))
            given = (scheduler, self._terms, self._known, self._cluster.tell, self._cluster.clock)
            self._runner = await stack.enter_async_context(ClusterRunner(*given, self._cluster.window))
            self._cluster.sights.append(self._runner.sight)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def ready(self) -> Ready:
        return self._entered.ready

    async def run(self, source: str, question: bytes = b"", alone: bool = False) -> Ran:
        return await self._entered.run(source, question, alone)

    @property
    def _entered(self) -> ClusterRunner:
        if self._runner is None:
            raise SandboxError(NOT_ENTERED)
        return self._runner


def _relative(file: EvaluatorFile) -> EvaluatorFile:
    """Return an evaluator's file with paths relative to its folder, for another machine."""
    place, colon, name = file.evaluator.partition(":")
    if file.convention != "command" and place.endswith(".py"):
        place = Path(place).name
    evaluator = file.evaluator if file.convention == "command" else f"{place}{colon}{name}"
    program = Path(file.program)
    inside = program.relative_to(file.folder).as_posix() if program.is_relative_to(file.folder) else program.name
    return replace(file, evaluator=evaluator, program=inside, runs_in="")
