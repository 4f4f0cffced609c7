"""The recommended program: chosen on validation instances, which the search does not use."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from statistics import fmean

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.table import FRACTION, SCORE, Column, Table
from behavesim.state.events import TEMPLATE, CandidateId, Recommended
from behavesim.state.protocols import Judge
from behavesim.task import Objective
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


def shortlist(run: Run) -> list[Candidate]:
    """Return at most `settings.shortlist` programs of the run, best score first, chosen by its clearing.

    The template is not among them. Raises as `Run.matrix` does.
    """
    chosen = run.clearing().of(run.entrants(), run.settings.shortlist)
    return [run.candidate(each.candidate) for each in chosen]


async def recommend(run: Run, validation: Judge) -> Recommended:
    """Evaluate the shortlist and the template with `validation`, and return the event that names the best program.

    `validation` is a judge of the task's validation instances. The best has the greatest gain on the template over
    search and validation instances together (`gain`); if the template fails on validation instances, the best mean
    score. Ties go to the template, then to the first on the list. Programs that fail there cannot be chosen. `choice`
    is None if the shortlist is empty, or if all of it and the template fail. Raises as `Judge.evaluate` and `shortlist`
    do.
    """
    listed = shortlist(run)
    if listed and run.template is not None:
        listed = [run.template, *listed]
    verdicts = await asyncio.gather(*(validation.evaluate(candidate.source or "") for candidate in listed))
    judged = [(c, verdict) for c, verdict in zip(listed, verdicts, strict=True) if isinstance(verdict, Verdict)]
    own = bool(judged) and run.task().has_own_mean
    scores = {
        candidate.candidate: (
            *decisive(candidate.score, candidate.scores, own),
            *decisive(verdict.score, verdict.scores, own),
        )
        for candidate, verdict in judged
    }
    validated: dict[CandidateId, float | None] = {candidate.candidate: None for candidate in listed}
    validated.update({candidate.candidate: verdict.score for candidate, verdict in judged})
    worth = worths(scores, run.state.objective)
    choice = max(worth, key=worth.__getitem__) if worth else None  # max returns the first of equal ones
    return Recommended(choice, validated, worth)


def decisive(score: float | None, scores: Sequence[float], has_own_mean: bool) -> Sequence[float]:
    """Return the scores by which a program is compared on a split: those on its instances.

    If the task has a `mean_score` of its own, such as the worst instance, its result `score` stands for each of them:
    a program may be better in what the task counts and worse on most instances.
    """
    return (score,) * len(scores) if has_own_mean and score is not None else scores


def gain(scores: Sequence[float], template: Sequence[float], objective: Objective) -> float:
    """Return the mean over instances of (program − template) / |template|, turned so that higher is better.

    It is a fraction, negative if the program is worse. On an instance where the template scores 0, the plain
    difference counts. `scores` are the program's and `template` the template's scores, one per instance, at least one;
    ValueError if their numbers differ. No third program enters, so that adding one never changes the order of two.
    """
    gains = [
        (objective.utility(ours) - objective.utility(base)) / (abs(base) or 1.0)
        for ours, base in zip(scores, template, strict=True)
    ]
    return sum(gains) / len(gains)


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

    The chosen program is marked; a program without validation score failed there. The caption states the rule; it is
    empty if the journal has no numbers that decided, since it is old or all programs failed. There are no rows if
    nothing was tried.
    """
    event = run.state.recommended or Recommended(None, {})
    is_gain = TEMPLATE in event.worth

    def decided(number: CandidateId) -> float | None:
        """Return the gain or the mean score that decided on a program; None if it failed, or if none is recorded."""
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
    caption = "" if not event.worth else GAIN_RULE if is_gain else SCORE_RULE
    return Table("shortlist", f"programs tried for {run.folder.run}", columns, rows, caption, marked=marked)
