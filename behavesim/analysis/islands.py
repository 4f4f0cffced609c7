"""The islands of a run's archive, and how far apart programs are inside and between them.

The distances are those of the paper's "Analysis of Diversity".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from behavesim.analysis.run import Run
from behavesim.analysis.statistics import mean_of_known
from behavesim.analysis.summary import SCORE_AND_GAP, Scored
from behavesim.analysis.table import COUNT, DISTANCE, SCORE, Column, Table
from behavesim.state.state import RunState

SAMPLE = 50
"""Largest number of programs per island that are compared; the work grows with its square."""
SAMPLE_OVER_TIME = 12
"""Largest number of programs per island that are compared at each tenth of the budget, up to ten times a report."""


@dataclass(frozen=True)
class IslandSummary:
    """One island: the number of its programs (`size`), its best program and its mean score, in the task's unit.

    `island` is its number, from 0 in the order of creation; `name` is the method's name for it. `score_levels` is the
    number of different scores of its programs, which FunSearch calls clusters; behavioural clusters are something else.
    `improved_at` is the candidate that last improved its best score, -1 for the template. `best` and `mean` are None
    while the island is empty; `improved_at` is None if it was empty at the last regrouping and got no program since.
    """

    island: int
    name: str
    size: int
    score_levels: int
    best: Scored | None
    mean: float | None
    improved_at: int | None


def islands(state: RunState) -> tuple[IslandSummary, ...]:
    """Return a summary of every island in this state, including empty ones, in the order of their creation."""
    return tuple(_summary(state, number, name) for number, name in enumerate(state.islands))


def _summary(state: RunState, number: int, name: str) -> IslandSummary:
    """Return the summary of the island `name`, which has this number in the order of creation."""
    island = state.islands[name]
    members = [state.members[member] for member in island.members]
    best = state.best_member(island.members) if members else None
    program = None if best is None else Scored(best.candidate, best.score, state.objective.gap(best.score))
    scores = [member.score for member in members]
    mean = sum(scores) / len(scores) if scores else None
    return IslandSummary(number, name, len(scores), len(set(scores)), program, mean, island.improved_at)


@dataclass(frozen=True)
class Diversity:
    """Mean distances 1 − BehaveSim in [0, 1], without the template: the paper's D_intra and D_inter.

    `intra` has for each island the mean over pairs of its programs; None if it has fewer than two. `inter` is the mean
    over pairs of islands of the mean distance between their programs; None if fewer than two islands have programs.
    """

    intra: tuple[float | None, ...]
    inter: float | None

    @property
    def inside(self) -> float | None:
        """The mean of `intra` over the islands that have a value; None if none has."""
        return mean_of_known(self.intra)

    @property
    def separation(self) -> float | None:
        """The ratio inter / inside; None if either is unknown or `inside` is 0."""
        return self.inter / self.inside if self.inside and self.inter is not None else None


@dataclass(frozen=True)
class DiversityAt(Diversity):
    """The diversity when `registered` candidates were registered."""

    registered: int


def diversity(run: Run, sample: int = SAMPLE) -> Diversity:
    """Return the diversity of the islands now, on at most `sample` programs per island, drawn with the run's seed.

    The template is left out. Raises UsageError if the task cannot be loaded, PartError if its code raises, JournalError
    if the journal cannot be read, TrajectoryError if the measure fails.
    """
    return _diversity(run, [group.members for group in run.state.islands.values()], run.state.registered, sample)


def diversity_over_time(run: Run, sample: int = SAMPLE_OVER_TIME) -> tuple[DiversityAt, ...]:
    """Return the diversity after each tenth of the budget reached so far; `sample` and errors as for `diversity`."""
    moments = ((registered, _diversity(run, islands, registered, sample)) for registered, islands in run.archives)
    return tuple(DiversityAt(then.intra, then.inter, registered) for registered, then in moments)


def _diversity(run: Run, islands: Sequence[Sequence[int]], registered: int, sample: int) -> Diversity:
    """Return the diversity of islands, given by their members, at most `sample` of each, after so many candidates."""
    rng = np.random.default_rng([run.settings.seed, registered])  # fixed, so that every report is the same
    groups = [_drawn([m for m in island if m >= 0], sample, rng) for island in islands]
    members = sorted({member for group in groups for member in group})
    if not members:
        return Diversity(tuple(None for _ in groups), None)
    distance = 1.0 - run.matrix(members)
    row = {member: index for index, member in enumerate(members)}
    rows = [np.array([row[member] for member in group], dtype=int) for group in groups]
    inter = [float(distance[np.ix_(a, b)].mean()) for a, b in combinations(rows, 2) if len(a) and len(b)]
    return Diversity(tuple(_intra(distance, group) for group in rows), mean_of_known(inter))


def _drawn(members: list[int], sample: int, rng: np.random.Generator) -> list[int]:
    """Return at most `sample` of the members, drawn without replacement."""
    if len(members) <= sample:
        return members
    return sorted(rng.choice(members, size=sample, replace=False).tolist())


def _intra(distance: np.ndarray, rows: np.ndarray) -> float | None:
    """Return the mean distance of all pairs of the programs at `rows`; None for fewer than two."""
    size = len(rows)
    if size < 2:
        return None
    return float(distance[np.ix_(rows, rows)].sum() / (size * (size - 1)))  # the diagonal is zero


def islands_table(found: tuple[IslandSummary, ...], diversity: Diversity) -> Table:
    """Return a table with a row per island, in the given order; its caption has the mean distance between islands.

    `diversity.intra` gives the distance inside each island, in the same order; ValueError if the lengths differ. The
    caption leaves out what is unknown.
    """
    columns = (
        *(Column("island"), Column("size", COUNT), Column("score_levels", COUNT, title="distinct scores")),
        *(Column("best", COUNT), *SCORE_AND_GAP, Column("mean", SCORE), Column("intra", DISTANCE, title="inside")),
    )
    rows = (
        (each.name, each.size, each.score_levels, *(each.best.cells if each.best else (None,) * 3), each.mean, distance)
        for each, distance in zip(found, diversity.intra, strict=True)
    )
    inside = ["inside: mean distance of its programs"] if diversity.inside is not None else []
    between = [] if diversity.inter is None else [f"mean distance between islands {DISTANCE.text(diversity.inter)}"]
    caption = "; ".join(["scores: how many different", *inside, *between])
    return Table("islands", "islands", columns, tuple(rows), caption)


def diversity_table(moments: tuple[DiversityAt, ...]) -> Table:
    """Return a table for files, with a row per moment: candidates registered, mean distances inside and between."""
    columns = (
        Column("registered", COUNT, title="candidates"),
        Column("intra", DISTANCE, title="distance inside islands"),
        Column("inter", DISTANCE, title="distance between islands"),
    )
    rows = ((each.registered, each.inside, each.inter) for each in moments)
    return Table("diversity", "diversity over time", columns, tuple(rows))
