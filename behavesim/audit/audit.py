"""The audit of a journal: which event should follow those before it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from behavesim.audit.inputs import contradiction
from behavesim.base.config import Settings
from behavesim.base.errors import JournalError, PartError, TaskError
from behavesim.engine.admission import method_of_run
from behavesim.engine.caps import is_capped
from behavesim.engine.due import Permits, Rules, due
from behavesim.engine.outcome import extracted, injected_reply, with_comparison_checked
from behavesim.programs.extract import form_of
from behavesim.programs.reading import Program
from behavesim.proposers.installed import proposer_type
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    INJECTED,
    TEMPLATE,
    Asked,
    CandidateId,
    Evaluated,
    Event,
    NoteAsked,
    Prompt,
    Regrouped,
    Rejected,
    Responded,
    RunForked,
)
from behavesim.state.state import RunState
from behavesim.task import Task
from behavesim.task.verdict import Failure, Verdict

SHOWN = 160
"""Most characters of a value in a discrepancy; longer texts are cut and end with "…"."""


@dataclass(frozen=True)
class Discrepancy:
    """An event of a journal that does not follow from those before it."""

    seq: int
    """The event's number in the journal, from 1."""
    event: str
    """The name of the event's class, such as "Evaluated"."""
    candidate: CandidateId | None
    """The candidate of the event; None if the event belongs to no candidate."""
    expected: str
    """What the event should hold, for people."""
    recorded: str
    """What the event holds, for people; at most about `SHOWN` characters of each value."""


class Audit:
    """Checks the events of one run: takes them in order and derives each decision again from the events before it."""

    def __init__(self, settings: Settings, task: Task, later: Settings | None = None) -> None:
        """Begin an audit, before any event, under the `settings` at the run's start or at a fork.

        later: the settings in the run's folder now. A later session may have had a cap on cost, tokens or time that
        `settings` lack; then the audit allows that a cap ended asking. None if there are no later settings.
        """
        self.state = RunState(task.objective)
        self._task = task
        self._settings = settings
        self._method = method_of_run(settings, task)
        self._behaviours = Behaviours.of_run(settings, task, self._method.uses_behaviour)
        self._rules = Rules.of(settings)
        self._is_capped = is_capped(settings) or (later is not None and is_capped(later))
        self._tried: dict[str, CandidateId] = {}  # by a program's text, the first candidate with it

    def take(self, event: Event) -> None:
        """Fold an event into the audit's state; raises JournalError if it cannot follow those before it."""
        self.state.apply(event)
        if isinstance(event, RunForked):  # results from before a fork are not reused after it
            self._tried.clear()
        elif isinstance(event, Evaluated | Rejected) and event.source:
            self._tried.setdefault(event.source, event.candidate)
        self._behaviours.apply(event, self.state.members)

    def due(self, event: Event) -> Event | None:
        """Return the decision that the run had to take where `event` was recorded; None if none was due there.

        It is derived from the events taken so far. Two things cannot be derived and are taken from the journal: when a
        cap ended asking and repairing, and how far a budget was raised later. Raises JournalError if the method fails
        after these events.
        """
        try:
            decided = due(self.state, self._behaviours, self._method, self._rules, self._permits(event))
            return decided[0] if decided else None
        # a forged or damaged journal can bring the method into a state that it never has in a run
        except (LookupError, ValueError, AssertionError, AttributeError, TypeError, PartError, TaskError) as error:
            raise JournalError(f"nothing can be decided after the events before it: {type(error).__name__}") from error

    def with_comparison_checked(self, verdict: Verdict | Failure) -> Verdict | Failure:
        """Return `verdict`, or the failure that the search would record in its place.

        That is a failure if the run needs behaviours, for decisions or prompts, and the verdict's trajectories cannot
        be compared.
        """
        return with_comparison_checked(verdict, self._behaviours)

    def reply(self, event: Responded) -> Responded:
        """Return the reply that the journal should hold.

        For an injected program it is derived from the question. Any other reply came from outside, so it is `event`
        itself.
        """
        candidate = self.state.open.get(event.candidate)
        if candidate is None or candidate.asked.prompt.operator != INJECTED:
            return event
        return injected_reply(candidate.asked)

    def contradiction(self, event: Event) -> str:
        """Return, for people, the first thing that an event of the run, such as a resume, should contain and lacks.

        It is "" if nothing is missing, or for an event that is checked otherwise.
        """
        brings_time = proposer_type(self._settings.proposer).brings_time
        return contradiction(event, self.state, 0.0 if brings_time else self._method.clock_every_s)

    def tried(self, candidate: CandidateId, program: Program) -> CandidateId | None:
        """Return the candidate whose result `candidate` has to copy; None if its program has to be run.

        It is the first one since the last fork whose program has exactly this text. A candidate that was asked for
        again and answered with the same text copies nothing: its program is run once more.
        """
        first = self._tried.get(program.source)
        return None if first == candidate else first

    def program(self, event: Evaluated | Rejected) -> Program | Rejected:
        """Return the program of the outcome's candidate, or its rejection if its reply holds none.

        For the template it is the task's own. Raises JournalError if the candidate is not open or has no reply yet.
        """
        if event.candidate == TEMPLATE:
            return Program(self._task.template, "", form_of(self._task).hash(self._task.template))
        candidate = self.state.open.get(event.candidate)
        if candidate is None or candidate.reply is None:
            raise JournalError(f"candidate {event.candidate} has an outcome before it has a reply")
        return extracted(self._task, candidate.asked, candidate.reply, candidate.shown, candidate.idea)

    def _permits(self, event: Event) -> Permits:
        """Return which decisions the search could take at `event`.

        They are the recorded one and, if no cap could end asking, all that the budget allows.
        """
        is_repair = isinstance(event, Asked) and event.candidate in self.state.open
        asks = isinstance(event, Asked | NoteAsked) and not is_repair
        within = self.state.registered < self._settings.budget
        return Permits(
            regroup=isinstance(event, Regrouped) or within,
            repair=asks or is_repair or not self._is_capped,
            ask=asks or (not self._is_capped and self.state.asked < self._settings.budget),
        )


def misfit(seq: int, expected: str, recorded: Event) -> Discrepancy:
    """Return the discrepancy of the event `recorded`, number `seq`, for which `expected` says what should be there."""
    return Discrepancy(seq, type(recorded).__name__, getattr(recorded, "candidate", None), expected, _brief(recorded))


def discrepancy(seq: int, expected: Event | None, recorded: Event) -> Discrepancy | None:
    """Return how event `seq` differs from the one expected, field by field; None if they are equal.

    expected: None if no event was due.
    """
    if expected == recorded:
        return None
    if expected is None or type(expected) is not type(recorded):
        return misfit(seq, "nothing yet" if expected is None else _brief(expected), recorded)
    names = [f.name for f in fields(expected) if getattr(expected, f.name) != getattr(recorded, f.name)]
    pairs = [_apart(name, getattr(expected, name), getattr(recorded, name)) for name in names]
    ours, theirs = (", ".join(texts) for texts in zip(*pairs, strict=True))
    return replace(misfit(seq, ours, recorded), recorded=theirs)


def _apart(name: str, ours: Any, theirs: Any) -> tuple[str, str]:
    """Return the field `name` of two events as "name=value": as derived (`ours`), then as recorded (`theirs`).

    Values are shortened to about SHOWN characters. Two different texts begin 20 characters before their first
    difference, so that the difference is not cut off. Of two prompts with one operator only the texts are shown.
    """
    if isinstance(ours, Prompt) and isinstance(theirs, Prompt) and ours.operator == theirs.operator:
        ours, theirs = ours.text, theirs.text
    start = 0
    if isinstance(ours, str) and isinstance(theirs, str):
        same = (k for k, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b)
        start = max(0, next(same, min(len(ours), len(theirs))) - 20)
    return f"{name}={_brief(ours, start)}", f"{name}={_brief(theirs, start)}"


def _brief(value: object, start: int = 0) -> str:
    """Return the `repr` of a value, cut after SHOWN characters; a text is shown from index `start` on."""
    text = repr(value[start:] if isinstance(value, str) else value)
    return f"{'…' if start else ''}{text[:SHOWN]}{'…' if len(text) > SHOWN else ''}"
