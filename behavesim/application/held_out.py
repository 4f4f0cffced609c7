"""Reports of runs with their programs evaluated on held-out instances, in one sandbox per task and limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.held_out import HeldOut, held_out, known_held_out, scores_of
from behavesim.analysis.report import RunReport, report
from behavesim.analysis.run import Run
from behavesim.application.machine import cores
from behavesim.base.errors import UsageError
from behavesim.base.text import counted
from behavesim.reports.words import short_name
from behavesim.sandbox.limits import Limits
from behavesim.state.protocols import Judge
from behavesim.task import Split, Task, instances_of
from behavesim.task.evaluated import EvaluatorTask


def absence(task: Task, split: Split, reference: str) -> str:
    """Return a line that says why an evaluator's task has no instances of a split; "" if it has some.

    Such an evaluator has data of its own, all of which the search uses. It is "" for every other task, too. `reference`
    is the task's name or path, from which its name on every screen is made.
    """
    if not isinstance(task, EvaluatorTask) or len(instances_of(task, split)):
        return ""
    name = short_name(reference)
    return f"task {name} has no {split} instances: its evaluator has its own data, and the search uses all of it"


async def reports_of(
    runs: Sequence[Run], tell: Callable[[str], None], on_held_out: bool, workers: int | str | None = None
) -> list[RunReport]:
    """Return the reports of the runs, in order; with `on_held_out`, their best programs are evaluated there first.

    Without it, a report has the held-out results that earlier reports kept in the run's folder, if any.
    `tell` gets a line for each task when that begins, or if an evaluator's task has no held-out instances. `workers` is
    the number of programs run at once, or a cluster's name; None for all cores. Raises JournalError if a journal cannot
    be read. With `on_held_out`, also raises UsageError if a task cannot be loaded, TaskError if its template fails on
    held-out instances, and SandboxError if the sandbox cannot be started.
    """
    found = await _found_there(runs, tell, workers or cores()) if on_held_out else {}
    return [report(run, found.get(run.folder.path) or _known(run)) for run in runs]


def _known(run: Run) -> HeldOut | None:
    """Return the held-out results that are known already; None if there are none or the task cannot be loaded."""
    with suppress(UsageError):  # the report says by itself what cannot be known without the task
        return known_held_out(run)
    return None


async def _found_there(runs: Sequence[Run], tell: Callable[[str], None], workers: int | str) -> dict[Path, HeldOut]:
    """Return what the best programs of the runs score on held-out instances, by the runs' folders."""
    from behavesim.engine.judging import shared_cluster  # a slow import, as in `_held_out`

    found: dict[Path, HeldOut] = {}
    async with shared_cluster(workers):
        for task in dict.fromkeys(run.settings.task for run in runs):
            here = [run for run in runs if run.settings.task == task]
            if said := absence(here[0].task(), "held-out", task):
                tell(said)
                continue
            tell(f"trying the programs of {counted(len(here), 'run')} on held-out instances of {short_name(task)}")
            for alike in _of_equal_limits(here):
                async with _held_out(alike, workers) as (loaded, judge):
                    tried = await held_out(alike, loaded, judge)
                found.update((run.folder.path, each) for run, each in zip(alike, tried, strict=True))
    return found


async def held_out_scores(runs: Sequence[Run], programs: Sequence[Sequence[Candidate]]) -> dict[str, tuple[float, ...]]:
    """Evaluate the template and some programs of each run on the held-out instances; return their scores by source.

    `programs` has the programs of each run, in the order of the runs, of which there must be one. A value has one score
    per instance. Programs that fail are left out; without such instances the result is empty. Raises UsageError if the
    runs' tasks differ or the task cannot be loaded, SandboxError if the sandbox cannot be started.
    """
    if len({run.settings.task for run in runs}) > 1:
        raise UsageError("these runs are on different tasks; runs on one were expected")
    if absence(runs[0].task(), "held-out", runs[0].settings.task):
        return {}
    chosen = dict(zip((run.folder.path for run in runs), programs, strict=True))
    found: dict[str, tuple[float, ...]] = {}
    for alike in _of_equal_limits(runs):
        async with _held_out(alike, cores()) as (task, judge):
            scores = await scores_of(alike, [chosen[run.folder.path] for run in alike], task, judge)
        found |= {source: score.scores for source, score in scores.items() if score.scores}
    return found


def _of_equal_limits(runs: Sequence[Run]) -> list[list[Run]]:
    """Group runs by their limits of time, memory and output: a program is evaluated under those of its own run."""
    groups: dict[Limits, list[Run]] = {}
    for run in runs:
        groups.setdefault(Limits.of(run.settings), []).append(run)
    return list(groups.values())


@asynccontextmanager
async def _held_out(runs: Sequence[Run], workers: int | str) -> AsyncIterator[tuple[Task, Judge]]:
    """Yield the task of these runs and a judge on its held-out instances, under the limits that the runs share.

    Weak isolation is allowed only if every run allowed it, and so are workers with other versions.
    """
    from behavesim.engine.judging import judging  # a slow import, which a report without held-out instances avoids

    weak = all(run.settings.allow_weak_isolation for run in runs)
    others = all(run.settings.allow_other_workers for run in runs)
    task, settings = runs[0].task(), runs[0].folder.with_task_at_hand(runs[0].settings)
    settings = settings.model_copy(
        update={"workers": workers, "allow_weak_isolation": weak, "allow_other_workers": others}
    )
    async with judging(settings, task, "held-out") as judge:
        yield task, judge
