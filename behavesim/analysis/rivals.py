"""When a set of programs is not worth its work: what else that work could buy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from behavesim.analysis.table import COUNT, SCORE, Column, Table
from behavesim.task import Objective

SET = "the programs of the set"
"""The name of the rival that is the portfolio itself."""


@dataclass(frozen=True)
class Spent:
    """A way to spend work on the validation instances, and the best score that it found on each of them.

    `programs` is how many programs it runs, `runs` how many runs of them an instance gets. `cpu_s` is the CPU time on
    all instances, improvement included.
    """

    name: str
    programs: int
    runs: int
    cpu_s: float
    scores: tuple[float, ...]


@dataclass(frozen=True)
class Rival(Spent):
    """A way to spend work, its mean score, and on how many instances it is `better` or `worse` than the set."""

    score: float
    better: int
    worse: int


def rivals_of(
    tried: Sequence[Spent], objective: Objective, mean: Callable[[Sequence[float]], float]
) -> tuple[Rival, ...]:
    """Return all ways that were tried, best score first; of equal ones that with less CPU time.

    Exactly one of them must be SET; ValueError otherwise. `mean` returns the score from the scores on all instances.
    """
    (ours,) = (each.scores for each in tried if each.name == SET)
    found: list[Rival] = []
    for each in tried:
        pairs = zip(each.scores, ours, strict=True)
        gains = [objective.utility(score) - objective.utility(our) for score, our in pairs]
        better, worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
        found.append(Rival(**vars(each), score=mean(each.scores), better=better, worse=worse))
    return tuple(sorted(found, key=lambda each: (-objective.utility(each.score), each.cpu_s)))


def verdict(rivals: Sequence[Rival]) -> str:
    """Return a text on the rivals, given best first: which one wins, and whether a single program beats the set.

    A rival with the score of the set stands before it if it took less CPU time; the text says that it equals the set.
    """
    best, ours = rivals[0], next(each for each in rivals if each.name == SET)
    if best is ours:
        return "the portfolio is better than every alternative tried at no more runs of programs"
    said = f"best here: {best.name}, {best.score:.6g} on validation instances; the portfolio has {ours.score:.6g}"
    alone = next((each for each in rivals[: rivals.index(ours)] if each.programs == 1), None)
    if alone is None:
        return said
    verb = "equal" if alone.score == ours.score else "beat"
    return f"{said}\none program is enough to {verb} the portfolio: {alone.name}, {alone.score:.6g}"


def table(rivals: Sequence[Rival]) -> Table:
    """Return a table with a row per rival, best first."""
    columns = (
        Column("rival", title="what is run"),
        Column("runs", COUNT, title="runs an instance"),
        Column("cpu_s", SCORE, title="CPU s"),
        Column("score", SCORE, title="best, mean"),
        Column("against", title="instances better / worse than the portfolio"),
    )
    rows = tuple((each.name, each.runs, each.cpu_s, each.score, f"{each.better} / {each.worse}") for each in rivals)
    caption = "On validation instances: they are few, and nothing is tested."
    return Table("rivals", "alternatives at the same cost", columns, rows, caption)
