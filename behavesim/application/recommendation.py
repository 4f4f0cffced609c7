"""The recommended program of a run: chosen on validation instances, which the search does not use, and recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from statistics import fmean

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.held_out import deciding_scores, gain
from behavesim.analysis.run import Run
from behavesim.analysis.table import FRACTION, SCORE, Column, Table
from behavesim.base.config import Settings
from behavesim.base.errors import UsageError
from behavesim.engine.build import judging
from behavesim.reports.words import percent, program_name
from behavesim.state.events import TEMPLATE, CandidateId, Recommended
from behavesim.state.protocols import Judge
from behavesim.state.settings import settings_from_journal
from behavesim.store.journal import SqliteJournal
from behavesim.task import Objective, Task, instances_of
from behavesim.task.verdict import Verdict

GAIN_RULE = (  # what the caption of the table of tried programs says
    "Chosen: the greatest gain on the template, the mean over all search and validation instances of the difference "
    "relative to the template's score there (on all instances of a split at once, if the task has a `mean_score` of "
    "its own). Ties go to the template, then to the better score in the search."
)
SCORE_RULE = (
    "Chosen: the best mean score over all search and validation instances, since the template failed there. "
    "Ties go to the better score in the search."
)


async def record_recommendation(run: Run, task: Task, workers: int | str | None = None) -> None:
    """Choose the recommended program of a run, append the choice to the journal and write recommended.py.

    If no program works on the validation instances, the choice is none, and recommended.py is not written.

    Args:
        run: It reads new events of its journal before and after.
        task: The run's task.
        workers: The number of programs run at once, or a cluster's name; None for that of the run's last session.

    Raises:
        UsageError: The task has no validation instances, or isolation is too weak.
        BehavesimError: Another process holds the run, or the sandbox fails.
    """
    with run.folder.locked():
        run.follow()  # another process may have written since the run was read
        async with validating(run, task, workers) as judge:
            if judge is None:
                raise UsageError(f"the task {task.name!r} has no validation instances to choose a program on")
            event = await recommend(run, judge)
        async with SqliteJournal(run.folder.journal) as journal:
            await journal.append([event])
        run.follow()  # from the journal, not from `event`: the folder must say what a reader of it would find
        _write(run, event)


@asynccontextmanager
async def validating(run: Run, task: Task, workers: int | str | None) -> AsyncIterator[Judge | None]:
    """Yield a judge on the task's validation instances, under the run's settings; None if there are no such instances.

    `workers` is as for `record_recommendation`.
    """
    if not len(instances_of(task, "validation")):
        yield None
        return
    async with judging(settings_here(run, workers), task, "validation") as judge:
        yield judge


def settings_here(run: Run, workers: int | str | None) -> Settings:
    """Return the settings under which programs of a run are tried; the task's path is where it is now.

    `workers` is as for `record_recommendation`.
    """
    settings = run.folder.with_task_at_hand(run.settings)
    if workers is None and run.folder.settings.exists():
        # of the last session, which the folder holds: the cluster of an earlier one may be gone
        workers = settings_from_journal(run.folder.read_settings()).workers
    return settings if workers is None else settings.model_copy(update={"workers": workers})


def _write(run: Run, event: Recommended) -> None:
    """Write the recommended program into the run's folder, unless there is none, and a line into its log."""
    chosen = run.recommended
    if chosen is None:
        run.folder.note("no program on the shortlist works on the validation instances")
        return
    gained = run.validated_gain(chosen)
    together = "on search and validation instances together"
    more = "" if gained is None else f"; gain on the template {percent(gained)} {together}"
    headline = (
        f"run {run.folder.run}, {program_name(chosen.candidate)}: score {chosen.score!r}, "
        f"gap {percent(run.gap(chosen.score))}, on validation instances {event.validation[chosen.candidate]!r}{more}"
    )
    run.folder.write_recommended(chosen.source or "", headline)
    run.folder.note(f"recommended {program_name(chosen.candidate)} of {sorted(event.validation)}")


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
    is_gain = TEMPLATE in event.worth

    def decided(number: CandidateId) -> float | None:
        worth = event.worth.get(number)
        return worth if worth is None or is_gain else run.state.objective.utility(worth)  # a utility's is the score

    columns = (
        Column("program"),
        Column("score", SCORE, title="score in the search"),
        Column("validation_score", SCORE, title="on validation instances"),
        Column("gain", FRACTION, title="gain, search and validation") if is_gain else Column("mean", SCORE),
        Column("choice", title=""),
    )
    rows = tuple(
        (
            *("template" if number == TEMPLATE else str(number), run.candidate(number).score, score, decided(number)),
            "chosen" if number == event.choice else None,
        )
        for number, score in event.validation.items()
    )
    marked = frozenset(place for place, number in enumerate(event.validation) if number == event.choice)
    # an old journal has no numbers that decided, nor has one whose programs all failed
    caption = "" if not event.worth else GAIN_RULE if is_gain else SCORE_RULE
    return Table("shortlist", f"programs tried for {run.folder.run}", columns, rows, caption, marked=marked)
