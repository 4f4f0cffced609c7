"""How a run got better: the best and the top ten as candidates went by (paper, Figure 'Convergence')."""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from behavesim.analysis.run import TOP, Run

CHECKPOINTS = 50


@dataclass(frozen=True)
class Checkpoint:
    """A run after so many candidates; gaps are fractions, None where unknown or where nothing feasible had come."""

    asked: int
    score: float | None
    gap: float | None
    top10_gap: float | None


def convergence(run: Run) -> list[Checkpoint]:
    """The run at up to fifty evenly spaced moments, the last one included; distinct programs count once."""
    candidates = run.candidates
    step = max(1, -(-len(candidates) // CHECKPOINTS))
    seen: set[str] = set()
    top: list[float] = []  # the utilities of the best ten so far, ascending
    checkpoints = []
    for number, candidate in enumerate(candidates, 1):
        if candidate.status == "feasible" and candidate.fingerprint not in seen:
            seen.add(candidate.fingerprint)
            bisect.insort(top, run.utility(candidate))
            del top[:-TOP]
        if number % step == 0 or number == len(candidates):
            checkpoints.append(_checkpoint(run, number, top))
    return checkpoints


def _checkpoint(run: Run, asked: int, top: list[float]) -> Checkpoint:
    objective = run.state.objective
    scores = [objective.utility(utility) for utility in top]  # turning it twice gives the score again
    if not scores:
        return Checkpoint(asked, None, None, None)
    gaps = [gap for score in scores if (gap := objective.gap(score)) is not None]
    return Checkpoint(asked, scores[-1], objective.gap(scores[-1]), sum(gaps) / len(gaps) if gaps else None)
