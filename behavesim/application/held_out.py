"""Reports of runs, their programs evaluated on held-out or shifted instances, in one sandbox per task and limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import get_args

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.held_out import HeldOut, Unseen, held_out, read_held_out, scores_of
from behavesim.analysis.report import RunReport, report
from behavesim.analysis.run import Run
from behavesim.base.config import cores
from behavesim.base.errors import UsageError
from behavesim.base.text import count_noun, short_name
from behavesim.sandbox.limits import Limits
from behavesim.state.protocols import Judge
from behavesim.task import Split, Task, instances_of
from behavesim.task.evaluated import EvaluatorTask


def absence(task: Task, split: Split, reference: str) -> str:
    """Return a line that says why a task has no instances of a split; "" if there is nothing to say."""
    if (split != "shifted" or task.shifted) and len(instances_of(task, split)):
        return ""
    said = f"task {short_name(reference)} has no {split} instances"
    if split == "shifted" or not isinstance(task, EvaluatorTask):
        return said
    return f"{said}: its evaluator has its own data, and the search uses all of it"


async def reports_of(
    runs: Sequence[Run], tell: Callable[[str], None], unseen: Collection[Unseen], workers: int | str | None = None
) -> list[RunReport]:
    """Evaluate the runs' best and recommended programs on the splits `unseen`, and return the runs' reports, in order.

    Scores that a run's folder keeps are not computed again. For other splits, a report has what the run's folder keeps
    from earlier reports. `tell` gets a line when the evaluation of a task begins. `workers` is the number of programs
    run at once, or a cluster's name; None uses all cores.

    Raises UsageError if a task cannot be loaded or isolation is too weak, TaskError if a template fails on a split,
    SandboxError if the sandbox fails.
    """
    found = {split: await _found_there(runs, tell, workers or cores(), split) for split in unseen}

    def of(run: Run, split: Unseen) -> HeldOut | None:
        return found.get(split, {}).get(run.folder.path) or _known(run, split)

    return [report(run, {split: of(run, split) for split in get_args(Unseen)}) for run in runs]


def _known(run: Run, split: Unseen) -> HeldOut | None:
    with suppress(UsageError):  # the report says by itself what cannot be known without the task
        return read_held_out(run, split)
    return None


async def _found_there(
    runs: Sequence[Run], tell: Callable[[str], None], workers: int | str, split: Unseen
) -> dict[Path, HeldOut]:
    # A run whose task has no such instances is missing. `tell` gets a line for each task. `workers` is the number of
    # programs run at once, or a cluster's name.
    from behavesim.engine.build import start_shared_cluster  # a slow import, as in `_judging`

    found: dict[Path, HeldOut] = {}
    async with start_shared_cluster(workers):
        # a task's programs are tried together: equal ones are evaluated once, and loading its instances takes long
        for task in dict.fromkeys(run.settings.task for run in runs):
            here = [run for run in runs if run.settings.task == task]
            if said := absence(here[0].task(), split, task):
                tell(said)
                continue
            tell(f"trying the programs of {count_noun(len(here), 'run')} on {split} instances of {short_name(task)}")
            for alike in _of_equal_limits(here):
                async with _judging(alike, workers, split) as (loaded, judge):
                    tried = await held_out(alike, loaded, judge, split)
                found.update((run.folder.path, each) for run, each in zip(alike, tried, strict=True))
    return found


async def evaluate_held_out(
    runs: Sequence[Run], programs: Sequence[Sequence[Candidate]], split: Unseen = "held-out"
) -> dict[str, tuple[float, ...]]:
    """Evaluate the template and some programs of each run on the held-out instances; return their scores.

    `programs` has the programs of each run, in the order of `runs`, which must be on one task. The result maps a
    program's text to its scores, one per instance. Programs that fail are left out; without such instances the result
    is empty.
    """
    if len({run.settings.task for run in runs}) > 1:
        raise UsageError("these runs are on different tasks; runs on one were expected")
    if absence(runs[0].task(), split, runs[0].settings.task):
        return {}
    chosen = dict(zip((run.folder.path for run in runs), programs, strict=True))
    found: dict[str, tuple[float, ...]] = {}
    for alike in _of_equal_limits(runs):
        async with _judging(alike, cores(), split) as (task, judge):
            scores = await scores_of(alike, [chosen[run.folder.path] for run in alike], task, judge, split)
        found |= {source: score.scores for source, score in scores.items() if score.scores}
    return found


def _of_equal_limits(runs: Sequence[Run]) -> list[list[Run]]:
    """Group runs by their limits of time, memory and output: a program is evaluated under those of its own run."""
    groups: dict[Limits, list[Run]] = {}
    for run in runs:
        groups.setdefault(Limits.of(run.settings), []).append(run)
    return list(groups.values())


@asynccontextmanager
async def _judging(runs: Sequence[Run], workers: int | str, split: Unseen) -> AsyncIterator[tuple[Task, Judge]]:
    # Weak isolation is allowed only if every run allowed it, and so are workers with other versions.
    from behavesim.engine.build import judging  # a slow import, which a report that tries nothing avoids

    weak = all(run.settings.allow_weak_isolation for run in runs)
    others = all(run.settings.allow_other_workers for run in runs)
    task, settings = runs[0].task(), runs[0].folder.with_task_at_hand(runs[0].settings)
    settings = settings.model_copy(
        update={"workers": workers, "allow_weak_isolation": weak, "allow_other_workers": others}
    )
    async with judging(settings, task, split) as judge:
        yield task, judge
