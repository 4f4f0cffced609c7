"""How a run got better: the best and the top ten as candidates went by (paper, Figure 'Convergence')."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from behavesim.analysis.run import Run
from behavesim.analysis.scored import TOP, Scored
from behavesim.analysis.statistics import Sample, mean_of_all, sample
from behavesim.analysis.table import COUNT, FRACTION, SCORE, Column, Table

CHECKPOINTS = 50


@dataclass(frozen=True)
class Checkpoint:
    """A run after so many candidates; gaps are fractions, None where unknown or where nothing feasible had come."""

    asked: int
    score: float | None
    gap: float | None
    top10_gap: float | None


@dataclass(frozen=True)
class Improvement(Scored):
    """A candidate that was better than all before it, when so many had been asked for, itself among them."""

    asked: int


def improvements(run: Run) -> tuple[Improvement, ...]:
    """Every candidate that was the best so far, in their order."""
    return tuple(Improvement(best, score, run.gap(score), asked=best + 1) for best, score in run.state.bests)


def convergence(run: Run) -> tuple[Checkpoint, ...]:
    """The run at up to fifty evenly spaced moments, the last one included; distinct programs count once."""
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
    """The best of several runs when each had asked for so many candidates: their gaps, or their scores."""

    asked: int
    best: Sample


def mean_convergence(runs: Sequence[Sequence[Improvement]], end: int, by_gap: bool) -> tuple[MeanCheckpoint, ...]:
    """Return the best of the runs at up to fifty evenly spaced moments, of which `end` candidates is the last.

    `end` is how far each of the runs came at least. Moments before each of them had found something are left out.
    """
    found = ((asked, [_best_at(run, asked, by_gap) for run in runs]) for asked in _moments(end))
    known = ((asked, [value for value in best if value is not None]) for asked, best in found)
    return tuple(MeanCheckpoint(asked, sample(best)) for asked, best in known if len(best) == len(runs))


def _moments(end: int) -> list[int]:
    """Return at most fifty numbers up to `end`, evenly spaced but for the last."""
    step = max(1, -(-end // CHECKPOINTS))
    return [*range(step, end, step), end] if end else []


def _best_at(run: Sequence[Improvement], asked: int, by_gap: bool) -> float | None:
    """Return the gap or the score of the best among the first `asked` candidates; None while there is none."""
    then = bisect.bisect_right([each.asked for each in run], asked) - 1
    return None if then < 0 else run[then].gap if by_gap else run[then].score


def convergence_table(checkpoints: tuple[Checkpoint, ...]) -> Table:
    """The run as it went, for files: a terminal has no room for so many rows."""
    columns = (
        Column("asked", COUNT, title="candidates"),
        Column("score", SCORE, title="best"),
        Column("gap", FRACTION),
        Column("top10_gap", FRACTION, title="top-10 gap"),
    )
    rows = ((each.asked, each.score, each.gap, each.top10_gap) for each in checkpoints)
    return Table("convergence", "convergence", columns, tuple(rows))
