"""The recommended program: programs that behave differently, judged once more on instances the search never saw."""

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
    "relative to the template's score there. Of equal ones the template is chosen, then the better in the search."
)
SCORE_RULE = (
    "Chosen: the best mean score over all search and validation instances, for the template failed there. "
    "Of equal ones the better in the search is chosen."
)


def shortlist(run: Run) -> list[Candidate]:
    """At most `settings.shortlist` programs by score that behave differently: the best of each niche (clearing)."""
    chosen = run.clearing().of(run.entrants(), run.settings.shortlist)
    return [run.candidate(each.candidate) for each in chosen]


async def recommend(run: Run, validation: Judge) -> Recommended:
    """Choose the best of the shortlist and the template, over search and validation instances together.

    The best has the greatest gain on the template (`gain`); where the template fails on validation instances, the best
    mean score. Of equal ones the template is chosen, then the first on the list. Programs that fail there are out;
    nothing is chosen where no candidate is on the list.
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
    choice = max(worth, key=worth.__getitem__) if worth else None  # of equal ones the first
    return Recommended(choice, validated, worth)


def worths(scores: Mapping[CandidateId, Sequence[float]], objective: Objective) -> dict[CandidateId, float]:
    """Return for each program by how much it is better than the template over all instances (`gain`).

    Where the template is not among them, return each program's mean score, turned so that higher is better.
    """
    if TEMPLATE in scores:
        return {number: gain(ours, scores[TEMPLATE], objective) for number, ours in scores.items()}
    return {number: objective.utility(fmean(ours)) for number, ours in scores.items()}


def shortlist_table(run: Run) -> Table:
    """Return what was tried on validation instances, in the order of the search, with the number that decided.

    A program without numbers failed there. The caption says the rule; older journals do not have it.
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
    """Return the gain or the mean score by which a program was judged; None where it failed."""
    event = run.state.recommended
    if event is None or number not in event.worth:
        return None
    return event.worth[number] if TEMPLATE in event.worth else run.state.objective.utility(event.worth[number])
