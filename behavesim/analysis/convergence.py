"""How a run got better: the best and the top ten as candidates went by (paper, Figure 'Convergence')."""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from behavesim.analysis.run import TOP, Run
from behavesim.analysis.statistics import mean_of_all
from behavesim.analysis.table import COUNT, FRACTION, SCORE, Column, Table

CHECKPOINTS = 50


@dataclass(frozen=True)
class Checkpoint:
    """A run after so many candidates; gaps are fractions, None where unknown or where nothing feasible had come."""

    asked: int
    score: float | None
    gap: float | None
    top10_gap: float | None


def convergence(run: Run) -> tuple[Checkpoint, ...]:
    """The run at up to fifty evenly spaced moments, the last one included; distinct programs count once."""
    candidates = run.candidates
    step = max(1, -(-len(candidates) // CHECKPOINTS))
    seen: set[str] = set()
    top: list[float] = []  # the utilities of the best ten so far, ascending
    checkpoints = []
    for number, candidate in enumerate(candidates, 1):
        if candidate.status == "feasible" and candidate.program_hash not in seen:
            seen.add(candidate.program_hash)
            bisect.insort(top, run.utility(candidate))
            del top[:-TOP]
        if number % step == 0 or number == len(candidates):
            checkpoints.append(_checkpoint(run, number, top))
    return tuple(checkpoints)


def _checkpoint(run: Run, asked: int, top: list[float]) -> Checkpoint:
    objective = run.state.objective
    scores = [objective.utility(utility) for utility in top]  # turning it twice gives the score again
    best = scores[-1] if scores else None
    return Checkpoint(asked, best, run.gap(best), mean_of_all([objective.gap(score) for score in scores]))


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
