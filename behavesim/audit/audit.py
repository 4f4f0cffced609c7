"""Check a journal's events: derive the one that should come next, and say how the recorded one differs.

`Audit` derives decisions, replies and programs again. No decision leads to starts, forks, resumes, stops, clock
readings, and people's programs and advice. These are checked for contradictions: most of what they say came from
outside, so a journal cannot prove it. docs/explanation/durability.md lists what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from behavesim.base.config import Settings, differences
from behavesim.base.errors import JournalError, PartError, TaskError
from behavesim.base.text import one_line
from behavesim.engine.admission import method_of_run
from behavesim.engine.caps import is_capped
from behavesim.engine.due import Allowed, Rules, next_decision
from behavesim.engine.outcome import fail_incomparable, program_of_reply, reply_with_program
from behavesim.engine.tuning import derived_reply, untuned
from behavesim.programs.extract import form_of
from behavesim.programs.reading import Program
from behavesim.proposers.proposer import proposer_type
from behavesim.sandbox.isolation import LEVELS
from behavesim.state.advice import LONGEST
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    INJECTED,
    TEMPLATE,
    TUNE,
    Advised,
    Asked,
    CandidateId,
    ClockRead,
    Evaluated,
    Event,
    Injected,
    NoteAsked,
    Prompt,
    Regrouped,
    Rejected,
    Responded,
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
)
from behavesim.state.state import RunState
from behavesim.task import Task
from behavesim.task.verdict import Failure, Verdict


class Audit:
    """Checks the events of one run: takes them in order and derives each decision again from the events before it."""

    def __init__(self, settings: Settings, task: Task, later: Settings | None = None) -> None:
        """Begin an audit, before any event, under the `settings` at the run's start or at a fork.

        later: the settings in the run's folder now, with which a later session may have had a cap that ended asking.
        """
        self.state = RunState(task.objective)
        self._task = task
        self._settings = settings
        self._method = method_of_run(settings, task)
        self._behaviours = Behaviours.of_run(settings, task, self._method.uses_behaviour)
        self._rules = Rules.of(settings, task)
        self._is_capped = is_capped(settings) or (later is not None and is_capped(later))
        self._tried: dict[str, CandidateId] = {}  # by a program's text, the first candidate with it

    @property
    def race(self) -> int:
        """The number of further instances on which candidates are judged."""
        return self._settings.race

    def take(self, event: Event) -> None:
        """Fold an event into the audit's state; raises JournalError if it cannot follow those before it."""
        self.state.apply(event)
        if isinstance(event, RunForked):  # results from before a fork are not reused after it
            self._tried.clear()
        elif isinstance(event, Evaluated | Rejected) and event.source:
            self._tried.setdefault(event.source, event.candidate)
        self._behaviours.apply(event, self.state.members)

    def due(self, event: Event) -> Event | None:
        """Return the decision that the run had to take where `event` was recorded; None if none was due there."""
        # Two things cannot be derived and are taken from the journal: when a cap ended asking and repairing, and how
        # far a budget was raised later. JournalError if the method fails after these events.
        try:
            decided = next_decision(self.state, self._behaviours, self._method, self._rules, self._permits(event))
            return decided[0] if decided else None
        # a forged or damaged journal can bring the method into a state that it never has in a run
        except (LookupError, ValueError, AssertionError, AttributeError, TypeError, PartError, TaskError) as error:
            raise JournalError(f"nothing can be decided after the events before it: {type(error).__name__}") from error

    def with_comparison_checked(self, verdict: Verdict | Failure) -> Verdict | Failure:
        """Return `verdict`, or the failure that the search records if its trajectories cannot be compared."""
        return fail_incomparable(verdict, self._behaviours)

    def reply(self, event: Responded) -> Responded:
        """Return the reply that the journal should hold: that of no model is derived, any other is `event`.

        Where the machine tuned numbers, it follows from the recorded scores of the trials: these are not run again.
        """
        candidate = self.state.open.get(event.candidate)
        if candidate is None or candidate.asked.prompt.operator not in (INJECTED, TUNE):
            return event
        if candidate.asked.prompt.operator == INJECTED:
            return reply_with_program(candidate.asked)
        if not self._settings.tune:
            return untuned(event.candidate)
        return derived_reply(self._task, self._settings, event, candidate, self.state.budget)

    def contradiction(self, event: Event) -> str:
        """Return, for people, the first thing that an event of the run should contain and lacks; "" if none."""
        repeats_run = proposer_type(self._settings.proposer).repeats_run
        return contradiction(event, self.state, 0.0 if repeats_run else self._method.clock_every_s)

    def tried(self, candidate: CandidateId, program: Program) -> CandidateId | None:
        """Return the candidate whose result `candidate` has to copy; None if its program has to be run."""
        # It is the first since the last fork whose program has exactly this text. A candidate that was asked for again
        # and answered with the same text copies nothing: its program is run once more.
        first = self._tried.get(program.source)
        return None if first == candidate else first

    def program(self, event: Evaluated | Rejected) -> Program | Rejected:
        """Return the program of the outcome's candidate, or its rejection if its reply holds none.

        Raises JournalError if the candidate is not open or has no reply yet.
        """
        if event.candidate == TEMPLATE:
            return Program(self._task.template, "", form_of(self._task).hash(self._task.template))
        candidate = self.state.open.get(event.candidate)
        if candidate is None or candidate.reply is None:
            raise JournalError(f"candidate {event.candidate} has an outcome before it has a reply")
        return program_of_reply(self._task, candidate.asked, candidate.reply, candidate.shown, candidate.idea)

    def _permits(self, event: Event) -> Allowed:
        """Return which decisions the search could take at `event`: the recorded one and what the budget allows."""
        # when a cap ended asking does not follow from the journal: with one, only the recorded decision is allowed
        is_repair = isinstance(event, Asked) and event.candidate in self.state.open
        tunes = isinstance(event, Asked) and event.prompt.operator == TUNE
        asks = isinstance(event, Asked | NoteAsked) and not is_repair and not tunes
        within = self.state.registered_questions < self._settings.budget
        return Allowed(
            regroup=isinstance(event, Regrouped) or within,
            repair=asks or tunes or is_repair or not self._is_capped,
            ask=asks or (not self._is_capped and self.state.questions < self._settings.budget),
            tune=asks or tunes or not self._is_capped,
        )


# Keys of a run's provenance that are derived from the task again and must be equal in its last opening.
MEASURED = ("direction", "best_known")


def contradiction(event: Event, state: RunState, clock_every_s: float) -> str:
    """Return, for people, the first thing that an event should have contained and lacks; "" if there is none.

    clock_every_s: active seconds between restarts of the method; 0 for none, or if an earlier run's readings are used.
    """
    return next(_contradictions(event, state, clock_every_s), "")


def _contradictions(event: Event, state: RunState, clock_every_s: float) -> Iterator[str]:
    match event:
        case RunResumed(asked_again, isolation, unanswered, _, notes_again):
            waiting = tuple(state.unanswered)
            notes = tuple(note.asked.number for note in state.awaited_notes)
            most = len(waiting) + len(notes) if state.under_way is None else state.under_way
            if asked_again != waiting:
                yield f"asked_again={waiting}, the candidates that were not answered"
            if notes_again != notes:
                yield f"notes_again={notes}, the notes that were not answered"
            if not 0 <= unanswered <= most or (state.under_way is not None and unanswered not in (0, most)):
                yield f"unanswered of 0 to {most}, as many as were under way"
            if isolation not in LEVELS:
                yield f"isolation of {', '.join(LEVELS)}"
        case RunStopped(reason, under_way):
            is_done = state.questions >= state.budget and not state.open
            if reason == "budget" and not is_done:
                asked = f"{state.questions} of {state.budget} candidates were asked for"
                yield f"another reason: {asked}, and {len(state.open)} are open"
            # a prompt that was sent several times may be billed as often: no limit follows from the journal
            if under_way is not None and (under_way < 0 or (under_way and not state.waiting)):
                yield "under_way of 0" if not state.waiting else "under_way of 0 or more"
        case ClockRead(active_s, registered) if clock_every_s:
            if registered != state.registered + 1:
                yield f"registered={state.registered + 1}, the next registration"
            if active_s // clock_every_s <= state.last_reading_s // clock_every_s:
                yield f"active_s in a period of {clock_every_s:g} s after {state.last_reading_s:g} s"
        case Injected(name) | Advised(name):
            if name in state.brought_names:
                yield f"another name than {name!r}, which a program or advice has already"
            if isinstance(event, Advised) and event.text != one_line(event.text, LONGEST):
                yield f"a text of one line, of at most {LONGEST} characters"
        case RunStarted(_, _, isolation):
            if isolation not in LEVELS:
                yield f"isolation of {', '.join(LEVELS)}"


def opening_contradictions(
    event: RunStarted | RunForked, opened: Settings, now: Settings, is_resumed: bool, origin: dict[str, str]
) -> Iterator[str]:
    """Yield, for people, what the last start or fork of a run should have contained and lacks.

    opened: the settings recorded in `event`. now: those of settings.toml. is_resumed: whether the run was ever resumed,
    so that adjustable settings may have changed. origin: the provenance as derived from the task now.
    """
    for key in MEASURED:
        if key in event.provenance and event.provenance[key] != origin.get(key):
            yield f"provenance {key}={origin.get(key)!r}, as the task has it now"
    # a journal without the key is an older one, of a trusted task; one that lost it must not pass for trusted
    if event.provenance.get("score_source", "trusted") != (source := origin.get("score_source", "trusted")):
        yield f"provenance score_source={source!r}, as the task has it now"
    moved = differences(opened.model_copy(update={"budget": now.budget, "task": now.task}), now)
    if not is_resumed:
        ours, theirs = opened.flat(), now.flat()
        moved = {
            key: (ours.get(key), value) for key, value in theirs.items() if key != "task" and ours.get(key) != value
        }
    elif opened.budget > now.budget:
        moved["budget"] = opened.budget, now.budget
    for key, (_, value) in moved.items():
        yield f"setting {key}={value!r}, as in settings.toml"


# Most characters of a value in a discrepancy; longer texts are cut and end with "…".
SHOWN = 160


@dataclass(frozen=True)
class Discrepancy:
    """An event of a journal that does not follow from those before it."""

    # The event's number in the journal, from 1.
    seq: int
    # The name of the event's class, such as "Evaluated".
    event: str
    # The candidate of the event; None if the event belongs to no candidate.
    candidate: CandidateId | None
    # What the event should hold, for people.
    expected: str
    # What the event holds, for people; at most about `SHOWN` characters of each value.
    recorded: str


def make_discrepancy(seq: int, expected: str, recorded: Event) -> Discrepancy:
    """Return the discrepancy of event `seq`, for which `expected` says what should be there."""
    return Discrepancy(seq, type(recorded).__name__, getattr(recorded, "candidate", None), expected, _brief(recorded))


def discrepancy(seq: int, expected: Event | None, recorded: Event) -> Discrepancy | None:
    """Return how event `seq` differs, field by field, from the one expected (None: no event was due); None if equal."""
    if expected == recorded:
        return None
    if expected is None or type(expected) is not type(recorded):
        return make_discrepancy(seq, "nothing yet" if expected is None else _brief(expected), recorded)
    names = [f.name for f in fields(expected) if getattr(expected, f.name) != getattr(recorded, f.name)]
    pairs = [_apart(name, getattr(expected, name), getattr(recorded, name)) for name in names]
    ours, theirs = (", ".join(texts) for texts in zip(*pairs, strict=True))
    return replace(make_discrepancy(seq, ours, recorded), recorded=theirs)


def _apart(name: str, ours: Any, theirs: Any) -> tuple[str, str]:
    """Return the field `name` of two events as "name=value": as derived (`ours`), then as recorded (`theirs`)."""
    # Two different texts begin 20 characters before their first difference, or it would be cut off. Of two mappings,
    # such as metrics, the items that differ are shown, of two prompts with one operator only the texts.
    if isinstance(ours, Prompt) and isinstance(theirs, Prompt) and ours.operator == theirs.operator:
        ours, theirs = ours.text, theirs.text
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        equal = {key for key in ours if key in theirs and ours[key] == theirs[key]}
        ours, theirs = ({key: each[key] for key in each if key not in equal} for each in (ours, theirs))
    start = 0
    if isinstance(ours, str) and isinstance(theirs, str):
        same = (k for k, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b)
        start = max(0, next(same, min(len(ours), len(theirs))) - 20)
    return f"{name}={_brief(ours, start)}", f"{name}={_brief(theirs, start)}"


def _brief(value: object, start: int = 0) -> str:
    """Return the `repr` of a value, cut after SHOWN characters; a text is shown from index `start` on."""
    text = repr(value[start:] if isinstance(value, str) else value)
    return f"{'…' if start else ''}{text[:SHOWN]}{'…' if len(text) > SHOWN else ''}"
