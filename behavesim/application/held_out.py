"""Reports of runs, with what was found tried on held-out instances: each task's in a sandbox of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from behavesim.analysis.held_out import HeldOut, held_out
from behavesim.analysis.report import RunReport, report
from behavesim.analysis.run import Run
from behavesim.application.machine import cores
from behavesim.build import judging
from behavesim.task import TaskReference


async def reported(runs: Sequence[Run], tell: Callable[[str], None], on_held_out: bool) -> list[RunReport]:
    """The reports of runs; where it is wanted their programs are tried on held-out instances first."""
    tried = await tried_on_held_out(runs, tell) if on_held_out else {}
    return [report(run, tried.get(run.folder.path)) for run in runs]


async def tried_on_held_out(runs: Sequence[Run], tell: Callable[[str], None]) -> dict[Path, HeldOut]:
    """What the runs' programs are worth on held-out instances, by the runs' folders; `tell` hears of each task."""
    found: dict[Path, HeldOut] = {}
    for task in dict.fromkeys(run.settings.task for run in runs):
        here = [run for run in runs if run.settings.task == task]
        tell(f"trying the programs of {len(here)} runs on held-out instances of {task}")
        tried = await _tried(here)
        found.update((run.folder.path, each) for run, each in zip(here, tried, strict=True))
    return found


async def _tried(runs: Sequence[Run]) -> list[HeldOut]:
    """The same for the runs on one task, on whose limits they agree."""
    weak = all(run.settings.allow_weak_isolation for run in runs)
    settings = runs[0].folder.with_task_at_hand(runs[0].settings)
    settings = settings.model_copy(update={"workers": cores(), "allow_weak_isolation": weak})
    task = TaskReference(settings.task).load()
    async with judging(settings, task, "held-out") as judge:
        return await held_out(runs, task, judge)
