"""Chooses the recommended program of a run, or a portfolio of several runs; records it and writes it to the folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from behavesim.analysis.clearing import Scores
from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.recommendation import recommend
from behavesim.analysis.run import Run
from behavesim.application.bundle import bundle
from behavesim.base.config import Settings
from behavesim.base.errors import UsageError
from behavesim.base.text import counted
from behavesim.engine.judging import judging
from behavesim.reports.words import named, percent
from behavesim.state.events import TEMPLATE, Event, PortfolioChosen, Recommended
from behavesim.state.protocols import Judge
from behavesim.state.settings import settings_from_journal
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.writing import replace_file
from behavesim.task import Task, instances_of
from behavesim.task.verdict import Verdict

SECONDS = 60.0
"""Default time limit of portfolio.py for one instance, in seconds, which all its programs share."""


async def record_recommendation(run: Run, task: Task, workers: int | str | None = None) -> None:
    """Choose the recommended program of a run, append the choice to the journal and write recommended.py.

    `workers` is the number of programs run at once, or a cluster's name; None for that of the run's last session. `run`
    reads new events of its journal before and after. If no program works on the validation instances, the choice is
    none, and recommended.py is not written. Raises UsageError if the task has no validation instances or isolation is
    too weak, BehavesimError if another process holds the run, SandboxError if the sandbox fails.
    """
    with run.folder.locked():
        run.follow()  # another process may have written since the run was read
        async with validating(run, task, workers) as judge:
            if judge is None:
                raise UsageError(f"the task {task.name!r} has no validation instances to choose a program on")
            event = await recommend(run, judge)
        await _append(run.folder, event)
        run.follow()
        _write(run, event)


@asynccontextmanager
async def validating(run: Run, task: Task, workers: int | str | None) -> AsyncIterator[Judge | None]:
    """Yield a judge on the task's validation instances, under the run's settings; None if there are no such instances.

    `workers` is the number of programs run at once, or a cluster's name; None for that of the run's last session.
    Raises SandboxError if the sandbox cannot be started, UsageError if its isolation is too weak.
    """
    if not len(instances_of(task, "validation")):
        yield None
        return
    async with judging(settings_here(run, workers), task, "validation") as judge:
        yield judge


def settings_here(run: Run, workers: int | str | None) -> Settings:
    """Return the settings under which programs of a run are tried, the task being where it is now.

    `workers` is the number of workers or the name of a cluster; None for that of the run's last session, which its
    folder holds. The cluster of an earlier session may be gone. Without a file of settings there, it is the first's.
    """
    settings = run.folder.with_task_at_hand(run.settings)
    if workers is None and run.folder.settings.exists():
        workers = settings_from_journal(run.folder.read_settings()).workers
    return settings if workers is None else settings.model_copy(update={"workers": workers})


async def _append(folder: RunFolder, event: Event) -> None:
    """Append an event to a run's journal; the caller holds the run's lock."""
    async with SqliteJournal(folder.journal) as journal:
        await journal.append([event])


def _write(run: Run, event: Recommended) -> None:
    """Write the recommended program into the run's folder, unless there is none, and a line into its log."""
    folder, chosen = run.folder, run.recommended
    if chosen is None:
        folder.note("no program on the shortlist works on the validation instances")
        return
    validation = event.validation[chosen.candidate]
    gain = event.worth[chosen.candidate] if TEMPLATE in event.worth else None
    together = "on search and validation instances together"
    gained = "" if gain is None else f"; gain on the template {percent(gain)} {together}"
    headline = (
        f"run {folder.run}, {named(chosen.candidate)}: score {chosen.score!r}, "
        f"gap {percent(run.gap(chosen.score))}, on validation instances {validation!r}{gained}"
    )
    folder.write_recommended(chosen.source or "", headline)
    folder.note(f"recommended {named(chosen.candidate)} of {sorted(event.validation)}")


async def record_portfolio(
    folders: Sequence[RunFolder], task: Task, count: int, workers: int | str | None = None
) -> Portfolio:
    """Choose at most `count` programs of the runs that behave differently, and return them as a portfolio, best first.

    The choice is appended to the first run's journal. That run's portfolio.py is written too, unless the task is online
    or no program is left. Programs that fail on validation instances are left out; otherwise the scores there do not
    affect the choice. `workers` is the number of programs run at once, or a cluster's name; None for the first run's
    own setting. Raises UsageError if the runs' tasks or instances differ, if two runs have one name, if `count` is less
    than 1, or if isolation is too weak. Raises BehavesimError if another process holds the first run, SandboxError if
    the sandbox fails.
    """
    with folders[0].locked():
        run, *others = [Run.load(folder.path) for folder in folders]
        runs = {each.folder.run: each for each in (run, *others)}
        async with validating(run, task, workers) as judge:
            event = await choose_portfolio(run, others, count, judge)
        await _append(run.folder, event)
        # without validation instances the event has programs and no scores, so the lengths may differ
        found = run.portfolio(count, others, dict(zip(event.programs, event.validation, strict=False)))
        if found.members and not task.online:
            said = [f"run {each.run}, candidate {each.candidate}: score {each.score!r}" for each in found.members]
            sources = [runs[each.run].candidate(each.candidate).source or "" for each in found.members]
            programs = dict(zip(said, sources, strict=True))
            candidates = sum(each.state.registered for each in runs.values())
            replace_file(run.folder.portfolio, bundle(task, programs, _headline(task, found, candidates), SECONDS))
        run.folder.note(f"a portfolio of {[f'{each.run} {each.candidate}' for each in found.members]}")
    return found


async def choose_portfolio(run: Run, others: Sequence[Run], count: int, validation: Judge | None) -> PortfolioChosen:
    """Return the event of choosing at most `count` programs from a run and others that behave differently.

    `validation` evaluates the chosen programs; the event holds their scores, None for a program that fails. Without it,
    the event holds no scores. Raises UsageError if the runs' tasks or instances differ, two have one name, or `count`
    is less than 1.
    """
    runs = {each.folder.run: each for each in (run, *others)}
    chosen = [(each.run, each.candidate) for each in run.portfolio(count, others).members]
    scores: tuple[Scores | None, ...] = ()
    if validation is not None:
        programs = [runs[name].candidate(number).source or "" for name, number in chosen]
        verdicts = await asyncio.gather(*map(validation.evaluate, programs))
        scores = tuple(verdict.scores if isinstance(verdict, Verdict) else None for verdict in verdicts)
    return PortfolioChosen(count, tuple(chosen), scores, tuple(each.folder.run for each in others))


def _headline(task: Task, found: Portfolio, candidates: int) -> list[str]:
    """Return the lines at the top of portfolio.py: what it is, what it scored, and how it is used.

    `candidates` is the number of candidates that it was chosen from.
    """
    first, last, count = found.members[0], found.members[-1], len(found.members)
    validated = f"On validation instances: {first.validation!r} alone, {last.validation_together!r} together."
    return [
        f"{count} programs for the task {task.name!r} that behave differently; the best of their solutions counts.",
        f"They were chosen when {counted(candidates, 'candidate')} had been tried.",
        f"On the search's instances the best alone scored {first.score!r}, all together {last.together!r}.",
        *([] if last.validation is None else [validated]),
        f"An instance costs {count} times the work of one program. It needs numpy, and what the programs import.",
        "",
        "    import portfolio",
        '    found = portfolio.solve(portfolio.task.instances("held-out")[0], seconds=10)',
        "    found.solution, found.score, found.program    # the kinds of instances are in portfolio.task_file",
        "",
        "or `python portfolio.py [search|validation|held-out]`, which solves the task's own instances.",
    ]
