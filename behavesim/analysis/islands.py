"""The current islands of a run's archive."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.diversity import Diversity
from behavesim.analysis.scored import COLUMNS, Scored, cells
from behavesim.analysis.table import COUNT, DISTANCE, SCORE, Column, Table
from behavesim.state.state import RunState


@dataclass(frozen=True)
class IslandSummary:
    """One island: the number of its programs (`size`), its best program and its mean score, in the task's unit.

    `island` is its number, from 0 in the order of creation; `name` is the method's name for it. `score_levels` is the
    number of different scores of its programs, which FunSearch calls clusters; behavioural clusters are something else.
    `improved_at` is the candidate that last improved its best score, -1 for the template. `best` and `mean` are None
    while the island is empty; `improved_at` is None if it was empty at the last regrouping and got no program since.
    """

    island: int
    name: str
    size: int
    score_levels: int
    best: Scored | None
    mean: float | None
    improved_at: int | None


def islands(state: RunState) -> tuple[IslandSummary, ...]:
    """Return a summary of every island in this state, including empty ones, in the order of their creation."""
    return tuple(_summary(state, number, name) for number, name in enumerate(state.islands))


def _summary(state: RunState, number: int, name: str) -> IslandSummary:
    island = state.islands[name]
    members = [state.members[member] for member in island.members]
    best = state.best_member(island.members) if members else None
    program = None if best is None else Scored(best.candidate, best.score, state.objective.gap(best.score))
    scores = [member.score for member in members]
    mean = sum(scores) / len(scores) if scores else None
    return IslandSummary(number, name, len(scores), len(set(scores)), program, mean, island.improved_at)


def islands_table(found: tuple[IslandSummary, ...], diversity: Diversity) -> Table:
    """Return a table with a row per island, in the given order; its caption has the mean distance between islands.

    `diversity.intra` gives the distance inside each island, in the same order; ValueError if the lengths differ. The
    caption leaves out what is unknown.
    """
    columns = (
        *(Column("island"), Column("size", COUNT), Column("score_levels", COUNT, title="scores")),
        *(Column("best", COUNT), *COLUMNS, Column("mean", SCORE), Column("intra", DISTANCE, title="inside")),
    )
    rows = (
        (each.name, each.size, each.score_levels, *cells(each.best), each.mean, distance)
        for each, distance in zip(found, diversity.intra, strict=True)
    )
    inside = ["inside: mean distance of its programs"] if diversity.inside is not None else []
    between = [] if diversity.inter is None else [f"mean distance between islands {DISTANCE.text(diversity.inter)}"]
    caption = "; ".join(["scores: how many different", *inside, *between])
    return Table("islands", "islands", columns, tuple(rows), caption)
