"""A program's line of ancestors, from the first one to itself."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.scored import Scored, number_score_gap


@dataclass(frozen=True)
class Ancestor(Scored):
    """A program in a line of ancestors; candidate -1 is the template.

    `operator` is the kind of request that asked for it, such as "improve", and "template" for the template. `group`
    names the island it was added to; None if it was added to none. `parents` are all programs that its prompt showed.
    """

    operator: str
    group: str | None
    parents: tuple[int, ...]


def lineage(run: Run, candidate: Candidate | None) -> tuple[Ancestor, ...]:
    """Return a candidate's line of ancestors, the oldest first and the candidate last; empty for None.

    The ancestor of a program is its parent with the best score; the line ends at a program without a feasible parent.
    Raises AssertionError if `candidate` is not feasible.
    """
    way: list[Ancestor] = []
    while candidate is not None:
        origin = candidate.operator, candidate.group, candidate.parents
        way.append(Ancestor(*number_score_gap(run, candidate), *origin))
        parents = [run.candidate(parent) for parent in candidate.parents]
        candidate = max((each for each in parents if each.score is not None), key=run.utility, default=None)
    return tuple(reversed(way))
