"""A map of behaviours: programs in the plane, near one another where they behave alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.scored import Scored, scored

BEST, OTHERS = 50, 150
DIGITS = 9
"""Of places, so that what behaves the same has one."""


@dataclass(frozen=True)
class Place(Scored):
    """A program on the map; distances between places are like those of behaviours, 1 − BehaveSim in [0, 1]."""

    x: float
    y: float


@dataclass(frozen=True)
class BehaviourMap:
    """Programs in the plane, best first.

    `kept` is the share of what tells the programs apart that two dimensions show, in [0, 1]; None where nothing does.
    """

    places: tuple[Place, ...]
    kept: float | None


def behaviour_map(run: Run) -> BehaviourMap:
    """The fifty best distinct programs, and of all others 150 at even steps of their rank."""
    programs = spread(run.ranked())
    if not programs:
        return BehaviourMap((), None)
    points, kept = in_the_plane(1.0 - run.matrix([program.candidate for program in programs]))
    worth = (scored(run, program) for program in programs)
    places = (
        Place(each.candidate, each.score, each.gap, x, y) for each, (x, y) in zip(worth, points.tolist(), strict=True)
    )
    return BehaviourMap(tuple(places), kept)


def spread(programs: Sequence[Candidate]) -> list[Candidate]:
    """The first fifty, and of the others at most 150 at even steps, the last one included."""
    others = range(BEST, len(programs))
    chosen = others if len(others) <= OTHERS else np.linspace(BEST, len(programs) - 1, OTHERS).astype(int).tolist()
    return [*programs[:BEST], *(programs[place] for place in chosen)]


def in_the_plane(distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], float | None]:
    """(N, 2) points by classical scaling of (N, N) distances, and the share of the positive spectrum that they keep.

    See Torgerson (1952). Each axis points to where its farthest point is, so that the same distances give the same map.
    """
    size = len(distances)
    centring = np.eye(size) - 1 / size
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    spectrum = np.maximum(values[::-1], 0.0)
    points = np.zeros((size, 2))
    axes = (vectors[:, ::-1] * np.sqrt(spectrum))[:, :2]
    points[:, : axes.shape[1]] = axes
    farthest = points[np.abs(points).argmax(axis=0), [0, 1]]
    total = float(spectrum.sum())
    turned = np.round(points * np.where(farthest < 0, -1.0, 1.0), DIGITS)
    return turned, float(spectrum[:2].sum()) / total if total > 1e-12 else None
