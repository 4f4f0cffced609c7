"""The audit of a journal: what should stand in the place of each event, given those before it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from behavesim.audit.inputs import contradiction
from behavesim.base.config import Settings
from behavesim.base.errors import JournalError, PartError
from behavesim.engine.caps import is_capped
from behavesim.engine.due import Permits, Rules, due
from behavesim.engine.outcome import extracted, injected_reply, with_comparison_checked
from behavesim.methods.installed import method
from behavesim.methods.method import Measurement
from behavesim.programs.extract import Program
from behavesim.proposers.installed import proposer_type
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    INJECTED,
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
from behavesim.state.verdict import Failure, Verdict
from behavesim.task import Task

SHOWN = 160
"""Characters of a value that are shown to a person."""


@dataclass(frozen=True)
class Discrepancy:
    """An event that is not what follows from those before it: what was expected of it, and what it holds instead."""

    seq: int
    event: str
    candidate: CandidateId | None
    expected: str
    recorded: str


class Audit:
    """Folds the events of a run and derives each decision anew; it never looks ahead."""

    def __init__(self, settings: Settings, task: Task, later: Settings | None = None) -> None:
        """`later` are settings that the run was resumed under, where they are not those it began with."""
        self.state = RunState(task.objective)
        self._task = task
        self._settings = settings
        self._behaviours = Behaviours.of_run(settings, task)
        self._method = method(settings, task, proposer_type(settings.proposer).writes_text)
        self._rules = Rules.of(settings)
        self._is_capped = is_capped(settings) or (later is not None and is_capped(later))
        self._tried: dict[str, CandidateId] = {}  # the candidate that was run, by the program's text
        self._forms: set[tuple[CandidateId, str]] = set()  # candidates with the normal forms they were tried in

    def take(self, event: Event) -> None:
        """Fold an event; raises JournalError where it cannot follow those before it."""
        self.state.apply(event)
        if isinstance(event, RunForked):  # results from before it are no results of this run
            self._tried.clear()
            self._forms.clear()
        elif isinstance(event, Evaluated | Rejected) and event.source:
            self._tried.setdefault(event.source, event.candidate)
            self._forms.add((event.candidate, event.program_hash))
        if self._behaviours is not None:
            self._behaviours.apply(event, self.state.members)

    def due(self, event: Event) -> Event | None:
        """The decision that was due when the decision `event` was recorded; None where none was.

        How soon a cap ended the asking and repairing, and how far a budget was raised later, is the journal's to say.
        Raises JournalError where no method could decide after such events.
        """
        try:
            decision = due(self.state, self._method, self._rules, self._permits(event))
            return decision.decide(self._behaviours) if isinstance(decision, Measurement) else decision
        except (LookupError, ValueError, AssertionError, AttributeError, TypeError, PartError) as error:
            raise JournalError(f"nothing can be decided after the events before it: {type(error).__name__}") from error

    def with_comparison_checked(self, verdict: Verdict | Failure) -> Verdict | Failure:
        """A verdict as the search would have taken it."""
        return with_comparison_checked(verdict, self._behaviours) if self._method.needs_behaviour else verdict

    def asked(self, event: Responded) -> Asked | None:
        """The question that a reply answers; None where nobody asked it."""
        candidate = self.state.open.get(event.candidate)
        return None if candidate is None else candidate.asked

    def reply(self, event: Responded) -> Responded:
        """What a reply had to be: that of a candidate which a person put in, or whatever a proposer said."""
        asked = self.asked(event)
        return event if asked is None or asked.prompt.operator != INJECTED else injected_reply(asked)

    def contradiction(self, event: Event) -> str:
        """What an event from outside had to hold; empty if nothing contradicts it."""
        brings_time = proposer_type(self._settings.proposer).brings_time
        return contradiction(event, self.state, 0.0 if brings_time else self._method.clock_every_s)

    def tried(self, program: Program) -> CandidateId | None:
        """The candidate that was run with this very text, and whose result all later ones take; None if none was."""
        return self._tried.get(program.source)

    def may_be_older_copy(self, event: Evaluated | Rejected) -> bool:
        """Whether the outcome is a copy as older runs have them: of a program of one normal form, at no CPU time."""
        return event.cpu_s == 0.0 and (event.copy_of, event.program_hash) in self._forms

    def program(self, event: Evaluated | Rejected) -> Program | Rejected:
        """What is in the reply that the outcome `event` goes back to."""
        candidate = self.state.open.get(event.candidate)
        if candidate is None or candidate.reply is None:
            raise JournalError(f"candidate {event.candidate} has an outcome before it has a reply")
        return extracted(self._task, candidate.asked, candidate.reply)

    def _permits(self, event: Event) -> Permits:
        """What was left to decide: what was done was allowed, and where a cap allows an ask it allows a repair."""
        is_repair = isinstance(event, Asked) and event.candidate in self.state.open
        asks = isinstance(event, Asked | NoteAsked) and not is_repair
        within = self.state.registered < self._settings.budget
        return Permits(
            regroup=isinstance(event, Regrouped) or within,
            repair=asks or is_repair or not self._is_capped,
            ask=asks or (not self._is_capped and self.state.asked < self._settings.budget),
        )


def misfit(seq: int, expected: str, recorded: Event) -> Discrepancy:
    """An event that is not what `expected` says in words."""
    return Discrepancy(seq, type(recorded).__name__, getattr(recorded, "candidate", None), expected, _brief(recorded))


def discrepancy(seq: int, expected: Event | None, recorded: Event) -> Discrepancy | None:
    """Where an event is not the one expected; None where it is."""
    if expected == recorded:
        return None
    if expected is None or type(expected) is not type(recorded):
        return misfit(seq, "nothing yet" if expected is None else _brief(expected), recorded)
    names = [f.name for f in fields(expected) if getattr(expected, f.name) != getattr(recorded, f.name)]
    pairs = [_apart(name, getattr(expected, name), getattr(recorded, name)) for name in names]
    ours, theirs = (", ".join(texts) for texts in zip(*pairs, strict=True))
    return replace(misfit(seq, ours, recorded), recorded=theirs)


def _apart(name: str, ours: Any, theirs: Any) -> tuple[str, str]:
    """A field's two values; of long texts from where they part."""
    if isinstance(ours, Prompt) and isinstance(theirs, Prompt) and ours.operator == theirs.operator:
        ours, theirs = ours.text, theirs.text
    start = 0
    if isinstance(ours, str) and isinstance(theirs, str):
        same = (k for k, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b)
        start = max(0, next(same, min(len(ours), len(theirs))) - 20)
    return _shown(name, ours, start), _shown(name, theirs, start)


def _shown(name: str, value: Any, start: int) -> str:
    text = repr(value[start:] if isinstance(value, str) else value)
    return f"{name}={'…' if start else ''}{text[:SHOWN]}{'…' if len(text) > SHOWN else ''}"


def _brief(event: Event) -> str:
    text = repr(event)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
