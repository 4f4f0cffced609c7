"""Groups of programs that behave alike (paper, "Algorithm Analysis")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from behavesim.analysis.run import Candidate, Run

SHOWN = 200
GROUPS = 8


@dataclass(frozen=True)
class Cluster:
    """Programs that behave alike: the best of them, the most central one, and their mean mutual similarity in [0, 1].

    `cohesion` is None for a cluster of one program.
    """

    members: tuple[int, ...]
    best: Candidate
    medoid: int
    cohesion: float | None


def clusters(run: Run, shown: int = SHOWN, groups: int = GROUPS) -> list[Cluster]:
    """The best `shown` distinct programs in at most `groups` clusters by average linkage, best cluster first."""
    from behavesim.similarity.linkage import average_linkage

    programs = run.ranked()[:shown]
    if not programs:
        return []
    similarity = run.matrix([program.candidate for program in programs])
    labels = np.array(average_linkage(1.0 - similarity, groups))
    found = [_cluster(programs, similarity, np.flatnonzero(labels == label)) for label in range(labels.max() + 1)]
    return sorted(found, key=lambda cluster: (-run.utility(cluster.best), cluster.best.candidate))


def _cluster(programs: list[Candidate], similarity: np.ndarray, rows: np.ndarray) -> Cluster:
    inside = similarity[np.ix_(rows, rows)]
    size = len(rows)
    cohesion = None if size == 1 else float((inside.sum() - np.trace(inside)) / (size * (size - 1)))
    medoid = rows[int(inside.sum(axis=1).argmax())]
    return Cluster(
        tuple(programs[row].candidate for row in rows),
        programs[int(rows[0])],
        programs[int(medoid)].candidate,
        cohesion,
    )
