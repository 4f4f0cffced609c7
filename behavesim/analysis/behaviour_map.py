"""A two-dimensional map of programs: programs that behave alike lie close together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.scored import Scored, scored

BEST, OTHERS = 50, 150
"""Numbers of programs on the map: of the best, and at most of the rest; the work grows with the square of the sum."""
DIGITS = 9
"""Decimal places of coordinates: rounding gives programs with equal behaviour exactly the same point."""


@dataclass(frozen=True)
class Place(Scored):
    """A program on the map: distances between points approximate the programs' distances 1 − BehaveSim, in [0, 1]."""

    x: float
    y: float


@dataclass(frozen=True)
class BehaviourMap:
    """Programs as points in the plane, best first.

    `kept` is the share of the distances' variation that two dimensions show, in [0, 1]. It is None if there are no
    programs, or if all of them behave the same.
    """

    places: tuple[Place, ...]
    kept: float | None


def behaviour_map(run: Run) -> BehaviourMap:
    """Return the map of the fifty best distinct programs and at most 150 others, taken at even steps of rank.

    Raises UsageError if the task cannot be loaded, DistanceError if the measure fails.
    """
    programs = best_and_others(run.ranked())
    if not programs:
        return BehaviourMap((), None)
    points, kept = in_the_plane(1.0 - run.matrix([program.candidate for program in programs]))
    worth = (scored(run, program) for program in programs)
    places = (
        Place(each.candidate, each.score, each.gap, x, y) for each, (x, y) in zip(worth, points.tolist(), strict=True)
    )
    return BehaviourMap(tuple(places), kept)


def best_and_others(programs: Sequence[Candidate]) -> list[Candidate]:
    """Return the first fifty programs, then at most 150 of the rest at even steps, including the last."""
    others = range(BEST, len(programs))
    chosen = others if len(others) <= OTHERS else np.linspace(BEST, len(programs) - 1, OTHERS).astype(int).tolist()
    return [*programs[:BEST], *(programs[place] for place in chosen)]


def in_the_plane(distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], float | None]:
    """Return (N, 2) points by classical scaling (Torgerson 1952) of (N, N) distances, and the share that they show.

    The share is that of the two largest eigenvalues in the sum of all positive ones, in [0, 1]; None if all distances
    are 0. The sign of each axis makes its farthest point positive, so that equal distances give equal maps.
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
