"""The recommended program of a run: chosen on instances that the search does not use, and recorded.

Where a task gives instances without end, the shortlist races on fresh ones (`state.champion`), and the choice has a
certificate. Elsewhere the validation instances decide.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from statistics import fmean

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.held_out import deciding_scores, gain, gain_title
from behavesim.analysis.run import Run
from behavesim.analysis.summary import last_settings
from behavesim.analysis.table import COUNT, FRACTION, SCORE, Column, Table
from behavesim.base.config import Settings
from behavesim.base.errors import UsageError
from behavesim.engine.build import judge_of
from behavesim.reports.words import percent, program_name
from behavesim.state.events import TEMPLATE, CandidateId, FreshBegun, FreshScored, Recommended
from behavesim.state.protocols import Judge, unnoticed
from behavesim.state.race import FreshRace, describe, most_instances, usual_purse
from behavesim.store.journal import SqliteJournal
from behavesim.store.run_files import write_best
from behavesim.task import Objective, Task, instances_of
from behavesim.task.verdict import Block as Further
from behavesim.task.verdict import Verdict

# An event of the choice of a program; the last is `Recommended`.
Choice = FreshBegun | FreshScored | Recommended

GAIN_RULE = (  # what the caption of the table of tried programs says
    "Chosen: the greatest gain on the template, the mean over all search and validation instances of the difference "
    "relative to the template's score there (on all instances of a split at once, if the task has a `mean_score` of "
    "its own). Ties go to the template, then to the better score in the search."
)
SCORE_RULE = (
    "Chosen: the best mean score over all search and validation instances, since the template failed there. "
    "Ties go to the better score in the search."
)
RACE_RULE = (
    "Chosen: the greatest mean gain on the template on fresh instances, which nothing had used before. They come in "
    "blocks that double, for the programs that could still be the best."
)


async def record_recommendation(
    run: Run, task: Task, workers: int | str | None = None, evaluations: int | None = None
) -> None:
    """Choose the recommended program of a run, append the choice to the journal and write recommended.py.

    Where the task has instances without end, the programs race on fresh ones. A race that was interrupted goes on; if
    fewer `evaluations` are given than it was begun with, a shorter one on other instances takes its place. If no
    program works on the validation instances, the choice is none, and recommended.py is not written.

    Args:
        run: It reads new events of its journal before and after.
        task: The run's task.
        workers: The number of programs run at once, or a cluster's name; None for that of the run's last session.
        evaluations: Most evaluations of one program on one fresh instance; None for what the settings say.

    Raises:
        UsageError: The task has no validation instances, or isolation is too weak.
        BehavesimError: Another process holds the run, or the sandbox fails.
    """
    with run.folder.locked():
        run.follow()  # another process may have written since the run was read
        purse = purse_of(run, task, evaluations)
        if run.state.is_racing and run.state.fresh is not None:  # unless a person says so, it keeps what it began with
            purse = run.state.fresh.begun.purse if evaluations is None else max(1, purse)
        async with (
            validating(run, task, workers, purse) as judge,
            SqliteJournal(run.folder.journal) as journal,
        ):
            if judge is None:
                raise UsageError(f"the task {task.name!r} has no validation instances to choose a program on")
            event: Choice | None = None
            while not isinstance(event, Recommended):
                # a block's instances are in the journal before a program sees them: nobody can choose lucky ones
                event = await next_choice(run, task, judge, purse)
                await journal.append([event])
                run.follow()  # from the journal, not from `event`: the folder must say what a reader of it would find
        _write(run, event)
    run.follow()  # which says that nobody holds it: a summary that is kept of a held run is never read again


@asynccontextmanager
async def validating(run: Run, task: Task, workers: int | str | None, purse: int = 0) -> AsyncIterator[Judge | None]:
    """Yield a judge on the task's validation instances, under the run's settings; None if there are no such instances.

    `workers` is as for `record_recommendation`. With a `purse` it also judges on fresh ones, enough for a race.
    """
    if not (count := len(instances_of(task, "validation"))):
        yield None
        return
    further = 0
    if race := race_under_way(run, purse):
        further = race.last_number - count
    elif purse:
        further = first_fresh(run, count) + most_instances(count, purse) - count
    async with judge_of(settings_here(run, workers), task, "validation", max(0, further)) as judge:
        yield judge


# The race on fresh instances.


def race_under_way(run: Run, purse: int) -> FreshRace | None:
    """Return the race that goes on; None if there is none, or if it is given up for one with a smaller `purse`."""
    race = run.state.fresh if run.state.is_racing else None
    return None if race is not None and 0 < purse < race.begun.purse else race


def without_certificate(task: Task) -> str:
    """Return why a program of the task is recommended without a certificate, in words; "" if it can have one."""
    if not task.endless:
        return f"no certificate: {task.name} has a fixed number of instances, so that there are no fresh ones"
    if task.has_own_mean:
        return f"no certificate: {task.name} has a `mean_score` of its own, and intervals are of means"
    return ""


def certificate_line(run: Run, task: Task) -> str:
    """Return what is known of the recommended program's gain, or why nothing is; "" if there is no program."""
    if run.certificate is not None:
        return describe(run.certificate)
    if run.recommended is None:
        return ""
    small = (
        f"no certificate: a small run has no race; behavesim recommend {run.folder.argument} --evaluations 500 has one"
    )
    return without_certificate(task) or (small if not purse_of(run, task) else "")


def purse_of(run: Run, task: Task, evaluations: int | None = None) -> int:
    """Return how many evaluations of one program on one instance a race may cost; 0 if there is none.

    `evaluations` is what a person gave; None for what the settings say, or `usual_purse`.
    """
    if without_certificate(task):
        return 0
    settings = last_settings(run)
    given = settings.fresh_evaluations if evaluations is None else evaluations
    if given is not None:
        return given
    # the template's scores say it without making the instances once more
    search = len(instances_of(task, "search") if run.template is None else run.template.scores)
    validation = len(instances_of(task, "validation"))
    return usual_purse(settings.budget, search, validation, settings.shortlist)


def first_fresh(run: Run, validation: int) -> int:
    """Return the first number from which on the run has used none of the validation instances, of which the split has
    so many."""
    return max(run.state.fresh_used, validation if run.state.used_validation else 0)


async def next_choice(run: Run, task: Task, judge: Judge | None, purse: int) -> Choice:
    """Return the event that follows in the choice of a program: a race begins, its next block's scores, or the end.

    It follows from the run's journal and the verdicts of `judge` alone. Without a `purse` there is no race, unless one
    is under way, and programs are tried on the validation instances (`recommend`). One with a smaller `purse` takes the
    place of a race that is under way.
    """
    race = race_under_way(run, purse)
    if race is None:
        listed = shortlist(run) if purse and run.template is not None else []
        if not listed:
            return Recommended(None, {}) if judge is None else await recommend(run, judge)
        count = len(instances_of(task, "validation"))
        programs = (TEMPLATE, *(candidate.candidate for candidate in listed))
        return FreshBegun(programs, first_fresh(run, count), count, purse)
    if (block := race.next_block()) is None:
        return _winner(run, race)
    assert judge is not None, "a race has instances"
    split = len(instances_of(task, "validation"))
    # the numbers below the split's length are its own instances
    on = None if block.first == 0 else Further(block.first, block.count, block.count / split)
    sources = [run.candidate(program).source or "" for program in block.programs]
    verdicts = await asyncio.gather(*(judge.evaluate(source, unnoticed, on) for source in sources))
    scored = {
        program: tuple(verdict.scores) if isinstance(verdict, Verdict) else ()
        for program, verdict in zip(block.programs, verdicts, strict=True)
    }
    return FreshScored(block.first, block.count, scored)


def _winner(run: Run, race: FreshRace) -> Recommended:
    """Return the choice that follows from a race that is over."""
    validation = {
        program: None if program in race.failed else fmean(race.scores[program][: race.begun.size])
        for program in race.begun.programs
    }
    if (winner := race.winner) is not None:
        gains = {program: fmean(each) for program, each in race.gains().items()}
        return Recommended(winner, validation, gains)
    # the template fails on some instance, so that there are no gains: the mean score decides, as without a race
    scores = {
        program: (*run.candidate(program).scores, *race.scores[program])
        for program in race.begun.programs
        if program not in race.failed
    }
    worth = worths(scores, run.state.objective)
    return Recommended(max(worth, key=worth.__getitem__) if worth else None, validation, worth)


def settings_here(run: Run, workers: int | str | None) -> Settings:
    """Return the settings under which programs of a run are tried; the task's path is where it is now.

    `workers` is as for `record_recommendation`.
    """
    settings = run.folder.with_task_at_hand(run.settings)
    # of the last session: the cluster of an earlier one may be gone
    return settings.model_copy(update={"workers": last_settings(run).workers if workers is None else workers})


def _write(run: Run, event: Recommended) -> None:
    """Write the recommended program into the run's folder, unless there is none, and a line into its log."""
    chosen = run.recommended
    if chosen is None:
        run.folder.note("no program on the shortlist works on the validation instances")
        return
    gained = run.validated_gain(chosen)
    certificate = run.certificate
    if certificate is not None:
        more = f"; {describe(certificate)}"
    elif gained is None:
        more = ""
    else:
        more = f"; gain on the template {percent(gained)} on search and validation instances together"
    headline = (
        f"run {run.folder.run}, {program_name(chosen.candidate)}: score {chosen.score!r}, "
        f"gap {percent(run.gap(chosen.score))}, on validation instances {event.validation[chosen.candidate]!r}{more}"
    )
    run.folder.write_recommended(chosen.source or "", headline)
    if certificate is not None:  # the best program of the search raced, too
        write_best(run.folder, run.state, run.task().suffix)
    run.folder.note(f"recommended {program_name(chosen.candidate)} of {sorted(event.validation)}{more}")


def shortlist(run: Run) -> list[Candidate]:
    """Return at most `settings.shortlist` programs of the run that behave differently, best score first.

    The template is not among them.
    """
    chosen = run.clearing().choose(run.portfolio_candidates(), run.settings.shortlist)
    return [run.candidate(each.candidate) for each in chosen]


async def recommend(run: Run, validation: Judge) -> Recommended:
    """Evaluate the shortlist and the template with `validation`, and return the event that names the best program.

    The best has the greatest gain on the template over search and validation instances together (`gain`); if the
    template fails there, the best mean score. Ties go to the template, then to the first on the list. `choice` is None
    if the shortlist is empty, or if all programs fail.
    """
    listed = shortlist(run)
    if listed and run.template is not None:
        listed = [run.template, *listed]
    verdicts = await asyncio.gather(*(validation.evaluate(candidate.source or "") for candidate in listed))
    validated: dict[CandidateId, float | None] = {}
    scores: dict[CandidateId, Sequence[float]] = {}
    for candidate, verdict in zip(listed, verdicts, strict=True):
        validated[candidate.candidate] = None
        if isinstance(verdict, Verdict):
            validated[candidate.candidate] = verdict.score
            # both splits count by their instances: a program must not win by luck on a few validation instances
            has_own_mean = run.task().has_own_mean
            both = (candidate.score, candidate.scores), (verdict.score, verdict.scores)
            scores[candidate.candidate] = [each for split in both for each in deciding_scores(*split, has_own_mean)]
    worth = worths(scores, run.state.objective)
    choice = max(worth, key=worth.__getitem__) if worth else None  # max returns the first of equal ones
    return Recommended(choice, validated, worth)


def worths(scores: Mapping[CandidateId, Sequence[float]], objective: Objective) -> dict[CandidateId, float]:
    """Return each program's gain on the template, a fraction; higher is better (`gain`).

    `scores` maps candidate numbers to one score per instance. If the template (-1) is missing, return each program's
    mean score instead, negated if scores are minimised.
    """
    if TEMPLATE in scores:
        return {number: gain(ours, scores[TEMPLATE], objective) for number, ours in scores.items()}
    return {number: objective.utility(fmean(ours)) for number, ours in scores.items()}


def shortlist_table(run: Run) -> Table:
    """Return a table of the programs tried on validation instances, with the gain or mean score that decided.

    The chosen program is marked; one without validation score failed there. There are no rows if nothing was tried.
    """
    event = run.state.recommended or Recommended(None, {})
    is_gain, race = TEMPLATE in event.worth, run.state.fresh
    seen = {} if race is None else {program: len(scores) for program, scores in race.scores.items()}

    def decided(number: CandidateId) -> float | None:
        worth = event.worth.get(number)
        return worth if worth is None or is_gain else run.state.objective.utility(worth)  # a utility's is the score

    columns = (
        Column("program"),
        Column("score", SCORE, title="score in the search"),
        Column("validation_score", SCORE, title="on validation instances"),
        Column("gain", FRACTION, title=gain_title(run)) if is_gain else Column("mean", SCORE),
        *([Column("fresh", COUNT, title="fresh instances")] if seen else []),
        Column("choice", title=""),
    )
    rows = tuple(
        (
            *("template" if number == TEMPLATE else str(number), run.candidate(number).score, score, decided(number)),
            *([seen.get(number)] if seen else []),
            "chosen" if number == event.choice else None,
        )
        for number, score in event.validation.items()
    )
    marked = frozenset(place for place, number in enumerate(event.validation) if number == event.choice)
    # an old journal has no numbers that decided, nor has one whose programs all failed
    caption = "" if not event.worth else RACE_RULE if is_gain and seen else GAIN_RULE if is_gain else SCORE_RULE
    return Table("shortlist", f"programs tried for {run.folder.run}", columns, rows, caption, marked=marked)
