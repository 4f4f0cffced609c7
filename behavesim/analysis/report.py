"""The report of one run: everything that tables, files and pages show of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from behavesim.analysis.clusters import Cluster, Clustering, Join, clustering, clusters_table, joins_table
from behavesim.analysis.convergence import Checkpoint, Improvement, convergence, convergence_table, improvements
from behavesim.analysis.distinct import DistinctCounts, distinct
from behavesim.analysis.diversity import Diversity, DiversityAt, diversity, diversity_over_time, diversity_table
from behavesim.analysis.failures import RejectionReason, failures, failures_table
from behavesim.analysis.held_out import HeldOut, held_out_table
from behavesim.analysis.islands import IslandSummary, islands, islands_table
from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.run import Run
from behavesim.analysis.scored import TOP, TopProgram, top, top_table
from behavesim.analysis.standing import summary
from behavesim.analysis.summary import Summary
from behavesim.analysis.table import Table
from behavesim.base.config import Settings
from behavesim.base.errors import BehavesimError
from behavesim.base.text import one_line

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """A run's folder and settings, and in `versions` the hashes of its "task", "instances" and "template".

    A hash is None if the run did not record it.
    """

    folder: Path
    settings: Settings
    versions: Mapping[str, str | None]


UNMEASURED = "programs are not compared"
"""Beginning of the note that says why behaviour could not be measured."""
NONE_CHOSEN = Portfolio(TOP, ())
"""The portfolio of a run without programs, or without a measure."""


@dataclass(frozen=True)
class RunReport:
    """The report of one run; `held_out` is None if its programs were not tried on held-out instances.

    `notes` are sentences that say what could not be computed and why, for example because the task is missing.
    `metrics` has the value of each metric by name, None if the run has none; it is empty until `metric.measured`.
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
    held_out: HeldOut | None = None
    notes: tuple[str, ...] = ()
    metrics: Mapping[str, float | None] = field(default_factory=dict)

    def tables(self) -> tuple[Table, ...]:
        """Return the tables for a terminal, without those that have no rows."""
        recommended = None if self.summary.recommended is None else self.summary.recommended.candidate
        tables = (
            top_table(self.top, [each.members for each in self.clusters], self.distinct.sentence),
            islands_table(self.islands, self.diversity),
            clusters_table(self.clusters),
            *self.portfolio.tables(),
            failures_table(self.failures),
            *([held_out_table(self.held_out, recommended)] if self.held_out else []),
        )
        return tuple(table for table in tables if table.rows)

    def series(self) -> tuple[Table, ...]:
        """Return the tables for files and figures, possibly without rows: convergence, diversity, joins of clusters."""
        return (
            convergence_table(self.convergence),
            diversity_table(self.diversity_over_time),
            joins_table(self.joins),
        )


def report(run: Run, held_out: HeldOut | None = None) -> RunReport:
    """Return the report of a run as far as it has been read; `held_out` goes into it unchanged.

    If behaviour cannot be measured, for example without the task, the report has no clusters, diversity or portfolio,
    and a note says why. Raises JournalError if the journal cannot be read.
    """
    started, islands_found = run.state.started, islands(run.state)
    measured, why = attempted(lambda: _measured(run), _unmeasured(len(islands_found)), UNMEASURED)
    versions = {} if started is None else {k: started.provenance.get(k) for k in ("task", "instances", "template")}
    return RunReport(
        origin=Origin(run.folder.path, run.settings, versions),
        summary=summary(run),
        convergence=convergence(run),
        islands=islands_found,
        clusters=measured.clustering.clusters,
        joins=measured.clustering.joins,
        failures=failures(run),
        distinct=distinct(run),
        diversity=measured.diversity,
        diversity_over_time=measured.over_time,
        top=top(run),
        portfolio=measured.portfolio,
        improvements=improvements(run),
        held_out=held_out,
        notes=why,
    )


def attempted(find: Callable[[], T], otherwise: T, missing: str) -> tuple[T, tuple[str, ...]]:
    """Return (find(), ()); if `find` raises BehavesimError, return `otherwise` and the note "<missing>: <error>"."""
    try:
        return find(), ()
    except BehavesimError as error:
        return otherwise, (one_line(f"{missing}: {error}"),)


@dataclass(frozen=True)
class _Measured:
    """The parts of a report that need the run's measure, and so the task."""

    clustering: Clustering
    diversity: Diversity
    over_time: tuple[DiversityAt, ...]
    portfolio: Portfolio


def _measured(run: Run) -> _Measured:
    return _Measured(clustering(run), diversity(run), diversity_over_time(run), run.portfolio(TOP))


def _unmeasured(count: int) -> _Measured:
    """Return empty parts for a run with `count` islands."""
    return _Measured(Clustering(), Diversity((None,) * count, None), (), NONE_CHOSEN)
