"""Studies of the programs of runs: "clustering" and "diversity" (paper, "Algorithm Analysis"), "generalisation"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.convergence import SAMPLE, DiversityAt, diversity_over_time
from behavesim.analysis.difference import Agreement, agreement
from behavesim.analysis.held_out import Unseen
from behavesim.analysis.run import Run
from behavesim.analysis.statistics import Sample, estimate, sample
from behavesim.analysis.table import COUNT, DISTANCE, FRACTION, RATIO, Cell, Column, Table
from behavesim.application.evaluation import evaluate_held_out
from behavesim.task import Split, Task

from .figures import column_figure, draw_diversity, draw_tree, new_figure, write_figure

# Largest number of pairs shown: those on which the two metrics disagree most.
SHOWN = 10


@dataclass(frozen=True)
class ClusteringStudy:
    """A run's programs, compared by BehaveSim and by another metric."""

    run: str
    """The run's name."""
    found: Agreement
    """The programs, and their similarities by both metrics."""

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{run, candidates, behavesim, METRIC, disagreements}`.

        `behavesim` and the other metric, under its own name, are N × N lists of similarities of the N candidates.
        `disagreements` has at most SHOWN pairs, those with the most different ranks first.
        """
        found = self.found
        pairs = [
            {"candidates": [pair.a, pair.b], "behavesim": pair.behaviour, found.metric: pair.source}
            for pair in found.disagreements()[:SHOWN]
        ]
        matrices = {"behavesim": found.behaviour.tolist(), found.metric: found.source.tolist()}
        return {"run": self.run, "candidates": list(found.candidates), **matrices, "disagreements": pairs}

    def tables(self) -> tuple[Table, ...]:
        """Return one table: the pairs on which the metrics disagree most, at most SHOWN."""
        metric, programs = self.found.metric, len(self.found.candidates)
        columns = (
            Column("candidate", COUNT),
            Column("and", COUNT),
            Column("BehaveSim", DISTANCE),
            Column(metric, DISTANCE),
        )
        title = f"{self.run}: where behaviour and {metric} disagree most, among {programs} programs"
        rows = ((pair.a, pair.b, pair.behaviour, pair.source) for pair in self.found.disagreements()[:SHOWN])
        return (Table("disagreements", title, columns, tuple(rows), keys=2),)

    def draw(self, folder: Path) -> list[Path]:
        """Draw the dendrograms of both metrics into clustering.pdf and clustering.svg; return the two paths.

        Makes the folder if it is missing; raises UsageError if matplotlib is not installed or the files cannot be
        written.
        """
        figure = new_figure(7.0, 5.2)
        labels = [str(candidate) for candidate in self.found.candidates]
        matrices = (("BehaveSim", self.found.behaviour), (self.found.metric, self.found.source))
        for axes, (name, matrix) in zip(figure.subplots(1, 2), matrices, strict=True):
            draw_tree(axes, matrix, labels)
            axes.set_title(name, fontsize=10)
        return write_figure(figure, folder, "clustering")


def clustering_study(run: Run, metric: str) -> ClusteringStudy:
    """Compare up to thirty programs of the run's groups by BehaveSim and by a metric of source code.

    Of more programs thirty are drawn with the run's seed. `metric` is one of `code_similarity.metric.NAMES`.

    Raises UsageError if there are fewer than two, if the metric's package is missing or cannot read a program, or if
    the run's task cannot be loaded. Raises KeyError for another metric, PartError if the task's code raises. Raises
    JournalError if the journal cannot be read, TrajectoryError if BehaveSim fails.
    """
    return ClusteringStudy(run.folder.run, agreement(run, metric))


# Study "diversity": distances of programs inside islands and between them, over time (paper, "Analysis of …").


@dataclass(frozen=True)
class DiversityStudy:
    """The diversity of runs after each tenth of their budget so far, on at most fifty programs per island."""

    runs: tuple[tuple[str, tuple[DiversityAt, ...]], ...]
    """Each run's name, and its diversity after each tenth of its budget that it has reached."""

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{runs: [{run, diversity: [{registered, intra, inter}]}]}`.

        `registered` counts candidates. Distances are 1 − BehaveSim: `intra` lists the mean inside each island, and
        `inter` is the mean between islands; null if unknown.
        """
        return {
            "runs": [
                {
                    "run": name,
                    "diversity": [
                        {"registered": at.registered, "intra": list(at.intra), "inter": at.inter} for at in moments
                    ],
                }
                for name, moments in self.runs
            ]
        }

    def tables(self) -> tuple[Table, ...]:
        """Return one table with a row for each run and tenth of its budget."""
        columns = (
            Column("run"),
            Column("candidates", COUNT),
            Column("inside", DISTANCE),
            Column("between", DISTANCE),
            Column("between / inside", RATIO),
        )
        rows: list[tuple[Cell, ...]] = [
            (name, at.registered, at.inside, at.inter, at.separation) for name, moments in self.runs for at in moments
        ]
        caption = "Mean distances, 1 − BehaveSim, of programs of one island, and of two."
        return (Table("diversity", "distances inside islands and between them", columns, tuple(rows), caption, keys=2),)

    def draw(self, folder: Path) -> list[Path]:
        """Draw the distances inside islands (boxes) and between them (a curve) for each run; there must be a run.

        Writes diversity.pdf and diversity.svg into the folder, which is made if missing, and returns their paths.
        Raises UsageError if matplotlib is not installed or they cannot be written.
        """
        figure, axes = column_figure(3.6, widths=2)
        draw_diversity(axes, dict(self.runs))
        return write_figure(figure, folder, "diversity")


def diversity_study(runs: Sequence[Run]) -> DiversityStudy:
    """Compute the diversity of each run.

    Raises UsageError if a task cannot be loaded, PartError if its code raises, JournalError if a journal cannot be
    read, TrajectoryError if the measure fails.
    """
    return DiversityStudy(tuple((run.folder.run, diversity_over_time(run, SAMPLE)) for run in runs))


# Study "generalisation": gaps on the search's, held-out and shifted instances. It is not in the paper.


# Number of programs of the portfolio.
SIZE = 5
# What is tried of each run: single programs, and several of which the best solution of each instance counts.
PROGRAMS = ("template", "best", "recommended", f"portfolio of {SIZE}")
# The splits of the table, in order.
SPLITS_SHOWN: tuple[Split, ...] = ("search", "held-out", "shifted")

# Scores of programs on each instance of a split, by split and source; programs that failed there are missing.
UnseenScores = Mapping[Split, Mapping[str, Sequence[float]]]


@dataclass(frozen=True)
class Row:
    """What one of PROGRAMS is worth on a task: its gap (see `Run.gap`) on each split, over `runs` runs.

    A gap is None if that of any run is unknown; `missing` says why, by split.
    """

    task: str
    runs: int
    program: str
    gaps: Mapping[Split, Sample | None]
    missing: Mapping[Split, str]


@dataclass(frozen=True)
class GeneralisationStudy:
    """A row for each task and each of PROGRAMS."""

    rows: tuple[Row, ...]

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{rows}`, with the fields of Row; `gaps` has those of Sample by split, or null."""
        return {"rows": [asdict(row) for row in self.rows]}

    def tables(self) -> tuple[Table, ...]:
        """Return the table; where a gap is missing, its last column says why."""
        gaps = (Column(split.replace("-", "_"), FRACTION, title=split) for split in SPLITS_SHOWN)
        rows: list[tuple[Cell, ...]] = [
            (
                *(row.task, row.runs, row.program),
                *(estimate(row.gaps[split]) for split in SPLITS_SHOWN),
                "; ".join(f"{split}: {reason}" for split, reason in row.missing.items()) or None,
            )
            for row in self.rows
        ]
        caption = "shifted: instances of another distribution; of a portfolio the best solution of each instance counts"
        columns = (Column("task"), Column("runs", COUNT), Column("program"), *gaps, Column("missing"))
        return (Table("generalisation", "gap on each set of instances", columns, tuple(rows), caption, keys=3).known,)


def choose_programs(run: Run) -> dict[str, list[Candidate]]:
    """Return the programs of a run under the names in PROGRAMS; a list is empty if the run has no such program.

    The portfolio's is empty for an online task too. Raises UsageError if the run's task cannot be loaded, PartError if
    its code raises, JournalError if its journal cannot be read, TrajectoryError if the measure fails.
    """
    task, (template, best, recommended, together) = run.task(), PROGRAMS
    members = () if task.online else run.portfolio(SIZE).members  # of an online task only one decision counts
    singles = {template: run.template, best: run.best, recommended: run.recommended}
    return {
        **{name: [] if each is None else [each] for name, each in singles.items()},
        together: [run.candidate(each.candidate) for each in members],
    }


def generalisation_study(runs: Sequence[Run], unseen: Mapping[str, UnseenScores]) -> GeneralisationStudy:
    """Return the gaps over the runs of each task; `unseen` has scores on held-out and shifted instances by task.

    Raises KeyError if `unseen` lacks a task of the runs, and as `choose_programs` does.
    """
    rows = []
    for name, of_task in groupby(sorted(runs, key=_task_of), _task_of):
        here = list(of_task)
        task, programs = here[0].task(), [choose_programs(run) for run in here]
        seen = {each.source or "": each.scores for found in programs for group in found.values() for each in group}
        scores: dict[Split, Mapping[str, Sequence[float]]] = {"search": seen, **unseen[name]}
        for program in PROGRAMS:
            sources = [[each.source or "" for each in found[program]] for found in programs]
            found = {split: _gaps(task, split, sources, scores.get(split, {})) for split in SPLITS_SHOWN}
            gaps = {split: None if isinstance(gap, str) else gap for split, gap in found.items()}
            missing = {split: gap for split, gap in found.items() if isinstance(gap, str)}
            rows.append(Row(name, len(here), program, gaps, missing))
    return GeneralisationStudy(tuple(rows))


async def generalisation_of(runs: Sequence[Run]) -> GeneralisationStudy:
    """Return the study of generalisation of some runs, whose programs are evaluated on unseen instances first.

    Raises UsageError if a task cannot be loaded or isolation is too weak. Raises SandboxError if the sandbox fails.
    Raises JournalError if a journal cannot be read or a score cannot be written.
    """
    unseen: dict[str, dict[Split, Mapping[str, Sequence[float]]]] = {}
    for task in dict.fromkeys(run.settings.task for run in runs):
        here = [run for run in runs if run.settings.task == task]
        programs = [[each for group in choose_programs(run).values() for each in group] for run in here]
        unseen[task] = {split: await evaluate_held_out(here, programs, split) for split in get_args(Unseen)}
    return generalisation_study(runs, unseen)


def _task_of(run: Run) -> str:
    return run.settings.task


def _gaps(
    task: Task, split: Split, sources: Sequence[Sequence[str]], scores: Mapping[str, Sequence[float]]
) -> Sample | str:
    """Return the gaps (fractions) of each run's programs on a split, or why they are not known."""
    # `sources` are each run's, `scores` by source. Of several programs of a run the best score on each instance counts.
    if without := sum(not group for group in sources):
        return f"{without} of {len(sources)} runs have no such program"
    if not scores:
        return "no program has a score there"
    if not all(scores.get(source) for group in sources for source in group):
        return "a program failed there"
    objective = task.objective_on(split)
    means = [
        task.mean_score([objective.best(on) for on in zip(*map(scores.__getitem__, group), strict=True)])
        for group in sources
    ]
    found = [objective.gap(mean) for mean in means]
    known = [gap for gap in found if gap is not None]
    return sample(known) if len(known) == len(found) else "no best known score to compare with"
