"""Clusters of programs that behave alike (paper, "Algorithm Analysis")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.summary import SCORE_AND_GAP, Scored
from behavesim.analysis.table import COUNT, DISTANCE, Column, Table
from behavesim.similarity.clustering import Join, average_linkage, joins

CLUSTERED = 200
"""Largest number of programs that are clustered, the best distinct ones; the work grows with its square."""
CLUSTERS = 8
"""Largest number of clusters in a report."""


@dataclass(frozen=True)
class Cluster:
    """Programs that behave alike.

    `members` are candidate numbers, best first, and `best` is the first of them. `medoid` is the member with the
    greatest mean similarity to the others. `cohesion` is the mean similarity of pairs of members, in [0, 1]; None for a
    cluster of one program.
    """

    size: int
    members: tuple[int, ...]
    best: Scored
    medoid: int
    cohesion: float | None


@dataclass(frozen=True)
class Clustering:
    """Clusters, best first, and the joins that merge them step by step into one, smallest distance first.

    The joins are those of average linkage on 1 − BehaveSim; there are none for fewer than two clusters.
    """

    clusters: tuple[Cluster, ...] = ()
    joins: tuple[Join, ...] = ()


def clustering(run: Run, programs: int = CLUSTERED, clusters: int = CLUSTERS) -> Clustering:
    """Cluster the best `programs` distinct programs by average linkage into at most `clusters` clusters.

    Programs with equal behaviour are in one cluster. It is empty if the run has no feasible program. Raises UsageError
    if the task cannot be loaded, PartError if its code raises, JournalError if the journal cannot be read,
    TrajectoryError if the measure fails.
    """
    ranked = run.ranked()[:programs]
    if not ranked:
        return Clustering()
    similarity = run.matrix([program.candidate for program in ranked])
    behaviours = len(np.unique(similarity, axis=0))  # programs with equal behaviour have equal rows
    # labels number the clusters by their first member, which is their best one
    labels = average_linkage(1.0 - similarity, min(clusters, behaviours))
    rows = (np.flatnonzero(np.array(labels) == place) for place in range(max(labels) + 1))
    found = tuple(_cluster(run, ranked, similarity, each) for each in rows)
    return Clustering(found, tuple(joins(1.0 - similarity, labels)))


def _cluster(run: Run, programs: list[Candidate], similarity: np.ndarray, rows: np.ndarray) -> Cluster:
    """Return one cluster: the `programs` at the indices `rows`; `similarity` is that of all N programs, (N, N)."""
    inside = similarity[np.ix_(rows, rows)]
    size = len(rows)
    # the mean over ordered pairs of different members: the diagonal, similarities of members to themselves, is left out
    cohesion = None if size == 1 else float((inside.sum() - np.trace(inside)) / (size * (size - 1)))
    members = tuple(programs[row].candidate for row in rows)
    medoid = members[int(inside.sum(axis=1).argmax())]
    return Cluster(size, members, run.scored(programs[int(rows[0])]), medoid, cohesion)


def clusters_table(found: tuple[Cluster, ...]) -> Table:
    """Return a table with a row per cluster, in the given order and numbered from 1."""
    columns = (
        Column("cluster", COUNT),
        Column("programs", COUNT),
        Column("best", COUNT),
        *SCORE_AND_GAP,
        Column("medoid", COUNT),
        Column("cohesion", DISTANCE),
    )
    rows = ((number, each.size, *each.best.cells, each.medoid, each.cohesion) for number, each in enumerate(found, 1))
    caption = "medoid: the most central program; cohesion: mean similarity inside" if found else ""
    return Table("clusters", "behavioural clusters of the best programs", columns, tuple(rows), caption)


def joins_table(found: Sequence[Join]) -> Table:
    """Return a table with a row per join, for files; clusters are numbered from 1, as in `clusters_table`.

    The first join of n clusters makes cluster n + 1.
    """
    columns = (Column("joined", COUNT), Column("one", COUNT), Column("other", COUNT), Column("distance", DISTANCE))
    first = len(found) + 2  # n - 1 joins merge n clusters, so the first join has number n + 1
    rows = ((first + step, join.one + 1, join.other + 1, join.distance) for step, join in enumerate(found))
    return Table("joins", "how the clusters join", columns, tuple(rows))
