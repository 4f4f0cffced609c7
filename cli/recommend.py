"""`behavesim recommend`, and the recommendation at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .options import RUNS, AsJson, RunsDir, busy, print_json

if TYPE_CHECKING:
    from behavesim.events import Recommended
    from behavesim.store.folder import RunFolder
    from behavesim.task import Task


def recommend(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id or folder.")],
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Choose a program on validation instances: the best of several that behave differently."""
    import asyncio

    from behavesim.analysis.run import load_run
    from behavesim.errors import UsageError
    from behavesim.reports.summary import summary
    from behavesim.store.folder import RunFolder
    from behavesim.task import TaskReference

    folder = RunFolder.find(runs_dir, run)
    task = TaskReference(load_run(folder.path).settings.task).load()
    if not task.instances("validation"):
        raise UsageError(f"the task {task.name!r} has no validation instances to choose a program on")
    asyncio.run(recommended(folder, task))
    document = summary(load_run(folder.path))["recommended"]
    if as_json:
        print_json(document)
    elif document is None:
        typer.echo("no program to recommend: none on the shortlist works on the validation instances")
    else:
        typer.echo(f"recommended program: {folder.recommended} (candidate {document['candidate']})")


async def recommended(folder: RunFolder, task: Task) -> Recommended | None:
    """Choose, record and write the recommended program; None where the task has no validation instances."""
    from behavesim.analysis.recommendation import recommend
    from behavesim.analysis.run import load_run
    from behavesim.sandbox import Judge, Limits, Pool
    from behavesim.store.journal import SqliteJournal
    from behavesim.task import TaskReference

    if not task.instances("validation"):
        return None
    busy(f"trying the best programs of {folder.run} on validation instances")
    with folder.locked():
        run = load_run(folder.path)
        settings = run.settings
        limits = Limits(settings.timeout_s, settings.memory_mb, settings.output_mb)
        weak, workers = settings.allow_weak_isolation, settings.workers
        async with Pool(TaskReference(settings.task), "validation", workers, limits, allow_weak_isolation=weak) as pool:
            event = await recommend(run, Judge(task, "validation", pool))
        async with SqliteJournal(folder.journal) as journal:
            await journal.append([event])
        _write(folder, event)
    return event


def _write(folder: RunFolder, event: Recommended) -> None:
    from behavesim.analysis.run import load_run
    from behavesim.reports.summary import percent

    run = load_run(folder.path)
    chosen = run.recommended
    if chosen is None:
        folder.note("no program on the shortlist works on the validation instances")
        return
    validation = event.validation[chosen.candidate]
    headline = (
        f"run {folder.run}, candidate {chosen.candidate}: score {chosen.score!r}, "
        f"gap {percent(run.gap(chosen.score))}, on validation instances {validation!r}"
    )
    folder.write_recommended(chosen.source or "", headline)
    folder.note(f"recommended candidate {chosen.candidate} of {sorted(event.validation)}")
