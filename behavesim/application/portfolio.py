"""Portfolios of programs: choose and record one, write it to the run's folder, and try what the same work could buy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from behavesim.analysis.portfolio import Portfolio, Scores
from behavesim.analysis.run import Run
from behavesim.analysis.table import COUNT, SCORE, Column, Table
from behavesim.application.portfolio_file import portfolio_file
from behavesim.application.recommendation import settings_here, validating
from behavesim.base.config import Settings
from behavesim.base.text import count_noun
from behavesim.engine.build import judge_of
from behavesim.sandbox.judge import Improved, SandboxJudge
from behavesim.state.events import PortfolioChosen
from behavesim.state.protocols import Judge
from behavesim.store.folder import RunFolder, replace_file
from behavesim.store.journal import SqliteJournal
from behavesim.task import Objective, Task, instances_of
from behavesim.task.verdict import Verdict

# Default time limit of portfolio.py for one instance, in seconds, which all its programs share.
SECONDS = 60.0


async def record_portfolio(
    folders: Sequence[RunFolder], task: Task, count: int, workers: int | str | None = None
) -> Portfolio:
    """Choose at most `count` programs of the runs that behave differently, and return them as a portfolio, best first.

    The choice is appended to the first run's journal. That run's portfolio.py is written too, unless the task is online
    or no program is left. Programs that fail on validation instances are left out; otherwise the scores there do not
    affect the choice.

    Args:
        folders: The runs; the settings of the first one decide.
        task: The task of all runs.
        count: The largest number of programs, at least 1.
        workers: The number of programs run at once, or a cluster's name; None for the first run's own setting.

    Raises:
        UsageError: The runs' tasks or instances differ, two runs have one name, or isolation is too weak.
        BehavesimError: Another process holds the first run, or the sandbox fails.
    """
    # the lock keeps a resumed search from writing to the journal between the choice and its event
    with folders[0].locked():
        run, *others = [Run.load(folder) for folder in folders]
        runs = {each.folder.run: each for each in (run, *others)}
        async with validating(run, task, workers) as judge:
            event = await choose_portfolio(run, others, count, judge)
        async with SqliteJournal(run.folder.journal) as journal:
            await journal.append([event])
        # without validation instances the event has programs and no scores, so the lengths may differ
        found = run.portfolio(count, others, dict(zip(event.programs, event.validation, strict=False)))
        if found.members and not task.online:
            said = [f"run {each.run}, candidate {each.candidate}: score {each.score!r}" for each in found.members]
            programs = dict(zip(said, _sources(runs, found), strict=True))
            headline = _headline(task, found, sum(each.state.registered for each in runs.values()))
            text = portfolio_file(task, run.settings.task, programs, headline, SECONDS)
            replace_file(run.folder.portfolio, text)
        run.folder.note(f"a portfolio of {[f'{each.run} {each.candidate}' for each in found.members]}")
    return found


def _sources(runs: dict[str, Run], found: Portfolio) -> list[str]:
    return [runs[each.run].candidate(each.candidate).source or "" for each in found.members]


async def choose_portfolio(run: Run, others: Sequence[Run], count: int, validation: Judge | None) -> PortfolioChosen:
    """Return the event of choosing at most `count` programs from a run and others that behave differently.

    `validation` evaluates the chosen programs; the event holds their scores, None for a program that fails. Without it,
    the event holds no scores.
    """
    runs = {each.folder.run: each for each in (run, *others)}
    found = run.portfolio(count, others)
    scores: tuple[Scores | None, ...] = ()
    if validation is not None:
        verdicts = await asyncio.gather(*map(validation.evaluate, _sources(runs, found)))
        scores = tuple(verdict.scores if isinstance(verdict, Verdict) else None for verdict in verdicts)
    chosen = tuple((each.run, each.candidate) for each in found.members)
    return PortfolioChosen(count, chosen, scores, tuple(each.folder.run for each in others))


def _headline(task: Task, found: Portfolio, candidates: int) -> list[str]:
    """Return the lines at the top of portfolio.py; it was chosen from this number of `candidates`."""
    first, last, count = found.members[0], found.members[-1], len(found.members)
    validated = f"On validation instances: {first.validation!r} alone, {last.validation_together!r} together."
    return [
        f"{count} programs for the task {task.name!r} that behave differently; the best of their solutions counts.",
        f"They were chosen when {count_noun(candidates, 'candidate')} had been tried.",
        f"On the search's instances the best alone scored {first.score!r}, all together {last.together!r}.",
        *([] if last.validation is None else [validated]),
        f"An instance costs {count} times the work of one program. It needs `pip install behavesim`, and what the",
        "programs import.",
        "",
        "    import portfolio",
        '    found = portfolio.solve(portfolio.task.instances("held-out")[0], seconds=10)',
        "    found.solution, found.score, found.program    # the kinds of instances are in portfolio.task_file",
        "",
        "or `python portfolio.py [search|validation|held-out]`, which solves the task's own instances.",
    ]


# What the same work could buy instead: one program begun elsewhere, or improved by the task's local search.


# The name of the rival that is the portfolio itself.
SET = "the programs of the set"


@dataclass(frozen=True)
class Rival:
    """A way to spend work on the validation instances, and the best score that it found on each of them.

    `programs` is how many programs it runs, `runs` how many runs of them an instance gets. `cpu_s` is the CPU time on
    all instances, improvement included. `score` is the mean; `better` and `worse` count the instances on which it beats
    the set, or the set beats it.
    """

    name: str
    programs: int
    runs: int
    cpu_s: float
    scores: tuple[float, ...]
    score: float = 0.0
    better: int = 0
    worse: int = 0


def has_rivals(task: Task) -> bool:
    """Whether the task has `starts` or `improve` of its own, validation instances to try them on, and is not online."""
    own = type(task)
    can = own.starts is not Task.starts or own.improve is not Task.improve
    return can and not task.online and len(instances_of(task, "validation")) > 0


async def rivals_of_portfolio(
    folders: Sequence[RunFolder], task: Task, found: Portfolio, workers: int | str | None = None
) -> tuple[Rival, ...]:
    """Return the `rivals` of a portfolio of these runs, under the settings of the first one.

    `workers` is as for `record_portfolio`.
    """
    runs = {folder.run: Run.load(folder) for folder in folders}
    return await rivals(settings_here(runs[folders[0].run], workers), task, _sources(runs, found))


async def rivals(settings: Settings, task: Task, sources: Sequence[str]) -> tuple[Rival, ...]:
    """Try a set of programs (`sources`, best first) and its rivals on validation instances; return them, best first.

    A rival runs no more programs than the set. It is the best program from one or several starts, or half of the set
    from two starts each, or programs whose solutions the task improves. The result is () if the task has no rivals, for
    fewer than two programs, or if one of them fails here. Raises TaskError if the task's `starts` or `improve` does.
    """
    count = len(sources)
    if count < 2 or not has_rivals(task):
        return ()
    # one program that fails would make every way with all of them look worse than it is
    once = await _try(settings, task, sources, 1)
    if len(once) < count:
        return ()
    # Each rival: its name, what was tried, from how many starts, and whether the task improved the solutions.
    ways = [("the best program alone", once[:1], 1, False), (SET, once, 1, False)]
    many = list[Improved]()
    if type(task).starts is not Task.starts:
        many = await _try(settings, task, sources[:1], count)
        half = sources[: count // 2]
        twice = await _try(settings, task, half, 2) if len(half) > 1 else []
        ways.append((f"the best program begun {count} times", many, count, False))
        if len(twice) == len(half):
            ways.append((f"the first {len(half)} programs, each begun twice", twice, 2, False))
    for name, tried, starts in (
        ("the best program, then improved", once[:1], 1),
        ("the programs of the set, each improved", once, 1),
        (f"the best program begun {count} times, each improved", many, count),
    ):
        if all(each.improved for each in tried):  # else `improve` returned None
            ways.append((name, tried, starts, True))
    # a program that fails from several starts leaves nothing to compare
    found = [_rival(task, *way) for way in ways if way[1]]
    return rank_rivals(found, task.objective, task.mean_score)


async def _try(settings: Settings, task: Task, sources: Sequence[str], starts: int) -> list[Improved]:
    """Return what each program that does not fail reaches on the validation instances, begun `starts` times at most."""
    here = settings.model_copy(update={"workers": settings.workers_here})  # a cluster's workers begin instances once
    async with judge_of(here, task, "validation", starts=starts) as judge:
        assert isinstance(judge, SandboxJudge), "a task with rivals is no evaluator"
        found = await asyncio.gather(*map(judge.improved, sources))
    return [each for each in found if isinstance(each, Improved)]


def _rival(task: Task, name: str, tried: Sequence[Improved], starts: int, is_improved: bool) -> Rival:
    best = task.objective.best
    begun = [len(task.starts(each, starts)) if starts > 1 else 1 for each in instances_of(task, "validation")]
    best_of_all = map(best, zip(*(each.improved if is_improved else each.scores for each in tried), strict=True))
    scores = tuple(best(islice(best_of_all, count)) for count in begun)
    cpu_s = sum(each.cpu_s + (each.improving_s if is_improved else 0.0) for each in tried)
    return Rival(name, len(tried), len(tried) * starts, cpu_s, scores)


def rank_rivals(
    tried: Sequence[Rival], objective: Objective, mean: Callable[[Sequence[float]], float]
) -> tuple[Rival, ...]:
    """Return all that was tried, compared with SET, which is one of them; best score first, then least CPU time."""
    (ours,) = (each.scores for each in tried if each.name == SET)
    found = []
    for each in tried:
        pairs = zip(each.scores, ours, strict=True)
        gains = [objective.utility(score) - objective.utility(our) for score, our in pairs]
        better, worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
        found.append(replace(each, score=mean(each.scores), better=better, worse=worse))
    return tuple(sorted(found, key=lambda each: (-objective.utility(each.score), each.cpu_s)))


def verdict_on_rivals(rivals: Sequence[Rival]) -> str:
    """Return a text on the rivals, best first: which one wins, and whether a single program beats the set."""
    best, ours = rivals[0], next(each for each in rivals if each.name == SET)
    if best is ours and any(each.score == ours.score for each in rivals if each is not ours):
        return "the portfolio is as good as the best alternative tried, for no more CPU time"
    if best is ours:
        return "the portfolio is better than every alternative tried at no more runs of programs"
    said = f"best here: {best.name}, {best.score:.6g} on validation instances; the portfolio has {ours.score:.6g}"
    alone = next((each for each in rivals[: rivals.index(ours)] if each.programs == 1), None)
    if alone is None:
        return said
    verb = "equal" if alone.score == ours.score else "beat"
    return f"{said}\none program is enough to {verb} the portfolio: {alone.name}, {alone.score:.6g}"


def rivals_table(rivals: Sequence[Rival]) -> Table:
    """Return a table with a row per rival, best first."""
    columns = (
        Column("rival", title="what is run"),
        Column("runs", COUNT, title="runs an instance"),
        Column("cpu_s", SCORE, title="CPU s"),
        Column("score", SCORE, title="best, mean"),
        Column("against", title="instances better / worse than the portfolio"),
    )
    rows = tuple((each.name, each.runs, each.cpu_s, each.score, f"{each.better} / {each.worse}") for each in rivals)
    caption = "On validation instances: they are few, and nothing is tested."
    return Table("rivals", "alternatives at the same cost", columns, rows, caption)
