"""Makes the files that `behavesim study sets` reads, from finished runs on a task.

python experiments/sets/tables.py keep runs/sets/TASK-*/      # keep their sets and programs
python experiments/sets/tables.py score FRESH.py TASK         # score them on unseen instances

FRESH.py is a task whose held-out instances are fresh ones: experiments/sets/*_fresh.py, for ASP and CPP those of
experiments/portfolio. A task without a file of its own is given by its name.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from behavesim_studies.portfolio_sets import name_of, round_scores
from behavesim_studies.sets import (
    OURS,
    PROGRAMS_SUFFIX,
    SUFFIX,
    TOP,
    KeptPrograms,
    KeptSets,
    ScoresOnSplit,
    SetRun,
    read_programs,
    sets_of,
    write_stored,
)

from behavesim.analysis.run import Run
from behavesim.base.config import Settings
from behavesim.engine.build import judge_of
from behavesim.sandbox.pool import ProgramPool
from behavesim.sandbox.referee import verdict_on
from behavesim.task import Split, Task, TaskReference
from behavesim.task.calls import begin_instances
from behavesim.task.verdict import Failure, Solved

FOLDER = Path(__file__).parent
UNSEEN: tuple[Split, ...] = ("held-out", "shifted")
"""The splits on which sets are tried, where a task has them; no search saw either."""


@dataclass(frozen=True)
class Found:
    """What a program found on instances: its scores, and those after the task's local search, if it has one."""

    scores: list[float]
    improved: list[float]


def keep(folders: Iterable[Path]) -> None:
    """Write the sets of the runs in these folders and the sources of their programs into FOLDER."""
    runs, sources, task = list[SetRun](), dict[str, str](), ""
    for folder in folders:
        run = Run.load(folder)
        chosen = sets_of(run)
        sources |= {name_of(source): source for each in chosen.values() for source in each}
        keys = {way: tuple(map(name_of, each)) for way, each in chosen.items()}
        runs.append(SetRun(run.settings.label or run.settings.method, run.settings.seed, keys))
        task = Path(run.settings.task).stem
        sys.stderr.write(f"\r{len(runs)} runs ")
    ordered = tuple(sorted(runs, key=lambda run: (run.label, run.seed)))
    write_stored(FOLDER / f"{task}{PROGRAMS_SUFFIX}", KeptPrograms(task, ordered, dict(sorted(sources.items()))))


async def score(place: str, name: str) -> None:
    """Write the sets of a task's runs and the scores of their programs on unseen instances into FOLDER."""
    kept, task = read_programs(FOLDER / f"{name}{PROGRAMS_SUFFIX}"), TaskReference(place).load()
    settings = Settings(task=place, workers=os.cpu_count() or 1)  # the limits are those of the runs
    splits = {}
    for split in UNSEEN:
        if split == "held-out" or task.shifted:
            splits[split] = await _tried(settings, task, split, kept.sources, kept.runs)
    write_stored(FOLDER / f"{name}{SUFFIX}", KeptSets(name, task.objective.direction, kept.runs, splits))


async def _tried(
    settings: Settings, task: Task, split: Split, sources: Mapping[str, str], runs: Sequence[SetRun]
) -> ScoresOnSplit:
    """Return the scores of all programs on a split, and of those of our own sets from other starts and improved."""
    once = await _run(settings, task, split, sources, 1)
    (template,) = (await _run(settings, task, split, {"": task.template}, 1)).values()
    assert template is not None, "a task's template works"
    sets = [run.sets[OURS[1]] for run in runs if run.label == OURS[0]]
    firsts = {key for each in sets for key in each[: TOP // 2]}  # the half of a set that may be begun twice
    begun: dict[str, Found | None] = {}
    if type(task).starts is not Task.starts:
        begun = await _run(settings, task, split, {key: sources[key] for key in sorted(firsts)}, TOP)
    improved = {key: once[key] for each in sets for key in each}
    return ScoresOnSplit(
        template.scores,
        {key: None if each is None else each.scores for key, each in once.items()},
        {key: _by_start(each.scores) for key, each in begun.items() if each is not None},
        {key: each.improved for key, each in improved.items() if each is not None and each.improved},
        {key: _by_start(each.improved) for key, each in begun.items() if each is not None and each.improved},
    )


async def _run(
    settings: Settings, task: Task, split: Split, sources: Mapping[str, str], starts: int
) -> dict[str, Found | None]:
    """Return what each program finds, None if it fails; instances are begun `starts` times each."""
    instances = begin_instances(task, split, starts)
    done = count(1)
    pool = judge_of(settings, task, split, starts=starts).sandbox
    assert isinstance(pool, ProgramPool), "a task's programs run in one"
    async with pool:

        async def tried(source: str) -> Found | None:
            solved = await pool.evaluate(source)
            sys.stderr.write(f"\r{split}, {starts} starts: {next(done)} of {len(sources)} programs ")
            return _scored(task, instances, solved) if isinstance(solved, Solved) else None

        return dict(zip(sources, await asyncio.gather(*map(tried, sources.values())), strict=True))


def _scored(task: Task, instances: Sequence[Any], solved: Solved) -> Found | None:
    plain = verdict_on(task, instances, solved)
    if isinstance(plain, Failure):
        return None
    better = [task.improve(*each) for each in zip(instances, solved.solutions, strict=True)]
    if any(each is None for each in better):
        return Found(round_scores(plain.scores), [])
    improved = verdict_on(task, instances, Solved(tuple(each for each in better if each is not None), 0.0))
    return None if isinstance(improved, Failure) else Found(round_scores(plain.scores), round_scores(improved.scores))


def _by_start(scores: Sequence[float]) -> list[list[float]]:
    """Return scores, which come instance by instance, in a list for each of the TOP starts."""
    return [list(scores[start::TOP]) for start in range(TOP)]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["keep", *folders]:
            keep(map(Path, folders))
        case ["score", place, name]:
            asyncio.run(score(place, name))
        case _:
            sys.exit(__doc__)
