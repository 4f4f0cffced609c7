"""Tries what a set of programs has to beat: one program begun elsewhere, or improved by the task's local search."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import islice

from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.rivals import SET, Rival, Spent, rivals_of
from behavesim.analysis.run import Run
from behavesim.application.recommendation import settings_here
from behavesim.base.config import Settings
from behavesim.engine.judging import judge_of, sandbox
from behavesim.sandbox.judge import Improved, SandboxJudge
from behavesim.store.folder import RunFolder
from behavesim.task import Task, instances_of


def has_rivals(task: Task) -> bool:
    """Whether the task has `starts` or `improve` of its own, validation instances to try them on, and is not online."""
    own = type(task)
    can = own.starts is not Task.starts or own.improve is not Task.improve
    return can and not task.online and len(instances_of(task, "validation")) > 0


async def rivals_of_portfolio(
    folders: Sequence[RunFolder], task: Task, found: Portfolio, workers: int | str | None = None
) -> tuple[Rival, ...]:
    """Return what `rivals` returns for the programs of a portfolio, under the settings of the first of the runs.

    `folders` are the runs from which the portfolio was chosen. `workers` is the number of programs run at once, or a
    cluster's name; None for the first run's own setting. Raises as `rivals`, and JournalError if a journal cannot be
    read.
    """
    runs = {folder.run: Run.load(folder.path) for folder in folders}
    sources = [runs[each.run].candidate(each.candidate).source or "" for each in found.members]
    return await rivals(settings_here(runs[folders[0].run], workers), task, sources)


async def rivals(settings: Settings, task: Task, sources: Sequence[str]) -> tuple[Rival, ...]:
    """Try a set of programs and its rivals on validation instances, and return them, best first.

    A rival runs no more programs than the set. It is the best program from one or several starts, or half of the set
    from two starts each, or programs whose solutions the task improves. `sources` are the set's programs, best first.
    The result is () if the task has no rivals (`has_rivals`), for fewer than two programs, or if one of them fails
    here. A rival that fails from several starts is left out. Raises SandboxError if the sandbox fails, TaskError if the
    task's `starts` or `improve` does, UsageError if isolation is too weak.
    """
    count = len(sources)
    if count < 2 or not has_rivals(task):
        return ()
    once = await _tried(settings, task, sources, 1)
    if len(once) < count:
        return ()
    # as many runs of programs as the set has: one program from so many starts, or half of them from two each
    found = [_spent("the best program alone", task, once[:1], 1), _spent(SET, task, once, 1)]
    many = list[Improved]()
    if type(task).starts is not Task.starts:
        many = await _tried(settings, task, sources[:1], count)
        if many:
            found.append(_spent(f"the best program begun {count} times", task, many, count))
        half = sources[: count // 2]
        twice = await _tried(settings, task, half, 2) if len(half) > 1 else []
        if twice and len(twice) == len(half):
            found.append(_spent(f"the first {len(half)} programs, each begun twice", task, twice, 2))
    found += _improved(task, once, many)
    return rivals_of(found, task.objective, task.mean_score)


def _improved(task: Task, once: Sequence[Improved], many: Sequence[Improved]) -> list[Spent]:
    """Return the rivals whose solutions the task improved, without those for which `improve` returned None.

    `once` has the programs of the set, begun once, best first; `many` has the best one begun as many times.
    """
    rivals = [
        ("the best program, then improved", once[:1], 1),
        ("the programs of the set, each improved", once, 1),
        (f"the best program begun {len(once)} times, each improved", many, len(once)),
    ]
    return [
        _spent(name, task, tried, starts, improved=True)
        for name, tried, starts in rivals
        if tried and all(each.improved for each in tried)
    ]


async def _tried(settings: Settings, task: Task, sources: Sequence[str], starts: int) -> list[Improved]:
    """Return what each program reaches on the validation instances, each begun at most `starts` times.

    Programs that fail are left out.
    """
    pool = sandbox(settings, task, "validation", starts=starts)
    async with judge_of(settings, task, "validation", pool, starts=starts) as judge:
        assert isinstance(judge, SandboxJudge), "a task with rivals is no evaluator"
        found = await asyncio.gather(*map(judge.improved, sources))
    return [each for each in found if isinstance(each, Improved)]


def _spent(name: str, task: Task, tried: Sequence[Improved], starts: int, improved: bool = False) -> Spent:
    """Return the rival `name`: the best score of the `tried` programs, begun at most `starts` times, on each instance.

    The scores are those after `Task.improve` if `improved`.
    """
    best = max if task.objective.direction == "maximise" else min
    begun = [len(task.starts(each, starts)) if starts > 1 else 1 for each in instances_of(task, "validation")]
    best_of_all = map(best, zip(*(each.improved if improved else each.scores for each in tried), strict=True))
    scores = tuple(best(islice(best_of_all, count)) for count in begun)
    cpu_s = sum(each.cpu_s + (each.improving_s if improved else 0.0) for each in tried)
    return Spent(name, len(tried), len(tried) * starts, cpu_s, scores)
