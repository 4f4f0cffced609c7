"""How a program came about: from the first one that it descends from, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.scored import Scored, scored


@dataclass(frozen=True)
class Ancestor(Scored):
    """A program on the way; -1 is the template. `parents` are all that its prompt showed."""

    operator: str
    group: str | None
    parents: tuple[int, ...]


def lineage(run: Run, candidate: Candidate | None) -> tuple[Ancestor, ...]:
    """The way to a candidate, first program first: from each the step is to the better of its parents.

    Nothing where there is no candidate.
    """
    way: list[Ancestor] = []
    while candidate is not None:
        worth = scored(run, candidate)
        way.append(
            Ancestor(worth.candidate, worth.score, worth.gap, candidate.operator, candidate.group, candidate.parents)
        )
        parents = [run.candidate(parent) for parent in candidate.parents]
        candidate = max((each for each in parents if each.score is not None), key=run.utility, default=None)
    return tuple(reversed(way))
