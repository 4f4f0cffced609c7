"""The sandbox and the judge of a run, here or on a cluster, as its settings say."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from behavesim.base.config import Settings
from behavesim.base.errors import TaskError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import on_stderr
from behavesim.engine.outcome import judged
from behavesim.evaluators.judge import EvaluatorJudge, evaluator_pool
from behavesim.programs.extract import form_of
from behavesim.programs.reading import Program
from behavesim.programs.whole import WholeForm
from behavesim.sandbox.judge import RefereePool, SandboxJudge
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool, ResultPool, SolutionPool
from behavesim.sandbox.referee import COSTLY
from behavesim.state.events import TEMPLATE, Evaluated, Rejected
from behavesim.state.protocols import Judge
from behavesim.task import Split, Task, TaskReference
from behavesim.task.evaluated import EvaluatorTask

if TYPE_CHECKING:
    from behavesim.cluster.runner import Cluster


def sandbox(
    settings: Settings, task: Task, split: Split = "search", clock: Heartbeat | None = None, starts: int = 1
) -> Pool:
    """Return a sandbox on this machine for programs that are functions: a context manager, not entered yet.

    A program runs on all instances of a split, on up to `starts` versions of each (see `instances_begun`), and gets
    `starts` times the time. A split larger than `search` gets more in proportion. If `workers` names a cluster, one
    program runs at once. `clock` measures time limits; None makes one. Raises TaskError if the instances cannot be
    made.
    """
    limits, weak = Limits.of(settings).on(task, split, starts), settings.allow_weak_isolation
    task_here, workers = TaskReference(settings.task), settings.workers_here
    return Pool(
        task_here, split, workers, limits, allow_weak_isolation=weak, clock=clock, starts=starts, wall=settings.wall
    )


def pool_of(
    settings: Settings,
    task: Task,
    split: Split,
    clock: Heartbeat | None = None,
    tell: Callable[[str], None] = on_stderr,
    sights: list[Callable[[], str]] | None = None,
) -> SolutionPool | ResultPool:
    """Return the sandbox of a run: a context manager, not entered yet.

    It is on this machine if `settings.workers` is a number, else on the cluster that it names. If the task has an
    evaluator, the sandbox runs that, whatever the split is. `clock` measures time limits; None makes one. `tell` gets a
    line when workers of a cluster join or leave. On a cluster, a function that returns what its workers do is appended
    to `sights`, unless that is None. Raises UsageError if what a cluster needs is not installed or a setting does
    not fit it, TaskError if the instances cannot be made.
    """
    limits, weak = Limits.of(settings), settings.allow_weak_isolation
    if isinstance(settings.workers, str):
        if settings.wall or settings.devices:
            raise UsageError("wall and devices are for this machine; leave them out with a cluster")
        others = settings.allow_other_workers
        window = settings.window if split == "search" else None
        given = (settings.workers, weak, others, tell, clock or Heartbeat(), window)
        cluster = _cluster_type()(*given, [] if sights is None else sights)
        if isinstance(task, EvaluatorTask):
            return cluster.evaluator(task.file, limits)
        return cluster.functions(settings.task, task, split, limits.on(task, split))
    if not isinstance(task, EvaluatorTask):
        return sandbox(settings, task, split, clock)
    return evaluator_pool(task.file, settings.workers, limits, weak, clock, settings.wall, settings.devices)


def _cluster_type() -> type[Cluster]:
    """Return the class for a cluster; raises UsageError if what it needs is not installed."""
    try:
        from behavesim.cluster.runner import Cluster  # imported late: few runs need it, and few have installed it
    except ModuleNotFoundError as error:
        said = f"a cluster needs the package {error.name}, which is not installed"
        raise UsageError(f"{said}; pip install 'behavesim[dask]', or give workers a number") from None
    return Cluster


@asynccontextmanager
async def shared_cluster(workers: int | str) -> AsyncIterator[Mapping[str, str]]:
    """Start the local cluster that `workers` names, if it names one, for all sandboxes in the block.

    Processes whose environment has the variables that are yielded share it. Raises UsageError if Dask is not installed,
    SandboxError if the cluster does not start.
    """
    if isinstance(workers, int) or "//" in workers:
        yield {}
        return
    _cluster_type()
    from behavesim.cluster.schedulers import shared_local_cluster  # imported late, as above

    async with shared_local_cluster(workers) as variables:
        yield variables


def judge_of(
    settings: Settings,
    task: Task,
    split: Split,
    pool: SolutionPool | ResultPool,
    clock: Heartbeat | None = None,
    starts: int = 1,
) -> SandboxJudge | EvaluatorJudge:
    """Return the judge of programs on the instances of a split that runs them in this sandbox.

    It is a context manager that enters the sandbox, too. `clock` and `starts` are those of the sandbox. Raises
    TaskError if the instances cannot be made.
    """
    if isinstance(pool, ResultPool):
        return EvaluatorJudge(pool)
    # on a cluster, too, all is scored here
    count = settings.workers if isinstance(settings.workers, int) else os.cpu_count() or 1
    limits = Limits.of(settings).on(task, split, starts)
    return SandboxJudge(task, pool, RefereePool(TaskReference(settings.task), split, limits, count, clock, starts))


@asynccontextmanager
async def judging(
    settings: Settings, task: Task, split: Split = "search"
) -> AsyncIterator[SandboxJudge | EvaluatorJudge]:
    """Start a sandbox and yield a judge that evaluates programs in it, on the instances of `split`; then end it.

    Workers, limits and whether weak isolation is allowed come from the settings. Raises SandboxError if the sandbox
    does not start, UsageError if its isolation is too weak.
    """
    async with judge_of(settings, task, split, pool_of(settings, task, split)) as judge:
        yield judge


async def evaluated_template(task: Task, judge: Judge) -> Evaluated:
    """Return the outcome of the task's template. Raises TaskError if it fails, SandboxError if the sandbox does."""
    form = form_of(task)
    if isinstance(form, WholeForm) and (refused := form.refusal(task.template)):
        raise TaskError(f"the first program of task {task.name!r} does not do ({refused.reason}): {refused.message}")
    program = Program(task.template, "", form.hash(task.template))
    outcome = judged(TEMPLATE, program, await judge.evaluate(task.template))
    if isinstance(outcome, Rejected):
        own = isinstance(task, EvaluatorTask)
        what = "the first program and the evaluator" if own else "`solve` or the template"
        said = f"task {task.name!r} fails with its {'first program' if own else 'template'} ({outcome.reason}): "
        advice = {
            "timeout": f"; look for a loop without end in {what}, or raise timeout_s",
            COSTLY: "; let `solve` do the work and `score` only check it, or raise timeout_s or memory_mb",
        }
        raise TaskError(f"{said}{outcome.message}{advice.get(outcome.reason, '')}")
    return outcome
