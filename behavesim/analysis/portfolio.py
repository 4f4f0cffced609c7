"""Programs that behave differently, in the order in which they are worth having: the best, and what differs from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from behavesim.analysis.run import Candidate, Run
from behavesim.analysis.table import COUNT, FRACTION, SCORE, Cell, Column, Table
from behavesim.errors import UsageError
from behavesim.similarity.niches import Niches


@dataclass(frozen=True)
class Member:
    """A program of a portfolio: the run and the candidate that it is, and its score and gap in the search.

    `together` is the mean over the search's instances of the best score of this program and those before it, and
    `wins` are the instances, from 1, on which this one has it.
    """

    run: str
    candidate: int
    score: float
    gap: float | None
    together: float
    wins: tuple[int, ...]


@dataclass(frozen=True)
class Portfolio:
    """At most `wanted` programs, no two of which behave alike; where they are fewer, there are no more."""

    wanted: int
    members: tuple[Member, ...]

    def table(self) -> Table:
        """A row a program, in their order."""
        columns = (
            Column("programs", COUNT),
            Column("run"),
            Column("candidate", COUNT),
            Column("score", SCORE),
            Column("gap", FRACTION),
            Column("together", SCORE, title="best of all so far"),
            Column("wins", title="best on instances"),
        )
        rows: list[tuple[Cell, ...]] = [
            (place, each.run, each.candidate, each.score, each.gap, each.together, ", ".join(map(str, each.wins)))
            for place, each in enumerate(self.members, 1)
        ]
        fewer = f"No other program behaves differently enough: {len(self.members)} of {self.wanted}. "
        caption = (
            f"{fewer if len(self.members) < self.wanted else ''}"
            "On the search's instances, where programs were chosen: expect less of others."
        )
        return Table("portfolio", "programs that behave differently", columns, tuple(rows), caption)


def cleared(runs: Sequence[Run], count: int) -> list[tuple[Run, Candidate]]:
    """At most `count` feasible programs of some runs on one task, best first, each far from every one before it.

    One stands for a behaviour: the best, then the shorter, then the older. Far is 1 − BehaveSim of at least
    `shortlist_radius` of the first run times the median distance of the first hundred behaviours. Prefixes nest: fewer
    programs are the first of more. Raises UsageError for runs on different tasks.
    """
    tasks = sorted({run.settings.task for run in runs})
    if len(tasks) > 1:
        raise UsageError(f"programs of different tasks make no portfolio: {', '.join(tasks)}")
    niches = Niches(runs[0].measure())
    programs: list[tuple[Run, Candidate]] = []
    for run in runs:
        feasible = run.feasible
        algorithms = run.trajectories([candidate.candidate for candidate in feasible])
        for candidate, algorithm in zip(feasible, algorithms, strict=True):
            niches.add(algorithm, (-run.utility(candidate), len(candidate.source or ""), len(programs)))
            programs.append((run, candidate))
    return [programs[place] for place in niches.clear(runs[0].settings.shortlist_radius, count)]


def portfolio(runs: Sequence[Run], count: int) -> Portfolio:
    """The portfolio of some runs on one task; raises UsageError for different tasks, or fewer than one program."""
    if count < 1:
        raise UsageError(f"a portfolio holds one program or more; {count} were asked for")
    chosen = cleared(runs, count)
    if not chosen:
        return Portfolio(count, ())
    objective = runs[0].state.objective
    scores = np.array([candidate.scores for _, candidate in chosen])
    utilities = scores if objective.direction == "maximise" else -scores
    first = utilities.argmax(axis=0)  # of programs that tie, the first
    together = [objective.utility(value) for value in np.maximum.accumulate(utilities).mean(axis=1).tolist()]
    members = []
    for place, (run, candidate) in enumerate(chosen):
        wins = tuple((np.flatnonzero(first == place) + 1).tolist())
        assert candidate.score is not None, "only feasible programs are chosen"
        gap = run.gap(candidate.score)
        members.append(Member(run.folder.run, candidate.candidate, candidate.score, gap, together[place], wins))
    return Portfolio(count, tuple(members))
