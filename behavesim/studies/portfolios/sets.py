"""The ways to choose k programs of a run: each returns at most ten in order, of which the first k are the set."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.code_similarity.subtrees import subtree_distances
from behavesim.similarity import BehaveSim
from behavesim.similarity.niches import cleared, median_distance
from behavesim.studies.portfolios.kept import TOP, KeptRun, Program
from behavesim.task import Direction

Distances = NDArray[np.float64]
"""Shape (N, N): distances between the programs of a ranking, row and column 0 for the best.

They are 1 − BehaveSim in [0, 1], or `subtree_distances` of the texts.
"""
Ranks = tuple[int, ...]
"""Ranks (from 0) of the chosen programs, in the order in which they were chosen."""
Sets = Mapping[str, tuple[tuple[Program, ...], ...]]
"""The sets that each way chooses, keyed by its name: one set, or several whose losses are averaged."""

RADIUS = 0.3
"""The clearing radius as a fraction of the median distance, as in `behavesim recommend`."""
BASE = 100
"""Number of behaviours, those found first, over which the median distance is taken."""
DRAWS = 20
"""Number of random permutations of the distances, for the control."""
FEW = (1, 2)
"""Numbers of search instances on which sets are chosen in addition to all instances."""
DONORS = 5
"""Largest number of other runs whose chosen ranks are applied to a run."""


@dataclass(frozen=True)
class Ranking:
    """The N behaviours of a run on some search instances, best first."""

    programs: tuple[Program, ...]
    """One for each behaviour."""
    costs: NDArray[np.float64]
    """Shape (N, instances); lower is better."""
    distances: Distances
    base: NDArray[np.intp]
    """The ranks of the first BASE behaviours found."""

    def cleared(self, distances: Distances, least: float | None = None) -> Ranks:
        """Return at most TOP ranks, in order, of programs at least `least` from all chosen before.

        `least` is a distance in the unit of `distances`; None uses the clearing radius of these distances.
        """
        apart = least_of(distances, self.base) if least is None else least
        return tuple(cleared(len(distances), TOP, apart, distances.__getitem__))

    def shuffled(self, seed: int) -> list[Ranks]:
        """Return DRAWS sets of ranks as a control, each cleared after a random permutation of the distances.

        Draw d permutes with the generator of [seed, d]; all use the clearing radius of the true distances.
        """
        least = least_of(self.distances, self.base)  # of the true distances, so that only the deal differs
        deals = [np.random.default_rng([seed, draw]).permutation(len(self.programs)) for draw in range(DRAWS)]
        return [self.cleared(self.distances[np.ix_(deal, deal)], least) for deal in deals]

    def greedy(self) -> Ranks:
        """Return the best program, then repeatedly the one that most improves the set's mean best cost, at most TOP.

        Ties go to the better rank.
        """
        chosen = [0]
        while len(chosen) < min(TOP, len(self.programs)):
            together = np.minimum(self.costs, self.costs[chosen].min(axis=0)).mean(axis=1)
            together[chosen] = np.inf  # else one already chosen would tie with all that add nothing
            chosen.append(int(together.argmin()))
        return tuple(chosen)

    def at(self, ranks: Ranks) -> Ranks:
        """Return ranks chosen in another run, in order, as ranks of this one, all different.

        A rank that this run does not have, or that is taken already, becomes the next better one that is not taken. It
        is left out if there is none.
        """
        chosen: list[int] = []
        for rank in ranks:
            place = min(rank, len(self.programs) - 1)
            while place in chosen:
                place -= 1
            if place >= 0:
                chosen.append(place)
        return tuple(chosen)

    def of(self, ranks: Ranks) -> tuple[Program, ...]:
        """Return the programs of these ranks (from 0), in the given order."""
        return tuple(self.programs[rank] for rank in ranks)


def ranking(run: KeptRun, apart: NDArray[np.float64], direction: Direction) -> Ranking:
    """Rank the behaviours of a run by mean score on its first instances, as many as `apart` has.

    `apart` has the distances of the run's programs on each of them, shape (instances, N, N). `direction` says which
    scores are better. On fewer instances than the run has, programs that behave equally on them count once. Ties go to
    the shorter text, then to the lower candidate.
    """
    count = len(apart)
    sign = 1 if direction == "minimise" else -1

    def preference(place: int) -> tuple[float, int, int]:
        program = run.programs[place]
        return sign * math.fsum(program.scores[:count]) / count, len(program.source), program.candidate

    groups: dict[Hashable, list[int]] = {}
    for place, behaviour in enumerate(run.behaviours):  # rounding can make two different behaviours equal
        groups.setdefault(behaviour[:count] if count < len(behaviour) else place, []).append(place)
    standing = [min(places, key=preference) for places in groups.values()]  # in the order in which behaviours came
    order = sorted(range(len(standing)), key=lambda number: preference(standing[number]))
    places = [standing[number] for number in order]
    costs = sign * np.array([run.programs[place].scores[:count] for place in places])
    distances = apart[np.ix_(range(count), places, places)].mean(axis=0)
    base = np.array([rank for rank, number in enumerate(order) if number < BASE], dtype=np.intp)
    return Ranking(tuple(run.programs[place] for place in places), costs, distances, base)


def least_of(distances: Distances, base: NDArray[np.intp]) -> float:
    """Return the clearing radius: RADIUS times the median distance between the ranks in `base`; 0 for one or none."""
    return RADIUS * median_distance(distances[np.ix_(base, base)])


def sets_of(runs: Sequence[KeptRun], measure: BehaveSim, direction: Direction) -> list[Sets]:
    """Return the sets of each run by every way of choosing, in the order of `runs`.

    The runs must share task and method: "same ranks" takes ranks from one another. `direction` says which scores of the
    task are better. Raises TrajectoryError if the trajectories of a run cannot be compared.
    """
    apart = [1 - measure.per_instance(run.trajectories()) for run in runs]
    wholes = [ranking(run, each, direction) for run, each in zip(runs, apart, strict=True)]
    cleared = [whole.cleared(whole.distances) for whole in wholes]
    found: list[Sets] = []
    for place, (run, whole) in enumerate(zip(runs, wholes, strict=True)):
        donors = [cleared[(place + step) % len(runs)] for step in range(1, min(DONORS, len(runs) - 1) + 1)]
        sets = {
            "cleared": (whole.of(cleared[place]),),
            "by score": (run.best,),
            "exact": (whole.programs[:TOP],),
            "same ranks": tuple(whole.of(whole.at(ranks)) for ranks in donors),
            "shuffled": tuple(map(whole.of, whole.shuffled(run.seed))),
            "by text": (whole.of(whole.cleared(subtree_distances([program.source for program in whole.programs]))),),
            f"greedy at {len(apart[place])}": (whole.of(whole.greedy()),),
        }
        for count in FEW:
            if count < len(apart[place]):
                part = ranking(run, apart[place][:count], direction)
                sets[f"greedy at {count}"] = (part.of(part.greedy()),)
                sets[f"cleared at {count}"] = (part.of(part.cleared(part.distances)),)
        found.append(sets)
    return found
