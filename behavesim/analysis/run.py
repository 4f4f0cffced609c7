"""A finished or running run, read from its journal, for reports, notebooks and other tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.candidates import CandidateLike
from behavesim.analysis.recorded import RecordedRun
from behavesim.analysis.records import Record, calls_by_candidate, frame, token_sums
from behavesim.base.config import Settings
from behavesim.base.errors import UsageError
from behavesim.base.plugins import failures_named
from behavesim.base.score_source import mark
from behavesim.state.events import CandidateId, Event
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_trajectories
from behavesim.task import Task, TaskReference, called, number_from
from behavesim.trajectory import Behaviour

if TYPE_CHECKING:
    import pandas

    from behavesim.analysis.clearing import Clearing, Entrant, Scores
    from behavesim.analysis.portfolio import Portfolio
    from behavesim.similarity import BehaveSim

KEPT = 256
"""Largest number of programs whose similarities a run keeps: half a megabyte, also where 200 runs are compared."""


class Run(RecordedRun):
    """A run as read from its journal: its settings, its state after the last event read, and all candidates.

    It compares the behaviour of programs, and chooses portfolios of them.
    """

    def __init__(self, folder: RunFolder, events: Iterable[tuple[float, Event]], registered: int) -> None:
        """Build the run from its events, as `RecordedRun` does: the arguments and the errors are the same."""
        self._behaviours: dict[CandidateId, Behaviour] = {}
        self._task: tuple[Settings, Task] | None = None  # with the settings that name it, which a fork may replace
        # the settings that name the measure, the row of each candidate, and their similarities
        self._kept: tuple[Settings, dict[CandidateId, int], NDArray[np.float64]] | None = None
        super().__init__(folder, events, registered)

    def trajectories(self, candidates: Sequence[CandidateLike] | None = None) -> list[Behaviour]:
        """Return the behaviour of each of these feasible candidates, in the given order; -1 is the template.

        Candidates are named by number, or by values that have one. None stands for all feasible candidates, in the
        order of asking. A behaviour has for each instance of the search a trajectory, or samples of several. Raises
        UnknownCandidate, JournalError if a candidate is not feasible, or if the journal cannot be read.
        """
        chosen = self._numbers(candidates)
        fresh = [candidate for candidate in dict.fromkeys(chosen) if candidate not in self._behaviours]
        if fresh:
            self._behaviours.update(zip(fresh, read_trajectories(self.folder.journal, fresh), strict=True))
        return [self._behaviours[candidate] for candidate in chosen]

    def task(self) -> Task:
        """Return the run's task, loaded once; the run's own copy of a task file is used if the file is gone or changed.

        Raises UsageError if the task cannot be loaded.
        """
        if self._task is None or self._task[0] is not self.settings:
            # loading a user's file may be slow, and every measure needs the task
            self._task = self.settings, TaskReference(self.folder.with_task_at_hand(self.settings).task).load()
        return self._task[1]

    def measure(self) -> BehaveSim:
        """Return BehaveSim with the run's own settings, clipped to [0, 1] and not strict.

        Not strict: what the search accepted is not rejected here. Raises UsageError if the task cannot be loaded,
        PartError if a user's task raises an error of its own.
        """
        from behavesim.similarity import BehaveSim

        task = self.task()
        with failures_named(type(task), "task"):
            normaliser = task.normaliser
        return BehaveSim(**self.settings.measuring(normaliser), clip=True, strict=False)

    @overload
    def matrix(
        self, candidates: Sequence[CandidateLike] | None = None, *, labelled: Literal[False] = False
    ) -> NDArray[np.float64]: ...
    @overload
    def matrix(
        self, candidates: Sequence[CandidateLike] | None = None, *, labelled: Literal[True]
    ) -> pandas.DataFrame: ...
    def matrix(
        self, candidates: Sequence[CandidateLike] | None = None, *, labelled: bool = False
    ) -> NDArray[np.float64] | pandas.DataFrame:
        """Return the (N, N) similarities, in [0, 1], of these feasible candidates; None stands for all of them.

        Rows and columns are in the order of `trajectories(candidates)`. With `labelled`, the matrix is a data frame
        whose rows and columns have the candidates' numbers. For a matrix that does not fit in memory, use
        `measure().rows(trajectories())`, which yields it in blocks. Raises as `measure` and `trajectories` do, and
        TrajectoryError if the measure fails; ImportError if labelled without pandas.
        """
        chosen = self._numbers(candidates)
        found = self._similarities(chosen)
        if not labelled:
            return found
        import pandas

        names = pandas.Index(chosen, name="candidate")
        return pandas.DataFrame(found, index=names, columns=names)

    def _similarities(self, chosen: Sequence[CandidateId]) -> NDArray[np.float64]:
        """Return the similarities of these candidates, taken from the last large matrix if that has them all."""
        kept = self._kept
        if kept is None or kept[0] is not self.settings or not kept[1].keys() >= set(chosen):
            found = self.measure().matrix(self.trajectories(chosen))
            # a report asks for many parts of one set, such as the islands after each tenth of the budget
            is_larger = kept is None or kept[0] is not self.settings or len(chosen) >= len(kept[2])
            if is_larger and len(chosen) <= KEPT:
                self._kept = self.settings, {number: row for row, number in enumerate(chosen)}, found.copy()
            return found
        rows = [kept[1][number] for number in chosen]
        part: NDArray[np.float64] = kept[2][np.ix_(rows, rows)]
        return part

    def _numbers(self, candidates: Sequence[CandidateLike] | None) -> list[CandidateId]:
        """Return the numbers of these candidates, or of all feasible ones for None; raises UnknownCandidate."""
        return [each.candidate for each in (self.feasible if candidates is None else map(self.candidate, candidates))]

    def portfolio(
        self,
        count: int,
        others: Sequence[Run] = (),
        validation: Mapping[tuple[str, CandidateId], Scores | None] | None = None,
    ) -> Portfolio:
        """Return at most `count` programs that behave differently, best first, from this run and others on its task.

        `validation` has scores on validation instances by run and candidate, None for a program that failed there
        (`analysis.portfolio`). This run's measure and radius decide. Raises UsageError if the runs' tasks or instances
        differ, if two runs have one name, if the task cannot be loaded, or if `count` is less than 1. Raises PartError
        or TaskError if the task's code raises, JournalError if a journal cannot be read, TrajectoryError if the measure
        fails.
        """
        from behavesim.analysis.portfolio import portfolio

        runs = (self, *others)
        _refuse_different_problems(runs)
        task = self.task()

        def mean(scores: Sequence[float]) -> float:
            return number_from(task, "mean_score", called(task, "mean_score", task.mean_score, scores))

        entrants = [each for run in runs for each in run.entrants()]
        return portfolio(entrants, self.clearing(), count, validation, mean)

    def entrants(self) -> list[Entrant]:
        """Return the feasible candidates with their behaviours, in the order of asking, for `clearing`.

        Raises JournalError if the journal cannot be read.
        """
        from behavesim.analysis.clearing import entrants

        return entrants(self.folder.run, zip(self.feasible, self.trajectories(), strict=True))

    def clearing(self) -> Clearing:
        """Return the rule that chooses programs that behave differently, with the run's measure and radius.

        The radius is the setting `shortlist_radius`. Raises as `measure` does.
        """
        from behavesim.analysis.clearing import Clearing

        return Clearing(self.state.objective, self.measure(), self.settings.shortlist_radius)

    def to_pandas(self, *, template: bool = False) -> pandas.DataFrame:
        """Return a data frame with a row per candidate, indexed by number; raises ImportError without pandas.

        Its columns are the fields of `Candidate`, with `gap` (a fraction) after `score`; then `prompt_tokens` and
        `completion_tokens`, of all its requests. Last come, in place of `scores`, a column for each instance of the
        search, from "score.1" on. In place of `metrics` there is one for each metric, such as "metrics.length". A value
        that a candidate lacks is NaN. With `template`, the first row is the template's, -1. Raises JournalError if the
        journal cannot be read.
        """
        sizes = [len(each.scores) for each in (self.template, *self.candidates) if each is not None]
        return frame(list(self.records(template=template)), max(sizes, default=0))

    def records(self, *, template: bool = False) -> Iterator[Record]:
        """Yield a record for every candidate asked for, in order of number; with `template`, first the template's.

        Raises JournalError, at the first record, if the journal cannot be read.
        """
        shown = [*([self.template] if template and self.template else []), *self.candidates]
        calls = calls_by_candidate(self.folder.journal)
        for each in shown:
            tokens = token_sums(calls[each.candidate])
            yield Record(**vars(each), gap=self.gap(each.score), score_source=self.score_source, tokens=tokens)

    def __repr__(self) -> str:
        best = None if self.best is None else self.state.leader
        gap = None if best is None else self.gap(best.score)
        name = "the template" if best is self.state.template else f"candidate {best.candidate}" if best else ""
        worth = "none feasible" if best is None else f"best {best.score:.6g} ({name})"
        known = mark(self.score_source) + ("" if gap is None else f", gap {100 * gap:.2f} %")
        parts = f"{self.settings.task}, {self.settings.method}, seed {self.settings.seed}"
        return f"<run {self.folder.run}: {parts}; {self.state.asked} candidates, {worth}{known}>"


def _refuse_different_problems(runs: Sequence[Run]) -> None:
    """Raise UsageError if runs have different tasks or instances, or two runs have one name."""
    tasks = sorted({run.settings.task for run in runs})
    if len(tasks) > 1:
        raise UsageError(f"programs of different tasks make no portfolio: {', '.join(tasks)}")
    if len({run.instances for run in runs}) > 1:
        known = ", ".join(f"{run.folder.run} ({run.instances[:8] or 'unknown'})" for run in runs)
        said = f"programs of runs on different instances of {tasks[0]} make no portfolio"
        raise UsageError(f"{said}; name runs whose instances have one hash: {known}")
    if len({run.folder.run for run in runs}) < len(runs):
        folders = ", ".join(str(run.folder.path) for run in runs)
        raise UsageError(f"a portfolio names each program by its run; name runs of different names, not {folders}")
