"""The report of one run: everything that tables, files and pages show of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from behavesim.analysis.behaviours import (
    MEANINGS,
    Cluster,
    Clustering,
    DistinctCounts,
    TopProgram,
    clustering,
    clusters_table,
    distinct,
    joins_table,
    metrics_table,
    top,
    top_table,
)
from behavesim.analysis.candidate_details import RejectionReason, failures, failures_table
from behavesim.analysis.convergence import (
    Checkpoint,
    Diversity,
    DiversityAt,
    Improvement,
    IslandSummary,
    convergence,
    diversity,
    diversity_over_time,
    diversity_table,
    improvements,
    islands,
    islands_table,
)
from behavesim.analysis.held_out import HeldOut, SplitScores, Unseen, held_out_table, split_scores, splits_table
from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.run import Run
from behavesim.analysis.run_summary import summary
from behavesim.analysis.summary import TOP, Summary
from behavesim.analysis.table import Table
from behavesim.base.config import Settings
from behavesim.base.errors import BehavesimError
from behavesim.base.text import one_line
from behavesim.similarity.clustering import Join
from behavesim.task import instances_made_anew

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """A run's folder and settings, and in `versions` the hashes of its "task", "instances" and "template".

    A hash is None if the run did not record it. `has_held_out` says if the task has held-out instances; it is True if
    that is unknown. `beginning` is that of the run, which its forks share; None if unknown.
    """

    folder: Path
    settings: Settings
    versions: Mapping[str, str | None]
    has_held_out: bool = True
    beginning: tuple[str, float] | None = None


# Most CPU seconds for making held-out instances only to see if there are any.
LONGEST_LOOK_S = 1.0
# Beginning of the note that says why behaviour could not be measured.
UNMEASURED = "programs are not compared"
# The empty portfolio, which a report has if the run has no programs or its behaviours cannot be measured.
NONE_CHOSEN = Portfolio(TOP, ())


@dataclass(frozen=True)
class RunReport:
    """The report of one run; `held_out` and `shifted` are None if its programs were not tried on such instances.

    `clusters` are behavioural, and `joins` say how they merge. `convergence` has the run at up to fifty numbers of
    candidates, `improvements` every new best program. `splits` are the scores of the template, the best and the
    recommended program on each set of instances. `notes` are sentences that say what could not be computed and why, for
    example because the task is missing. `metrics` has the value of each metric by name, None if the run has none; it is
    empty until `metrics.measured` fills it.
    """

    origin: Origin
    summary: Summary
    convergence: tuple[Checkpoint, ...]
    islands: tuple[IslandSummary, ...]
    clusters: tuple[Cluster, ...]
    joins: tuple[Join, ...]
    failures: tuple[RejectionReason, ...]
    distinct: DistinctCounts
    diversity: Diversity
    diversity_over_time: tuple[DiversityAt, ...]
    top: tuple[TopProgram, ...]
    improvements: tuple[Improvement, ...] = ()
    portfolio: Portfolio = NONE_CHOSEN
    splits: tuple[SplitScores, ...] = ()
    held_out: HeldOut | None = None
    shifted: HeldOut | None = None
    notes: tuple[str, ...] = ()
    metrics: Mapping[str, float | None] = field(default_factory=dict)

    def tables(self) -> tuple[Table, ...]:
        """Return the tables for a terminal, without those that have no rows."""
        recommended = None if self.summary.recommended is None else self.summary.recommended.candidate
        caption = f"{self.distinct.sentence}; {MEANINGS}"
        tables = (
            splits_table(self.splits),
            top_table(self.top, [each.members for each in self.clusters], caption),
            metrics_table(self.top),
            islands_table(self.islands, self.diversity),
            clusters_table(self.clusters),
            *self.portfolio.tables(),
            failures_table(self.failures),
            *(held_out_table(found, recommended) for found in (self.held_out, self.shifted) if found),
        )
        return tuple(table for table in tables if table.rows)

    def series(self) -> tuple[Table, ...]:
        """Return the tables for files alone, possibly without rows: diversity over time, and how clusters join."""
        return diversity_table(self.diversity_over_time), joins_table(self.joins)


def report(run: Run, unseen: Mapping[Unseen, HeldOut | None] | None = None) -> RunReport:
    """Return the report of a run as far as it has been read; results on `unseen` splits go into it unchanged.

    If behaviour cannot be measured, for example without the task, the report has no clusters, diversity or portfolio,
    and a note says why. Raises JournalError if the journal cannot be read, and UsageError if the settings in the run's
    folder cannot be read or are invalid.
    """
    unseen = unseen or {}
    islands_found = islands(run.state)
    nothing: _Measured = Clustering(), Diversity((None,) * len(islands_found), None), (), NONE_CHOSEN
    (clusters, now, over_time, chosen), why = try_or_note(
        lambda: (clustering(run), diversity(run), diversity_over_time(run), run.portfolio(TOP)), nothing, UNMEASURED
    )
    versions = {name: run.started.provenance.get(name) for name in ("task", "instances", "template")}
    return RunReport(
        origin=Origin(run.folder.path, run.settings, versions, _has_held_out(run), run.beginning),
        summary=summary(run),
        convergence=convergence(run),
        islands=islands_found,
        clusters=clusters.clusters,
        joins=clusters.joins,
        failures=failures(run),
        distinct=distinct(run),
        diversity=now,
        diversity_over_time=over_time,
        top=top(run),
        portfolio=chosen,
        improvements=improvements(run),
        splits=split_scores(run, unseen),
        held_out=unseen.get("held-out"),
        shifted=unseen.get("shifted"),
        notes=why,
    )


_Measured = tuple[Clustering, Diversity, tuple[DiversityAt, ...], Portfolio]


def _has_held_out(run: Run) -> bool:
    """Return whether the task has held-out instances; True if that cannot be found out."""
    found, _ = try_or_note(lambda: len(instances_made_anew(run.task(), "held-out", LONGEST_LOOK_S)) > 0, True, "")
    return found


def try_or_note(find: Callable[[], T], otherwise: T, missing: str) -> tuple[T, tuple[str, ...]]:
    """Return (find(), ()); if `find` raises BehavesimError, return `otherwise` and a note.

    The note is the text "<missing>: <error>" on one line, cut at 500 characters.
    """
    try:
        return find(), ()  # a report says what can be known: the task's file may be gone, or its code raise
    except BehavesimError as error:
        return otherwise, (one_line(f"{missing}: {error}"),)
