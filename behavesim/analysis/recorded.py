"""What the journal of a run says: its settings, its state, and its candidates."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Self

from behavesim.analysis.candidates import Candidate, CandidateLike, Candidates, number_of
from behavesim.analysis.summary import Scored
from behavesim.base.errors import JournalError, UnknownCandidate
from behavesim.base.score_source import ScoreSource
from behavesim.state.events import (
    TEMPLATE,
    Added,
    CandidateId,
    Event,
    NotAdded,
    PortfolioChosen,
    Recommended,
    RunForked,
    RunStarted,
)
from behavesim.state.provenance import recorded_objective
from behavesim.state.settings import settings_from_journal
from behavesim.state.state import RunState
from behavesim.store.activity import Activity
from behavesim.store.database import count_registered
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events

MOMENTS = 10
"""Number of equal parts of the budget after each of which `archives` keeps the islands: a figure has room for ten."""


class RecordedRun:
    """A run as its journal describes it: its settings, its state after the last event read, and all candidates."""

    def __init__(self, folder: RunFolder, events: Iterable[tuple[float, Event]], registered: int) -> None:
        """Build the run from its events in order, each with the time of its commit, in seconds since the epoch.

        `registered` is the number of candidates that the whole journal registers by now; it may exceed the first
        budget. Raises JournalError if the first event is not RunStarted, or if an event cannot follow those before it.
        Raises UsageError if recorded settings are invalid.
        """
        self.folder = folder
        # before the journal is read: looked at later, a run that ends in between would seem killed
        self.is_held = folder.is_running()
        """Whether a process held the run's folder just before the journal was last read."""
        self.events_at: list[float] = []
        """The time at which each event read was committed, in the journal's order, in seconds since the epoch."""
        self.last_at = 0.0
        """The time of the last event that is no choice of programs, which can be made long after the run."""
        self._origin: str | None = None  # the id of the first run that the journal was forked from
        self._candidates = Candidates()
        self._activity = Activity()
        self._ranked: list[Candidate] | None = None
        # The settings come first: without them no later event can be understood.
        pairs = iter(events)
        first = next(pairs, None)
        if first is None or not isinstance(first[1], RunStarted):
            raise JournalError(f"the journal of run {folder.run} does not begin with its settings")
        self.settings = settings_from_journal(first[1].settings)
        self.archives: list[tuple[int, tuple[tuple[CandidateId, ...], ...]]] = []
        """Number of candidates registered, and the members of each island, after each tenth of the budget so far."""
        self._budget = max(registered, self.settings.budget)
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
        """Read the events committed since the last read, up to number `until` of the journal, or all if it is None.

        Raises JournalError if the journal cannot be read, UsageError if recorded settings are invalid.
        """
        self.is_held, read = self.folder.is_running(), len(self.events_at)
        with closing(read_events(self.folder.journal, after=read)) as events:
            for _, at, event in islice(events, None if until is None else max(0, until - read)):
                self._take(at, event)

    @property
    def started(self) -> RunStarted:
        """The settings and versions with which the run was started, or last forked."""
        assert self.state.started is not None, "a journal begins with this event"
        return self.state.started

    @property
    def beginning(self) -> tuple[str, float]:
        """The id of the run that the journal began as, and the time of its first event, in seconds since the epoch.

        A run and all forks of it, and forks of those, have one beginning.
        """
        return self._origin or self.folder.run, self.events_at[0]

    @property
    def instances(self) -> str:
        """The hash of the task's instances that the run recorded; "" if it recorded none."""
        return self.started.provenance.get("instances", "")

    @property
    def score_source(self) -> ScoreSource:
        """Who computed the scores: "trusted" code, or an evaluator beside the programs ("self-reported")."""
        return self.started.score_source

    @property
    def behaviour(self) -> str | None:
        """What programs are compared by: "trajectory", or what an evaluator left, such as "calls"; None if unknown."""
        return self.started.behaviour

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

        The template does not count, though it may score higher: `state.leader` is the best program of all.
        """
        ranked = self.ranked()
        return ranked[0] if ranked else None

    @property
    def recommended(self) -> Candidate | None:
        """The program chosen on validation instances, possibly the template; None if none is chosen (yet)."""
        event = self.state.recommended
        return None if event is None or event.choice is None else self._candidates.get(event.choice)

    def candidate(self, named: CandidateLike) -> Candidate:
        """Return a candidate, named by its number (-1: the template) or by an object with an attribute `candidate`.

        Raises UnknownCandidate, a UsageError and a KeyError, if the run has no candidate of this number. Raises
        UsageError if `named` is neither.
        """
        number = number_of(named)
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

    def scored(self, candidate: Candidate) -> Scored:
        """Return a candidate's number, score and gap; raises AssertionError if it is not feasible."""
        assert candidate.score is not None, "a feasible candidate has a score"
        return Scored(candidate.candidate, candidate.score, self.gap(candidate.score))

    def _take(self, at: float, event: Event) -> None:
        """Apply the journal's next event, committed at the time `at` in seconds since 1970.

        Raises JournalError if the event cannot follow those before it, UsageError if it holds invalid settings.
        """
        self.state.apply(event)
        self._activity.take(at, event)
        self._candidates.apply(event)
        self._ranked = None
        self.events_at.append(at)
        if not isinstance(event, Recommended | PortfolioChosen):
            self.last_at = at
        match event:
            case Added() | NotAdded() if self.state.registered * MOMENTS // self._budget > len(self.archives):
                islands = tuple(tuple(group.members) for group in self.state.islands.values())
                self.archives.append((self.state.registered, islands))
            case Recommended(choice, validation) if choice is not None:
                program = self._candidates.get(choice)
                if program is None or program.score is None or validation.get(choice) is None:
                    raise JournalError(f"candidate {choice} is recommended, and has no score to be recommended for")
            case RunForked():  # which may name other settings, and so another task file
                self.settings = settings_from_journal(event.settings)
                self._origin = self._origin or event.run
                if "direction" in event.provenance:  # the task may know a better score by now
                    self.state.objective = recorded_objective(event.provenance)
