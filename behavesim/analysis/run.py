"""A finished or running run, read from its journal, for reports, notebooks and other tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.candidates import (
    Candidate,
    CandidateLike,
    Candidates,
    Record,
    calls_by_candidate,
    frame,
    number_of,
    token_sums,
)
from behavesim.analysis.table import Scored
from behavesim.base.config import Settings
from behavesim.base.errors import JournalError, UnknownCandidate, UsageError
from behavesim.base.plugins import as_part_errors
from behavesim.base.text import ScoreSource, mark
from behavesim.state.events import (
    TEMPLATE,
    Added,
    CandidateId,
    Event,
    FreshBegun,
    FreshScored,
    NotAdded,
    PortfolioChosen,
    Recommended,
    Rejected,
    RunForked,
    RunStarted,
)
from behavesim.state.race import Certificate, mean_error
from behavesim.state.settings import objective_of_run, settings_from_journal
from behavesim.state.state import RunState
from behavesim.store.database import count_questions
from behavesim.store.folder import RunFolder
from behavesim.store.reading import Activity, Waits, read_events, read_trajectories
from behavesim.task import Task, TaskReference
from behavesim.task.calls import call_task, number_from
from behavesim.trajectory import Behaviour

if TYPE_CHECKING:
    import pandas

    from behavesim.analysis.portfolio import Clearing, Portfolio, PortfolioCandidate, Scores
    from behavesim.similarity import BehaveSim


# Number of equal parts of the budget after each of which `archives` keeps the islands: a figure has room for ten.
MOMENTS = 10
# Largest number of programs whose similarities a run keeps: half a megabyte, also where 200 runs are compared.
KEPT = 256


class Run:
    """A run as read from its journal: its settings, its state after the last event read, and all candidates."""

    def __init__(self, folder: RunFolder, events: Iterable[tuple[float, Event]], questions: int) -> None:
        """Build the run from its events in order, each with the time of its commit, in seconds since the epoch.

        `questions` is the number of candidates, without tuned ones, that the whole journal registers by now. Raises
        JournalError if the events do not begin with RunStarted or cannot follow one another, UsageError if recorded
        settings are invalid.
        """
        self.folder = folder
        # before the journal is read: looked at later, a run that ends in between would seem killed
        self.is_held = folder.is_running()
        # when each event read was committed, in the journal's order, in seconds since the epoch
        self.events_at: list[float] = []
        # the time of the last event that is no choice of programs, which can be made long after the run
        self.last_at = 0.0
        self._origin: str | None = None  # the id of the first run that the journal was forked from
        self._candidates = Candidates()
        self._activity = Activity()
        self.waits = Waits()
        """How long the run waited for what."""
        # the active seconds of the run when each candidate had its outcome
        self.decided_s: dict[CandidateId, float] = {}
        self._ranked: list[Candidate] | None = None
        self._behaviours: dict[CandidateId, Behaviour] = {}
        self._task: tuple[Settings, Task] | None = None  # with the settings that name it, which a fork may replace
        # the settings that name the measure, the row of each candidate, and their similarities
        self._kept: tuple[Settings, dict[CandidateId, int], NDArray[np.float64]] | None = None
        # The settings come first: without them no later event can be understood.
        pairs = iter(events)
        first = next(pairs, None)
        if first is None or not isinstance(first[1], RunStarted):
            raise JournalError(f"the journal of run {folder.run} does not begin with its settings")
        self.settings = settings_from_journal(first[1].settings)
        # after each tenth of the budget so far: the number of candidates registered, without tuned ones, which no
        # budget counts, and the members of each island
        self.archives: list[tuple[int, tuple[tuple[CandidateId, ...], ...]]] = []
        self._budget = max(questions, self.settings.budget)
        self.state = RunState(objective_of_run(first[1].provenance))
        self._take(*first)
        for at, event in pairs:
            self._take(at, event)

    @classmethod
    def load(cls, path: str | Path | RunFolder, until: int | None = None) -> Self:
        """Load a run by its folder or journal, or by its id, or the beginning of it, in the folder `runs`.

        A path that `runs` holds, too, names the run there; a RunFolder is taken as it is.
        `until` is the number of events that are read; None means all. Raises UsageError if no run or several runs
        match, or if recorded settings are invalid, JournalError if the journal cannot be read.
        """
        folder = path if isinstance(path, RunFolder) else RunFolder.find(Path("runs"), str(path))
        with closing(read_events(folder.journal)) as events:  # else an event that is refused leaves the file open
            first = ((at, event) for _, at, event in islice(events, until))
            return cls(folder, first, count_questions(folder.journal))

    def follow(self, until: int | None = None) -> None:
        """Read the events committed since the last read, up to number `until` of the journal, or all if it is None."""
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
        """The id of the run that the journal began as, and the time of its first event; all forks of a run share it."""
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

        Raises UnknownCandidate, a UsageError and a KeyError, if the run has none of this number.
        """
        number = number_of(named)
        program = self._candidates.get(number)
        if program is None:
            asked = f"0 to {self.state.asked - 1}" if self.state.asked else "none yet"
            template = "" if self.template is None else ", and -1 is the template"
            raise UnknownCandidate(f"run {self.folder.run} has no candidate {number}; there are {asked}{template}")
        return program

    def ranked(self) -> list[Candidate]:
        """Return the distinct feasible programs without the template, best score first, ties: the older.

        Programs are equal if their hashes are; one without a hash, as in old journals, counts as distinct.
        """
        if self._ranked is None:
            seen: dict[str, Candidate] = {}
            for candidate in self.feasible:
                # Without a hash, as in old journals, a program counts as its own.
                seen.setdefault(candidate.program_hash or str(candidate.candidate), candidate)
            self._ranked = sorted(seen.values(), key=lambda c: (-self.utility(c), c.candidate))
        return self._ranked.copy()  # callers may sort or cut theirs

    def by_behaviour(self) -> list[list[Candidate]]:
        """Return the distinct programs (`ranked`) in groups of equal behaviour, best first, as are those of a group."""
        ranked = self.ranked()
        alike: dict[bytes, list[Candidate]] = {}
        for program, behaviour in zip(ranked, self.trajectories(ranked), strict=True):
            # the trajectories as bytes: equal bytes, equal behaviour, without comparing each pair
            alike.setdefault(behaviour.packed, []).append(program)
        return list(alike.values())

    def utility(self, candidate: Candidate) -> float:
        """Return the score of a feasible candidate, negated if scores are minimised: higher is better."""
        assert candidate.score is not None, "a feasible candidate has a score"
        return self.state.objective.utility(candidate.score)

    def validated_gain(self, candidate: Candidate) -> float | None:
        """Return the gain on the template by which a program was recommended, a fraction; None if it was not tried.

        It is on search and validation instances together, after a race on fresh ones. It is None, too, where template
        and program have scores of other signs, as logarithms may: a share says nothing there.
        """
        event, template = self.state.recommended, self.template
        if event is None or TEMPLATE not in event.worth:
            return None
        ours, base = candidate.score, None if template is None else template.score
        if ours is None or base is None or ours * base < 0:
            return None
        return event.worth.get(candidate.candidate)

    @property
    def certificate(self) -> Certificate | None:
        """What the race on fresh instances says of the recommended program; None without a race that is over."""
        race, event = self.state.fresh, self.state.recommended
        if race is None or event is None or self.state.is_racing:
            return None
        return None if event.choice is None else race.certificate(event.choice)

    def gap(self, score: float | None) -> float | None:
        """Return a score's gap to the best known score: 0.1 is 10 % worse, negative is better.

        None for None, or if the best known score is unknown or 0.
        """
        return None if score is None else self.state.objective.gap(score)

    def scored(self, candidate: Candidate) -> Scored:
        """Return a feasible candidate's number, score and gap, and what is known of the score's error."""
        assert candidate.score is not None, "a feasible candidate has a score"
        error, template = candidate.standard_error, self.state.template
        if error is None and template is not None and candidate.candidate != TEMPLATE and not template.raced:
            error = mean_error(candidate.score, candidate.scores, template, self.state.objective)
        gap = self.gap(candidate.score)
        seen = None if error is None else len(candidate.scores + candidate.raced)
        return Scored(candidate.candidate, candidate.score, gap, standard_error=error, instances=seen)

    def _take(self, at: float, event: Event) -> None:
        self.state.apply(event)
        before = self._activity.seconds
        self._activity.take(at, event)
        self.waits.take(self._activity.seconds - before, event)
        self._candidates.apply(event)
        self._ranked = None
        self.events_at.append(at)
        if not isinstance(event, FreshBegun | FreshScored | Recommended | PortfolioChosen):
            self.last_at = at
        if isinstance(event, Added | NotAdded | Rejected):
            self.decided_s[event.candidate] = self._activity.seconds
        match event:
            case Added() | NotAdded() if self.state.registered_questions * MOMENTS // self._budget > len(self.archives):
                islands = tuple(tuple(group.members) for group in self.state.islands.values())
                self.archives.append((self.state.registered_questions, islands))
            case Recommended(choice, validation) if choice is not None:
                program = self._candidates.get(choice)
                # refused here, where the journal is read: later every screen would have to expect it
                if program is None or program.score is None or validation.get(choice) is None:
                    raise JournalError(f"candidate {choice} is recommended, and has no score to be recommended for")
            case RunForked():  # which may name other settings, and so another task file
                self.settings = settings_from_journal(event.settings)
                self._origin = self._origin or event.run
                if "direction" in event.provenance:  # the task may know a better score by now
                    self.state.objective = objective_of_run(event.provenance)

    def trajectories(self, candidates: Sequence[CandidateLike] | None = None) -> list[Behaviour]:
        """Return the behaviour of each of these feasible candidates, in the given order; None stands for all of them.

        Candidates are named by number (-1: the template), or by values that have one. A behaviour has for each instance
        of the search a trajectory, or samples of several. Raises UnknownCandidate, UsageError if a candidate is not
        feasible, JournalError if the journal cannot be read.
        """
        chosen = self._numbers(candidates)
        fresh = [candidate for candidate in dict.fromkeys(chosen) if candidate not in self._behaviours]
        for candidate in fresh:
            if (status := self.candidate(candidate).status) != "feasible":
                said = f"candidate {candidate} of run {self.folder.run} is {status}, so it has no behaviour"
                raise UsageError(f"{said}; `run.feasible` has those that do")
        if fresh:  # they are most of a journal: what was read once is kept
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
        """Return BehaveSim with the run's own settings, clipped; raises UsageError if the task cannot be loaded."""
        from behavesim.similarity import BehaveSim  # numba takes a second to load

        task = self.task()
        with as_part_errors(type(task), "task"):
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

        With `labelled`, the matrix is a data frame whose rows and columns have the candidates' numbers. For a matrix
        that does not fit in memory, use `measure().rows(trajectories())`, which yields it in blocks. Raises as
        `measure` and `trajectories` do, and TrajectoryError if the measure fails.
        """
        chosen = self._numbers(candidates)
        found = self._similarities(chosen)
        if not labelled:
            return found
        import pandas

        names = pandas.Index(chosen, name="candidate")
        return pandas.DataFrame(found, index=names, columns=names)

    def _similarities(self, chosen: Sequence[CandidateId]) -> NDArray[np.float64]:
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
        return [each.candidate for each in (self.feasible if candidates is None else map(self.candidate, candidates))]

    def portfolio(
        self,
        count: int,
        others: Sequence[Run] = (),
        validation: Mapping[tuple[str, CandidateId], Scores | None] | None = None,
    ) -> Portfolio:
        """Return at most `count` programs that behave differently, best first, from this run and others on its task.

        `validation` has scores on validation instances by run and candidate, None for a program that failed there. This
        run's measure and radius decide. Raises UsageError if the runs' tasks or instances differ, if two runs have one
        name, or if `count` is less than 1; and as `measure` and `trajectories` do.
        """
        from behavesim.analysis.portfolio import portfolio

        runs = (self, *others)
        _refuse_different_problems(runs)
        task = self.task()

        def mean(scores: Sequence[float]) -> float:
            return number_from(task, "mean_score", call_task(task, "mean_score", task.mean_score, scores))

        candidates = [each for run in runs for each in run.portfolio_candidates()]
        return portfolio(candidates, self.clearing(), count, validation, mean)

    def portfolio_candidates(self) -> list[PortfolioCandidate]:
        """Return the feasible candidates with their behaviours, in the order of asking, for `clearing`."""
        from behavesim.analysis.portfolio import PortfolioCandidate

        name = self.folder.run
        return [
            PortfolioCandidate(name, c.candidate, c.source or "", c.score, c.scores, behaviour, c.program_hash)
            for c, behaviour in zip(self.feasible, self.trajectories(), strict=True)
            if c.score is not None
        ]

    def clearing(self) -> Clearing:
        """Return the rule that chooses programs that behave differently, by the setting `shortlist_radius`."""
        from behavesim.analysis.portfolio import Clearing

        return Clearing(self.state.objective, self.measure(), self.settings.shortlist_radius)

    def to_pandas(self, *, template: bool = False) -> pandas.DataFrame:
        """Return a data frame with a row per candidate, indexed by number; raises ImportError without pandas.

        Its columns are the fields of `Candidate`, `gap` (a fraction), `prompt_tokens` and `completion_tokens`. Each
        instance of the search has one, from "score.1" on, and each metric one, such as "metrics.length". A value that a
        candidate lacks is NaN. With `template`, the first row is the template's, -1.
        """
        sizes = [len(each.scores) for each in (self.template, *self.candidates) if each is not None]
        return frame(list(self.records(template=template)), max(sizes, default=0))

    def records(self, *, template: bool = False) -> Iterator[Record]:
        """Yield a record for every candidate asked for, in order of number; with `template`, first the template's."""
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


def distinct_names(named: Sequence[tuple[str, Path]]) -> list[str]:
    """Return the name of each run, given with its folder; the folder's path where runs of other folders have that name.

    Names are unique in one folder of runs alone.
    """
    homes = Counter(name for name, _ in set(named))
    return [name if homes[name] == 1 else str(folder) for name, folder in named]
