"""Reports of runs, with what was found tried on held-out instances: each task's in a sandbox of its own."""

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


async def reported(runs: Sequence[Run], tell: Callable[[str], None], on_held_out: bool) -> list[RunReport]:
    """The reports of runs; where it is wanted their programs are tried on held-out instances first."""
    tried = await tried_on_held_out(runs, tell) if on_held_out else {}
    return [report(run, tried.get(run.folder.path)) for run in runs]


async def tried_on_held_out(runs: Sequence[Run], tell: Callable[[str], None]) -> dict[Path, HeldOut]:
    """What the runs' programs are worth on held-out instances, by the runs' folders; `tell` hears of each task."""
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
    """By its source, the score of each of the runs' programs on each held-out instance, but for those that fail there.

    Raises UsageError where the runs are not on one task.
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
    """Runs in groups of equal limits: a program is judged under those of its own run."""
    groups: dict[Limits, list[Run]] = {}
    for run in runs:
        groups.setdefault(Limits.of(run.settings), []).append(run)
    return list(groups.values())


@asynccontextmanager
async def _held_out(runs: Sequence[Run]) -> AsyncIterator[tuple[Task, Judge]]:
    """The task of these runs, and a judge on its held-out instances under the limits on which they agree."""
    from behavesim.search.build import judging  # a sandbox and a search, which a report without them need not load

    weak = all(run.settings.allow_weak_isolation for run in runs)
    settings = runs[0].folder.with_task_at_hand(runs[0].settings)
    settings = settings.model_copy(update={"workers": cores(), "allow_weak_isolation": weak})
    task = TaskReference(settings.task).load()
    async with judging(settings, task, "held-out") as judge:
        yield task, judge
