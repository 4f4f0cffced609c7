"""The recommended program of a run: chosen on validation instances, recorded, and written beside the run."""

from __future__ import annotations

from behavesim.analysis.recommendation import recommend
from behavesim.analysis.run import load_run
from behavesim.build import judging
from behavesim.errors import UsageError
from behavesim.events import Recommended
from behavesim.reports.summary import named, percent
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.task import Task


async def recommended(folder: RunFolder, task: Task) -> Recommended:
    """Choose, record and write the recommended program; raises UsageError where nothing can be validated on."""
    if not task.instances("validation"):
        raise UsageError(f"the task {task.name!r} has no validation instances to choose a program on")
    with folder.locked():
        run = load_run(folder.path)
        async with judging(folder.with_task_at_hand(run.settings), task, "validation") as judge:
            event = await recommend(run, judge)
        async with SqliteJournal(folder.journal) as journal:
            await journal.append([event])
        _write(folder, event)
    return event


def _write(folder: RunFolder, event: Recommended) -> None:
    run = load_run(folder.path)
    chosen = run.recommended
    if chosen is None:
        folder.note("no program on the shortlist works on the validation instances")
        return
    validation = event.validation[chosen.candidate]
    headline = (
        f"run {folder.run}, {named(chosen.candidate)}: score {chosen.score!r}, "
        f"gap {percent(run.gap(chosen.score))}, on validation instances {validation!r}"
    )
    folder.write_recommended(chosen.source or "", headline)
    folder.note(f"recommended {named(chosen.candidate)} of {sorted(event.validation)}")
