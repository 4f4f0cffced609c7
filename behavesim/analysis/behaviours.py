"""The distinct behaviours of a run: how many there are, their clusters, and maps of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.candidates import Candidate, metric_column, metric_names
from behavesim.analysis.run import Run, distinct_names
from behavesim.analysis.table import (
    COUNT,
    DISTANCE,
    ERROR,
    PROGRAM,
    PROGRAMS,
    SCORE,
    SCORE_AND_GAP,
    TOP,
    Column,
    Scored,
    Table,
)
from behavesim.base.text import count_noun
from behavesim.similarity.clustering import Join, average_linkage, joins, median_distance
from behavesim.state.race import told_apart_in_run

# What two column headings of `top_table` mean, as part of its caption.
MEANINGS = (
    "equal ranks: the difference may be chance; programs: how many have this behaviour; operator: the kind of "
    "request, template: it showed no other program"
)


@dataclass(frozen=True)
class DistinctCounts:
    """How many candidates are feasible, and how many distinct programs and behaviours these and the ten best have."""

    feasible: int
    programs: int
    behaviours: int
    top: int

    @property
    def repeated_programs(self) -> float | None:
        """The fraction of feasible candidates that repeat an earlier program; None without candidates."""
        return 1 - self.programs / self.feasible if self.feasible else None

    @property
    def repeated_behaviours(self) -> float | None:
        """The fraction of distinct programs that repeat a better one's behaviour; None without programs."""
        return 1 - self.behaviours / self.programs if self.programs else None

    @property
    def sentence(self) -> str:
        """The counts as a sentence for people, without a capital letter and a full stop."""
        said = (
            f"{count_noun(self.feasible, 'feasible candidate')}, {count_noun(self.programs, 'different program')}, "
            f"{count_noun(self.behaviours, 'different behaviour')}"
        )
        return f"{said}; the ten best programs have {self.top} of them" if self.programs > TOP else said


def distinct(run: Run) -> DistinctCounts:
    """Count the distinct programs and behaviours of a run so far."""
    programs = run.ranked()
    behaviours = [behaviour.packed for behaviour in run.trajectories(programs)]
    return DistinctCounts(len(run.feasible), len(programs), len(set(behaviours)), len(set(behaviours[:TOP])))


@dataclass(frozen=True)
class TopProgram(Scored):
    """The best of the `programs` distinct programs with one behaviour; `parents` are what its prompt showed."""

    source: str
    programs: int = 1
    group: str | None = None
    operator: str = ""
    model: str | None = None
    parents: tuple[int, ...] = ()
    metrics: Mapping[str, float | str] = field(default_factory=dict)
    rank: int = 1

    @property
    def lines(self) -> int:
        """Number of lines of the source that are not blank, comments included."""
        return sum(bool(line.strip()) for line in self.source.splitlines())


def top(run: Run) -> tuple[TopProgram, ...]:
    """Return the best program of each of the ten best behaviours, best score first."""
    best = run.by_behaviour()[:TOP]
    ranks = _ranks([programs[0] for programs in best], run.template)
    return tuple(_top_program(run, rank, *programs) for rank, programs in zip(ranks, best, strict=True))


def _ranks(programs: Sequence[Candidate], template: Candidate | None) -> list[int]:
    """Return the rank of each program, best first; those that are not told apart from the best of a rank share it."""
    ranks: list[int] = []
    for place, program in enumerate(programs, 1):
        first = programs[ranks[-1] - 1] if ranks else program
        is_alike = told_apart_in_run(first, program, template or program) is False
        ranks.append(ranks[-1] if ranks and is_alike else place)
    return ranks


def _top_program(run: Run, rank: int, best: Candidate, *others: Candidate) -> TopProgram:
    worth, source = run.scored(best), best.source or ""
    return TopProgram(
        *worth.cells,
        source,
        1 + len(others),
        best.group,
        best.operator,
        best.model,
        best.parents,
        best.metrics,
        rank,
        **worth.certainty,
    )


def top_table(programs: tuple[TopProgram, ...], clusters: Sequence[Collection[int]], caption: str) -> Table:
    """Return a row per program, with the number, from 1, of its cluster in `clusters`."""
    number = {candidate: number for number, members in enumerate(clusters, 1) for candidate in members}
    columns = (
        *(Column("rank", COUNT), Column("candidate", PROGRAM), *SCORE_AND_GAP),
        *(Column("standard_error", ERROR, title="±"), Column("instances", COUNT, title="(n)")),
        *(Column("cluster", COUNT), Column("programs", COUNT), Column("lines", COUNT)),
        *(Column("island"), Column("operator"), Column("model"), Column("parents", PROGRAMS)),
    )
    rows = []
    for each in programs:
        origin = each.group, each.operator, each.model, " ".join(map(str, each.parents)) or None
        certainty = each.standard_error, each.instances
        rows.append(
            (each.rank, *each.cells, *certainty, number.get(each.candidate), each.programs, each.lines, *origin)
        )
    return Table("top", "the ten best behaviours", columns, tuple(rows), caption, keys=2)


def metrics_table(programs: Sequence[TopProgram]) -> Table:
    """Return a row per program and a column per metric; no rows if no program has metrics."""
    names = metric_names(each.metrics for each in programs)
    shown = (Column(metric_column(name), SCORE, title=name) for name in names)
    columns = (Column("rank", COUNT), Column("candidate", PROGRAM), *shown)
    rows = tuple((each.rank, each.candidate, *(each.metrics.get(name) for name in names)) for each in programs)
    return Table("metrics", "metrics of the ten best behaviours", columns, rows if names else (), keys=2)


# Clusters of programs that behave alike (paper, "Algorithm Analysis").


# Largest number of programs that are clustered, the best distinct ones; the work grows with its square.
CLUSTERED = 200
# Largest number of clusters in a report.
CLUSTERS = 8


@dataclass(frozen=True)
class Cluster:
    """Programs that behave alike: `members` are candidate numbers, best first.

    `medoid` is the most central one. `cohesion` is the mean similarity of pairs; None for one member.
    """

    size: int
    members: tuple[int, ...]
    best: Scored
    medoid: int
    cohesion: float | None


@dataclass(frozen=True)
class Clustering:
    """Clusters, best first, and the joins that merge them into one, smallest distance first (average linkage)."""

    clusters: tuple[Cluster, ...] = ()
    joins: tuple[Join, ...] = ()


def clustering(run: Run, programs: int = CLUSTERED, clusters: int = CLUSTERS) -> Clustering:
    """Cluster the best `programs` distinct programs by average linkage on 1 − BehaveSim into at most `clusters`
    clusters.

    Programs with equal behaviour are in one cluster. Raises as `Run.matrix` does.
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
    inside = similarity[np.ix_(rows, rows)]
    size = len(rows)
    # the mean over ordered pairs of different members: the diagonal, similarities of members to themselves, is left out
    cohesion = None if size == 1 else float((inside.sum() - np.trace(inside)) / (size * (size - 1)))
    members = tuple(programs[row].candidate for row in rows)
    medoid = members[int(inside.sum(axis=1).argmax())]
    return Cluster(size, members, run.scored(programs[int(rows[0])]), medoid, cohesion)


def clusters_table(found: tuple[Cluster, ...]) -> Table:
    """Return a row per cluster, numbered from 1."""
    columns = (
        Column("cluster", COUNT),
        Column("programs", COUNT),
        Column("best", PROGRAM),
        *SCORE_AND_GAP,
        Column("medoid", PROGRAM),
        Column("cohesion", DISTANCE),
    )
    rows = ((number, each.size, *each.best.cells, each.medoid, each.cohesion) for number, each in enumerate(found, 1))
    caption = "medoid: the most central program; cohesion: mean similarity inside" if found else ""
    return Table("clusters", "behavioural clusters of the best programs", columns, tuple(rows), caption)


# Two-dimensional maps of programs, of one run or of groups of runs: programs that behave alike lie close together.


# Largest numbers of programs on the map: of the best, and of the rest. The work grows with the square of their sum.
BEST, OTHERS = 50, 150
# Decimal places of coordinates: without rounding, programs with equal behaviour would not have exactly the same point,
# because of errors of floating point.
DIGITS = 9
# Largest number of programs listed as nearest in behaviour to one on the map.
NEAREST = 5
# Largest number of programs on the map of groups of runs, an equal share for each; the work grows with its square.
SHARED = 180
# Largest number of programs listed for each group as found by it alone.
ALONE = 5


@dataclass(frozen=True)
class Near:
    """Another program on the map, and its BehaveSim to a given one, in [0, 1]."""

    candidate: int
    similarity: float


@dataclass(frozen=True)
class Place(Scored):
    """A program at the point (x, y) of the map; `nearest` are the most similar others of the map, five at most."""

    x: float
    y: float
    nearest: tuple[Near, ...] = ()


@dataclass(frozen=True)
class BehaviourMap:
    """Programs as points, best first; `kept` is the share of the distances' variation that two dimensions show."""

    places: tuple[Place, ...]
    kept: float | None


def behaviour_map(run: Run) -> BehaviourMap:
    """Return the map of the best distinct programs and some others; empty without any. Raises as `Run.matrix` does."""
    programs = best_and_others(run.ranked())
    if not programs:
        return BehaviourMap((), None)
    for marked in (run.recommended, run.template):  # the readers of a map look for these first
        if marked is not None and marked.score is not None and marked not in programs:
            programs.append(marked)
    matrix = run.matrix([program.candidate for program in programs])
    points, kept = in_the_plane(1.0 - matrix)
    near = _nearest(matrix, [program.candidate for program in programs])
    placed = zip(programs, points.tolist(), near, strict=True)
    return BehaviourMap(tuple(Place(*run.scored(each).cells, x, y, to) for each, (x, y), to in placed), kept)


def _nearest(similarities: NDArray[np.float64], candidates: Sequence[int]) -> list[tuple[Near, ...]]:
    others = similarities.copy()
    np.fill_diagonal(others, -1.0)  # below any similarity: a program does not count as near to itself
    order = np.argsort(-others, axis=1, kind="stable")[:, : min(NEAREST, len(candidates) - 1)].tolist()
    return [
        tuple(Near(candidates[place], float(similarities[row, place])) for place in places)
        for row, places in enumerate(order)
    ]


def best_and_others(programs: Sequence[Candidate]) -> list[Candidate]:
    """Return the first fifty programs, then at most 150 of the rest at even steps, including the last."""
    others = range(BEST, len(programs))
    chosen = others if len(others) <= OTHERS else np.linspace(BEST, len(programs) - 1, OTHERS).astype(int).tolist()
    return [*programs[:BEST], *(programs[place] for place in chosen)]


def in_the_plane(distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], float | None]:
    """Return (N, 2) points by classical scaling (Torgerson 1952) of (N, N) distances, and the share that they show.

    Equal distances give equal points. The share is None if all distances are 0.
    """
    size = len(distances)
    # Double centring turns squared distances into inner products, whose eigenvectors are the coordinates' axes.
    centring = np.eye(size) - 1 / size
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    spectrum = np.maximum(values[::-1], 0.0)  # distances that no space has exactly give negative eigenvalues
    points = np.zeros((size, 2))  # one program alone has one axis
    axes = (vectors[:, ::-1] * np.sqrt(spectrum))[:, :2]
    points[:, : axes.shape[1]] = axes
    farthest = points[np.abs(points).argmax(axis=0), [0, 1]]
    total = float(spectrum.sum())
    turned = np.round(points * np.where(farthest < 0, -1.0, 1.0), DIGITS)
    return turned, float(spectrum[:2].sum()) / total if total > 1e-12 else None


@dataclass(frozen=True)
class GroupProgram(Scored):
    """A program on the map of groups; `elsewhere` is its distance to the nearest program of another group.

    `run` is the name of its run, or the path of the run's `folder` if another run on the map has the same name.
    """

    run: str
    folder: Path
    group: int
    source: str
    x: float
    y: float
    elsewhere: float | None


@dataclass(frozen=True)
class SharedMap:
    """The best behaviours of each group, group by group, best first.

    `kept` is as in `BehaviourMap`. Behaviours count as different from the distance `far` on. `alone` has for each group
    the indices of its best programs, at most five, that are different from all programs of other groups.
    """

    programs: tuple[GroupProgram, ...]
    kept: float | None
    far: float
    alone: tuple[tuple[int, ...], ...]


def map_groups(groups: Sequence[Sequence[Run]]) -> SharedMap:
    """Return the map of the best programs of each group of runs, which must be on one task and its instances.

    Distances are by the first run's measure, and its radius decides what is far. Raises as `Run.matrix` does.
    """
    # an equal share: a group of many runs must not crowd the others out
    share = max(1, SHARED // max(1, len(groups)))
    chosen = [(group, run, each) for group, runs in enumerate(groups) for run, each in _best(runs, share)]
    if not chosen:
        return SharedMap((), None, 0.0, tuple(() for _ in groups))
    behaviours = [run.trajectories([each])[0] for _, run, each in chosen]
    first = groups[0][0]
    distances = 1.0 - first.measure().matrix(behaviours)
    points, kept = in_the_plane(distances)
    of_group = np.array([group for group, _, _ in chosen])
    elsewhere = [_nearest_elsewhere(row, of_group, of_group[place]) for place, row in enumerate(distances)]
    far = first.settings.shortlist_radius * median_distance(distances)
    folders = [run.folder for run in chain(*groups)]
    names = dict(zip(folders, distinct_names([(each.run, each.path) for each in folders]), strict=True))
    programs = tuple(
        GroupProgram(*run.scored(each).cells, names[run.folder], run.folder.path, group, each.source or "", x, y, apart)
        for (group, run, each), (x, y), apart in zip(chosen, points.tolist(), elsewhere, strict=True)
    )
    return SharedMap(programs, kept, far, tuple(_alone(programs, group, far) for group in range(len(groups))))


def _best(runs: Sequence[Run], count: int) -> list[tuple[Run, Candidate]]:
    """Return at most `count` programs of a group's runs that differ in behaviour, best first; ties: the earlier run."""
    ranked = [(run, each) for run in runs for each in run.ranked()[:count]]
    ranked.sort(key=lambda pair: -pair[0].utility(pair[1]))
    found: dict[bytes, tuple[Run, Candidate]] = {}
    for run, each in ranked:
        found.setdefault(run.trajectories([each])[0].packed, (run, each))
    return list(found.values())[:count]


def _nearest_elsewhere(distances: NDArray[np.float64], of_group: NDArray[np.intp], own: int) -> float | None:
    # `of_group` has the index of each program's group, (N,).
    others = distances[of_group != own]
    return float(others.min()) if others.size else None


def _alone(programs: Sequence[GroupProgram], group: int, far: float) -> tuple[int, ...]:
    ours = (
        place
        for place, each in enumerate(programs)
        if each.group == group and each.elsewhere is not None and each.elsewhere > 0.0 and each.elsewhere >= far
    )
    return tuple(place for place, _ in zip(ours, range(ALONE), strict=False))
