"""Groups of programs that behave alike (paper, "Algorithm Analysis")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from behavesim.analysis.run import Candidate, Run
from behavesim.analysis.scored import COLUMNS, Scored, cells, scored
from behavesim.analysis.table import COUNT, DISTANCE, Column, Table
from behavesim.similarity.linkage import average_linkage

SHOWN = 200
GROUPS = 8


@dataclass(frozen=True)
class Cluster:
    """Programs that behave alike: the best of them, the most central one, and their mean mutual similarity in [0, 1].

    `members` are candidates, best first; `cohesion` is None for a cluster of one program.
    """

    size: int
    members: tuple[int, ...]
    best: Scored
    medoid: int
    cohesion: float | None


def clusters(run: Run, shown: int = SHOWN, groups: int = GROUPS) -> tuple[Cluster, ...]:
    """The best `shown` distinct programs in at most `groups` clusters by average linkage, best cluster first."""
    programs = run.ranked()[:shown]
    if not programs:
        return ()
    similarity = run.matrix([program.candidate for program in programs])
    # labels number the clusters by their first member, which is their best one
    labels = np.array(average_linkage(1.0 - similarity, groups))
    return tuple(_cluster(run, programs, similarity, np.flatnonzero(labels == k)) for k in range(labels.max() + 1))


def _cluster(run: Run, programs: list[Candidate], similarity: np.ndarray, rows: np.ndarray) -> Cluster:
    inside = similarity[np.ix_(rows, rows)]
    size = len(rows)
    cohesion = None if size == 1 else float((inside.sum() - np.trace(inside)) / (size * (size - 1)))
    members = tuple(programs[row].candidate for row in rows)
    medoid = members[int(inside.sum(axis=1).argmax())]
    return Cluster(size, members, scored(run, programs[int(rows[0])]), medoid, cohesion)


def clusters_table(found: tuple[Cluster, ...]) -> Table:
    """The clusters, best first."""
    columns = (
        Column("programs", COUNT),
        Column("best", COUNT),
        *COLUMNS,
        Column("medoid", COUNT),
        Column("cohesion", DISTANCE),
    )
    rows = ((each.size, *cells(each.best), each.medoid, each.cohesion) for each in found)
    return Table("clusters", "behavioural clusters of the best programs", columns, tuple(rows))
