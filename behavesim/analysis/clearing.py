"""Clearing: choose good programs that behave differently, from the feasible candidates of runs on one problem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from behavesim.analysis.candidates import Candidate
from behavesim.similarity.measure import BehaveSim
from behavesim.similarity.niches import BASE, Niches, Preference
from behavesim.task import Objective
from behavesim.trajectory import AlgorithmRun, packed

Scores = tuple[float, ...]
"""A program's scores, one per instance, in the task's unit."""
AT_ONCE = 256
"""Number of behaviours added between two checks whether enough programs are chosen; it bounds unneeded work."""


@dataclass(frozen=True)
class Entrant:
    """A feasible program that may be chosen; `run` is its run's name, `behaviour` has one item per instance.

    `score` is the task's mean of `scores`.
    """

    run: str
    candidate: int
    source: str
    score: float
    scores: Scores
    behaviour: Sequence[AlgorithmRun]
    program: str = ""
    """The hash of the program's normal form, equal for equal programs; "" if it is unknown."""

    @property
    def key(self) -> tuple[str, int]:
        """The run's name and the candidate's number, which identify the program among several runs."""
        return self.run, self.candidate


def entrants(run: str, feasible: Iterable[tuple[Candidate, Sequence[AlgorithmRun]]]) -> list[Entrant]:
    """Return the feasible candidates of the run named `run` as entrants; each is given with its behaviour."""
    return [
        Entrant(run, each.candidate, each.source or "", each.score, each.scores, behaviour, each.program_hash)
        for each, behaviour in feasible
        if each.score is not None
    ]


@dataclass(frozen=True)
class Clearing:
    """Chooses programs with good scores that are far from one another (clearing).

    Two programs are far apart if their distance 1 − BehaveSim is at least `radius` times the median distance of the
    first hundred distinct behaviours. With a radius of 0 behaviours only have to differ.
    """

    objective: Objective
    measure: BehaveSim
    radius: float

    def of(self, entrants: Sequence[Entrant], count: int) -> list[Entrant]:
        """Return at most `count` of the programs, best first, each far from all before it.

        Of programs with equal behaviour only the best can be chosen. Ties go to the shorter source, then to the earlier
        entrant. A smaller `count` returns the first programs of a larger one. Raises TrajectoryError if the measure
        fails.
        """
        standing = self._standing(entrants)
        ranking = sorted(standing)
        niches, chosen = Niches(self.measure), list[int]()
        for worth in standing[:BASE]:  # their median distance decides what is far
            niches.add(entrants[worth[2]].behaviour, worth)
        for first in range(0, len(ranking), AT_ONCE):
            best = ranking[: first + AT_ONCE]
            for worth in best[first:]:
                niches.add(entrants[worth[2]].behaviour, worth)
            chosen = niches.clear(self.radius, count)
            if len(chosen) == count and chosen[-1] in {place for _, _, place in best}:
                break  # programs with worse scores cannot change the choice
        return [entrants[place] for place in chosen]

    def _standing(self, entrants: Sequence[Entrant]) -> list[Preference]:
        """Return the sort key of the best program of each behaviour, in the order in which behaviours first appear."""
        standing: dict[bytes, Preference] = {}
        for place, each in enumerate(entrants):
            worth = (-self.objective.utility(each.score), len(each.source), place)
            behaviour = packed(each.behaviour)
            standing[behaviour] = min(worth, standing.get(behaviour, worth))
        return list(standing.values())
