"""Sandboxes on a cluster, which offer what `Pool` and `TreePool` offer on one machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from behavesim.base.heartbeat import Heartbeat
from behavesim.cluster.facts import facts
from behavesim.cluster.link import Terms
from behavesim.cluster.messages import Order
from behavesim.cluster.parcel import Parcel, parcel_of_evaluator, parcel_of_task
from behavesim.cluster.proof import proof
from behavesim.cluster.runner import ClusterRunner
from behavesim.cluster.schedulers import scheduler_of
from behavesim.evaluators.judge import folders_of_runs
from behavesim.sandbox.frames import frame_limit
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import ResultPool, SolutionPool
from behavesim.task import Split, Task, TaskReference, instances_of
from behavesim.task.evaluated import EvaluatorFile

Tell = Callable[[str], None]
"""Shows a person one line of text."""


@dataclass(frozen=True)
class Cluster:
    """A cluster as the setting `workers` names it, and what its workers must fulfil.

    `workers` is such as "dask", "dask:8" or "dask://HOST:PORT". Workers whose software or processor differs are refused
    unless `allow_others`. `tell` gets a line for a person when workers come, go or are refused. Time limits go by
    `clock`. `window` is the most programs in progress at once, None for no bound.
    """

    workers: str
    allow_weak_isolation: bool
    allow_others: bool
    tell: Tell
    clock: Heartbeat
    window: int | None = None
    sights: list[Callable[[], str]] = field(default_factory=list)
    """Gets a function that says what the workers do, for each sandbox that is made."""

    def functions(self, task: str, loaded: Task, split: Split, limits: Limits) -> SolutionPool:
        """Return the sandbox of programs that are functions, for the instances of a split; not entered yet.

        `task` is the task's name or its file, `loaded` the task itself. `limits` are those on this split. Raises
        TaskError if the task's `data_files` cannot be sent, or its instances cannot be made or hashed; OSError if a
        file cannot be read.
        """
        place = TaskReference(task).place()
        parcel = parcel_of_task(Path(place), loaded.data_files) if place.endswith(".py") else Parcel({})
        name = Path(place).name if parcel.files else place
        given = self.allow_weak_isolation, parcel.hash, proof(loaded, split)
        order = Order("functions", name, split, *given, limits=limits)
        return SolutionPool(self._runner(order, parcel, len(instances_of(loaded, split))), limits)

    def evaluator(self, file: EvaluatorFile, limits: Limits) -> ResultPool:
        """Return the sandbox of an evaluator and programs, not entered yet.

        Raises TaskError if the evaluator's files are too large or too many, OSError if one cannot be read.
        """
        parcel = parcel_of_evaluator(file, folders_of_runs(file))
        there = _relative(file).to_json()
        order = Order("evaluator", there, "search", self.allow_weak_isolation, parcel.hash, "", limits=limits)
        return ResultPool(self._runner(order, parcel, 1), limits)

    def _runner(self, order: Order, parcel: Parcel, instances: int) -> ClusterRunner:
        """Return a runner, not entered yet; `instances` is the number of the split's, 1 for an evaluator."""
        most = frame_limit(instances, order.limits.output)
        terms = Terms(order, parcel, facts(), self.allow_others, most)
        runner = ClusterRunner(scheduler_of(self.workers), terms, instances, self.tell, self.clock, self.window)
        self.sights.append(runner.sight)
        return runner


def _relative(file: EvaluatorFile) -> EvaluatorFile:
    """Return an evaluator's file for another machine: with paths relative to its folder, and without a description."""
    evaluator = Path(file.evaluator).name if file.evaluator_path else file.evaluator
    program = Path(file.program)
    inside = program.relative_to(file.folder).as_posix() if program.is_relative_to(file.folder) else program.name
    return replace(file, evaluator=evaluator, program=inside, description="", runs_in="")
