"""Study "portfolio": are sets of programs that behave differently better than other sets?

The tests of their losses: those chosen before the first run, and others beside them. The answer is in
docs/explanation/portfolios.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from behavesim.analysis.statistics import Paired, holm, mean_of_known, summarise_pairs
from behavesim.analysis.table import COUNT, FRACTION, POINTS, PROBABILITY, RATIO, Cell, Column, Estimate, Table
from behavesim.base.errors import UsageError

from .portfolio_sets import EQUAL_WORK, OURS, TOP, Losses, losses_in

# The methods whose mean loss the primary tests compare.
PRIMARY = ("funsearch", "niche")
# Numbers of programs of the sets that are tested.
SIZES = (3, 10)
# Decimal places of a loss (fraction). Without rounding, the order of a sum would make equal sets differ.
DIGITS = 12


@dataclass(frozen=True)
class Subject:
    """The sets that a comparison is about: from which methods' runs, and how they were chosen.

    `name` says how: a key in a run's `sets`, such as "cleared".
    """

    name: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """The loss of the `other` sets minus that of `ours`, paired by seed, on one task.

    Ours are cleared sets; the others may be too, of another method.
    """

    task: str
    ours: Subject
    other: Subject
    programs: int
    """Number of programs in a set."""
    our_loss: float
    """Mean loss of `ours`, a fraction."""
    other_loss: float
    difference: Paired
    """The other loss minus ours; above 0, ours are better."""
    better: int
    """Number of seeds for which `ours` has the smaller loss."""
    equal: int
    worse: int

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The values as cells of the columns COMPARED."""
        estimate = Estimate(self.difference.mean, None, self.difference.low, self.difference.high)
        seeds = f"{self.better} / {self.equal} / {self.worse}"
        whose = ["" if each.methods == PRIMARY else f"{each.methods[0]}: " for each in (self.ours, self.other)]
        names = f"{whose[0]}{self.ours.name}", f"{whose[1]}{self.other.name}"
        return self.task, *names, self.programs, self.our_loss, self.other_loss, estimate, seeds, self.difference.p


@dataclass(frozen=True)
class AdjustedTest:
    """A pre-registered comparison; its p is corrected for all comparisons on its task, and for all tasks."""

    comparison: Comparison
    p_task: float | None
    """Corrected (Holm) for all comparisons on the task; None if there were too few seeds for a test."""
    p_holm: float | None
    """Corrected (Holm) for all comparisons on all tasks; None as for `p_task`."""


# The columns of a table of comparisons.
COMPARED = (
    Column("task"),
    Column("set"),
    Column("against"),
    Column("programs", COUNT),
    Column("loss", FRACTION),
    Column("other", FRACTION, title="loss of the other"),
    Column("difference", POINTS),
    Column("seeds", title="seeds better / equal / worse"),
    Column("p", PROBABILITY),
)


@dataclass(frozen=True)
class PortfolioStudy:
    """The losses of all runs, and the comparisons made of them."""

    runs: tuple[Losses, ...]

    def primary(self) -> list[AdjustedTest]:
        """Return the tests that were chosen before the first run, with their corrected p-values.

        On each task and for each of SIZES they compare cleared sets with each other kind but EQUAL_WORK, as means over
        the methods PRIMARY.
        """
        families = [self._family(task) for task in self._tasks]
        found = [each for family in families for each in family]
        within = [p for family in families for p in _corrected(family)]
        return list(map(AdjustedTest, found, within, _corrected(found)))

    def beside(self) -> list[Comparison]:
        """Return further comparisons, uncorrected: cleared sets with best by score, other methods' and equal work."""
        return [
            self._compared(task, ours, other, size)
            for task in self._tasks
            for ours, other in self._pairs(task)
            for size in SIZES
        ]

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{runs, primary, beside}`, the fields of Losses, Comparison and AdjustedTest."""
        return {
            "runs": [asdict(run) for run in self.runs],
            "primary": [{**asdict(e.comparison), "p_task": e.p_task, "p_holm": e.p_holm} for e in self.primary()],
            "beside": [asdict(each) for each in self.beside()],
        }

    def tables(self) -> tuple[Table, ...]:
        """Return four tables: primary tests, further comparisons, losses by set size, and the data they come from."""
        primary = self.primary()
        said = f"{len(primary)} tests corrected together (Holm); a difference above 0 speaks for the cleared set."
        within, corrected = ("p_task", "p, Holm on the task"), ("p_holm", "p, Holm")
        columns = (*COMPARED, *(Column(name, PROBABILITY, title=title) for name, title in (within, corrected)))
        rows = tuple((*each.comparison.cells, each.p_task, each.p_holm) for each in primary)
        beside = tuple(each.cells for each in self.beside())
        return (
            Table("primary", "cleared sets on fresh instances against others", columns, rows, said),
            Table("beside", "beside them", COMPARED, beside, "Uncorrected."),
            self._curves(),
            self._origins(),
        )

    @property
    def _tasks(self) -> list[str]:
        return list(dict.fromkeys(run.task for run in self.runs))

    def _methods(self, task: str) -> list[str]:
        return list(dict.fromkeys(run.method for run in self.runs if run.task == task))

    def _sets(self, task: str) -> list[str]:
        return list(next(run for run in self.runs if run.task == task).sets)

    def _family(self, task: str) -> list[Comparison]:
        return [
            self._compared(task, Subject(self._ours(task, name), PRIMARY), Subject(name, PRIMARY), size)
            for size in SIZES
            for name in self._sets(task)
            if not name.startswith(OURS) and name not in EQUAL_WORK
        ]

    def _ours(self, task: str, other: str) -> str:
        """Return the name of the cleared set chosen on as many search instances as the greedy set `other`."""
        # It is OURS if there is none, and for sets that are not greedy.
        as_few = f"{OURS} at {other.rpartition(' ')[2]}"
        return as_few if other.startswith("greedy") and as_few in self._sets(task) else OURS

    def _pairs(self, task: str) -> Iterator[tuple[Subject, Subject]]:
        first, *rest = self._methods(task)
        for method in (first, *rest):
            yield Subject(OURS, (method,)), Subject("by score", (method,))
        for method in rest:
            yield Subject(OURS, (method,)), Subject(OURS, (first,))
        for name in EQUAL_WORK:
            if name in self._sets(task):
                yield Subject(OURS, PRIMARY), Subject(name, PRIMARY)

    def _compared(self, task: str, ours: Subject, other: Subject, size: int) -> Comparison:
        mine, theirs = self._by_seed(task, ours, size), self._by_seed(task, other, size)
        seeds = sorted(mine.keys() & theirs.keys())
        differences = [theirs[seed] - mine[seed] for seed in seeds]
        losses = float(np.mean([mine[seed] for seed in seeds])), float(np.mean([theirs[seed] for seed in seeds]))
        signs = np.sign(differences).tolist()
        counts = signs.count(1), signs.count(0), signs.count(-1)
        return Comparison(task, ours, other, size, *losses, summarise_pairs(differences), *counts)

    def _by_seed(self, task: str, subject: Subject, size: int) -> dict[int, float]:
        """Return by seed the mean loss of sets of `size` programs over the subject's methods, rounded to DIGITS."""
        # Seeds that one of the methods lacks are left out.
        found: dict[int, list[float]] = {}
        for run in self.runs:
            if run.task == task and run.method in subject.methods:
                found.setdefault(run.seed, []).append(run.sets[subject.name][size - 1])
        whole = {seed: each for seed, each in found.items() if len(each) == len(subject.methods)}
        return {seed: round(float(np.mean(each)), DIGITS) for seed, each in whole.items()}

    def _curves(self) -> Table:
        sizes = range(1, TOP + 1)
        columns = (Column("task"), Column("set"), *(Column(f"of_{size}", FRACTION, str(size)) for size in sizes))
        rows: list[tuple[Cell, ...]] = [
            (
                task,
                name,
                *(float(np.mean(list(self._by_seed(task, Subject(name, PRIMARY), k).values()))) for k in sizes),
            )
            for task in self._tasks
            for name in self._sets(task)
        ]
        return Table("curves", "mean loss of sets of 1 … 10", columns, tuple(rows), keys=2)

    def _origins(self) -> Table:
        columns = (
            Column("task"),
            Column("method"),
            Column("runs", COUNT),
            Column("cleared", RATIO, title="programs in the cleared ten"),
            Column("two_opt", RATIO, title="2-opt's time / the program's"),
        )
        rows: list[tuple[Cell, ...]] = []
        for task in self._tasks:
            for method in self._methods(task):
                here = [run for run in self.runs if (run.task, run.method) == (task, method)]
                cleared = float(np.mean([run.cleared for run in here]))
                rows.append((task, method, len(here), cleared, mean_of_known([run.two_opt_time for run in here])))
        return Table("origins", "what they were chosen from", columns, tuple(rows), keys=2)


def study(folder: Path) -> PortfolioStudy:
    """Compute the study from a folder's kept runs (NAME.jsonl.xz) and scores beside them (NAME.fresh.json.xz).

    Raises UsageError if the folder has no kept runs, if a file is missing or damaged, or for an unknown task.
    """
    files = sorted(folder.glob("*.jsonl.xz"))
    if not files:
        raise UsageError(f"there are no kept runs (*.jsonl.xz) in {folder}; give the folder that has them")
    return PortfolioStudy(tuple(losses for file in files for losses in losses_in(file)))


def _corrected(comparisons: Sequence[Comparison]) -> list[float | None]:
    return holm([each.difference.p for each in comparisons])
