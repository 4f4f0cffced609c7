"""A finished or running run, read from its journal, for reports, notebooks and other tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.archives import Archives
from behavesim.analysis.candidates import Candidate, Candidates
from behavesim.analysis.told import frame, labelled_matrix
from behavesim.analysis.which import Which, number_of
from behavesim.base.errors import JournalError, UnknownCandidate
from behavesim.base.plugins import failures_named
from behavesim.base.score_source import ScoreSource, mark
from behavesim.state.events import TEMPLATE, Added, CandidateId, Event, NotAdded, Recommended, RunForked, RunStarted
from behavesim.state.provenance import recorded_objective
from behavesim.state.settings import settings_from_journal
from behavesim.state.state import RunState
from behavesim.store.activity import Activity
from behavesim.store.database import count_registered
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events, read_trajectories
from behavesim.task import Task, TaskReference
from behavesim.trajectory import Behaviour

if TYPE_CHECKING:
    import pandas

    from behavesim.analysis.portfolio import Clearing, Portfolio, Scores
    from behavesim.similarity import BehaveSim


class Run:
    """A run as read from its journal: its settings, its state after the last event read, and all candidates."""

    def __init__(self, folder: RunFolder, events: Iterable[tuple[float, Event]], registered: int) -> None:
        """Build the run from its events in order, each with the time of its commit, in seconds since the epoch.

        `registered` is the number of candidates that the whole journal registers by now; it may exceed the first
        budget. Raises JournalError if the first event is not RunStarted, or if an event cannot follow those before it.
        Raises UsageError if recorded settings are invalid.
        """
        self.folder = folder
        self.events_at: list[float] = []
        """The time at which each event read was committed, in the journal's order, in seconds since the epoch."""
        self._candidates = Candidates()
        self._activity = Activity()
        self._behaviours: dict[CandidateId, Behaviour] = {}
        self._ranked: list[Candidate] | None = None
        self._task: Task | None = None
        # The settings come first: without them no later event can be understood.
        pairs = iter(events)
        first = next(pairs, None)
        if first is None or not isinstance(first[1], RunStarted):
            raise JournalError(f"the journal of run {folder.run} does not begin with its settings")
        self.settings = settings_from_journal(first[1].settings)
        self.archives = Archives(max(registered, self.settings.budget))
        self.state = RunState(recorded_objective(first[1].provenance))
        self._take(*first)
        for at, event in pairs:
            self._take(at, event)

    @classmethod
    def load(cls, path: str | Path, until: int | None = None) -> Self:
        """Load a run by the path of its folder or journal, or by its id in the folder `runs` of the current directory.

        The beginning of one id alone is enough. `until` is the number of events that are read; None means all. Raises
        UsageError if no run or several runs match, or if recorded settings are invalid. Raises JournalError if the
        journal cannot be read.
        """
        folder = RunFolder.find(Path("runs"), str(path))
        with closing(read_events(folder.journal)) as events:  # else an event that is refused leaves the file open
            first = ((at, event) for _, at, event in islice(events, until))
            return cls(folder, first, count_registered(folder.journal))

    def follow(self, until: int | None = None) -> None:
        """Update the run by the events committed since the last read, of the first `until` events if it is given.

        Raises JournalError if the journal cannot be read, UsageError if recorded settings are invalid.
        """
        read = len(self.events_at)
        with closing(read_events(self.folder.journal, after=read)) as events:
            for _, at, event in islice(events, None if until is None else max(0, until - read)):
                self._take(at, event)

    @property
    def instances(self) -> str:
        """The hash of the task's instances that the run recorded; "" if it recorded none."""
        return "" if self.state.started is None else self.state.started.provenance.get("instances", "")

    @property
    def score_source(self) -> ScoreSource:
        """Who computed the scores: "trusted" code, or an evaluator beside the programs ("self-reported")."""
        return "trusted" if self.state.started is None else self.state.started.score_source

    @property
    def behaviour(self) -> str | None:
        """What behaviours are taken from (`RunStarted.behaviour`); None if unknown."""
        return None if self.state.started is None else self.state.started.behaviour

    @property
    def active_s(self) -> float:
        """Seconds that the run has been active, without the pauses between its sessions."""
        return self._activity.seconds

    @property
    def template(self) -> Candidate | None:
        """The program that the search starts from, which is not in `candidates`; None until it is evaluated."""
        return self._candidates.get(TEMPLATE)

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates asked for, open and rejected ones included, in the order of asking, without the template."""
        return self._candidates.all()

    @property
    def feasible(self) -> list[Candidate]:
        """The candidates with a score, in the order of asking, without the template."""
        return [candidate for candidate in self.candidates if candidate.status == "feasible"]

    @property
    def best(self) -> Candidate | None:
        """The candidate with the best score so far, the oldest if several have it; None while none is feasible.

        The template does not count.
        """
        ranked = self.ranked()
        return ranked[0] if ranked else None

    @property
    def recommended(self) -> Candidate | None:
        """The program chosen on validation instances, possibly the template; None if none is chosen (yet)."""
        event = self.state.recommended
        return None if event is None or event.choice is None else self._candidates.get(event.choice)

    def candidate(self, which: Which) -> Candidate:
        """Return a candidate by its number, -1 for the template, or by any value that has one.

        Raises UnknownCandidate, a UsageError and a KeyError, if the run has no candidate of this number.
        """
        number = number_of(which)
        program = self._candidates.get(number)
        if program is None:
            asked = f"0 to {self.state.asked - 1}" if self.state.asked else "none yet"
            template = "" if self.template is None else ", and -1 is the template"
            raise UnknownCandidate(f"run {self.folder.run} has no candidate {number}; there are {asked}{template}")
        return program

    def ranked(self) -> list[Candidate]:
        """Return the distinct feasible programs, best score first, each as the first candidate with it.

        Programs are equal if their hashes are; one without a hash, as in old journals, counts as distinct. Among equal
        scores the older candidate comes first. The template is left out.
        """
        if self._ranked is None:
            seen: dict[str, Candidate] = {}
            for candidate in self.feasible:
                # Without a hash, as in old journals, a program counts as its own.
                seen.setdefault(candidate.program_hash or str(candidate.candidate), candidate)
            self._ranked = sorted(seen.values(), key=lambda c: (-self.utility(c), c.candidate))
        return self._ranked.copy()  # callers may sort or cut theirs

    def utility(self, candidate: Candidate) -> float:
        """Return the score of a candidate, negated if scores are minimised: higher is better.

        Raises AssertionError if the candidate is not feasible.
        """
        assert candidate.score is not None, "a feasible candidate has a score"
        return self.state.objective.utility(candidate.score)

    def gap(self, score: float | None) -> float | None:
        """Return a score's gap to the best known score: 0.1 is 10 % worse, negative is better.

        None for None, or if the best known score is unknown or 0.
        """
        return None if score is None else self.state.objective.gap(score)

    def trajectories(self, candidates: Sequence[Which] | None = None) -> list[Behaviour]:
        """Return the behaviour of each of these feasible candidates, in the given order; -1 is the template.

        Candidates are named by number, or by values that have one. None stands for all feasible candidates, in the
        order of asking. A behaviour has for each instance of the search a trajectory, or samples of several. Raises
        UnknownCandidate, JournalError if a candidate is not feasible, or if the journal cannot be read.
        """
        chosen = [each.candidate for each in (self.feasible if candidates is None else map(self.candidate, candidates))]
        fresh = [candidate for candidate in dict.fromkeys(chosen) if candidate not in self._behaviours]
        if fresh:
            self._behaviours.update(zip(fresh, read_trajectories(self.folder.journal, fresh), strict=True))
        return [self._behaviours[candidate] for candidate in chosen]

    def task(self) -> Task:
        """Return the run's task, loaded once; the run's own copy of a task file is used if the file is gone or changed.

        Raises UsageError if the task cannot be loaded.
        """
        if self._task is None:  # loading a user's file may be slow, and every measure needs the task
            self._task = TaskReference(self.folder.with_task_at_hand(self.settings).task).load()
        return self._task

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
        self, candidates: Sequence[Which] | None = None, *, labelled: Literal[False] = False
    ) -> NDArray[np.float64]: ...
    @overload
    def matrix(self, candidates: Sequence[Which] | None = None, *, labelled: Literal[True]) -> pandas.DataFrame: ...
    def matrix(
        self, candidates: Sequence[Which] | None = None, *, labelled: bool = False
    ) -> NDArray[np.float64] | pandas.DataFrame:
        """Return the (N, N) similarities, in [0, 1], of these feasible candidates, of all of them if None.

        Rows and columns are in the order of `trajectories(candidates)`. With `labelled`, the matrix is a data frame
        whose rows and columns have the candidates' numbers. For a matrix that does not fit in memory, use
        `measure().rows(trajectories())`, which yields it in blocks. Raises as `measure` and `trajectories` do, and
        TrajectoryError if the measure fails; ImportError if labelled without pandas.
        """
        chosen = [each.candidate for each in (self.feasible if candidates is None else map(self.candidate, candidates))]
        found = self.measure().matrix(self.trajectories(chosen))
        return labelled_matrix(found, chosen) if labelled else found

    def portfolio(
        self,
        count: int,
        others: Sequence[Run] = (),
        validation: Mapping[tuple[str, CandidateId], Scores | None] | None = None,
    ) -> Portfolio:
        """Return at most `count` programs that behave differently, best first, from this run and others on its task.

        `validation` has scores on validation instances by run and candidate, None for a program that failed there
        (`analysis.portfolio`). This run's measure and radius decide. Raises UsageError if the runs' tasks or instances
        differ, if two runs have one name, if the task cannot be loaded, or if `count` is less than 1. Raises
        JournalError if a journal cannot be read, TrajectoryError if the measure fails.
        """
        from behavesim.analysis.entrants import entrants_of, refuse_different_problems
        from behavesim.analysis.portfolio import portfolio

        refuse_different_problems((self, *others))
        entrants = [entrant for run in (self, *others) for entrant in entrants_of(run)]
        return portfolio(entrants, self.clearing(), count, validation)

    def clearing(self) -> Clearing:
        """Return the rule that chooses programs that behave differently, with the run's measure and radius.

        The radius is the setting `shortlist_radius`. Raises as `measure` does.
        """
        from behavesim.analysis.portfolio import Clearing

        return Clearing(self.state.objective, self.measure(), self.settings.shortlist_radius)

    def to_pandas(self, *, template: bool = False) -> pandas.DataFrame:
        """Return a data frame with a row per candidate, indexed by number; raises ImportError without pandas.

        Its columns are the fields of `Candidate`, then `gap` (a fraction), `prompt_tokens` and `completion_tokens`, of
        all its requests. In place of `scores` there is a column for each instance of the search, from "score.1" on. In
        place of `metrics` there is one for each metric, such as "metrics.length"; NaN where a candidate lacks it. With
        `template`, the first row is the template's, -1. Raises JournalError if the journal cannot be read.
        """
        return frame(self, self.template if template else None)

    def __repr__(self) -> str:
        best = self.best
        gap = None if best is None else self.gap(best.score)
        worth = "none feasible" if best is None else f"best {best.score:.6g} (candidate {best.candidate})"
        known = mark(self.score_source) + ("" if gap is None else f", gap {100 * gap:.2f} %")
        parts = f"{self.settings.task}, {self.settings.method}, seed {self.settings.seed}"
        return f"<run {self.folder.run}: {parts}; {self.state.asked} candidates, {worth}{known}>"

    def _take(self, at: float, event: Event) -> None:
        self.state.apply(event)
        self._activity.take(at, event)
        self._candidates.apply(event)
        self._ranked = None
        self.events_at.append(at)
        match event:
            case Added() | NotAdded():
                self.archives.take(self.state)
            case Recommended(choice, validation) if choice is not None:
                program = self._candidates.get(choice)
                if program is None or program.score is None or validation.get(choice) is None:
                    raise JournalError(f"candidate {choice} is recommended, and has no score to be recommended for")
            case RunForked():  # which may name other settings, and so another task file
                self.settings, self._task = settings_from_journal(event.settings), None
