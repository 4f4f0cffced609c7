"""Chooses a recommended program or a portfolio, tries what it has to beat, records it and writes it to the folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice

from behavesim.analysis.portfolio import SET, Alternative, Portfolio, Rival, Scores, rivals_of
from behavesim.analysis.recommendation import recommend
from behavesim.analysis.run import Run
from behavesim.application.bundle import bundle
from behavesim.base.config import Settings
from behavesim.base.errors import UsageError
from behavesim.base.text import count_noun
from behavesim.engine.build import judge_of, judging, sandbox
from behavesim.reports.words import percent, program_name
from behavesim.sandbox.judge import Improved, SandboxJudge
from behavesim.state.events import TEMPLATE, Event, PortfolioChosen, Recommended
from behavesim.state.protocols import Judge
from behavesim.state.settings import settings_from_journal
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.writing import replace_file
from behavesim.task import Task, instances_of
from behavesim.task.verdict import Verdict

# Default time limit of portfolio.py for one instance, in seconds, which all its programs share.
SECONDS = 60.0


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
        f"run {folder.run}, {program_name(chosen.candidate)}: score {chosen.score!r}, "
        f"gap {percent(run.gap(chosen.score))}, on validation instances {validation!r}{gained}"
    )
    folder.write_recommended(chosen.source or "", headline)
    folder.note(f"recommended {program_name(chosen.candidate)} of {sorted(event.validation)}")


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
    """Return the lines at the top of portfolio.py: what it is, what it scored, and how it is used."""
    # `candidates` is the number of candidates that it was chosen from.
    first, last, count = found.members[0], found.members[-1], len(found.members)
    validated = f"On validation instances: {first.validation!r} alone, {last.validation_together!r} together."
    return [
        f"{count} programs for the task {task.name!r} that behave differently; the best of their solutions counts.",
        f"They were chosen when {count_noun(candidates, 'candidate')} had been tried.",
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


# Tries what a set of programs has to beat: one program begun elsewhere, or improved by the task's local search.


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
    found = [_alternative("the best program alone", task, once[:1], 1), _alternative(SET, task, once, 1)]
    many = list[Improved]()
    if type(task).starts is not Task.starts:
        many = await _tried(settings, task, sources[:1], count)
        if many:
            found.append(_alternative(f"the best program begun {count} times", task, many, count))
        half = sources[: count // 2]
        twice = await _tried(settings, task, half, 2) if len(half) > 1 else []
        if twice and len(twice) == len(half):
            found.append(_alternative(f"the first {len(half)} programs, each begun twice", task, twice, 2))
    found += _improved(task, once, many)
    return rivals_of(found, task.objective, task.mean_score)


def _improved(task: Task, once: Sequence[Improved], many: Sequence[Improved]) -> list[Alternative]:
    """Return the rivals whose solutions the task improved, without those for which `improve` returned None."""
    # `once` has the programs of the set, begun once, best first; `many` has the best one begun as many times.
    rivals = [
        ("the best program, then improved", once[:1], 1),
        ("the programs of the set, each improved", once, 1),
        (f"the best program begun {len(once)} times, each improved", many, len(once)),
    ]
    return [
        _alternative(name, task, tried, starts, improved=True)
        for name, tried, starts in rivals
        if tried and all(each.improved for each in tried)
    ]


async def _tried(settings: Settings, task: Task, sources: Sequence[str], starts: int) -> list[Improved]:
    """Return what each program reaches on the validation instances, each begun at most `starts` times."""
    # Programs that fail are left out.
    pool = sandbox(settings, task, "validation", starts=starts)
    async with judge_of(settings, task, "validation", pool, starts=starts) as judge:
        assert isinstance(judge, SandboxJudge), "a task with rivals is no evaluator"
        found = await asyncio.gather(*map(judge.improved, sources))
    return [each for each in found if isinstance(each, Improved)]


def _alternative(name: str, task: Task, tried: Sequence[Improved], starts: int, improved: bool = False) -> Alternative:
    """Return the rival `name`: the best score of the `tried` programs, begun at most `starts` times, on each instance.

    The scores are those after `Task.improve` if `improved`.
    """
    best = max if task.objective.direction == "maximise" else min
    begun = [len(task.starts(each, starts)) if starts > 1 else 1 for each in instances_of(task, "validation")]
    best_of_all = map(best, zip(*(each.improved if improved else each.scores for each in tried), strict=True))
    scores = tuple(best(islice(best_of_all, count)) for count in begun)
    cpu_s = sum(each.cpu_s + (each.improving_s if improved else 0.0) for each in tried)
    return Alternative(name, len(tried), len(tried) * starts, cpu_s, scores)
