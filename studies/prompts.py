"""Study "prompts": which questions a run would have asked under other settings, given the same replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from behavesim.analysis.table import COUNT, FRACTION, SCORE, Column, Table
from behavesim.base.config import OWN, Settings
from behavesim.base.errors import UsageError
from behavesim.base.tokens import estimate_tokens
from behavesim.engine.admission import changed_settings, settings_from_person
from behavesim.engine.due import Allowed, Rules, next_decision
from behavesim.methods.method import method_of
from behavesim.programs.functions import without_docstrings
from behavesim.proposers.replay import question_numbers
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    TEMPLATE,
    TUNE,
    Asked,
    CandidateId,
    Evaluated,
    Event,
    NoteAsked,
    NoteReceived,
    Rejected,
    Reply,
    Responded,
    RunStarted,
)
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.settings import settings_from_journal
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from behavesim.task import Task, TaskReference


@dataclass(frozen=True)
class Asking:
    """One question for a program: its prompt, and what the run knew when it was asked."""

    candidate: CandidateId
    text: str
    improves: bool
    """Whether it shows a program of the run, and so asks for a better one."""
    shows_best: bool
    """Whether all lines of the best program so far that are not the template's are in the prompt."""
    distance: float | None
    """How much worse than the best so far the better parent scores; None for a first question."""
    parents: frozenset[CandidateId]
    """The programs of the run that it was asked about."""
    behind: frozenset[CandidateId]
    """Those of them that score worse than the best so far."""


@dataclass(frozen=True)
class PromptsRow:
    """What was asked of one run's replies under some settings."""

    run: str
    settings: str
    """The changed settings as text, "as recorded" without any."""
    prompts: int
    shows_best: float | None
    """Share of the improving prompts that show the best program's code; None without an improving prompt."""
    distance: float | None
    """Mean distance of the better parent's score to the best so far, in the unit of the score."""
    parent_sets: int
    """Number of different sets of parents in the improving prompts."""
    same_parent: float | None
    """Share of the improving prompts with the parent that is shown most often while another scores better."""
    repeats: int
    """Number of prompts that equal an earlier one word for word."""
    tokens: float
    """Mean tokens of a prompt, estimated at 2 bytes each."""


@dataclass(frozen=True)
class PromptsStudy:
    """One row for each run and set of settings."""

    rows: tuple[PromptsRow, ...]

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{rows: [{run, settings, prompts, shows_best, distance, parent_sets, …}]}`."""
        return {"rows": [vars(row) for row in self.rows]}

    def tables(self) -> tuple[Table, ...]:
        """Return one table: a row for each run and set of settings."""
        columns = (
            Column("run"),
            Column("settings"),
            Column("prompts", COUNT),
            Column("shows_best", FRACTION, "show the best"),
            Column("distance", SCORE, "parent behind best"),
            Column("parent_sets", COUNT, "sets of parents"),
            Column("same_parent", FRACTION, "same weaker parent"),
            Column("repeats", COUNT),
            Column("tokens", COUNT),
        )
        rows = tuple(
            tuple(round(value) if name == "tokens" else value for name, value in vars(row).items()) for row in self.rows
        )
        caption = (
            "show the best: of the prompts that ask for a better program, those with the code of the best so far; "
            "parent behind best: of the better parent, in the unit of the score; same weaker parent: with the parent "
            "that is shown most often beside a better program; repeats: word for word."
        )
        return (Table("prompts", "questions that the same replies lead to", columns, rows, caption),)


@dataclass(frozen=True)
class Recording:
    """What a run's journal holds that another order of questions needs: replies and outcomes."""

    started: RunStarted
    template: Evaluated
    answered: dict[int, tuple[Responded, Evaluated | Rejected]] = field(default_factory=dict)
    """By the number of the question, which leaves out candidates whose numbers were tuned."""
    tuned: dict[str, tuple[Responded, Evaluated | Rejected]] = field(default_factory=dict)
    """Of those candidates, by the text of the program whose numbers were tuned."""
    notes: dict[int, Reply] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: RunFolder) -> Recording:
        """Return the recording of a run; of a repaired candidate the last reply and outcome count.

        Raises JournalError if the journal cannot be read, UsageError if the run has no evaluated template.
        """
        started, template = None, None
        asked, notes = dict[CandidateId, Asked](), dict[int, Reply]()
        replies, outcomes = dict[CandidateId, Responded](), dict[CandidateId, Evaluated | Rejected]()
        for _, _, event in read_events(folder.journal):
            match event:
                case RunStarted():
                    started = started or event
                case Evaluated(candidate) | Rejected(candidate) if candidate != TEMPLATE:
                    outcomes[candidate] = event
                case Evaluated():
                    template = event
                case Asked(candidate):
                    asked[candidate] = event
                case Responded(candidate):
                    replies[candidate] = event
                case NoteReceived(number):
                    notes[number] = event.reply
                case _:
                    pass
        if started is None or template is None:
            raise UsageError(f"run {folder.run} ended before its first question, so it has no replies to give again")
        question = question_numbers(asked.values())
        both = {each: (replies[each], outcome) for each, outcome in outcomes.items()}
        answered = {question[candidate]: each for candidate, each in both.items() if candidate in question}
        tuned = {outcomes[asked[each].parents[0]].source: both[each] for each in both.keys() - question.keys()}
        return cls(started, template, answered, tuned, notes)

    @property
    def length(self) -> int:
        """The number of questions from the first on that have an outcome without a gap."""
        return next(number for number in range(len(self.answered) + 1) if number not in self.answered)

    def answer(self, opened: OpenCandidate) -> tuple[Responded, Evaluated | Rejected]:
        """Return the reply and the outcome of a candidate that is asked for now, by its present number."""
        if not opened.is_tuned:
            reply, outcome = self.answered[opened.question]
        elif opened.shown in self.tuned:
            reply, outcome = self.tuned[opened.shown]
        else:  # nothing is run here, so a program that was never tuned has no better numbers
            fault = "its numbers were not tuned in the recorded run"
            reply = Responded(opened.id, Reply("", TUNE, fault=fault))
            outcome = Rejected(opened.id, "tune", "not-told-apart", fault)
        return replace(reply, candidate=opened.id), replace(outcome, candidate=opened.id)


def study(folders: Sequence[RunFolder], assignments: Sequence[str] = ()) -> PromptsStudy:
    """Return a row for each run as it was recorded and, with `assignments` ("key=value"), one with these settings.

    Raises UsageError for a setting that does not fit, JournalError if a journal cannot be read, and TaskError if a task
    cannot be loaded.
    """
    rows = []
    for folder in folders:
        recording = Recording.of(folder)
        recorded = settings_from_journal(folder.at_hand(recording.started.settings))
        task = TaskReference(recorded.task).load()
        asked = {"as recorded": recorded}
        if assignments:
            asked[", ".join(assignments)] = with_assignments(recorded, assignments, task)
        rows += [
            row_of(folder.run, name, list(ask_again(recording, settings, task))) for name, settings in asked.items()
        ]
    return PromptsStudy(tuple(rows))


def with_assignments(recorded: Settings, assignments: Sequence[str], task: Task) -> Settings:
    """Return a run's settings with "key=value" texts; another method or budget brings its own defaults.

    Raises UsageError for a setting that does not fit.
    """
    changed = changed_settings(recorded, {}, list(assignments))
    if (changed.method, changed.budget) == (recorded.method, recorded.budget):
        return changed
    # which values a person gave is not recorded: those that may follow from the budget are chosen anew
    kept = {name: value for name, value in recorded.flat().items() if name in OWN - {"window", "budget", "method"}}
    begun = {"method": changed.method, "budget": changed.budget}
    given = {name: value for name, value in kept.items() if value is not None} | _given(assignments, begun)
    return settings_from_person(given, task=task)


def _given(assignments: Sequence[str], begun: Mapping[str, Any]) -> dict[str, Any]:
    """Return `begun` and what the texts "key=value" set, by name."""
    import tomllib

    given = dict(begun)
    for text in assignments:
        key, _, value = text.partition("=")
        try:
            given[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            given[key.strip()] = value.strip()
    return given


def ask_again(recording: Recording, settings: Settings, task: Task) -> Iterator[Asking]:
    """Yield the questions of a search under `settings` which get the recorded replies and outcomes, in their order.

    Nothing is run or sent: an outcome follows from the reply alone. A note without a recorded reply is empty, and a
    program whose numbers were not tuned in the recorded run gets no better ones.
    """
    method = method_of(settings, task, takes_notes=True)  # prompts are judged as a model would read them
    state = RunState(task.objective)
    behaviours = Behaviours.of_run(settings, task, method.uses_behaviour)
    rules = Rules(settings.window, repairs=0, tunes=Rules.of(settings, task).tunes)
    budget = min(settings.budget, recording.length)

    def fold(event: Event) -> None:
        state.apply(event)
        behaviours.apply(event, state.members)

    fold(recording.started)
    fold(recording.template)
    known = frozenset(recording.template.source.splitlines())
    while state.registered_questions < budget:
        may_ask = state.questions < budget
        decided = next_decision(state, behaviours, method, rules, Allowed(True, False, may_ask, tune=True))
        if not decided:  # a method that waits for something that this run never had
            return
        for event in decided:
            if isinstance(event, Asked) and event.prompt.operator != TUNE:
                yield _asking(event, state, known)
            fold(event)
            if isinstance(event, Asked):
                for answered in recording.answer(state.open[event.candidate]):
                    fold(answered)
            elif isinstance(event, NoteAsked):
                fold(NoteReceived(event.number, recording.notes.get(event.number, Reply("", "", ()))))


def _asking(event: Asked, state: RunState, known: frozenset[str]) -> Asking:
    """Return a question beside what the run knows; `known` are the lines of the template."""
    parents = [state.members[each] for each in event.parents if each in state.members and each != TEMPLATE]
    text, best = event.prompt.text, state.leader
    improves = bool(parents) and best is not None
    # a near copy of another program is shown by the lines that it has and the other one lacks
    lines = {line.removeprefix(mark) for line in text.splitlines() for mark in ("", "+")}
    # another program as good is as good a base
    bests = [best, *parents] if best is not None else []
    shows = any(each.utility >= bests[0].utility and _own_lines(each, known) <= lines for each in bests)
    distance = best.utility - max(each.utility for each in parents) if improves and best is not None else None
    behind = [each.candidate for each in parents if best is not None and each.utility < best.utility]
    numbers = frozenset(each.candidate for each in parents)
    return Asking(event.candidate, text, improves, improves and shows, distance, numbers, frozenset(behind))


def _own_lines(program: Member, known: frozenset[str]) -> set[str]:
    """Return the lines of a program that the template does not have; of the template all but its long docstrings."""
    # a docstring that every program repeats may be left out of a prompt
    lines = {line for line in program.source.splitlines() if line.strip()}
    return lines - known or lines.intersection(without_docstrings(program.source, program.source).splitlines())


def row_of(run: str, settings: str, asked: Sequence[Asking]) -> PromptsRow:
    """Return what some questions amount to."""
    improving = [each for each in asked if each.improves]
    distances = [each.distance for each in improving if each.distance is not None]
    shown = Counter(parent for each in improving for parent in each.behind)
    return PromptsRow(
        run,
        settings,
        len(asked),
        fmean(each.shows_best for each in improving) if improving else None,
        fmean(distances) if distances else None,
        len({each.parents for each in improving}),
        max(shown.values(), default=0) / len(improving) if improving else None,
        len(asked) - len({each.text for each in asked}),
        fmean(estimate_tokens(each.text) for each in asked) if asked else 0.0,
    )
