"""Prints the verdict of a plan from its kept gaps: `python experiments/gaps.py methods`.

The plans are the NAME.toml here that have a NAME.csv. The tests are the plan's: of each pair the gap of the first minus
that of the second, so that less than 0 is better. NAME.csv has the gaps, as fractions: columns of the runs.csv that
`behavesim report RUN... --held-out --csv FOLDER` writes. A task without a gap, as its best is not known there, is left
out.
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
    "instances": (("24", "own"),),
    "shortlist": (("20", "10"), ("30", "10")),
}
# Gaps of a runs.csv that plans decide by: of the recommended and the best program on unseen instances, and of the best
# on the search's.
DECIDING = ("held_out_recommended_gap", "held_out_best_gap", "best_gap")
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


def table(name: str, metric: str) -> list[str]:
    """Return one line for each test of a metric, a column of the kept gaps."""
    plan = HERE / f"{name}.toml"
    planned = tomllib.loads(plan.read_text())["tests"] if plan.exists() else []  # that of `shortlist` is its script
    tests = [*MORE.get(name, ()), *((ours, theirs) for ours, theirs in planned)]
    with (HERE / f"{name}.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row[metric]]
    gaps = {(row["task"], row.get("variant") or row["group"], row["seed"]): float(row[metric]) for row in rows}
    tasks, seeds = (sorted({key[place] for key in gaps}) for place in (0, 2))
    means, ps, counts = [], [], []
    for ours, theirs in tests:
        by_task = [[gaps[task, ours, seed] - gaps[task, theirs, seed] for seed in seeds] for task in tasks]
        # tasks differ in how far gaps spread, and one of them would decide alone
        scaled = [each / (statistics.stdev(of_task) or 1) for of_task in by_task for each in of_task]
        all_of_them = [each for of_task in by_task for each in of_task]
        means.append(statistics.mean(all_of_them))
        ps.append(sign_flip_p(scaled))
        counts.append((sum(each < 0 for each in all_of_them), sum(each > 0 for each in all_of_them)))
    found = zip(tests, means, counts, ps, holm(ps), strict=True)
    return [
        f"| {ours} | {theirs} | {100 * mean:+.2f} | {better} : {worse} | {p:.3f} | {corrected:.3f} |"
        for (ours, theirs), mean, (better, worse), p, corrected in found
    ]


def main() -> None:
    """Print one table for each metric of the plan."""
    with (HERE / f"{sys.argv[1]}.csv").open(newline="") as file:
        columns = next(csv.reader(file))
    for metric in [name for name in DECIDING if name in columns] if "group" in columns else columns[3:]:
        head = f"| {metric} of | minus that of | points | better : worse | p | Holm |"
        sys.stdout.write("\n".join((head, "|---|---|---:|---:|---:|---:|", *table(sys.argv[1], metric))) + "\n\n")


if __name__ == "__main__":
    main()
