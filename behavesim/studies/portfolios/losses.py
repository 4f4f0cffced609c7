"""The losses of sets on fresh instances: how much worse they are than the best scores known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity import BehaveSim
from behavesim.studies.portfolios.kept import TOP, Fresh, Program, read_fresh, read_runs
from behavesim.studies.portfolios.sets import sets_of
from behavesim.task import Direction, TaskReference

OURS = "cleared"
"""Name of the sets that the study is about: programs that behave differently."""
EQUAL_WORK = ("starts", "2-opt")
"""Rivals of a set at equal work: the best program from more starts, and its solution improved by 2-opt."""


@dataclass(frozen=True)
class Losses:
    """How much worse than the best known scores the sets of a run are on fresh instances (a loss, as a fraction)."""

    task: str
    method: str
    seed: int
    sets: Mapping[str, tuple[float, ...]]
    """By a set's name the mean loss of the best of its first k = 1 … 10 programs; EQUAL_WORK's if measured."""
    cleared: int
    """Number of programs in the cleared set."""
    two_opt_time: float | None
    """Time of 2-opt in units of the best program's own time; None if it was not measured."""


def losses_in(file: Path) -> Iterator[Losses]:
    """Yield the losses of each run in `file`, NAME.jsonl.xz; fresh scores are those in NAME.fresh.json.xz beside it.

    Raises UsageError if one of them is missing or damaged, or if the runs' task is unknown; TrajectoryError if
    trajectories of a run cannot be compared.
    """
    runs, fresh = read_runs(file), read_fresh(file.with_name(file.name.replace(".jsonl.", ".fresh.json.")))
    task = TaskReference(runs[0].task).load()
    measure, direction = BehaveSim(normaliser=task.normaliser), task.objective.direction
    for method in dict.fromkeys(run.method for run in runs):
        here = [run for run in runs if run.method == method]
        for run, sets in zip(here, sets_of(here, measure, direction), strict=True):
            losses = {
                name: tuple(np.mean([_curve(each, fresh, direction) for each in drawn], axis=0).tolist())
                for name, drawn in sets.items()
            }
            time = fresh.two_opt_time.get(run.best[0].name)
            losses |= _equal_work(run.best[0], fresh, direction)
            yield Losses(run.task, run.method, run.seed, losses, len(sets[OURS][0]), time)


def _curve(programs: Sequence[Program], fresh: Fresh, direction: Direction) -> list[float]:
    """Return ten mean losses (fractions): of the best of the first 1, 2, … 10 programs on each instance.

    If there are fewer programs, the last values are those of all. `direction` is the task's. A program that fails on
    fresh instances counts as the template.
    """
    scores = [fresh.scores[program.name] or fresh.template for program in programs]
    best: list[float] = np.minimum.accumulate(_short(scores, fresh, direction)).mean(axis=1).tolist()
    return best + [best[-1]] * (TOP - len(best))


def _equal_work(best: Program, fresh: Fresh, direction: Direction) -> dict[str, tuple[float, ...]]:
    """Return ten losses of a run's best program by each name of EQUAL_WORK; empty if they were not measured.

    The k-th is that of k starts; after 2-opt all ten are equal.
    """
    if best.name not in fresh.starts:
        return {}
    starts = np.minimum.accumulate(_short(fresh.starts[best.name], fresh, direction)).mean(axis=1)
    improved = float(_short([fresh.two_opt[best.name]], fresh, direction).mean())
    return dict(zip(EQUAL_WORK, (tuple(starts.tolist()), (improved,) * TOP), strict=True))


def _short(scores: Sequence[Sequence[float]], fresh: Fresh, direction: Direction) -> NDArray[np.float64]:
    """Return how much worse scores are than the best known (`fresh.references`), as fractions, (programs, instances).

    A negative fraction is better than the best known. `scores` has a row for each program, in the task's unit.
    """
    relative: NDArray[np.float64] = np.array(scores, dtype=np.float64) / np.array(fresh.references)
    return relative - 1 if direction == "minimise" else 1 - relative
