"""Two-dimensional maps of programs, of one run or of groups of runs: programs that behave alike lie close together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.summary import Scored
from behavesim.similarity.niches import median_distance

BEST, OTHERS = 50, 150
"""Largest numbers of programs on the map: of the best, and of the rest. The work grows with the square of their sum."""
DIGITS = 9
"""Decimal places of coordinates: without rounding, programs with equal behaviour would not have exactly the same point,
because of errors of floating point."""
NEAREST = 5
"""Largest number of programs listed as nearest in behaviour to one on the map."""
SHARED = 180
"""Largest number of programs on the map of groups of runs, an equal share for each; the work grows with its square."""
ALONE = 5
"""Largest number of programs listed for each group as found by it alone."""


@dataclass(frozen=True)
class Near:
    """Another program on the map that behaves like a given one; `similarity` is their BehaveSim.

    It is by the run's own measure and in [0, 1]; 1 means the same behaviour.
    """

    candidate: int
    similarity: float


@dataclass(frozen=True)
class Place(Scored):
    """A program at the point (x, y) of the map; distances between points approximate 1 − BehaveSim of the programs.

    `nearest` are at most five other programs of the map, the most similar first; ties go to the better program.
    """

    x: float
    y: float
    nearest: tuple[Near, ...] = ()


@dataclass(frozen=True)
class BehaviourMap:
    """Programs as points in the plane, best first; then the recommended program and the template if not among them.

    `kept` is the share of the distances' variation that two dimensions show, in [0, 1]. It is None if there are no
    programs, or if all of them behave the same.
    """

    places: tuple[Place, ...]
    kept: float | None


def behaviour_map(run: Run) -> BehaviourMap:
    """Return the map of the fifty best distinct programs and at most 150 others, taken at even steps of rank.

    The recommended program and the template are on it, too. It is empty if no candidate is feasible. Raises UsageError
    if the task cannot be loaded, PartError if its code raises, JournalError if the journal cannot be read,
    TrajectoryError if the measure fails.
    """
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
    """Return each candidate's most similar others, at most NEAREST; `similarities`, (N, N), are in the same order."""
    others = similarities.copy()
    np.fill_diagonal(others, -1.0)  # below any similarity: a program does not count as near to itself
    order = np.argsort(-others, axis=1, kind="stable")[:, : min(NEAREST, len(candidates) - 1)].tolist()
    return [
        tuple(Near(candidates[place], float(similarities[row, place])) for place in places)
        for row, places in enumerate(order)
    ]


def best_and_others(programs: Sequence[Candidate]) -> list[Candidate]:
    """Return the first fifty programs, then at most 150 of the rest at even steps, including the last; all if fewer."""
    others = range(BEST, len(programs))
    chosen = others if len(others) <= OTHERS else np.linspace(BEST, len(programs) - 1, OTHERS).astype(int).tolist()
    return [*programs[:BEST], *(programs[place] for place in chosen)]


def in_the_plane(distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], float | None]:
    """Return (N, 2) points by classical scaling (Torgerson 1952) of (N, N) distances, and the share that they show.

    N is at least 1. The share is that of the two largest eigenvalues in the sum of all positive ones, in [0, 1]; None
    if all distances are 0. The sign of each axis makes its farthest point positive, so that equal distances give equal
    maps.
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
    """A program of the run named `run` in the group at index `group`, at the point (x, y) of the map.

    `source` is its text. `elsewhere` is its distance 1 − BehaveSim to the nearest program of another group, None if
    there is none.
    """

    run: str
    group: int
    source: str
    x: float
    y: float
    elsewhere: float | None


@dataclass(frozen=True)
class SharedMap:
    """The best behaviours of each group, group by group, best first.

    `kept` is the share of the distances' variation that two dimensions show, None if all behave the same or there are
    none. `far` is the distance from which on behaviours count as different. `alone` has for each group the indices of
    programs whose distance to all programs of other groups is above 0 and at least `far`: the best five, or all if
    fewer. It is empty if no other group has programs.
    """

    programs: tuple[GroupProgram, ...]
    kept: float | None
    far: float
    alone: tuple[tuple[int, ...], ...]


def shared_map(groups: Sequence[Sequence[Run]]) -> SharedMap:
    """Return the map of the best programs of each group of runs, which must be on one task and its instances.

    Each group has an equal share of SHARED programs at most; of those with equal behaviour in a group only the best is
    on it. Distances are by the first run's measure, and its radius decides what is far. The map is empty if no program
    is feasible. Raises UsageError if the task cannot be loaded, PartError if its code raises, JournalError if a journal
    cannot be read, TrajectoryError if the measure fails.
    """
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
    programs = tuple(
        GroupProgram(*run.scored(each).cells, run.folder.run, group, each.source or "", x, y, apart)
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
    """Return the smallest of a program's N distances to programs of other groups than `own`; None if there are none.

    `of_group` has the index of each program's group, (N,).
    """
    others = distances[of_group != own]
    return float(others.min()) if others.size else None


def _alone(programs: Sequence[GroupProgram], group: int, far: float) -> tuple[int, ...]:
    """Return the indices of a group's best programs, at most ALONE, with no other group's program nearer than `far`."""
    ours = (
        place
        for place, each in enumerate(programs)
        if each.group == group and each.elsewhere is not None and each.elsewhere > 0.0 and each.elsewhere >= far
    )
    return tuple(place for place, _ in zip(ours, range(ALONE), strict=False))
