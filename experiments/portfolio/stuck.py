"""Would a run that stands still do better to end, or to begin anew with another seed, than to go on?

python experiments/portfolio/stuck.py                     # on the kept runs of this folder
python experiments/portfolio/stuck.py runs/stuck/asp-*/   # on finished runs of one task

Nothing is run: the curves of best scores are cut where a run stood still, and for a new start joined to those of other
runs of the task and method. So it cannot say what restarts within a run, which keep some programs, would do.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from behavesim_studies.portfolio_sets import KeptRun, read_runs

from behavesim.analysis.run import Run
from behavesim.analysis.statistics import signed_rank
from behavesim.task import Objective, TaskReference

FOLDER = Path(__file__).parent
# Budgets (candidates) of the kept runs, as in experiments/portfolio.toml.
BUDGETS = {"tsp": 500, "asp": 300, "cpp": 150}
# After how many candidates without a better program a run stands still, as shares of the budget.
SHARES = (0.1, 0.2, 1 / 3, 0.5)
# Random orders of the other runs, over which the score after new starts is averaged.
ORDERS = 300

Curve = Sequence[tuple[int, float]]
"""Each candidate that was better than all before it, and its utility: the higher the better."""


def curve_of(run: KeptRun, objective: Objective) -> Curve:
    """Return the curve of a kept run; a program may stand a little too late in it, and none too early."""
    # Of each behaviour the shortest text is kept, which need not have been the first. Behaviours are in order of
    # appearance, so each appeared before every program that stands behind it.
    numbers = np.minimum.accumulate([program.candidate for program in run.programs][::-1])[::-1]
    curve: list[tuple[int, float]] = []
    for number, program in zip(numbers, run.programs, strict=True):
        utility = objective.utility(float(np.mean(program.scores)))
        if not curve or utility > curve[-1][1]:
            curve.append((int(number), utility))
    return curve


def until_stuck(curve: Curve, patience: int, budget: int) -> tuple[int, float]:
    """Return how many of `budget` candidates a run takes until `patience` brought nothing better, and its best."""
    last, best = -1, -np.inf
    for number, utility in curve:
        if number - last > patience or number >= budget:
            break
        last, best = number, utility
    return min(budget, last + 1 + patience), best


def with_new_starts(curves: Sequence[Curve], patience: int, budget: int) -> float:
    """Return the best of the runs in this order, each until it stands still, within `budget` candidates together."""
    used, best = 0, -np.inf
    for curve in curves:
        taken, found = until_stuck(curve, patience, budget - used)
        used, best = used + taken, max(best, found)
        if used >= budget:
            break
    return float(best)


def table(name: str, curves: Sequence[Curve], budget: int) -> str:
    """Return for each of SHARES what an end saves and loses and what new starts gain, in per cent of the best score."""
    rng = np.random.default_rng(1)
    head = f"{name}: {len(curves)} runs of {budget:,}"
    lines = [head, "", "| stuck after | stood still | saved | lost | gained | p |", "|---|---|---|---|---|---|"]
    for patience in (round(share * budget) for share in SHARES):
        ends = [until_stuck(curve, patience, budget) for curve in curves]
        last = [curve[-1][1] for curve in curves]
        gains = []
        for run, curve in enumerate(curves):
            others = [other for number, other in enumerate(curves) if number != run]
            orders = [rng.permutation(len(others)) for _ in range(ORDERS)]
            best = [with_new_starts([curve, *(others[k] for k in order)], patience, budget) for order in orders]
            gains.append(100 * (float(np.mean(best)) - last[run]) / abs(last[run]))
        saved = np.mean([1 - taken / budget for taken, _ in ends])
        lost = np.mean([100 * (full - best) / abs(full) for (_, best), full in zip(ends, last, strict=True)])
        still = sum(taken < budget for taken, _ in ends)
        p = signed_rank(gains)
        cells = (
            f"{patience}",
            f"{still} of {len(curves)}",
            f"{saved:.0%}",
            f"{lost:.2f} %",
            f"{np.mean(gains):+.2f} %",
        )
        lines.append(" | ".join(["", *cells, "" if p is None else f"{p:.3f}", ""]).strip())
    return "\n".join([*lines, "", ""])


def main(folders: Sequence[str]) -> None:
    """Report on the runs in `folders`, one task's; if there are none, on the kept runs."""
    if folders:
        states = [Run.load(folder).state for folder in folders]
        budget = min(state.registered for state in states)
        exact = [[(n, state.objective.utility(score)) for n, score in state.bests if n < budget] for state in states]
        sys.stdout.write(table("these runs", [curve for curve in exact if curve], budget))
        return
    for task, budget in BUDGETS.items():
        objective = TaskReference(task).load().objective
        by_method = defaultdict[str, list[Curve]](list)
        for kept in read_runs(FOLDER / f"{task}.jsonl.xz"):
            by_method[kept.method].append(curve_of(kept, objective))
        for method, curves in by_method.items():
            sys.stdout.write(table(f"{task}, {method}", curves, budget))


if __name__ == "__main__":
    main(sys.argv[1:])
