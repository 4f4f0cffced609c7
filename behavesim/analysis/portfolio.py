"""Programs that behave differently, in the order in which they are worth having: the best, and what differs from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from behavesim.analysis.table import COUNT, DISTANCE, FRACTION, SCORE, Cell, Column, Table
from behavesim.base.errors import UsageError
from behavesim.similarity.measure import BehaveSim
from behavesim.similarity.niches import BASE, Niches, Preference
from behavesim.task import Objective
from behavesim.trajectory import AlgorithmRun, packed

Scores = tuple[float, ...]
"""A program's score on each of some instances."""
AT_ONCE = 256
"""Behaviours that are measured before it is looked whether they are enough to choose from."""


@dataclass(frozen=True)
class Entrant:
    """A feasible program that may be chosen: the run and candidate that it is, what it is worth and what it does."""

    run: str
    candidate: int
    source: str
    score: float
    scores: Scores
    behaviour: Sequence[AlgorithmRun]

    @property
    def key(self) -> tuple[str, int]:
        """What names it among programs of several runs."""
        return self.run, self.candidate


@dataclass(frozen=True)
class Clearing:
    """How programs are chosen: the better by a task's objective, and far from one another by a measure.

    Far is 1 − BehaveSim of at least `radius` times the median distance of the first hundred behaviours.
    """

    objective: Objective
    measure: BehaveSim
    radius: float

    def of(self, entrants: Sequence[Entrant], count: int) -> list[Entrant]:
        """At most `count` of the programs, best first, each far from every one before it.

        One stands for a behaviour: the best, then the shorter, then the older. Prefixes nest: fewer programs are the
        first of more.
        """
        standing = self._standing(entrants)
        ranking = sorted(standing)
        niches, chosen = Niches(self.measure), list[int]()
        for worth in standing[:BASE]:  # which say what is far
            niches.add(entrants[worth[2]].behaviour, worth)
        for first in range(0, len(ranking), AT_ONCE):
            best = ranking[: first + AT_ONCE]
            for worth in best[first:]:
                niches.add(entrants[worth[2]].behaviour, worth)
            chosen = niches.clear(self.radius, count)
            if len(chosen) == count and chosen[-1] in {place for _, _, place in best}:
                break  # what is worse would change nothing, and need not be measured
        return [entrants[place] for place in chosen]

    def _standing(self, entrants: Sequence[Entrant]) -> list[Preference]:
        """What stands for each behaviour, in the order in which they first appear."""
        standing: dict[bytes, Preference] = {}
        for place, each in enumerate(entrants):
            worth = (-self.objective.utility(each.score), len(each.source), place)
            behaviour = packed(each.behaviour)
            standing[behaviour] = min(worth, standing.get(behaviour, worth))
        return list(standing.values())


@dataclass(frozen=True)
class PortfolioProgram:
    """A program of a portfolio: the run and the candidate that it is, and its score and gap in the search.

    `together` is the mean over the search's instances of the best score of this program and those before it, and
    `together_gap` the gap of that; `wins` are the instances, from 1, on which this one has it. `alike` programs do the
    same as it, itself among them, and `nearest` is its distance 1 − BehaveSim to the one before that is most like it,
    None for the first. `validation` is its mean score on validation instances, `validation_together` that of the best
    so far there; None where it was not tried there.
    """

    run: str
    candidate: int
    score: float
    gap: float | None
    together: float
    together_gap: float | None
    wins: tuple[int, ...]
    scores: Scores
    alike: int
    nearest: float | None
    validation: float | None = None
    validation_together: float | None = None


@dataclass(frozen=True)
class Portfolio:
    """At most `wanted` programs, no two of which behave alike; where they are fewer, there are no more.

    `failed` are programs that would belong to it, by run and candidate, and failed on validation instances.
    """

    wanted: int
    members: tuple[PortfolioProgram, ...]
    failed: tuple[tuple[str, int], ...] = ()

    @property
    def together_gap(self) -> float | None:
        """The gap of the mean over the search's instances of the best of all programs; None where it is unknown."""
        return self.members[-1].together_gap if self.members else None

    def tables(self) -> tuple[Table, ...]:
        """The programs, and where each is the best; on one instance that is the first."""
        return (self.table(), self.wins()) if len(self._instances) > 1 else (self.table(),)

    def table(self) -> Table:
        """A row a program, in their order, with what the portfolio up to it comes to: its curve."""
        columns = (
            Column("programs", COUNT),
            Column("program"),
            Column("score", SCORE),
            Column("gap", FRACTION),
            Column("together", SCORE, title="best so far"),
            Column("validation", SCORE, title="on validation"),
            Column("validation_together", SCORE, title="best so far there"),
            Column("nearest", DISTANCE, title="distance before"),
            Column("alike", COUNT, title="behave so"),
        )
        rows: list[tuple[Cell, ...]] = [
            (
                *(place, self._named(each), each.score, each.gap, each.together),
                *(each.validation, each.validation_together, each.nearest, each.alike),
            )
            for place, each in enumerate(self.members, 1)
        ]
        return Table("portfolio", "programs that behave differently", columns, tuple(rows), self._caption())

    def wins(self) -> Table:
        """A row a program and a column an instance of the search: its scores there, and where it is the best of all."""
        scores = (Column(f"instance_{number}", SCORE, title=str(number)) for number in self._instances)
        columns = (Column("program"), Column("wins", title="best on"), *scores)
        rows: list[tuple[Cell, ...]] = [
            (self._named(each), ", ".join(map(str, each.wins)), *each.scores) for each in self.members
        ]
        return Table("portfolio_wins", "their scores on the search's instances", columns, tuple(rows))

    @property
    def _instances(self) -> range:
        """The numbers of the search's instances, from 1."""
        return range(1, len(self.members[0].scores) + 1) if self.members else range(0)

    def _named(self, member: PortfolioProgram) -> str:
        """The candidate, and its run where they are of several."""
        is_one = len({each.run for each in self.members}) == 1
        return str(member.candidate) if is_one else f"{member.run} {member.candidate}"

    def _caption(self) -> str:
        """What a reader has to know of the numbers."""
        said = []
        if self.failed:
            named = ", ".join(f"candidate {candidate} of {run}" for run, candidate in self.failed)
            said.append(f"Left out, as failed on validation instances: {named}.")
        if len(self.members) + len(self.failed) < self.wanted:
            found = len(self.members) + len(self.failed)
            said.append(f"No other program behaves differently enough: {found} of {self.wanted}.")
        said.append("On the search's instances, where programs were chosen: expect less of others.")
        return " ".join(said)


def portfolio(
    entrants: Sequence[Entrant],
    clearing: Clearing,
    count: int,
    validation: Mapping[tuple[str, int], Scores | None] | None = None,
) -> Portfolio:
    """The portfolio of some programs on one task; raises UsageError for fewer than one.

    `validation` has the scores of programs on validation instances, by run and candidate: None of one that failed
    there, which is left out; they change nothing else.
    """
    if count < 1:
        raise UsageError(f"a portfolio holds one program or more; {count} were asked for")
    tried = validation or {}
    chosen = clearing.of(entrants, count)
    failed = tuple(each.key for each in chosen if each.key in tried and tried[each.key] is None)
    kept = [each for each in chosen if each.key not in failed]
    return Portfolio(
        count, _members(kept, Counter(packed(each.behaviour) for each in entrants), clearing, tried), failed
    )


def _members(
    kept: Sequence[Entrant],
    alike: Mapping[bytes, int],
    clearing: Clearing,
    validation: Mapping[tuple[str, int], Scores | None],
) -> tuple[PortfolioProgram, ...]:
    objective = clearing.objective
    together = _together([each.scores for each in kept], objective)
    there = [validation.get(each.key) or () for each in kept]
    there_together: Sequence[float | None] = _together(there, objective) if all(there) else [None] * len(kept)
    best = _best(objective)
    columns = list(zip(*(each.scores for each in kept), strict=True))
    winners = [column.index(best(column)) for column in columns]  # of programs that tie, the first
    return tuple(
        PortfolioProgram(
            run=each.run,
            candidate=each.candidate,
            score=each.score,
            gap=objective.gap(each.score),
            together=together[place],
            together_gap=objective.gap(together[place]),
            wins=tuple(number for number, winner in enumerate(winners, 1) if winner == place),
            scores=each.scores,
            alike=alike[packed(each.behaviour)],
            nearest=_nearest(each, kept[:place], clearing.measure),
            validation=fmean(there[place]) if there[place] else None,
            validation_together=there_together[place],
        )
        for place, each in enumerate(kept)
    )


def _together(scores: Sequence[Scores], objective: Objective) -> list[float]:
    """For each program the mean over instances of the best score among it and those before."""
    best = _best(objective)
    return [fmean(map(best, zip(*scores[: place + 1], strict=True))) for place in range(len(scores))]


def _best(objective: Objective) -> Callable[[Iterable[float]], float]:
    return max if objective.direction == "maximise" else min


def _nearest(entrant: Entrant, before: Sequence[Entrant], measure: BehaveSim) -> float | None:
    """The distance 1 − BehaveSim to the likest of some programs; None where there are none."""
    if not before:
        return None
    return 1.0 - float(measure.one_vs_many(entrant.behaviour, [each.behaviour for each in before]).max())
