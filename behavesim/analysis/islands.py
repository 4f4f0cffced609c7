"""The islands of a run's archive as they stand."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.diversity import Diversity
from behavesim.analysis.scored import COLUMNS, Scored, cells
from behavesim.analysis.table import COUNT, DISTANCE, SCORE, Column, Table
from behavesim.state.state import RunState


@dataclass(frozen=True)
class IslandSummary:
    """One island: its programs, how many different scores they have, the best and the mean, and when it got better.

    Islands are numbered as they were first named; `improved_at` is the candidate that was better, -1 the template;
    it is None where the island has been empty so far, as best and mean are where it is empty.
    """

    island: int
    name: str
    size: int
    clusters: int
    best: Scored | None
    mean: float | None
    improved_at: int | None


def islands(state: RunState) -> tuple[IslandSummary, ...]:
    """All islands of a run in that state, empty ones too."""
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
    """The islands with how different the programs on each are."""
    columns = (
        Column("island"),
        Column("size", COUNT),
        Column("clusters", COUNT),
        Column("best", COUNT),
        *COLUMNS,
        Column("mean", SCORE),
        Column("intra", DISTANCE, title="inside"),
    )
    rows = (
        (each.name, each.size, each.clusters, *cells(each.best), each.mean, distance)
        for each, distance in zip(found, diversity.intra, strict=True)
    )
    inside = ["inside: mean distance inside"] if diversity.inside is not None else []
    between = [] if diversity.inter is None else [f"mean distance between islands {DISTANCE.text(diversity.inter)}"]
    return Table("islands", "islands", columns, tuple(rows), "; ".join(inside + between))
