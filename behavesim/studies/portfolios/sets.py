"""The ways to choose k programs of a run; each returns ten programs in order, and the first k are the set."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity import BehaveSim
from behavesim.similarity.niches import cleared
from behavesim.studies.portfolios.kept import TOP, KeptRun, Program
from behavesim.task import Direction

Distances = NDArray[np.float64]
"""Shape (N, N): distances between programs, ordered by rank."""
Ranks = tuple[int, ...]
"""Ranks (from 0) of the chosen programs, in the order in which they were chosen."""
Sets = Mapping[str, tuple[tuple[Program, ...], ...]]
"""The sets that each way chooses, keyed by its name: one set, or several random draws."""

RADIUS = 0.3
BASE = 100
DRAWS = 20
FEW = (1, 2)
"""Numbers of search instances on which sets are chosen in addition to all instances."""
DONORS = 5
"""Number of other runs whose chosen ranks are applied to a run."""


@dataclass(frozen=True)
class Ranking:
    """The behaviours of a run on some search instances, best first.

    `costs` has shape (N, instances), lower is better. `base` has the ranks of the first hundred behaviours found.
    """

    programs: tuple[Program, ...]
    costs: NDArray[np.float64]
    distances: Distances
    base: NDArray[np.intp]

    def cleared(self, distances: Distances, least: float | None = None) -> Ranks:
        """Return, in rank order, programs at least `least` from all chosen before; None uses the clearing radius."""
        apart = least_of(distances, self.base) if least is None else least
        return tuple(cleared(len(distances), TOP, apart, distances.__getitem__))

    def shuffled(self, seed: int) -> list[Ranks]:
        """Return cleared sets under randomly permuted distances, as a control."""
        least = least_of(self.distances, self.base)
        deals = [np.random.default_rng([seed, draw]).permutation(len(self.programs)) for draw in range(DRAWS)]
        return [self.cleared(self.distances[np.ix_(deal, deal)], least) for deal in deals]

    def greedy(self) -> Ranks:
        """Return the best program, then repeatedly the one that most improves the set's mean best cost.

        Ties go to the better rank.
        """
        chosen = [0]
        while len(chosen) < min(TOP, len(self.programs)):
            together = np.minimum(self.costs, self.costs[chosen].min(axis=0)).mean(axis=1)
            together[chosen] = np.inf
            chosen.append(int(together.argmin()))
        return tuple(chosen)

    def at(self, ranks: Ranks) -> Ranks:
        """The given ranks; a missing rank is replaced by the last free one."""
        chosen: list[int] = []
        for rank in ranks:
            place = min(rank, len(self.programs) - 1)
            while place in chosen:
                place -= 1
            if place >= 0:
                chosen.append(place)
        return tuple(chosen)

    def of(self, ranks: Ranks) -> tuple[Program, ...]:
        """Return the programs at some ranks."""
        return tuple(self.programs[rank] for rank in ranks)


def ranking(run: KeptRun, apart: NDArray[np.float64], direction: Direction) -> Ranking:
    """Rank the behaviours of a run on the first instances; `apart` has their distances, shape (instances, N, N)."""
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
    """Return the clearing radius: a share of the median distance over the base."""
    pairs = distances[np.ix_(base, base)][np.triu_indices(len(base), 1)]
    return RADIUS * float(np.median(pairs)) if pairs.size else 0.0


def text_distances(programs: Sequence[Program]) -> Distances:
    """Return 1 − 2 · common subtrees / all subtrees for each pair's syntax trees, counted with repetition."""
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
    """Return all sets of each run. The runs must share task and method: ranks are taken from one another."""
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
