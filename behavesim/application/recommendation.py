"""Chooses the recommended program or a portfolio of runs, records it in the journal and writes it to the folder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from behavesim.analysis.portfolio import Portfolio, PortfolioProgram, Scores
from behavesim.analysis.recommendation import recommend
from behavesim.analysis.run import Run
from behavesim.application.bundle import bundle
from behavesim.base.errors import UsageError
from behavesim.engine.build import judging
from behavesim.reports.program import named
from behavesim.reports.words import percent
from behavesim.state.events import TEMPLATE, PortfolioChosen, Recommended
from behavesim.state.protocols import Judge
from behavesim.state.verdict import Verdict
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.task import Task, instances_of

SECONDS = 60.0
"""Time limit of portfolio.py per instance, in seconds, unless its user gives another."""


async def record_recommendation(run: Run, task: Task) -> None:
    """Choose the recommended program of a run, append it to the journal and write recommended.py.

    `run` reads new events of its journal before and after. If no program works on the validation instances, a line in
    the run's log says so. Raises UsageError if the task has no validation instances, BehavesimError if another process
    holds the run.
    """
    folder = run.folder
    if not len(instances_of(task, "validation")):
        raise UsageError(f"the task {task.name!r} has no validation instances to choose a program on")
    with folder.locked():
        run.follow()
        async with judging(folder.with_task_at_hand(run.settings), task, "validation") as judge:
            event = await recommend(run, judge)
        async with SqliteJournal(folder.journal) as journal:
            await journal.append([event])
        run.follow()
        _write(run, event)


def _write(run: Run, event: Recommended) -> None:
    folder, chosen = run.folder, run.recommended
    if chosen is None:
        folder.note("no program on the shortlist works on the validation instances")
        return
    validation = event.validation[chosen.candidate]
    gained = f", gain on the template {percent(event.worth[chosen.candidate])}" if TEMPLATE in event.worth else ""
    headline = (
        f"run {folder.run}, {named(chosen.candidate)}: score {chosen.score!r}, "
        f"gap {percent(run.gap(chosen.score))}, on validation instances {validation!r}{gained}"
    )
    folder.write_recommended(chosen.source or "", headline)
    folder.note(f"recommended {named(chosen.candidate)} of {sorted(event.validation)}")


async def record_portfolio(folders: Sequence[RunFolder], task: Task, count: int) -> Portfolio:
    """Choose at most `count` programs of the runs that behave differently, and return them as a portfolio.

    It is recorded in the first run's journal and written to its portfolio.py, except for online tasks. Programs that
    fail on validation instances are left out; the scores there do not affect the choice otherwise. Raises UsageError if
    the runs' tasks or instances differ, if two runs have one name, or if `count` is less than 1; BehavesimError if
    another process holds the first run.
    """
    with folders[0].locked():
        run, *others = [Run.load(folder.path) for folder in folders]
        sources = {each.folder.run: each for each in (run, *others)}
        async with AsyncExitStack() as stack:
            event = await choose_portfolio(run, others, count, await _validating(run, task, stack))
        async with SqliteJournal(folders[0].journal) as journal:
            await journal.append([event])
        found = run.portfolio(count, others, dict(zip(event.programs, event.validation, strict=False)))
        if found.members and not task.online:
            written = [sources[each.run].candidate(each.candidate).source or "" for each in found.members]
            folders[0].write_portfolio(_bundled(task, found, written))
        folders[0].note(f"a portfolio of {[f'{each.run} {each.candidate}' for each in found.members]}")
    return found


async def choose_portfolio(run: Run, others: Sequence[Run], count: int, validation: Judge | None) -> PortfolioChosen:
    """Return the event of choosing at most `count` programs from a run and others, with their validation scores.

    A program that fails on validation instances has None for its scores. Without a judge there are no such scores.
    Raises UsageError as `Run.portfolio` does.
    """
    runs = {each.folder.run: each for each in (run, *others)}
    chosen = [(each.run, each.candidate) for each in run.portfolio(count, others).members]
    scores: tuple[Scores | None, ...] = ()
    if validation is not None:
        programs = [runs[name].candidate(number).source or "" for name, number in chosen]
        verdicts = await asyncio.gather(*map(validation.evaluate, programs))
        scores = tuple(verdict.scores if isinstance(verdict, Verdict) else None for verdict in verdicts)
    return PortfolioChosen(count, tuple(chosen), scores, tuple(each.folder.run for each in others))


async def _validating(run: Run, task: Task, stack: AsyncExitStack) -> Judge | None:
    """Return a judge on the validation instances, closed when the stack exits; None if the task has none."""
    if not len(instances_of(task, "validation")):
        return None
    settings = run.folder.with_task_at_hand(run.settings)
    return await stack.enter_async_context(judging(settings, task, "validation"))


def _bundled(task: Task, found: Portfolio, sources: Sequence[str]) -> str:
    last = found.members[-1]
    count = len(found.members)
    headline = (
        f"{count} programs for the task {task.name!r} that behave differently; the best of their solutions counts.",
        f"On the search's instances the best alone scored {found.members[0].score!r}, all together {last.together!r}.",
        *(
            [f"On validation instances: {found.members[0].validation!r} alone, {last.validation_together!r} together."]
            if last.validation is not None
            else []
        ),
        f"An instance costs {count} times the work of one program. It needs numpy, and what the programs import.",
        "",
        "    import portfolio",
        '    found = portfolio.solve(portfolio.task.instances("held-out")[0], seconds=10)',
        "    found.solution, found.score, found.program    # the kinds of instances are in portfolio.task_file",
        "",
        "or `python portfolio.py [search|validation|held-out]`, which solves the task's own instances.",
    )
    return bundle(
        task, {_said(each): source for each, source in zip(found.members, sources, strict=True)}, headline, SECONDS
    )


def _said(member: PortfolioProgram) -> str:
    return f"run {member.run}, candidate {member.candidate}: score {member.score!r}"
