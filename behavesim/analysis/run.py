"""A finished or running run as its journal tells it, for reports, notebooks and other tools."""

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
from behavesim.search.settings import recorded
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

TENTHS = 10


class Run:
    """A run: its settings, its state as of the last event, and all candidates."""

    def __init__(self, folder: RunFolder, events: Iterable[tuple[float, Event]], registered: int) -> None:
        """`registered` is how many candidates the events register, which may be more than the first budget."""
        self.folder = folder
        self.events_at: list[float] = []
        self._candidates = Candidates()
        self.archives: list[tuple[CandidateId, tuple[tuple[CandidateId, ...], ...]]] = []
        self._activity = Activity()
        self._behaviours: dict[CandidateId, Behaviour] = {}
        self._ranked: list[Candidate] | None = None
        self._task: Task | None = None
        pairs = iter(events)
        first = next(pairs, None)
        if first is None or not isinstance(first[1], RunStarted):
            raise JournalError(f"the journal of run {folder.run} does not begin with its settings")
        self.settings = recorded(first[1].settings)
        self._span = max(registered, self.settings.budget)
        self.state = RunState(_objective(first[1].provenance))
        self._take(*first)
        for at, event in pairs:
            self._take(at, event)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A run by its folder (`runs/<id>`), or by its id below the folder `runs` here.

        Raises UsageError where there is no run, JournalError where its journal cannot be read.
        """
        folder = RunFolder.find(Path("runs"), str(path))
        with closing(read_events(folder.journal)) as events:
            return cls(folder, ((at, event) for _, at, event in events), count_registered(folder.journal))

    def follow(self) -> None:
        """Take in what has been committed since the run was loaded, or followed last."""
        for _, at, event in read_events(self.folder.journal, after=len(self.events_at)):
            self._take(at, event)

    @property
    def instances(self) -> str:
        """The hash of the task's instances, as the run recorded it; empty where it did not."""
        return "" if self.state.started is None else self.state.started.provenance.get("instances", "")

    @property
    def active_s(self) -> float:
        """Seconds the run has been active, the pauses between its sessions left out."""
        return self._activity.seconds

    @property
    def template(self) -> Candidate | None:
        """The program that the search starts from, as a candidate; it is none of `candidates`."""
        return self._candidates.template

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates asked for, in that order."""
        return self._candidates.all()

    @property
    def feasible(self) -> list[Candidate]:
        """The candidates with a score, in the order in which they were asked for."""
        return [candidate for candidate in self.candidates if candidate.status == "feasible"]

    @property
    def best(self) -> Candidate | None:
        """The best candidate so far, the first of several as good; None while none is feasible."""
        ranked = self.ranked()
        return ranked[0] if ranked else None

    @property
    def recommended(self) -> Candidate | None:
        """The program chosen on validation instances; None while none is."""
        event = self.state.recommended
        return None if event is None or event.choice is None else self._candidates.get(event.choice)

    def candidate(self, number: CandidateId) -> Candidate:
        """A candidate by its number, -1 being the template; raises UsageError that says which there are."""
        program = self._candidates.get(number)
        if program is None:
            asked = f"0 to {self.state.asked - 1}" if self.state.asked else "none yet"
            template = "" if self.template is None else ", and -1 is the template"
            raise UsageError(f"run {self.folder.run} has no candidate {number}; there are {asked}{template}")
        return program

    def ranked(self) -> list[Candidate]:
        """The best candidate of each distinct program, best first; programs are equal when their normal forms are."""
        if self._ranked is None:
            seen: dict[str, Candidate] = {}
            for candidate in self.feasible:
                seen.setdefault(candidate.program_hash or str(candidate.candidate), candidate)
            self._ranked = sorted(seen.values(), key=lambda c: (-self.utility(c), c.candidate))
        return self._ranked.copy()

    def utility(self, candidate: Candidate) -> float:
        """The score of a feasible candidate turned so that higher is better."""
        assert candidate.score is not None, "a feasible candidate has a score"
        return self.state.objective.utility(candidate.score)

    def gap(self, score: float | None) -> float | None:
        """A score's gap to the best known, as a fraction; None where either is unknown."""
        return None if score is None else self.state.objective.gap(score)

    def trajectories(self, candidates: Sequence[CandidateId] | None = None) -> list[Behaviour]:
        """What the programs of some feasible candidates do, of all where none are named, one trajectory an instance."""
        chosen = [c.candidate for c in self.feasible] if candidates is None else candidates
        fresh = [candidate for candidate in dict.fromkeys(chosen) if candidate not in self._behaviours]
        if fresh:
            self._behaviours.update(zip(fresh, read_trajectories(self.folder.journal, fresh), strict=True))
        return [self._behaviours[candidate] for candidate in chosen]

    def task(self) -> Task:
        """The run's task, by the run's own copy where its file is gone; raises UsageError where it cannot be had."""
        if self._task is None:  # a file of one's own may read much, and every measure asks for it
            self._task = TaskReference(self.folder.with_task_at_hand(self.settings).task).load()
        return self._task

    def measure(self) -> BehaveSim:
        """The run's own measure, clipped, as people read similarities; no stricter than the run was (`refusal`)."""
        from behavesim.similarity import BehaveSim

        task = self.task()
        with failures_named(type(task), "task"):
            normaliser = task.normaliser
        return BehaveSim(**self.settings.measuring(normaliser), clip=True, strict=False)

    def matrix(self, candidates: Sequence[CandidateId] | None = None) -> NDArray[np.float64]:
        """The (N, N) similarities of some feasible candidates, of all where none are named."""
        return self.measure().matrix(self.trajectories(candidates))

    def rows(self, candidates: Sequence[CandidateId] | None = None, size: int = 256) -> Iterator[NDArray[np.float64]]:
        """The same from top to bottom, (size, N) at a time, for more than fit memory; see `BehaveSim.rows`."""
        return self.measure().rows(self.trajectories(candidates), size)

    def portfolio(
        self,
        count: int,
        others: Sequence[Run] = (),
        validation: Mapping[tuple[str, CandidateId], Scores | None] | None = None,
    ) -> Portfolio:
        """At most `count` programs that behave differently, best first, of this run and of others on its task.

        `validation` is what became of programs on validation instances, by run and candidate (`analysis.portfolio`).
        Raises UsageError for runs on other tasks or instances, or fewer than one program.
        """
        from behavesim.analysis.portfolio import portfolio

        tasks = sorted({run.settings.task for run in (self, *others)})
        if len(tasks) > 1:
            raise UsageError(f"programs of different tasks make no portfolio: {', '.join(tasks)}")
        if len({run.instances for run in (self, *others)}) > 1:
            known = ", ".join(f"{run.folder.run} ({run.instances[:8] or 'unknown'})" for run in (self, *others))
            raise UsageError(
                f"programs of runs on different instances of {tasks[0]} make no portfolio; "
                f"name runs whose instances have one hash: {known}"
            )
        entrants = [entrant for run in (self, *others) for entrant in run.entrants()]
        return portfolio(entrants, self.clearing(), count, validation)

    def entrants(self) -> list[Entrant]:
        """The feasible programs, with what they do, in the order in which they were asked for."""
        from behavesim.analysis.portfolio import Entrant

        feasible = self.feasible
        behaviours = self.trajectories([candidate.candidate for candidate in feasible])
        return [
            Entrant(self.folder.run, each.candidate, each.source or "", each.score, each.scores, behaviour)
            for each, behaviour in zip(feasible, behaviours, strict=True)
            if each.score is not None
        ]

    def clearing(self) -> Clearing:
        """How programs that behave differently are chosen, by the run's own measure and `shortlist_radius`."""
        from behavesim.analysis.portfolio import Clearing

        return Clearing(self.state.objective, self.measure(), self.settings.shortlist_radius)

    def to_pandas(self) -> pandas.DataFrame:
        """Return all candidates as a data frame with one row each, none before any is asked for.

        It needs the `pandas` extra.
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
                self.settings, self._task = recorded(event.settings), None

    def _remember(self) -> None:
        """Keep the islands' members as they are at every tenth of the budget, as it is in the end."""
        if self.state.registered * TENTHS // self._span > len(self.archives):
            islands = tuple(tuple(group.members) for group in self.state.islands.values())
            self.archives.append((self.state.registered, islands))


def _objective(provenance: Mapping[str, str]) -> Objective:
    direction, best_known = provenance.get("direction"), provenance.get("best_known")
    if direction not in get_args(Direction):
        raise JournalError(f"the journal says {direction!r} where it should say which scores are better")
    try:
        known = float(best_known) if best_known else None
    except ValueError:
        raise JournalError(f"the journal says {best_known!r} where the best known score should stand") from None
    return Objective("maximise" if direction == "maximise" else "minimise", known)
