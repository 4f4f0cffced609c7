"""Prints how often the certificate of a recommended program holds, and how often the truly best program is chosen.

`python -m benchmarks.champion` makes the tables of docs/explanation/results.md. Runs are simulated: many programs
with known true gains are scored on five instances, the ten best by score are the shortlist, and they race.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.state.events import TEMPLATE, CandidateId, FreshBegun, FreshScored
from behavesim.state.race import FreshRace, interval, usual_purse
from behavesim.task import Objective

Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]

CHAMPIONS = 500
SEARCH, VALIDATION, SHORTLIST = 5, 6, 10
TRUE, NOISE = 0.02, 0.05  # standard deviations of true gains, and of gains on one instance; the latter is that of tsp
# How gains on an instance differ from a program's true gain: mean 0, standard deviation 1 where there is one.
SHAPES: Mapping[str, Draw] = {
    "normal": lambda draw, size: draw.normal(size=size),
    "heavy tails (t, 3 degrees)": lambda draw, size: draw.standard_t(3, size) / math.sqrt(3),
    "5 % of instances ten times as noisy": lambda draw, size: (
        draw.normal(size=size) * np.where(draw.random(size) < 0.05, 10, 1) / math.sqrt(5.95)
    ),
    "skew (exponential)": lambda draw, size: 1 - draw.exponential(size=size),
    "1 instance in 50 lost badly": lambda draw, size: (0.02 - (draw.random(size) < 0.02)) / 0.14,
}


@dataclass(frozen=True)
class Played:
    """What came of one run."""

    holds: bool
    bounded: bool
    false_claims: bool
    width: float
    fresh: int
    best: Mapping[str, bool]
    loss: Mapping[str, float]


def play(draw: np.random.Generator, shape: Draw, budget: int) -> Played:
    """Simulate a run of so many candidates, and its race."""
    true = draw.normal(0, TRUE, budget)
    search = true[:, None] + NOISE * shape(draw, (budget, SEARCH))
    listed = np.argsort(-search.mean(axis=1))[:SHORTLIST]
    true, search = true[listed], search[listed]
    fresh = true[:, None] + NOISE * shape(draw, (SHORTLIST, 500))
    race = FreshRace(
        FreshBegun((TEMPLATE, *range(SHORTLIST)), 0, VALIDATION, usual_purse(budget, SEARCH, VALIDATION, SHORTLIST)),
        Objective("maximise"),
    )
    while (block := race.next_block()) is not None:
        at = slice(block.first, block.first + block.count)
        # the template scores 1 everywhere, so that a score is 1 + the gain
        race.apply(FreshScored(block.first, block.count, {k: _scores(fresh, k, at) for k in block.programs}))
    winner = race.winner
    assert winner is not None, "none fails"
    both = np.hstack([search, fresh[:, :VALIDATION]]).mean(axis=1)
    chosen = {"plain maximum": 0, "search and validation": int(both.argmax()), "race": winner}
    if both.max() < 0:
        chosen["search and validation"] = TEMPLATE
    worth = {rule: 0.0 if k == TEMPLATE else float(true[k]) for rule, k in chosen.items()}
    found = race.certificate(winner)
    assert found is not None
    low, high = found.interval or (-math.inf, math.inf)
    gains = race.gains()
    apart = [k for k in range(SHORTLIST) if k != winner and race.is_apart(gains, winner, k)]
    return Played(
        low <= worth["race"] <= high,
        found.interval is not None,
        any(true[k] > worth["race"] for k in apart),
        high - low,
        found.fresh,
        {rule: k == int(true.argmax()) for rule, k in chosen.items()},
        {rule: float(true.max()) - gained for rule, gained in worth.items()},
    )


def _scores(fresh: NDArray[np.float64], program: CandidateId, at: slice) -> tuple[float, ...]:
    return (1.0,) * (at.stop - at.start) if program == TEMPLATE else tuple((1 + fresh[program, at]).tolist())


def row(name: str, cells: Sequence[str]) -> str:
    """Return a row of a table in Markdown."""
    return "| " + " | ".join([name, *cells]) + " |"


def main() -> None:
    """Print the tables in Markdown."""
    rules = ("plain maximum", "search and validation", "race")
    print(row("gains on an instance", ["budget", "holds", "bounded", "false claims", "fresh", "width", *rules, "loss"]))
    print(row("---", ["---"] * 10))
    for name, shape in SHAPES.items():
        for budget in (300, 2_000):
            draw = np.random.default_rng(51)
            runs = [play(draw, shape, budget) for _ in range(CHAMPIONS)]
            bounded = [each for each in runs if each.bounded]
            cells = [
                f"{budget:,}",
                f"{np.mean([each.holds for each in runs]):.1%}",
                f"{len(bounded) / len(runs):.0%}",
                f"{np.mean([each.false_claims for each in runs]):.1%}",
                f"{np.mean([each.fresh for each in runs]):.0f}",
                f"{100 * np.median([each.width for each in bounded]):.1f} points" if bounded else "",
                *(f"{np.mean([each.best[rule] for each in runs]):.0%}" for rule in rules),
                " / ".join(f"{100 * np.mean([each.loss[rule] for each in runs]):.2f}" for rule in rules),
            ]
            print(row(name, cells), flush=True)
    print()
    looks(np.random.default_rng(7))


def looks(draw: np.random.Generator) -> None:
    """Print how often one interval misses at any of six looks, and a t interval of the same level at each look."""
    from scipy import stats

    counts = (6, 12, 24, 48, 96, 192)
    print(row("misses at any of six looks, nominal 0.5 %", ["confidence sequence", "t interval at each look"]))
    print(row("---", ["---"] * 2))
    for name, shape in SHAPES.items():
        missed = np.zeros((2_000, 2), dtype=bool)
        for k, values in enumerate(shape(draw, (2_000, counts[-1]))):
            for count in counts:
                seen = values[:count]
                found = interval(seen.tolist(), 0.005)
                half = stats.t.isf(0.0025, count - 1) * seen.std(ddof=1) / math.sqrt(count)
                missed[k] |= (not found.low <= 0 <= found.high, abs(seen.mean()) > half)
        print(row(name, [f"{share:.1%}" for share in missed.mean(axis=0)]), flush=True)


if __name__ == "__main__":
    main()
