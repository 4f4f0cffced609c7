"""The losses of sets on instances that no search saw, and the tests of them that were chosen before the first run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.statistics import SIGNIFICANCE, Paired, holm, paired, rank_sum_chances
from behavesim.analysis.table import COUNT, FRACTION, POINTS, PROBABILITY, Column, Estimate, Table
from behavesim.studies.sets.kept import KeptSets, Scores, SetRun, Tried, read_kept

SIZES = (3, 5, 10)
"""Numbers of programs of the sets that are tested."""
OURS = ("set-search", "own")
"""The sets that the study is about: the label of their runs, and how they were chosen."""
AGAINST = (
    ("set-search instances", "own"),
    ("set-search behaviour", "own"),
    ("set-search text", "own"),
    ("eoh-s", "own"),
    ("funsearch", "cleared"),
    ("niche", "cleared"),
    ("eoh", "cleared"),
    ("funsearch", "greedy"),
)
"""The sets of other runs of the same seed that ours are tested against."""
WORK = ("best, k starts", "k/2, two starts", "best, improved", "set, improved", "best, k starts, improved")
"""What else is tested where a task allows it: programs of our own set, begun elsewhere or improved."""
PLANNED = 222
"""Number of tests in the protocol. Those of tasks whose runs have not been made count as tests that show nothing."""
DIGITS = 12
"""Decimal places of a loss (fraction). Without rounding, the order of a sum would make equal sets differ."""
DRAWS = 4000
"""Number of samples that are drawn to find the power of a test: a share of them is known to 1.3 points (95 %)."""

Reference = tuple[NDArray[np.float64], float]
"""The best score that anything reached on each instance, (instances,), and 1 to minimise or −1 to maximise."""


@dataclass(frozen=True)
class Tested:
    """The loss of `other` sets minus that of ours, paired by seed; above 0, ours are better.

    Losses are fractions. `programs` is the number in a set; `better`, `equal` and `worse` count seeds on which ours are
    that. `p_holm` is corrected for all tests of the protocol, None if there were too few seeds for one.
    """

    task: str
    split: str
    programs: int
    other: str
    our_loss: float
    other_loss: float
    difference: Paired
    better: int
    equal: int
    worse: int
    p_holm: float | None = None


@dataclass(frozen=True)
class SetStudy:
    """All tests of the study, in order of task, split, size and rival; `seeds` is the greatest number of pairs."""

    tests: tuple[Tested, ...]
    seeds: int

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{tests, seeds, detectable}`, `tests` with the fields of Tested."""
        return {"tests": [asdict(each) for each in self.tests], "seeds": self.seeds, "detectable": self.detectable}

    @property
    def detectable(self) -> float | None:
        """The difference, in its standard deviations over seeds, that so many seeds show in four of five studies.

        None if so few can show none.
        """
        return detectable(self.seeds, max(PLANNED, len(self.tests)))

    def tables(self) -> tuple[Table, ...]:
        """Return a table for each task and split, with a row for each size and rival."""
        columns = (
            Column("programs", COUNT), Column("against"), Column("loss", FRACTION),
            Column("other", FRACTION), Column("difference", POINTS),
            Column("seeds", title="seeds"), Column("p", PROBABILITY),
            Column("p_holm", PROBABILITY, title="p corrected"),
        )  # fmt: skip
        least = self.detectable
        shown = "So few seeds show nothing." if least is None else f"Detectable: {least:.2g} standard deviations."
        caption = f"Seeds: ours better / equal / worse. Holm over {max(PLANNED, len(self.tests))} tests. {shown}"
        found: list[Table] = []
        for task, split in dict.fromkeys((each.task, each.split) for each in self.tests):
            here = [each for each in self.tests if (each.task, each.split) == (task, split)]
            rows = tuple(
                (
                    *(each.programs, each.other, each.our_loss, each.other_loss),
                    Estimate(each.difference.mean, None, each.difference.low, each.difference.high),
                    *(f"{each.better} / {each.equal} / {each.worse}", each.difference.p, each.p_holm),
                )
                for each in here
            )
            found.append(Table(f"{task}_{split}", f"{task}, {split} instances", columns, rows, caption))
        return tuple(found)


def study(folder: Path) -> SetStudy:
    """Compute the study from a folder's kept sets, with p-values corrected for at least PLANNED tests.

    Raises UsageError if there are no kept sets, or if a file of them is damaged.
    """
    tests = [each for kept in read_kept(folder) for each in _tests(kept)]
    missing = [1.0] * (PLANNED - len(tests))
    corrected = holm([*(each.difference.p for each in tests), *missing])
    found = tuple(replace(each, p_holm=p) for each, p in zip(tests, corrected, strict=False))
    return SetStudy(found, max((each.better + each.equal + each.worse for each in tests), default=0))


def detectable(seeds: int, tests: int) -> float | None:
    """Return the mean difference, in standard deviations, that Wilcoxon's test shows with a probability of 80 %.

    The differences of `seeds` pairs are drawn from a normal distribution. The test is two-sided, and at SIGNIFICANCE
    divided by `tests`, as Holm's method demands of the smallest p. It is None if so few seeds can never show anything.
    """
    tail = np.cumsum(rank_sum_chances(range(1, seeds + 1))[::-1])[::-1]  # tail[s]: of a sum of s or more
    if seeds == 0 or 2 * tail[-1] >= SIGNIFICANCE / max(tests, 1):
        return None
    least = int(np.argmax(2 * tail < SIGNIFICANCE / tests))
    drawn, low, high = np.random.default_rng(0).standard_normal((DRAWS, seeds)), 0.0, 16.0
    while high - low > 0.005:
        middle = (low + high) / 2
        shifted = drawn + middle
        ranks = np.abs(shifted).argsort(axis=1).argsort(axis=1) + 1
        shown = ((ranks * (shifted > 0)).sum(axis=1) >= least).mean()
        low, high = (low, middle) if shown >= 0.8 else (middle, high)
    return high


def _tests(kept: KeptSets) -> Iterator[Tested]:
    """Yield the tests of the task whose sets are `kept`, without the correction."""
    for split, tried in kept.splits.items():
        reference = _best_of_all(tried, kept)
        ours = {run.seed: run for run in kept.runs if run.label == OURS[0]}
        for size in SIZES:
            base = {seed: _loss(_rows(run.sets[OURS[1]][:size], tried), reference) for seed, run in ours.items()}
            for label, way in AGAINST:
                others = {
                    run.seed: _loss(_rows(run.sets[way][:size], tried), reference)
                    for run in kept.runs
                    if run.label == label and way in run.sets
                }
                if found := _tested(kept.task, split, size, f"{label}, {way}", base, others):
                    yield found
            for name in WORK:
                rows = {seed: _spent(name, run, size, tried) for seed, run in ours.items()}
                others = {seed: _loss(each, reference) for seed, each in rows.items() if each}
                if found := _tested(kept.task, split, size, name, base, others):
                    yield found


def _tested(
    task: str, split: str, size: int, name: str, ours: dict[int, float], others: dict[int, float]
) -> Tested | None:
    """Return the test of two losses (fractions) by seed: `ours`, and the `others` of the rival called `name`.

    `split` names the instances, and `size` is the number of programs in a set. None if no seed has both.
    """
    seeds = sorted(ours.keys() & others.keys())
    if not seeds:
        return None
    gains = [round(others[seed] - ours[seed], DIGITS) for seed in seeds]
    counts = sum(gain > 0 for gain in gains), sum(gain == 0 for gain in gains), sum(gain < 0 for gain in gains)
    our_loss, other_loss = (float(np.mean([losses[seed] for seed in seeds])) for losses in (ours, others))
    return Tested(task, split, size, name, our_loss, other_loss, paired(gains), *counts)


def _spent(name: str, run: SetRun, size: int, tried: Tried) -> list[Scores]:
    """Return the scores in `tried` that a rival of WORK finds with programs of a run's own set; [] if not known.

    `name` is the rival's, and `size` the number of programs or starts that it may use. There is a row for each program,
    or for each start of the best one.
    """
    chosen = run.sets[OURS[1]][:size]
    first, half = chosen[0], chosen[: size // 2]
    begun, improved = tried.begun, tried.improved
    if name == "best, k starts":
        return begun.get(first, [])[:size]
    if name == "k/2, two starts":
        return [row for key in half for row in begun[key][:2]] if all(key in begun for key in half) else []
    if name == "best, improved":
        return [improved[first]] if first in improved else []
    if name == "set, improved":
        return [improved[key] for key in chosen] if all(key in improved for key in chosen) else []
    return tried.begun_improved.get(first, [])[:size]


def _rows(keys: Sequence[str], tried: Tried) -> list[Scores]:
    return [tried.scores[key] or tried.template for key in keys]


def _best_of_all(tried: Tried, kept: KeptSets) -> Reference:
    """Return the best scores in `tried`: of the template, the programs in sets, other starts and local search."""
    sign = 1.0 if kept.direction == "minimise" else -1.0
    rows = [tried.template, *(each for each in tried.scores.values() if each), *tried.improved.values()]
    rows += [row for starts in (*tried.begun.values(), *tried.begun_improved.values()) for row in starts]
    return sign * (sign * np.array(rows)).min(axis=0), sign


def _loss(rows: Sequence[Scores], reference: Reference) -> float:
    """Return the mean over instances of how much worse the best of `rows` is than the best of all, a fraction."""
    best, sign = reference
    found = sign * (sign * np.array(rows)).min(axis=0)
    return round(float(np.mean(sign * (found - best) / np.abs(best))), DIGITS)
