"""What was found, tried on held-out instances: each task's in a sandbox of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from behavesim.analysis.held_out import held_out
from behavesim.analysis.run import Run
from behavesim.application.machine import cores
from behavesim.build import sandbox
from behavesim.sandbox import Judge
from behavesim.task import TaskReference


async def tried_on_held_out(runs: Sequence[Run], tell: Callable[[str], None]) -> dict[Path, dict[str, Any]]:
    """What the runs' programs are worth on held-out instances, by the runs' folders; `tell` hears of each task."""
    found: dict[Path, dict[str, Any]] = {}
    for task in dict.fromkeys(run.settings.task for run in runs):
        here = [run for run in runs if run.settings.task == task]
        tell(f"trying the programs of {len(here)} runs on held-out instances of {task}")
        documents = await _tried(here)
        found.update((run.folder.path, each) for run, each in zip(here, documents, strict=True))
    return found


async def _tried(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The same for the runs on one task, on whose limits they agree."""
    weak = all(run.settings.allow_weak_isolation for run in runs)
    settings = runs[0].settings.model_copy(update={"workers": cores(), "allow_weak_isolation": weak})
    task = TaskReference(settings.task).load()
    async with sandbox(settings, "held-out") as pool:
        return await held_out(runs, task, Judge(task, "held-out", pool))
