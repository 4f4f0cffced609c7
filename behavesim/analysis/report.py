"""The report of one run: everything that tables, files and pages show of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from behavesim.analysis.behaviours import (
    Cluster,
    Clustering,
    DistinctCounts,
    TopProgram,
    clustering,
    distinct,
    top,
)
from behavesim.analysis.candidate_details import RejectionReason, failures
from behavesim.analysis.convergence import (
    Checkpoint,
    Diversity,
    DiversityAt,
    Improvement,
    IslandSummary,
    convergence,
    diversity,
    diversity_over_time,
    improvements,
    islands,
)
from behavesim.analysis.held_out import HeldOut, SplitScores, Unseen, split_scores
from behavesim.analysis.operators import moments
from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.run import Run
from behavesim.analysis.summary import Summary, summary
from behavesim.analysis.table import TOP
from behavesim.base.config import Settings
from behavesim.base.errors import BehavesimError
from behavesim.base.text import one_line
from behavesim.similarity.clustering import Join
from behavesim.task.calls import instances_made_anew

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """A run's folder and settings, and in `versions` the hashes of its "task", "instances" and "template".

    `beginning` is `Run.beginning`, which its forks share; None if unknown.
    """

    folder: Path
    settings: Settings
    versions: Mapping[str, str | None]
    beginning: tuple[str, float] | None = None


# Most CPU seconds for making held-out instances only to see if there are any.
LONGEST_LOOK_S = 1.0
# Beginning of the note that says why behaviour could not be measured.
UNMEASURED = "programs are not compared"
# What a report has if the run has no programs or its behaviours cannot be measured.
NONE_CHOSEN = Portfolio(TOP, ())


@dataclass(frozen=True)
class Details:
    """The parts of a report that only views of a single run show; `has_held_out` is True if that is unknown."""

    clustering: Clustering
    diversity: Diversity
    has_held_out: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunReport:
    """The report of one run; `held_out` and `shifted` are None if its programs were not tried on such instances.

    `notes` say what could not be computed and why, for example because the task is missing. `metrics` has the value of
    each metric by name, None if the run has none.
    """

    origin: Origin
    summary: Summary
    convergence: tuple[Checkpoint, ...]
    islands: tuple[IslandSummary, ...]
    failures: tuple[RejectionReason, ...]
    distinct: DistinctCounts
    diversity_over_time: tuple[DiversityAt, ...]
    top: tuple[TopProgram, ...]
    improvements: tuple[Improvement, ...] = ()
    portfolio: Portfolio = NONE_CHOSEN
    splits: tuple[SplitScores, ...] = ()
    held_out: HeldOut | None = None
    shifted: HeldOut | None = None
    notes: tuple[str, ...] = ()
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    # The run itself, for sections that show more than this.
    run: Run = field(kw_only=True, repr=False, compare=False)

    @cached_property
    def details(self) -> Details:
        """Clusters and diversity, computed at first use: a comparison of 100 runs, which shows none, is faster."""
        run = self.run
        nothing = Clustering(), Diversity((None,) * len(run.state.islands), None)
        # held-out instances are made only to see if there are any
        has_held_out, _ = try_or_note(
            lambda: len(instances_made_anew(run.task(), "held-out", LONGEST_LOOK_S)) > 0, True, ""
        )
        if self.notes:  # they say already why behaviour cannot be measured
            return Details(*nothing, has_held_out)
        (clusters, now), why = try_or_note(lambda: (clustering(run), diversity(run)), nothing, UNMEASURED)
        return Details(clusters, now, has_held_out, why)

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """The behavioural clusters, best first."""
        return self.details.clustering.clusters

    @property
    def joins(self) -> tuple[Join, ...]:
        """How the clusters merge into one, smallest distance first."""
        return self.details.clustering.joins

    @property
    def diversity(self) -> Diversity:
        """The diversity of the islands now."""
        return self.details.diversity

    @cached_property
    def moments(self) -> list[Mapping[str, float | None]]:
        """What the run had used after each candidate, as `operators.moments` returns it."""
        return moments(self.run)

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, with those on the details."""
        return *self.notes, *self.details.notes


def report(run: Run, unseen: Mapping[Unseen, HeldOut | None] | None = None) -> RunReport:
    """Return the report of a run as far as it has been read; results on `unseen` splits go into it unchanged.

    If behaviour cannot be measured, for example without the task, the report has no clusters, diversity or portfolio,
    and a note says why. The details are of the run as it is when they are first read.
    """
    unseen = unseen or {}
    nothing: tuple[tuple[DiversityAt, ...], Portfolio] = (), NONE_CHOSEN
    (over_time, chosen), why = try_or_note(lambda: (diversity_over_time(run), run.portfolio(TOP)), nothing, UNMEASURED)
    versions = {name: run.started.provenance.get(name) for name in ("task", "instances", "template")}
    return RunReport(
        run=run,
        origin=Origin(run.folder.path, run.settings, versions, run.beginning),
        summary=summary(run),
        convergence=convergence(run),
        islands=islands(run.state),
        failures=failures(run),
        distinct=distinct(run),
        diversity_over_time=over_time,
        top=top(run),
        portfolio=chosen,
        improvements=improvements(run),
        splits=split_scores(run, unseen),
        held_out=unseen.get("held-out"),
        shifted=unseen.get("shifted"),
        notes=why,
    )


def try_or_note(find: Callable[[], T], otherwise: T, missing: str) -> tuple[T, tuple[str, ...]]:
    """Return (find(), ()); if `find` raises BehavesimError, (otherwise, (note,)): "<missing>: <error>" on one line."""
    try:
        return find(), ()  # a report says what can be known: the task's file may be gone, or its code raise
    except BehavesimError as error:
        return otherwise, (one_line(f"{missing}: {error}"),)
