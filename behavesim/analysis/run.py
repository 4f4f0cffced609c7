"""A finished or running run, read from its journal, for reports, notebooks and other tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Self, get_args

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.candidates import Candidate, Candidates
from behavesim.base.errors import JournalError, UsageError
from behavesim.base.plugins import failures_named
from behavesim.engine.settings import settings_from_journal
from behavesim.state.events import (
    Added,
    CandidateId,
    Event,
    NotAdded,
    Recommended,
    RunForked,
    RunStarted,
)
from behavesim.state.state import RunState
from behavesim.store.activity import Activity
from behavesim.store.database import count_registered
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events, read_trajectories
from behavesim.task import Direction, Objective, Task, TaskReference
from behavesim.trajectory import Behaviour

if TYPE_CHECKING:
    import pandas

    from behavesim.analysis.portfolio import Clearing, Entrant, Portfolio, Scores
    from behavesim.similarity import BehaveSim

MOMENTS = 10
"""Number of evenly spaced moments of a run at which its islands are kept, for diversity over time."""


class Run:
    """A run: its settings, its state after the last event read, and all candidates."""

    def __init__(self, folder: RunFolder, events: Iterable[tuple[float, Event]], registered: int) -> None:
        """Build the run from its events, each with the time of its commit, in seconds since the epoch.

        `registered` is the number of candidates that the events register; it may exceed the first budget. Raises
        JournalError if the events are not those of a run.
        """
        self.folder = folder
        self.events_at: list[float] = []
        """When each event was committed, in seconds since the epoch."""
        self._candidates = Candidates()
        self.archives: list[tuple[int, tuple[tuple[CandidateId, ...], ...]]] = []
        """The islands' members at every tenth of the budget, with the number of candidates registered then."""
        self._activity = Activity()
        self._behaviours: dict[CandidateId, Behaviour] = {}
        self._ranked: list[Candidate] | None = None
        self._task: Task | None = None
        pairs = iter(events)
        first = next(pairs, None)
        if first is None or not isinstance(first[1], RunStarted):
            raise JournalError(f"the journal of run {folder.run} does not begin with its settings")
        self.settings = settings_from_journal(first[1].settings)
        self._span = max(registered, self.settings.budget)
        self.state = RunState(_objective(first[1].provenance))
        self._take(*first)
        for at, event in pairs:
            self._take(at, event)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a run by its folder (`runs/<id>`), or by its id in the folder `runs` of the current directory.

        Raises UsageError if there is no such run, JournalError if its journal cannot be read.
        """
        folder = RunFolder.find(Path("runs"), str(path))
        with closing(read_events(folder.journal)) as events:
            return cls(folder, ((at, event) for _, at, event in events), count_registered(folder.journal))

    def follow(self) -> None:
        """Read the events committed since the last read; raises JournalError if the journal cannot be read."""
        for _, at, event in read_events(self.folder.journal, after=len(self.events_at)):
            self._take(at, event)

    @property
    def instances(self) -> str:
        """The hash of the task's instances that the run recorded; empty if it did not."""
        return "" if self.state.started is None else self.state.started.provenance.get("instances", "")

    @property
    def active_s(self) -> float:
        """Seconds that the run has been active, without the pauses between its sessions."""
        return self._activity.seconds

    @property
    def template(self) -> Candidate | None:
        """The program that the search starts from, which is not in `candidates`; None until it is evaluated."""
        return self._candidates.template

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates asked for, in the order of asking."""
        return self._candidates.all()

    @property
    def feasible(self) -> list[Candidate]:
        """The candidates with a score, in the order of asking."""
        return [candidate for candidate in self.candidates if candidate.status == "feasible"]

    @property
    def best(self) -> Candidate | None:
        """The best candidate so far, the oldest if scores are equal; None while none is feasible."""
        ranked = self.ranked()
        return ranked[0] if ranked else None

    @property
    def recommended(self) -> Candidate | None:
        """The program chosen on validation instances, possibly the template; None if none is chosen (yet)."""
        event = self.state.recommended
        return None if event is None or event.choice is None else self._candidates.get(event.choice)

    def candidate(self, number: CandidateId) -> Candidate:
        """Return a candidate by its number, -1 for the template; raises UsageError if there is none."""
        program = self._candidates.get(number)
        if program is None:
            asked = f"0 to {self.state.asked - 1}" if self.state.asked else "none yet"
            template = "" if self.template is None else ", and -1 is the template"
            raise UsageError(f"run {self.folder.run} has no candidate {number}; there are {asked}{template}")
        return program

    def ranked(self) -> list[Candidate]:
        """Return the distinct programs, best first, each as the first candidate with it.

        Programs are equal if their normal forms are; among equal scores the older candidate comes first.
        """
        if self._ranked is None:
            seen: dict[str, Candidate] = {}
            for candidate in self.feasible:
                seen.setdefault(candidate.program_hash or str(candidate.candidate), candidate)
            self._ranked = sorted(seen.values(), key=lambda c: (-self.utility(c), c.candidate))
        return self._ranked.copy()

    def utility(self, candidate: Candidate) -> float:
        """Return the score of a feasible candidate, negated if scores are minimised: higher is better."""
        assert candidate.score is not None, "a feasible candidate has a score"
        return self.state.objective.utility(candidate.score)

    def gap(self, score: float | None) -> float | None:
        """Return a score's gap to the best known score, a fraction; None if either is unknown."""
        return None if score is None else self.state.objective.gap(score)

    def trajectories(self, candidates: Sequence[CandidateId] | None = None) -> list[Behaviour]:
        """Return the behaviour of each of these feasible candidates, of all of them if None.

        A behaviour has one trajectory per instance of the search. Raises JournalError if the journal cannot be read.
        """
        chosen = [c.candidate for c in self.feasible] if candidates is None else candidates
        fresh = [candidate for candidate in dict.fromkeys(chosen) if candidate not in self._behaviours]
        if fresh:
            self._behaviours.update(zip(fresh, read_trajectories(self.folder.journal, fresh), strict=True))
        return [self._behaviours[candidate] for candidate in chosen]

    def task(self) -> Task:
        """Return the run's task; the run's own copy of a task file is used if the file is gone or changed.

        Raises UsageError if the task cannot be loaded.
        """
        if self._task is None:  # loading a user's file may be slow, and every measure needs the task
            self._task = TaskReference(self.folder.with_task_at_hand(self.settings).task).load()
        return self._task

    def measure(self) -> BehaveSim:
        """Return BehaveSim with the run's own settings, clipped to [0, 1] and not strict.

        Not strict: what the search accepted is not rejected here. Raises UsageError if the task cannot be loaded.
        """
        from behavesim.similarity import BehaveSim

        task = self.task()
        with failures_named(type(task), "task"):
            normaliser = task.normaliser
        return BehaveSim(**self.settings.measuring(normaliser), clip=True, strict=False)

    def matrix(self, candidates: Sequence[CandidateId] | None = None) -> NDArray[np.float64]:
        """Return the (N, N) similarities, in [0, 1], of these feasible candidates, of all of them if None.

        Raises UsageError if the task cannot be loaded, DistanceError if the measure fails.
        """
        return self.measure().matrix(self.trajectories(candidates))

    def rows(self, candidates: Sequence[CandidateId] | None = None, size: int = 256) -> Iterator[NDArray[np.float64]]:
        """Yield that matrix from top to bottom in blocks of (size, N), if it does not fit in memory.

        Raises as `matrix` does, and TrajectoryError if `size` is not an integer of 1 or more.
        """
        return self.measure().rows(self.trajectories(candidates), size)

    def portfolio(
        self,
        count: int,
        others: Sequence[Run] = (),
        validation: Mapping[tuple[str, CandidateId], Scores | None] | None = None,
    ) -> Portfolio:
        """Return at most `count` programs that behave differently, best first, from this run and others on its task.

        `validation` has scores on validation instances by run and candidate, None for a program that failed there
        (`analysis.portfolio`). This run's measure and radius decide. Raises UsageError if the runs' tasks or instances
        differ, if two runs have one name, or if `count` is less than 1.
        """
        from behavesim.analysis.portfolio import portfolio

        _check_one_problem((self, *others))
        entrants = [entrant for run in (self, *others) for entrant in run.entrants()]
        return portfolio(entrants, self.clearing(), count, validation)

    def entrants(self) -> list[Entrant]:
        """Return the feasible programs with their behaviours, in the order of asking."""
        from behavesim.analysis.portfolio import Entrant

        feasible = self.feasible
        behaviours = self.trajectories([candidate.candidate for candidate in feasible])
        return [
            Entrant(self.folder.run, each.candidate, each.source or "", each.score, each.scores, behaviour)
            for each, behaviour in zip(feasible, behaviours, strict=True)
            if each.score is not None
        ]

    def clearing(self) -> Clearing:
        """Return the rule that chooses programs that behave differently, with the run's measure and radius."""
        from behavesim.analysis.portfolio import Clearing

        return Clearing(self.state.objective, self.measure(), self.settings.shortlist_radius)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with a row per candidate, indexed by number; its columns are the fields of `Candidate`.

        Raises ImportError without the `pandas` extra.
        """
        import pandas

        columns = [field.name for field in fields(Candidate)]
        return pandas.DataFrame([vars(each) for each in self.candidates], columns=columns).set_index("candidate")

    def _take(self, at: float, event: Event) -> None:
        self.state.apply(event)
        self._activity.take(at, event)
        self._candidates.apply(event)
        self._ranked = None
        self.events_at.append(at)
        match event:
            case Added() | NotAdded():
                self._remember()
            case Recommended(choice, validation) if choice is not None:
                program = self._candidates.get(choice)
                if program is None or program.score is None or validation.get(choice) is None:
                    raise JournalError(f"candidate {choice} is recommended, and has no score to be recommended for")
            case RunForked():
                self.settings, self._task = settings_from_journal(event.settings), None

    def _remember(self) -> None:
        """Keep the islands' members at every tenth of the run's final budget."""
        if self.state.registered * MOMENTS // self._span > len(self.archives):
            islands = tuple(tuple(group.members) for group in self.state.islands.values())
            self.archives.append((self.state.registered, islands))


def _check_one_problem(runs: Sequence[Run]) -> None:
    """Check that programs of these runs can be told apart and compared; raises UsageError if they cannot."""
    tasks = sorted({run.settings.task for run in runs})
    if len(tasks) > 1:
        raise UsageError(f"programs of different tasks make no portfolio: {', '.join(tasks)}")
    if len({run.instances for run in runs}) > 1:
        known = ", ".join(f"{run.folder.run} ({run.instances[:8] or 'unknown'})" for run in runs)
        raise UsageError(
            f"programs of runs on different instances of {tasks[0]} make no portfolio; "
            f"name runs whose instances have one hash: {known}"
        )
    if len({run.folder.run for run in runs}) < len(runs):
        folders = ", ".join(str(run.folder.path) for run in runs)
        raise UsageError(f"a portfolio names each program by its run; name runs of different names, not {folders}")


def _objective(provenance: Mapping[str, str]) -> Objective:
    direction, best_known = provenance.get("direction"), provenance.get("best_known")
    if direction not in get_args(Direction):
        raise JournalError(f"the journal says {direction!r} where it should say which scores are better")
    try:
        known = float(best_known) if best_known else None
    except ValueError:
        raise JournalError(f"the journal says {best_known!r} where the best known score should stand") from None
    return Objective("maximise" if direction == "maximise" else "minimise", known)
