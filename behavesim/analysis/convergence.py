"""How the best program and the ten best improved over a run (paper, Figure 'Convergence')."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from behavesim.analysis.run import Run
from behavesim.analysis.statistics import Sample, mean_of_all, sample
from behavesim.analysis.summary import TOP, Scored

CHECKPOINTS = 50
"""Largest number of points of a convergence curve: enough for a smooth curve, and it bounds the size of a report."""


@dataclass(frozen=True)
class Checkpoint:
    """The first `asked` candidates of a run: their best score and its gap, and the mean gap of the ten best programs.

    Of fewer distinct programs than ten, all count. Gaps are fractions, None if unknown. Every value is None while no
    candidate is feasible.
    """

    asked: int
    score: float | None
    gap: float | None
    top10_gap: float | None


@dataclass(frozen=True)
class Improvement(Scored):
    """A candidate better than all before it; `asked` is its own number + 1, which counts the candidates up to it."""

    asked: int


def improvements(run: Run) -> tuple[Improvement, ...]:
    """Return the first feasible candidate and each later one with a better score than all registered before it.

    The template does not count.
    """
    return tuple(Improvement(best, score, run.gap(score), asked=best + 1) for best, score in run.state.bests)


def convergence(run: Run) -> tuple[Checkpoint, ...]:
    """Return checkpoints at up to fifty evenly spaced numbers of candidates; the last one covers all candidates.

    Candidates with one normal form count once, with the score of the first. It is empty if no candidate was asked for.
    """
    candidates = run.candidates
    moments = set(_moments(len(candidates)))
    seen: set[object] = set()
    top: list[float] = []  # the utilities of the best ten so far, ascending
    checkpoints = []
    for number, candidate in enumerate(candidates, 1):
        program = candidate.program_hash or number  # without a hash, as in old journals, a program counts as its own
        if candidate.status == "feasible" and program not in seen:
            seen.add(program)
            bisect.insort(top, run.utility(candidate))  # sorting all programs at each of fifty moments would be slower
            del top[:-TOP]
        if number in moments:
            checkpoints.append(_checkpoint(run, number, top))
    return tuple(checkpoints)


def _checkpoint(run: Run, asked: int, top: list[float]) -> Checkpoint:
    """Return the checkpoint after `asked` candidates, whose best utilities are `top`, ascending."""
    objective = run.state.objective
    scores = [objective.utility(utility) for utility in top]  # turning it twice gives the score again
    best = scores[-1] if scores else None
    return Checkpoint(asked, best, run.gap(best), mean_of_all([objective.gap(score) for score in scores]))


@dataclass(frozen=True)
class MeanCheckpoint:
    """The best gaps (fractions), or the best scores, of several runs after each had asked for `asked` candidates."""

    asked: int
    best: Sample


def mean_convergence(runs: Sequence[Sequence[Improvement]], end: int, by_gap: bool) -> tuple[MeanCheckpoint, ...]:
    """Return samples of the runs' best scores at up to fifty evenly spaced numbers of candidates, the last being `end`.

    `runs` are the improvements of each run, which must have asked for at least `end` candidates. `by_gap` samples gaps
    instead of scores. Points at which some run has no best yet, or no gap, are left out; there are none if `end` is 0.
    """
    found = ((asked, [_best_at(run, asked, by_gap) for run in runs]) for asked in _moments(end))
    known = ((asked, [value for value in best if value is not None]) for asked, best in found)
    return tuple(MeanCheckpoint(asked, sample(best)) for asked, best in known if len(best) == len(runs))


def _moments(end: int) -> list[int]:
    """Return at most fifty ascending numbers, evenly spaced except for the last, which is `end`; none if that is 0."""
    step = max(1, -(-end // CHECKPOINTS))  # rounded up, so that there are never more
    return [*range(step, end, step), end] if end else []


def _best_at(run: Sequence[Improvement], asked: int, by_gap: bool) -> float | None:
    """Return a run's best gap (`by_gap`) or score after `asked` candidates; None if it has none yet, or no gap."""
    then = bisect.bisect_right([each.asked for each in run], asked) - 1
    return None if then < 0 else run[then].gap if by_gap else run[then].score
