"""The islands of a run's archive as they stand."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.diversity import Diversity
from behavesim.analysis.run import Run
from behavesim.analysis.scored import COLUMNS, Scored, cells
from behavesim.analysis.table import COUNT, DISTANCE, Column, Table


@dataclass(frozen=True)
class IslandSummary:
    """One island: its programs, how many different scores they have, the best, and when there last was a better one.

    `improved_at` is that one's number; -1 is the template's, None says that the island has been empty so far.
    """

    island: int
    size: int
    clusters: int
    best: Scored | None
    improved_at: int | None


def islands(run: Run) -> tuple[IslandSummary, ...]:
    """All islands, empty ones too."""
    state, found = run.state, []
    for number, island in enumerate(state.islands.values()):
        best = state.best_member(island.members) if island.members else None
        scores = {state.members[member].score for member in island.members}
        program = None if best is None else Scored(best.candidate, best.score, run.gap(best.score))
        found.append(IslandSummary(number, len(island.members), len(scores), program, island.improved_at))
    return tuple(found)


def islands_table(found: tuple[IslandSummary, ...], diversity: Diversity) -> Table:
    """The islands with how different the programs on each are."""
    columns = (
        Column("island", "island", COUNT),
        Column("size", "size", COUNT),
        Column("clusters", "clusters", COUNT),
        Column("best", "best", COUNT),
        *COLUMNS,
        Column("intra", "mean distance inside", DISTANCE),
    )
    rows = (
        (each.island, each.size, each.clusters, *cells(each.best), inside)
        for each, inside in zip(found, diversity.intra, strict=True)
    )
    between = diversity.inter
    caption = "" if between is None else f"mean distance between islands {DISTANCE.text(between)}"
    return Table("islands", "islands", columns, tuple(rows), caption)
