"""Prints the verdict of a plan from its kept gaps: `python experiments/gaps.py methods`.

The plans are the NAME.toml here that have a NAME.csv. The tests are the plan's: of each pair the gap of the first minus
that of the second, so that less than 0 is better. NAME.csv has the gaps, as fractions: columns of the runs.csv that
`behavesim report RUN... --held-out --csv FOLDER` writes. A task without a gap, as its best is not known there, is left
out; `shifted_recommended_gap` is in its shifted.csv. `gaps.py race-eight race champion` tests two groups on each task.
"""

from __future__ import annotations

import csv
import statistics
import sys
import tomllib
from itertools import product
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
# Tests of a plan against a group that is no group of runs (see there).
MORE = {
    "race": (("champion", "today"),),
    "race-eight": (("champion", "today"),),
    "instances": (("24", "own"),),
    "shortlist": (("20", "10"), ("30", "10")),
}
# Gaps of a runs.csv that plans decide by: of the recommended and the best program on unseen instances, of the
# recommended one on those of another kind, and of the best on the search's.
DECIDING = ("held_out_recommended_gap", "held_out_best_gap", "shifted_recommended_gap", "best_gap")
# Most differences of which all changes of sign are tried: of more, as many are drawn as FLIPS says.
MOST = 20
FLIPS = 1_000_000


def sign_flip_p(differences: list[float]) -> float:
    """Return the two-sided p-value of the sum of differences: the share of all changes of sign with one as large."""
    observed = abs(sum(differences)) - 1e-12
    if len(differences) > MOST:
        rng, least = np.random.default_rng(0), 0
        for _ in range(FLIPS // 10_000):
            signs = rng.choice((-1.0, 1.0), size=(10_000, len(differences)))
            least += int((np.abs(signs @ np.array(differences)) >= observed).sum())
        return (least + 1) / (FLIPS + 1)
    flips = product((1, -1), repeat=len(differences))
    sums = (abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in flips)
    return sum(each >= observed for each in sums) / 2 ** len(differences)


def holm(ps: list[float]) -> list[float]:
    """Return Holm's corrected p-values, in the order of the given ones."""
    corrected, least = [0.0] * len(ps), 0.0
    for rank, k in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        least = max(least, min(1.0, ps[k] * (len(ps) - rank)))
        corrected[k] = least
    return corrected


Gaps = dict[tuple[str, str, str], float]
Test = tuple[str, str]


def read(name: str, metric: str) -> tuple[Gaps, list[Test]]:
    """Return the kept gaps by task, group and seed, without the unknown ones, and the plan's tests."""
    plan = HERE / f"{name}.toml"
    planned = tomllib.loads(plan.read_text())["tests"] if plan.exists() else []  # that of `shortlist` is its script
    with (HERE / f"{name}.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row[metric]]
    gaps = {(row["task"], row.get("variant") or row["group"], row["seed"]): float(row[metric]) for row in rows}
    return gaps, [*MORE.get(name, ()), *((ours, theirs) for ours, theirs in planned)]


def differences(gaps: Gaps, test: Test) -> dict[str, list[float]]:
    """Return the differences of a test's two groups for each task, seed by seed."""
    tasks, seeds = (sorted({key[place] for key in gaps}) for place in (0, 2))
    ours, theirs = test
    return {task: [gaps[task, ours, seed] - gaps[task, theirs, seed] for seed in seeds] for task in tasks}


def row(title: str, of: list[float], p: float, corrected: float) -> str:
    """Return a line of a table: the mean difference in points, how many are better and worse, and p-values."""
    better, worse = sum(each < 0 for each in of), sum(each > 0 for each in of)
    return f"| {title} | {100 * statistics.mean(of):+.2f} | {better} : {worse} | {p:.3f} | {corrected:.3f} |"


def table(name: str, metric: str) -> list[str]:
    """Return one line for each test of a metric, a column of the kept gaps."""
    gaps, tests = read(name, metric)
    by_task = [differences(gaps, test) for test in tests]
    # tasks differ in how far gaps spread, and one of them would decide alone
    ps = [sign_flip_p([d / (statistics.stdev(of) or 1) for of in each.values() for d in of]) for each in by_task]
    all_of_them = [[d for of in each.values() for d in of] for each in by_task]
    found = zip(tests, all_of_them, ps, holm(ps), strict=True)
    return [row(f"{ours} | {theirs}", of, p, corrected) for (ours, theirs), of, p, corrected in found]


def task_table(name: str, metric: str, test: Test) -> list[str]:
    """Return one line for each task, of one test."""
    gaps, _ = read(name, metric)
    by_task = differences(gaps, test)
    ps = [sign_flip_p(of) for of in by_task.values()]
    return [row(task, of, p, corrected) for (task, of), p, corrected in zip(by_task.items(), ps, holm(ps), strict=True)]


def main() -> None:
    """Print one table for each metric of the plan; with two groups, of their test alone and with a line a task."""
    name, *groups = sys.argv[1:]
    with (HERE / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    if len({row["seed"] for row in rows}) < 2:
        sys.exit(f"{name}.csv has one seed, and no test is possible: `behavesim study results experiments/{name}.csv`")
    columns = list(rows[0])
    for metric in [each for each in DECIDING if each in columns] if "group" in columns else columns[3:]:
        if groups:
            head, rule = f"| {metric} of {groups[0]} minus that of {groups[1]} |", "|---|---:|---:|---:|---:|"
            lines = task_table(name, metric, (groups[0], groups[1]))
        else:
            head, rule = f"| {metric} of | minus that of |", "|---|---|---:|---:|---:|---:|"
            lines = table(name, metric)
        sys.stdout.write("\n".join((f"{head} points | better : worse | p | Holm |", rule, *lines)) + "\n\n")


if __name__ == "__main__":
    main()
