"""The recommended program: programs that behave differently, judged once more on instances the search never saw."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import numpy as np

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.table import SCORE, Column, Table
from behavesim.state.events import TEMPLATE, CandidateId, Recommended
from behavesim.state.protocols import Judge
from behavesim.state.verdict import Verdict
from behavesim.task import Objective


def shortlist(run: Run) -> list[Candidate]:
    """At most `settings.shortlist` programs by score that behave differently: the best of each niche (clearing)."""
    chosen = run.clearing().of(run.entrants(), run.settings.shortlist)
    return [run.candidate(each.candidate) for each in chosen]


async def recommend(run: Run, validation: Judge) -> Recommended:
    """The best of the shortlist, beside the template, over search and validation instances together.

    Those that fail there are out; nothing is chosen where no candidate is on the list.
    """
    listed = shortlist(run)
    if listed and run.template is not None:
        listed = [run.template, *listed]  # what is as good as the template is no reason to leave it
    verdicts = await asyncio.gather(*(validation.evaluate(candidate.source or "") for candidate in listed))
    judged = [(c, verdict) for c, verdict in zip(listed, verdicts, strict=True) if isinstance(verdict, Verdict)]
    scores = {candidate.candidate: (*candidate.scores, *verdict.scores) for candidate, verdict in judged}
    validated: dict[CandidateId, float | None] = {candidate.candidate: None for candidate in listed}
    validated.update({candidate.candidate: verdict.score for candidate, verdict in judged})
    return Recommended(best_overall(scores, run.state.objective) if scores else None, validated)


def shortlist_table(run: Run) -> Table:
    """What was tried on validation instances, in the order of the search; empty there is what failed."""
    event = run.state.recommended
    validation = {} if event is None else event.validation
    columns = (
        Column("program"),
        Column("score", SCORE, title="score in the search"),
        Column("validation_score", SCORE, title="on validation instances"),
    )
    rows = tuple(
        ("template" if number == TEMPLATE else str(number), run.candidate(number).score, score)
        for number, score in validation.items()
    )
    marked = frozenset(place for place, number in enumerate(validation) if event and number == event.choice)
    return Table("shortlist", f"programs tried for {run.folder.run}", columns, rows, marked=marked)


def best_overall(scores: Mapping[CandidateId, Sequence[float]], objective: Objective) -> CandidateId:
    """The program with the best mean over all instances, each instance's scores taken relative to their mean size.

    So a large instance weighs no more than a small one. The first of several as good is the best.
    """
    table = np.array(list(scores.values()), dtype=np.float64)
    size = np.abs(table).mean(axis=0)
    relative = (table / np.where(size > 0, size, 1.0)).mean(axis=1)
    worth = [objective.utility(value) for value in relative.tolist()]
    return list(scores)[max(range(len(worth)), key=lambda index: worth[index])]
