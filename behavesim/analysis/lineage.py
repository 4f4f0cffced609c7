"""A program's line of ancestors, from the first one to itself."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.scored import Scored, scored


@dataclass(frozen=True)
class Ancestor(Scored):
    """A program in a line of ancestors; candidate -1 is the template.

    `parents` are all programs that its prompt showed. `group` is the group it was added to; None if it was not added.
    """

    operator: str
    group: str | None
    parents: tuple[int, ...]


def lineage(run: Run, candidate: Candidate | None) -> tuple[Ancestor, ...]:
    """Return a candidate's line of ancestors, the oldest first and the candidate last; empty for None.

    The ancestor of a program is its parent with the best score. `candidate` must be feasible.
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
