"""How the best program and the ten best improved over a run (paper, Figure 'Convergence')."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.run import Run
from behavesim.analysis.statistics import Sample, mean_of_all, mean_of_known, sample
from behavesim.analysis.table import COUNT, DISTANCE, PROGRAM, SCORE, SCORE_AND_GAP, TOP, Column, Scored, Table
from behavesim.state.state import RunState

# Largest number of points of a convergence curve: enough for a smooth curve, and it bounds the size of a report.
CHECKPOINTS = 50


@dataclass(frozen=True)
class Checkpoint:
    """The best score of the first `asked` candidates, its gap, and the mean gap of the ten best; None without any."""

    asked: int
    score: float | None
    gap: float | None
    top10_gap: float | None


@dataclass(frozen=True)
class Improvement(Scored):
    """A candidate better than all before it; `asked` is its number + 1, which counts the candidates up to it."""

    asked: int


def improvements(run: Run) -> tuple[Improvement, ...]:
    """Return the first feasible candidate, and each later one that is better than all before it."""
    return tuple(Improvement(best, score, run.gap(score), asked=best + 1) for best, score in run.state.bests)


def convergence(run: Run) -> tuple[Checkpoint, ...]:
    """Return checkpoints at up to fifty evenly spaced numbers of candidates; the last one covers all candidates."""
    candidates = run.candidates
    moments = set(_moments(len(candidates)))
    seen: set[object] = set()
    top: list[float] = []  # the utilities of the best ten so far, ascending
    checkpoints = []
    for number, candidate in enumerate(candidates, 1):
        # a copy must not fill the ten best: the mean would get better without a new program
        program = candidate.program_hash or number  # without a hash, as in old journals, a program counts as its own
        if candidate.status == "feasible" and program not in seen:
            seen.add(program)
            bisect.insort(top, run.utility(candidate))  # sorting all programs at each of fifty moments would be slower
            del top[:-TOP]
        if number in moments:
            checkpoints.append(_checkpoint(run, number, top))
    return tuple(checkpoints)


def _checkpoint(run: Run, asked: int, top: list[float]) -> Checkpoint:
    objective = run.state.objective
    scores = [objective.utility(utility) for utility in top]  # turning it twice gives the score again
    best = scores[-1] if scores else None
    return Checkpoint(asked, best, run.gap(best), mean_of_all([objective.gap(score) for score in scores]))


@dataclass(frozen=True)
class MeanCheckpoint:
    """The best gaps (fractions), or scores, of several runs after each had used `at`: of candidates, or of a cost."""

    at: float
    best: Sample


def mean_convergence(
    runs: Sequence[Sequence[Improvement]], end: float, by_gap: bool, used: Sequence[Sequence[float]] | None = None
) -> tuple[MeanCheckpoint, ...]:
    """Return samples of the runs' best scores, or gaps, at up to fifty evenly spaced numbers of candidates up to `end`.

    `runs` are the improvements of each run, which must have used at least `end`. `used` has for each run what it had
    used after each candidate, such as seconds; None counts candidates. Points at which some run has no value yet are
    left out.
    """
    costs = used or [range(1, 1 + max((each.asked for each in run), default=0)) for run in runs]
    steps = [[cost[each.asked - 1] for each in run] for run, cost in zip(runs, costs, strict=True)]
    points = _moments(int(end)) if used is None else [end * k / CHECKPOINTS for k in range(1, CHECKPOINTS + 1)]
    found = ((at, [_best_at(run, step, at, by_gap) for run, step in zip(runs, steps, strict=True)]) for at in points)
    known = ((at, [value for value in best if value is not None]) for at, best in found)
    return tuple(MeanCheckpoint(at, sample(best)) for at, best in known if len(best) == len(runs))


def _moments(end: int) -> list[int]:
    """Return at most fifty ascending numbers, evenly spaced except for the last, which is `end`; none if that is 0."""
    step = max(1, -(-end // CHECKPOINTS))  # rounded up, so that there are never more
    return [*range(step, end, step), end] if end else []


def _best_at(run: Sequence[Improvement], steps: Sequence[float], at: float, by_gap: bool) -> float | None:
    then = bisect.bisect_right(steps, at) - 1
    return None if then < 0 else run[then].gap if by_gap else run[then].score


# The islands of a run's archive, and how far apart programs are inside and between them.
#
# The distances are those of the paper's "Analysis of Diversity".


# Largest number of programs per island that are compared; the work grows with its square.
SAMPLE = 50
# Largest number of programs per island that are compared at each tenth of the budget, up to ten times a report.
SAMPLE_OVER_TIME = 12


@dataclass(frozen=True)
class IslandSummary:
    """One island, numbered in the order of creation; `best` and `mean` are None while it is empty.

    `score_levels` is the number of different scores of its programs, which FunSearch calls clusters. `improved_at` is
    the candidate that last improved its best score, -1 for the template.
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

    `intra` has for each island the mean over pairs of its programs, `inter` the mean over pairs of islands of the mean
    distance between their programs; None without a pair.
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
    """Return the diversity of the islands now, on at most `sample` programs per island, drawn with the run's seed."""
    islands = [group.members for group in run.state.islands.values()]
    (now,) = _diversities(run, [(run.state.registered, islands)], sample)
    return Diversity(now.intra, now.inter)


def diversity_over_time(run: Run, sample: int = SAMPLE_OVER_TIME) -> tuple[DiversityAt, ...]:
    """Return the diversity after each tenth of the budget reached so far, as `diversity` does."""
    return _diversities(run, run.archives, sample)


def _diversities(
    run: Run, moments: Sequence[tuple[int, Sequence[Sequence[int]]]], sample: int
) -> tuple[DiversityAt, ...]:
    drawn = []
    for registered, islands in moments:
        rng = np.random.default_rng([run.settings.seed, registered])  # fixed, so that every report is the same
        drawn.append((registered, [_drawn([m for m in island if m >= 0], sample, rng) for island in islands]))
    members = [sorted({member for group in groups for member in group}) for _, groups in drawn]
    # Moments of a short run share most programs: one matrix encodes each once. Moments of a long one share few, and a
    # matrix of all of them would mostly hold pairs that nobody asks for.
    every = sorted(set().union(*members))
    shared = run.matrix(every) if 0 < len(every) ** 2 <= 2 * sum(len(each) ** 2 for each in members) else None
    found = []
    for (registered, groups), here in zip(drawn, members, strict=True):
        compared = every if shared is not None else here
        similarity = run.matrix(here) if shared is None and here else shared
        found.append(DiversityAt(*_mean_distances(similarity, compared, groups), registered))
    return tuple(found)


def _mean_distances(
    similarity: NDArray[np.float64] | None, compared: Sequence[int], groups: Sequence[Sequence[int]]
) -> tuple[tuple[float | None, ...], float | None]:
    if similarity is None:
        return (None,) * len(groups), None
    distance = 1.0 - similarity
    row = {member: index for index, member in enumerate(compared)}
    rows = [np.array([row[member] for member in group], dtype=int) for group in groups]
    inter = [float(distance[np.ix_(a, b)].mean()) for a, b in combinations(rows, 2) if len(a) and len(b)]
    return tuple(_intra(distance, group) for group in rows), mean_of_known(inter)


def _drawn(members: list[int], sample: int, rng: np.random.Generator) -> list[int]:
    if len(members) <= sample:
        return members
    # sorted, so that the sums of floats are the same for the same draw
    return sorted(rng.choice(members, size=sample, replace=False).tolist())


def _intra(distance: np.ndarray, rows: np.ndarray) -> float | None:
    size = len(rows)
    if size < 2:
        return None
    return float(distance[np.ix_(rows, rows)].sum() / (size * (size - 1)))  # the diagonal is zero


def islands_table(found: tuple[IslandSummary, ...], diversity: Diversity) -> Table:
    """Return a row per island; `diversity` must be that of the same islands."""
    columns = (
        *(Column("island"), Column("size", COUNT), Column("score_levels", COUNT, title="distinct scores")),
        *(Column("best", PROGRAM), *SCORE_AND_GAP, Column("mean", SCORE), Column("intra", DISTANCE, title="inside")),
    )
    rows = (
        (each.name, each.size, each.score_levels, *(each.best.cells if each.best else (None,) * 3), each.mean, distance)
        for each, distance in zip(found, diversity.intra, strict=True)
    )
    inside = ["inside: mean distance of its programs"] if diversity.inside is not None else []
    between = [] if diversity.inter is None else [f"mean distance between islands {DISTANCE.text(diversity.inter)}"]
    caption = "; ".join([*inside, *between])
    return Table("islands", "islands", columns, tuple(rows), caption)
