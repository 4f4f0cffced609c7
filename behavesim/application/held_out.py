"""Reports of runs with their programs evaluated on held-out instances, in one sandbox per task and limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.held_out import HeldOut, held_out, scores_of
from behavesim.analysis.report import RunReport, report
from behavesim.analysis.run import Run
from behavesim.application.machine import cores
from behavesim.base.errors import UsageError
from behavesim.base.text import number
from behavesim.sandbox.limits import Limits
from behavesim.state.protocols import Judge
from behavesim.task import Task, TaskReference


async def reports_of(runs: Sequence[Run], tell: Callable[[str], None], on_held_out: bool) -> list[RunReport]:
    """Return the reports of the runs, in order; with `on_held_out` their best programs are first evaluated there.

    `tell` gets a line for each task. Raises as `tried_on_held_out` does.
    """
    tried = await tried_on_held_out(runs, tell) if on_held_out else {}
    return [report(run, tried.get(run.folder.path)) for run in runs]


async def tried_on_held_out(runs: Sequence[Run], tell: Callable[[str], None]) -> dict[Path, HeldOut]:
    """Evaluate the runs' best programs on held-out instances; return the results by the runs' folders.

    `tell` gets a line for each task. Raises UsageError if a task cannot be loaded, TaskError if its template fails on
    held-out instances, SandboxError if the sandbox cannot be started.
    """
    found: dict[Path, HeldOut] = {}
    for task in dict.fromkeys(run.settings.task for run in runs):
        here = [run for run in runs if run.settings.task == task]
        tell(f"trying the programs of {number(len(here), 'run')} on held-out instances of {task}")
        for alike in _of_equal_limits(here):
            async with _held_out(alike) as (loaded, judge):
                tried = await held_out(alike, loaded, judge)
            found.update((run.folder.path, each) for run, each in zip(alike, tried, strict=True))
    return found


async def held_out_scores(runs: Sequence[Run], programs: Sequence[Sequence[Candidate]]) -> dict[str, tuple[float, ...]]:
    """Return the scores on each held-out instance of the template and the given programs of each run, by source.

    Programs that fail there are left out. Raises UsageError if the runs' tasks differ or the task cannot be loaded.
    """
    if len({run.settings.task for run in runs}) > 1:
        raise UsageError("these runs are on different tasks; runs on one were expected")
    chosen = dict(zip((run.folder.path for run in runs), programs, strict=True))
    found: dict[str, tuple[float, ...]] = {}
    for alike in _of_equal_limits(runs):
        async with _held_out(alike) as (task, judge):
            scores = await scores_of(alike, [chosen[run.folder.path] for run in alike], task, judge)
        found |= {source: score.scores for source, score in scores.items() if score.scores}
    return found


def _of_equal_limits(runs: Sequence[Run]) -> list[list[Run]]:
    """Group runs by their limits, since a program is judged under the limits of its own run."""
    groups: dict[Limits, list[Run]] = {}
    for run in runs:
        groups.setdefault(Limits.of(run.settings), []).append(run)
    return list(groups.values())


@asynccontextmanager
async def _held_out(runs: Sequence[Run]) -> AsyncIterator[tuple[Task, Judge]]:
    """Yield the task of these runs and a judge on its held-out instances, under the limits that the runs share."""
    from behavesim.engine.build import judging  # a slow import, which a report without held-out instances avoids

    weak = all(run.settings.allow_weak_isolation for run in runs)
    settings = runs[0].folder.with_task_at_hand(runs[0].settings)
    settings = settings.model_copy(update={"workers": cores(), "allow_weak_isolation": weak})
    task = TaskReference(settings.task).load()
    async with judging(settings, task, "held-out") as judge:
        yield task, judge
