"""The readable events of a damaged run, grouped by kind and divided where the run was forked to other settings."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from behavesim.programs.fences import fenced
from behavesim.proposers.proposer import note_number
from behavesim.proposers.replay import advised_again, injected_again
from behavesim.state.events import (
    INJECTED,
    TEMPLATE,
    Added,
    Advised,
    Asked,
    CandidateId,
    ClockRead,
    Evaluated,
    Event,
    Injected,
    NotAdded,
    NoteReceived,
    Rejected,
    Reply,
    Responded,
    RunForked,
    RunStarted,
)
from behavesim.task.verdict import Failure, Verdict

Arrival = Responded | Evaluated | Rejected
"""A reply or an outcome of a candidate."""

LOST = "lost"
"""Finish reason of a reply that could not be read: its text is empty, or only the program that is known."""


@dataclass
class Salvage:
    """The readable events from the start or a fork of a damaged run to the next fork, in one field for each kind."""

    opening: RunStarted | RunForked | None = None
    """The start or fork that these events follow; None if it cannot be read."""
    template: Evaluated | None = None
    """The template's result; None if it cannot be read or came before an earlier fork."""
    asked: dict[CandidateId, Asked] = field(default_factory=dict)
    """The first question for each candidate; later ones are repairs."""
    replies: dict[CandidateId, list[Reply]] = field(default_factory=lambda: defaultdict(list))
    """The replies to each candidate or note, in order. The key of note n is -2 - n (`note_number`)."""
    verdicts: dict[str, Verdict | Failure] = field(default_factory=dict)
    """The verdict on each program, by its text."""
    sources: dict[CandidateId, str] = field(default_factory=dict)
    """The program text of each candidate whose outcome could be read and has one."""
    injected: list[Injected] = field(default_factory=list)
    """Programs that people injected, in order."""
    advised: list[Advised] = field(default_factory=list)
    """Advice of people, in order; `not_before` is the candidate from which each holds."""
    readings: list[ClockRead] = field(default_factory=list)
    """Readings of the clock, in order."""
    registered: int = 0
    """Number of candidates that were registered: one more than the highest number of one that was.

    Candidates that were asked for and not registered yet have this number or higher ones (see `asks`).
    """
    late: list[Arrival] = field(default_factory=list)
    """Replies and outcomes of candidates not registered yet at the next fork, in order; `stretched` says which."""

    @property
    def asks(self) -> int:
        """How many candidates had been asked for at the end of this part, judging by the events that are left."""
        late = (event.candidate for event in self.late)
        return max((*self.asked, *self.replies, *late, self.registered - 1), default=-1) + 1

    @property
    def injections(self) -> list[Injected]:
        """The injected programs, each with the candidate number before which it must not be asked.

        A program that had already been tried keeps its number; if its question is lost, the number of a reply with
        that program is used. The others are queued after the last candidate.
        """
        again = injected_again(self.asked.values())
        tried = {program.source for program in again}
        replies = [(candidate, reply) for candidate, each in self.replies.items() for reply in each]
        turns = {reply.text: candidate for candidate, reply in replies if reply.model == INJECTED}
        after_all = max((*self.asked, *self.replies), default=-1) + 1
        rest = (each for each in self.injected if each.source not in tried)
        return [*again, *(replace(each, not_before=turns.get(fenced(each.source), after_all)) for each in rest)]

    @classmethod
    def of(cls, events: Iterable[Event]) -> Salvage:
        """Return a Salvage with these events, each in the field for its kind; they must be in the journal's order."""
        known = list(events)
        salvage = cls(advised=advised_again(known))
        for event in known:
            salvage._take(event)
        return salvage

    def _take(self, event: Event) -> None:
        """Put one event into the field for its kind.

        Events must come in the order of the journal, since later ones replace earlier ones.
        """
        match event:
            case RunStarted() | RunForked():
                self.opening = event
            case Injected():
                self.injected.append(event)
            case ClockRead():
                self.readings.append(event)
            case Asked(candidate):
                self.asked.setdefault(candidate, event)  # a later question for the same candidate is a repair
            case Responded(candidate, reply):
                self.replies[candidate].append(reply)
            case NoteReceived(number, reply):
                self.replies[note_number(number)].append(reply)
            case Added(candidate) | NotAdded(candidate):
                self.registered = max(self.registered, candidate + 1)
            case Evaluated() if event.candidate == TEMPLATE:
                self.template = event
            case Evaluated(candidate, source):
                told = event.cpu_s, event.metrics, event.feedback, event.counted_s
                self.verdicts[source] = Verdict(event.score, event.scores, tuple(event.trajectories), *told)
                self.sources[candidate] = source
            case Rejected(candidate, source=source) if source:
                self.verdicts[source] = Failure(event.reason, event.message, event.cpu_s, event.metrics, event.feedback)
                self.sources[candidate] = source


def unbroken(events: Mapping[int, Event]) -> list[Event]:
    """Return the events up to and with the last fork before which no event is missing; empty if there is no such fork.

    events: by their number in the journal, ascending from 1 if none is missing.
    """
    # numbers ascend, so from the first gap on each is larger than its place
    whole = [event for place, (seq, event) in enumerate(events.items(), 1) if seq == place]
    last = max((place for place, event in enumerate(whole, 1) if isinstance(event, RunForked)), default=0)
    return whole[:last]


def stretched(events: Sequence[Event]) -> list[Salvage]:
    """Divide events at each fork and return one Salvage for each part, in order.

    Before a fork, replies and outcomes of candidates that were not registered yet become the `late` of their own part.
    If such a candidate does not have exactly one such reply, for example because of a repair, they move to the next.
    """
    parts: list[list[Event]] = [[]]
    for event in events:
        if isinstance(event, RunForked) and parts[-1]:
            parts.append([])
        parts[-1].append(event)
    stretches, moved = list[Salvage](), list[Event]()
    for number, part in enumerate(parts, 1):
        registered = Salvage.of(part).registered if number < len(parts) else sys.maxsize
        late = [event for event in part if isinstance(event, Arrival) and event.candidate >= registered]
        answered = Counter(event.candidate for event in late if isinstance(event, Responded))
        taken = [event for event in late if answered[event.candidate] == 1]
        salvage = Salvage.of([*moved, *(event for event in part if event not in late)])
        stretches.append(replace(salvage, late=taken))
        moved = [event for event in late if event not in taken]
    return stretches
