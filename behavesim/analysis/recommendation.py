"""The recommended program: chosen on validation instances, which the search does not use."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from statistics import fmean

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.gain import gain
from behavesim.analysis.run import Run
from behavesim.analysis.table import FRACTION, SCORE, Column, Table
from behavesim.state.events import TEMPLATE, CandidateId, Recommended
from behavesim.state.protocols import Judge
from behavesim.state.verdict import Verdict
from behavesim.task import Objective

GAIN_RULE = (
    "Chosen: the greatest gain on the template, the mean over all search and validation instances of the difference "
    "relative to the template's score there. Ties go to the template, then to the better score in the search."
)
SCORE_RULE = (
    "Chosen: the best mean score over all search and validation instances, since the template failed there. "
    "Ties go to the better score in the search."
)


def shortlist(run: Run) -> list[Candidate]:
    """Return at most `settings.shortlist` programs that behave differently, best score first (`Clearing`).

    Raises UsageError if the task cannot be loaded, DistanceError if the measure fails.
    """
    chosen = run.clearing().of(run.entrants(), run.settings.shortlist)
    return [run.candidate(each.candidate) for each in chosen]


async def recommend(run: Run, validation: Judge) -> Recommended:
    """Evaluate the shortlist and the template on validation instances and return the event that names the best.

    The best has the greatest gain on the template over search and validation instances together (`gain`); if the
    template fails on validation instances, the best mean score. Ties go to the template, then to the first on the
    list. Programs that fail there cannot be chosen. `choice` is None if the shortlist is empty or every program fails.
    """
    listed = shortlist(run)
    if listed and run.template is not None:
        listed = [run.template, *listed]
    verdicts = await asyncio.gather(*(validation.evaluate(candidate.source or "") for candidate in listed))
    judged = [(c, verdict) for c, verdict in zip(listed, verdicts, strict=True) if isinstance(verdict, Verdict)]
    scores = {candidate.candidate: (*candidate.scores, *verdict.scores) for candidate, verdict in judged}
    validated: dict[CandidateId, float | None] = {candidate.candidate: None for candidate in listed}
    validated.update({candidate.candidate: verdict.score for candidate, verdict in judged})
    worth = worths(scores, run.state.objective)
    choice = max(worth, key=worth.__getitem__) if worth else None  # max returns the first of equal ones
    return Recommended(choice, validated, worth)


def worths(scores: Mapping[CandidateId, Sequence[float]], objective: Objective) -> dict[CandidateId, float]:
    """Return each program's gain on the template, a fraction; higher is better (`gain`).

    If the template (-1) is not in `scores`, return each program's mean score instead, turned so that higher is better.
    """
    if TEMPLATE in scores:
        return {number: gain(ours, scores[TEMPLATE], objective) for number, ours in scores.items()}
    return {number: objective.utility(fmean(ours)) for number, ours in scores.items()}


def shortlist_table(run: Run) -> Table:
    """Return a table of the programs tried on validation instances, with the gain or mean score that decided.

    The chosen program is marked; a program without numbers failed on validation instances. The caption states the rule;
    it is empty for older journals, which do not record the numbers. There are no rows if nothing was tried.
    """
    event = run.state.recommended or Recommended(None, {})
    columns = (
        Column("program"),
        Column("score", SCORE, title="score in the search"),
        Column("validation_score", SCORE, title="on validation instances"),
        Column("gain", FRACTION, title="gain on the template") if TEMPLATE in event.worth else Column("mean", SCORE),
    )
    rows = tuple(
        ("template" if number == TEMPLATE else str(number), run.candidate(number).score, score, _decided(run, number))
        for number, score in event.validation.items()
    )
    marked = frozenset(place for place, number in enumerate(event.validation) if number == event.choice)
    caption = "" if not event.worth else GAIN_RULE if TEMPLATE in event.worth else SCORE_RULE
    return Table("shortlist", f"programs tried for {run.folder.run}", columns, rows, caption, marked=marked)


def _decided(run: Run, number: CandidateId) -> float | None:
    """Return the gain on the template, or the mean score, that a program was judged by; None if it is not known."""
    event = run.state.recommended
    if event is None or number not in event.worth:
        return None
    return event.worth[number] if TEMPLATE in event.worth else run.state.objective.utility(event.worth[number])
