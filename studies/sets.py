"""Study "sets": is a search that aims at a set of programs better than choosing one from another search?

The losses of sets on instances that no search saw, and the tests of them that were chosen before the first run. The
protocol is in docs/explanation/set-study.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.portfolio import PortfolioCandidate
from behavesim.analysis.run import Run
from behavesim.analysis.statistics import SIGNIFICANCE, Paired, holm, rank_sum_chances, summarise_pairs
from behavesim.analysis.table import COUNT, FRACTION, POINTS, PROBABILITY, Column, Estimate, Table
from behavesim.base.errors import UsageError
from behavesim.methods.set_search import set_order, utilities
from behavesim.state.members import Member
from behavesim.task import Direction
from behavesim.trajectory import pack_states

from .figures import COLOURS, new_figure, write_figure
from .portfolio_sets import read_documents, write_documents

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# The stored data of the study: which programs are in which set, and their scores on instances that no search saw.


# The script that makes the files of scores.
MAKER = "experiments/sets/tables.py"
# Greatest number of programs in a set.
TOP = 10
# The end of the names of stored files: one file for each task.
SUFFIX = ".sets.json.xz"
# The end of the names of files with the programs of the sets: one file for each task.
PROGRAMS_SUFFIX = ".programs.json.xz"
# The group that is the set, its programs in order, by the name of each method that aims at a set.
OWN = {"set-search": "set", "eoh-s": "population"}

# A score for each instance.
Scores = list[float]


@dataclass(frozen=True)
class SetRun:
    """The sets of a run: the keys of their programs in order, by the way in which they were chosen.

    The ways are "by score", "cleared" and "greedy", and "own" for a method that aims at a set. `label` is that of the
    run's group in the experiment.
    """

    label: str
    seed: int
    sets: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class ScoresOnSplit:
    """Scores on the instances of a split, in the task's unit, by the key of a program.

    `begun` has those from other starts, one list for each start. `improved` and `begun_improved` are `scores` and
    `begun` after the task's local search. They are empty for a task without it, and hold few programs.
    """

    template: Scores
    scores: dict[str, Scores | None]
    """None for a program that failed there: it counts as the template."""
    begun: dict[str, list[Scores]] = field(default_factory=dict)
    improved: dict[str, Scores] = field(default_factory=dict)
    begun_improved: dict[str, list[Scores]] = field(default_factory=dict)


@dataclass(frozen=True)
class KeptSets:
    """What is stored of all runs on a task; `splits` has the scores of all programs in their sets, by split."""

    task: str
    direction: Direction
    runs: tuple[SetRun, ...]
    splits: Mapping[str, ScoresOnSplit]


@dataclass(frozen=True)
class KeptPrograms:
    """The sets of all runs on a task, sorted by label and seed, and the source of each of their programs by its key."""

    task: str
    runs: tuple[SetRun, ...]
    sources: Mapping[str, str]


def sets_of(run: Run) -> dict[str, list[str]]:
    """Return the sources of a run's sets, best first, by the way of choosing; at most TOP in each.

    The ways are "by score", "cleared" and "greedy", and "own" if the method aims at a set and has one. Greedy choice
    takes the best program, then each time the behaviour that most improves the mean of the best scores on the search's
    instances. Raises UsageError if the task cannot be loaded, PartError if its code raises, JournalError if the journal
    cannot be read, TrajectoryError if the measure fails.
    """
    entrants, objective = run.portfolio_candidates(), run.state.objective
    best: dict[bytes, PortfolioCandidate] = {}
    for each in entrants:  # equal behaviour, equal scores: the shortest stands for it, the first of equally short ones
        best[pack_states(each.behaviour)] = min(
            best.get(pack_states(each.behaviour), each), each, key=lambda one: len(one.source)
        )
    members = [
        Member(each.candidate, each.source, each.score, objective.utility(each.score), scores=each.scores)
        for each in best.values()
    ]
    greedy = set_order(members, utilities(members, objective))[:TOP] if members else []
    found = {
        "by score": [each.source or "" for each in run.ranked()[:TOP]],
        "cleared": [each.source for each in run.clearing().choose(entrants, TOP)],
        "greedy": [members[place].source for place in greedy],
    }
    group = OWN.get(run.settings.method, "")
    if own := run.state.members_of(group):
        found["own"] = [member.source for member in own[:TOP]]
    return found


def write_stored(path: Path, kept: KeptSets | KeptPrograms) -> None:
    """Write what is stored of a task into an xz file, which is replaced; raises OSError if it cannot be written."""
    write_documents(path, [kept], type(kept))


def read_programs(path: Path) -> KeptPrograms:
    """Read the programs of a task's sets; raises UsageError if the file is missing, damaged or of another kind."""
    return read_documents(path, KeptPrograms, MAKER)[0]


def read_kept(folder: Path) -> Sequence[KeptSets]:
    """Read the files of all tasks in a folder, in the order of their names.

    Raises UsageError if there is none, or if one is damaged or of another kind.
    """
    files = sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        raise UsageError(f"there are no kept sets (*{SUFFIX}) in {folder}; {MAKER} makes them of finished runs")
    return [read_documents(file, KeptSets, MAKER)[0] for file in files]


# Numbers of programs of the sets that are tested.
SIZES = (3, 5, 10)
# The sets that the study is about: the label of their runs, and how they were chosen.
OURS = ("set-search", "own")
# The sets of other runs of the same seed that ours are tested against.
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
# What else is tested where a task allows it: programs of our own set, begun elsewhere or improved.
WORK = ("best, k starts", "k/2, two starts", "best, improved", "set, improved", "best, k starts, improved")
# Number of tests in the protocol. Those of tasks whose runs have not been made count as tests that show nothing.
PLANNED = 222
# Decimal places of a loss (fraction). Without rounding, the order of a sum would make equal sets differ.
DIGITS = 12
# Number of samples that are drawn to find the power of a test: a share of them is known to 1.3 points (95 %).
DRAWS = 4000

# The best score that anything reached on each instance, (instances,), and 1 to minimise or −1 to maximise.
Reference = tuple[NDArray[np.float64], float]


@dataclass(frozen=True)
class PairTest:
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

    tests: tuple[PairTest, ...]
    seeds: int

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{tests, seeds, detectable}`, `tests` with the fields of PairTest."""
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


def _tests(kept: KeptSets) -> Iterator[PairTest]:
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
) -> PairTest | None:
    """Return the test of two losses (fractions) by seed: `ours`, and the `others` of the rival called `name`."""
    # `split` names the instances, and `size` is the number of programs in a set. None if no seed has both.
    seeds = sorted(ours.keys() & others.keys())
    if not seeds:
        return None
    gains = [round(others[seed] - ours[seed], DIGITS) for seed in seeds]
    counts = sum(gain > 0 for gain in gains), sum(gain == 0 for gain in gains), sum(gain < 0 for gain in gains)
    our_loss, other_loss = (float(np.mean([losses[seed] for seed in seeds])) for losses in (ours, others))
    return PairTest(task, split, size, name, our_loss, other_loss, summarise_pairs(gains), *counts)


def _spent(name: str, run: SetRun, size: int, tried: ScoresOnSplit) -> list[Scores]:
    """Return the scores in `tried` that a rival of WORK finds with programs of a run's own set; [] if not known."""
    # `name` is the rival's, and `size` the number of programs or starts that it may use. There is a row for each
    # program, or for each start of the best one.
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


def _rows(keys: Sequence[str], tried: ScoresOnSplit) -> list[Scores]:
    return [tried.scores[key] or tried.template for key in keys]


def _best_of_all(tried: ScoresOnSplit, kept: KeptSets) -> Reference:
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


# The figure of the study of sets: how much more each rival loses than a set of `set-search`.


# Distance of a row's two marks from its middle, in rows: fresh instances above, shifted ones below.
APART = 0.16
# Name in the legend, offset, colour and marker of each split.
SPLITS = {"held-out": ("fresh", -APART, COLOURS[0], "o"), "shifted": ("shifted", APART, COLOURS[1], "s")}


def draw(tests: Sequence[PairTest], folder: Path) -> list[Path]:
    """Draw the tests of the largest sets into sets.pdf and sets.svg; return the paths.

    There must be a test. Makes the folder if it is missing. Raises UsageError if matplotlib is not installed or the
    files cannot be written.
    """
    return write_figure(draw_sets(tests), folder, "sets")


def draw_sets(tests: Sequence[PairTest]) -> Figure:
    """Return the figure of the tests of the largest sets: a panel for each task, a row for each rival.

    There must be a test. Raises UsageError if matplotlib is not installed.
    """
    size = max(each.programs for each in tests)
    shown = [each for each in tests if each.programs == size]
    tasks, rivals = (list(dict.fromkeys(names)) for names in zip(*((e.task, e.other) for e in shown), strict=True))
    figure = new_figure(2.2 + 1.5 * len(tasks), 1.3 + 0.22 * len(rivals))
    panels = figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
    for axes, task in zip(panels, tasks, strict=True):
        _draw_task(axes, [each for each in shown if each.task == task], rivals)
        axes.set_title(task, fontsize=8)
    panels[0].set_yticks(range(len(rivals)), rivals)
    panels[0].set_ylim(len(rivals) - 0.5, -0.5)
    figure.supxlabel(f"loss of {size} programs less that of set-search's {size}, points", size=8)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, fontsize=7, frameon=False)
    return figure


def _draw_task(axes: Axes, tests: Sequence[PairTest], rivals: Sequence[str]) -> None:
    """Draw a task's mean differences and 95 % intervals, a row for each rival, filled if significant when corrected."""
    axes.axvline(0.0, color="0.6", linewidth=0.8)
    for split, (name, offset, colour, marker) in SPLITS.items():
        for each in (test for test in tests if test.split == split):
            mean = POINTS.factor * each.difference.mean
            ends = (each.difference.low, each.difference.high)
            is_shown = each.p_holm is not None and each.p_holm < SIGNIFICANCE
            axes.errorbar(
                mean,
                rivals.index(each.other) + offset,
                # an interval is unknown for fewer than two seeds
                xerr=[[0.0 if end is None else abs(POINTS.factor * end - mean)] for end in ends],
                fmt=marker,
                color=colour,
                markerfacecolor=colour if is_shown else "white",
                markersize=4,
                linewidth=1,
            )
        axes.plot([], [], marker, color=colour, markersize=4, label=name)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
