"""Groups of programs that behave alike (paper, "Algorithm Analysis")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.scored import COLUMNS, Scored, cells, scored
from behavesim.analysis.table import COUNT, DISTANCE, Column, Table
from behavesim.similarity.linkage import average_linkage, joins

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


@dataclass(frozen=True)
class Join:
    """Two groups that are one at that mean distance, in [0, 1] as long as similarities are.

    Clusters go by their places; what the first join makes by the next number, and so on.
    """

    one: int
    other: int
    distance: float


@dataclass(frozen=True)
class Clustering:
    """Clusters, best first, and how they join until one is left (average linkage)."""

    clusters: tuple[Cluster, ...] = ()
    joins: tuple[Join, ...] = ()


def clustering(run: Run, shown: int = SHOWN, groups: int = GROUPS) -> Clustering:
    """The best `shown` distinct programs in at most `groups` clusters by average linkage; none parts a behaviour."""
    programs = run.ranked()[:shown]
    if not programs:
        return Clustering()
    similarity = run.matrix([program.candidate for program in programs])
    behaviours = len(np.unique(similarity, axis=0))  # programs that behave the same are as like to all others
    # labels number the clusters by their first member, which is their best one
    labels = average_linkage(1.0 - similarity, min(groups, behaviours))
    rows = (np.flatnonzero(np.array(labels) == place) for place in range(max(labels) + 1))
    found = tuple(_cluster(run, programs, similarity, each) for each in rows)
    return Clustering(found, tuple(Join(*join) for join in joins(1.0 - similarity, labels)))


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
        Column("cluster", COUNT),
        Column("programs", COUNT),
        Column("best", COUNT),
        *COLUMNS,
        Column("medoid", COUNT),
        Column("cohesion", DISTANCE),
    )
    rows = ((number, each.size, *cells(each.best), each.medoid, each.cohesion) for number, each in enumerate(found, 1))
    caption = "medoid: the most central program; cohesion: mean similarity inside" if found else ""
    return Table("clusters", "behavioural clusters of the best programs", columns, tuple(rows), caption)


def joins_table(found: Sequence[Join]) -> Table:
    """How the clusters join, numbered from 1 as in their table, for files."""
    columns = (Column("joined", COUNT), Column("one", COUNT), Column("other", COUNT), Column("distance", DISTANCE))
    first = len(found) + 2  # of n clusters, which join n - 1 times
    rows = ((first + step, join.one + 1, join.other + 1, join.distance) for step, join in enumerate(found))
    return Table("joins", "how the clusters join", columns, tuple(rows))
