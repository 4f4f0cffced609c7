"""The best programs of several groups of runs on one map of behaviours, and what one group found and no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.behaviour_map import in_the_plane
from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.scored import Scored, number_score_gap

PROGRAMS = 180
"""Largest number of programs on the map, an equal share for each group; the work grows with its square."""
ALONE = 5
"""Largest number of programs listed for each group as found by it alone."""


@dataclass(frozen=True)
class GroupProgram(Scored):
    """A program of the run named `run` in the group at index `group`, at the point (x, y) of the map.

    `elsewhere` is its distance 1 − BehaveSim to the nearest program of another group, None if there is none.
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

    `kept` is the share of the distances' variation that two dimensions show, None if all behave the same. `far` is the
    distance from which on behaviours count as different. `alone` has for each group the indices of its best programs
    that are at least as far from every program of every other group, at most five.
    """

    programs: tuple[GroupProgram, ...]
    kept: float | None
    far: float
    alone: tuple[tuple[int, ...], ...]


def shared_map(groups: Sequence[Sequence[Run]]) -> SharedMap:
    """Return the map of the best programs of each group of runs, which must be on one task and its instances.

    Of programs with equal behaviour in a group only the best is on it. The first run's measure and radius decide. It is
    empty if no program is feasible. Raises UsageError if the task cannot be loaded, JournalError if a journal cannot be
    read, TrajectoryError if the measure fails.
    """
    share = max(1, PROGRAMS // max(1, len(groups)))
    chosen = [(group, run, each) for group, runs in enumerate(groups) for run, each in _best(runs, share)]
    if not chosen:
        return SharedMap((), None, 0.0, tuple(() for _ in groups))
    behaviours = [run.trajectories([each])[0] for _, run, each in chosen]
    first = groups[0][0]
    distances = 1.0 - first.measure().matrix(behaviours)
    points, kept = in_the_plane(distances)
    of_group = np.array([group for group, _, _ in chosen])
    elsewhere = [_nearest_elsewhere(row, of_group, of_group[place]) for place, row in enumerate(distances)]
    pairs = distances[np.triu_indices(len(chosen), 1)]
    far = first.settings.shortlist_radius * float(np.median(pairs)) if pairs.size else 0.0
    programs = tuple(
        GroupProgram(*number_score_gap(run, each), run.folder.run, group, each.source or "", x, y, apart)
        for (group, run, each), (x, y), apart in zip(chosen, points.tolist(), elsewhere, strict=True)
    )
    return SharedMap(programs, kept, far, tuple(_alone(programs, group, far) for group in range(len(groups))))


def _best(runs: Sequence[Run], count: int) -> list[tuple[Run, Candidate]]:
    """Return at most `count` programs of a group's runs of different behaviour, best first; ties: first run."""
    ranked = [(run, each) for run in runs for each in run.ranked()[:count]]
    ranked.sort(key=lambda pair: -pair[0].utility(pair[1]))
    found: dict[bytes, tuple[Run, Candidate]] = {}
    for run, each in ranked:
        found.setdefault(run.trajectories([each])[0].packed, (run, each))
    return list(found.values())[:count]


def _nearest_elsewhere(distances: NDArray[np.float64], of_group: NDArray[np.intp], own: int) -> float | None:
    others = distances[of_group != own]
    return float(others.min()) if others.size else None


def _alone(programs: Sequence[GroupProgram], group: int, far: float) -> tuple[int, ...]:
    """Return the indices of the group's best programs with no program of another group nearer than `far`."""
    ours = (
        place
        for place, each in enumerate(programs)
        if each.group == group and each.elsewhere is not None and each.elsewhere > 0.0 and each.elsewhere >= far
    )
    return tuple(place for place, _ in zip(ours, range(ALONE), strict=False))
