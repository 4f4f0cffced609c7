"""How the best program and the ten best improved over a run (paper, Figure 'Convergence')."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from behavesim.analysis.run import Run
from behavesim.analysis.scored import TOP, Scored
from behavesim.analysis.statistics import Sample, mean_of_all, sample
from behavesim.analysis.table import COUNT, FRACTION, SCORE, Column, Table

CHECKPOINTS = 50
"""Largest number of points of a convergence curve; it bounds the size of a report."""


@dataclass(frozen=True)
class Checkpoint:
    """A run after `asked` candidates: the best score and gap so far, and the mean gap of the ten best programs.

    Gaps are fractions. Values are None while no candidate is feasible, and gaps if the task has no best known score.
    """

    asked: int
    score: float | None
    gap: float | None
    top10_gap: float | None


@dataclass(frozen=True)
class Improvement(Scored):
    """A candidate better than all before it; `asked` is its number + 1."""

    asked: int


def improvements(run: Run) -> tuple[Improvement, ...]:
    """Return every candidate that was the best so far at its time, in order."""
    return tuple(Improvement(best, score, run.gap(score), asked=best + 1) for best, score in run.state.bests)


def convergence(run: Run) -> tuple[Checkpoint, ...]:
    """Return the run at up to fifty evenly spaced numbers of candidates, including the last.

    A program that appears several times counts once among the ten best.
    """
    candidates = run.candidates
    moments = set(_moments(len(candidates)))
    seen: set[str] = set()
    top: list[float] = []  # the utilities of the best ten so far, ascending
    checkpoints = []
    for number, candidate in enumerate(candidates, 1):
        if candidate.status == "feasible" and candidate.program_hash not in seen:
            seen.add(candidate.program_hash)
            bisect.insort(top, run.utility(candidate))
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
    """The best gaps, or scores, of several runs after each had asked for `asked` candidates."""

    asked: int
    best: Sample


def mean_convergence(runs: Sequence[Sequence[Improvement]], end: int, by_gap: bool) -> tuple[MeanCheckpoint, ...]:
    """Return samples of the runs' best at up to fifty evenly spaced numbers of candidates, the last being `end`.

    `by_gap` samples gaps instead of scores. Every run must have asked for at least `end` candidates. Points at which
    some run has no best yet, or no gap, are left out.
    """
    found = ((asked, [_best_at(run, asked, by_gap) for run in runs]) for asked in _moments(end))
    known = ((asked, [value for value in best if value is not None]) for asked, best in found)
    return tuple(MeanCheckpoint(asked, sample(best)) for asked, best in known if len(best) == len(runs))


def _moments(end: int) -> list[int]:
    """Return at most fifty numbers from 1 to `end`, evenly spaced except for the last, which is `end`."""
    step = max(1, -(-end // CHECKPOINTS))
    return [*range(step, end, step), end] if end else []


def _best_at(run: Sequence[Improvement], asked: int, by_gap: bool) -> float | None:
    """Return the gap or the score of the best among the first `asked` candidates; None while there is none."""
    then = bisect.bisect_right([each.asked for each in run], asked) - 1
    return None if then < 0 else run[then].gap if by_gap else run[then].score


def convergence_table(checkpoints: tuple[Checkpoint, ...]) -> Table:
    """Return a table with a row per checkpoint; it is for files, since a terminal has no room for fifty rows."""
    columns = (
        Column("asked", COUNT, title="candidates"),
        Column("score", SCORE, title="best"),
        Column("gap", FRACTION),
        Column("top10_gap", FRACTION, title="top-10 gap"),
    )
    rows = ((each.asked, each.score, each.gap, each.top10_gap) for each in checkpoints)
    return Table("convergence", "convergence", columns, tuple(rows))
