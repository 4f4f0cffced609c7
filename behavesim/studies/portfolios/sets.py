"""The ways to choose k programs of a run that the page compares; each gives ten in order, whose first k are the set."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity import BehaveSim
from behavesim.studies.portfolios.kept import TOP, KeptRun, Program
from behavesim.task import Direction

Distances = NDArray[np.float64]
"""(N, N) how far apart programs are, in the order of their ranks."""
Ranks = tuple[int, ...]
"""Some programs by their ranks, from 0, in the order in which they were chosen."""
Sets = Mapping[str, tuple[tuple[Program, ...], ...]]
"""By the name of a way what it chooses: one set, or as many as it draws."""

RADIUS = 0.3
BASE = 100
DRAWS = 20
FEW = (1, 2)
"""Instances of the search with which alone sets are chosen as well."""
DONORS = 5
"""Runs whose ranks a run is given."""


@dataclass(frozen=True)
class Ranking:
    """The behaviours of a run on some instances of the search, best first.

    `costs` are (N, instances), the lower the better; `base` are the ranks of the first hundred behaviours.
    """

    programs: tuple[Program, ...]
    costs: NDArray[np.float64]
    distances: Distances
    base: NDArray[np.intp]

    def cleared(self, distances: Distances, least: float | None = None) -> Ranks:
        """In order each that is as far from all before as `least`, or else as the median distance of the base says."""
        apart = least_of(distances, self.base) if least is None else least
        chosen: list[int] = []
        free = np.ones(len(distances), dtype=bool)
        while len(chosen) < TOP and free.any():
            chosen.append(int(free.argmax()))
            free &= distances[chosen[-1]] >= apart
            free[chosen[-1]] = False
        return tuple(chosen)

    def shuffled(self, seed: int) -> list[Ranks]:
        """Cleared by the distances of other behaviours, dealt at random."""
        least = least_of(self.distances, self.base)
        deals = [np.random.default_rng([seed, draw]).permutation(len(self.programs)) for draw in range(DRAWS)]
        return [self.cleared(self.distances[np.ix_(deal, deal)], least) for deal in deals]

    def greedy(self) -> Ranks:
        """The best, then each time what improves the mean of the best of the set the most, the better rank if equal."""
        chosen = [0]
        while len(chosen) < min(TOP, len(self.programs)):
            together = np.minimum(self.costs, self.costs[chosen].min(axis=0)).mean(axis=1)
            together[chosen] = np.inf
            chosen.append(int(together.argmin()))
        return tuple(chosen)

    def at(self, ranks: Ranks) -> Ranks:
        """These ranks, one that there is not being the last that is still free."""
        chosen: list[int] = []
        for rank in ranks:
            place = min(rank, len(self.programs) - 1)
            while place in chosen:
                place -= 1
            if place >= 0:
                chosen.append(place)
        return tuple(chosen)

    def of(self, ranks: Ranks) -> tuple[Program, ...]:
        """The programs at some ranks."""
        return tuple(self.programs[rank] for rank in ranks)


def ranking(run: KeptRun, apart: NDArray[np.float64], direction: Direction) -> Ranking:
    """The behaviours of a run on its first instances, on which programs are (instances, N, N) `apart`."""
    count = len(apart)
    sign = 1 if direction == "minimise" else -1

    def preference(place: int) -> tuple[float, int, int]:
        program = run.programs[place]
        return sign * math.fsum(program.scores[:count]) / count, len(program.source), program.candidate

    groups: dict[Hashable, list[int]] = {}
    for place, behaviour in enumerate(run.behaviours):  # on all instances each differs, though by less than is kept
        groups.setdefault(behaviour[:count] if count < len(behaviour) else place, []).append(place)
    standing = [min(places, key=preference) for places in groups.values()]  # in the order in which behaviours came
    order = sorted(range(len(standing)), key=lambda number: preference(standing[number]))
    places = [standing[number] for number in order]
    costs = sign * np.array([run.programs[place].scores[:count] for place in places])
    distances = apart[np.ix_(range(count), places, places)].mean(axis=0)
    base = np.array([rank for rank, number in enumerate(order) if number < BASE], dtype=np.intp)
    return Ranking(tuple(run.programs[place] for place in places), costs, distances, base)


def least_of(distances: Distances, base: NDArray[np.intp]) -> float:
    """The least distance of what is far: a share of the median over the base."""
    pairs = distances[np.ix_(base, base)][np.triu_indices(len(base), 1)]
    return RADIUS * float(np.median(pairs)) if pairs.size else 0.0


def text_distances(programs: Sequence[Program]) -> Distances:
    """1 − 2 · common subtrees / all subtrees of each pair's syntax trees, counted with repetition."""
    counters = [_subtrees(program.source) for program in programs]
    names = {name: column for column, name in enumerate(dict.fromkeys(name for each in counters for name in each))}
    counts = np.zeros((len(programs), len(names)), dtype=np.int32)
    for row, each in enumerate(counters):
        counts[row, [names[name] for name in each]] = list(each.values())
    common = np.array([np.minimum(row, counts).sum(axis=1) for row in counts])
    sizes = counts.sum(axis=1)
    found: Distances = 1 - 2 * common / (sizes[:, None] + sizes[None, :])
    return found


def sets_of(runs: Sequence[KeptRun], measure: BehaveSim, direction: Direction) -> list[Sets]:
    """All sets of each run; the runs are of one task and method, from which others' ranks are taken."""
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
            "by text": (whole.of(whole.cleared(text_distances(whole.programs))),),
            f"greedy at {len(apart[place])}": (whole.of(whole.greedy()),),
        }
        for count in FEW:
            if count < len(apart[place]):
                part = ranking(run, apart[place][:count], direction)
                sets[f"greedy at {count}"] = (part.of(part.greedy()),)
                sets[f"cleared at {count}"] = (part.of(part.cleared(part.distances)),)
        found.append(sets)
    return found


def _subtrees(source: str) -> Counter[str]:
    return Counter(ast.dump(node) for node in ast.walk(ast.parse(source)) if not isinstance(node, ast.expr_context))
