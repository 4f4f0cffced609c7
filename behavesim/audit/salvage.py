"""What can be read of a damaged run, sorted by its use, and parted where the run was forked to other settings."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from behavesim.programs.fences import fenced
from behavesim.proposers.proposer import note_number
from behavesim.proposers.replay import injected_again
from behavesim.state.events import (
    INJECTED,
    TEMPLATE,
    Added,
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
from behavesim.state.verdict import Failure, Verdict

Arrival = Responded | Evaluated | Rejected


@dataclass
class Salvage:
    """The events that can be read, by what they are good for."""

    opening: RunStarted | RunForked | None = None
    template: Evaluated | None = None
    asked: dict[CandidateId, Asked] = field(default_factory=dict)
    replies: dict[CandidateId, list[Reply]] = field(default_factory=lambda: defaultdict(list))
    verdicts: dict[str, Verdict | Failure] = field(default_factory=dict)
    sources: dict[CandidateId, str] = field(default_factory=dict)
    injected: list[Injected] = field(default_factory=list)
    readings: list[ClockRead] = field(default_factory=list)
    registered: int = 0
    late: list[Arrival] = field(default_factory=list)

    @property
    def asks(self) -> int:
        """How many candidates had been asked for at the end, as far as can be told."""
        late = (event.candidate for event in self.late)
        return max((*self.asked, *self.replies, *late, self.registered - 1), default=-1) + 1

    @property
    def put_in(self) -> list[Injected]:
        """What people put in: what had its turn has it again, the rest comes behind all that was asked for.

        Whose question is lost had its turn where the reply is that program.
        """
        again = injected_again(self.asked.values())
        tried = {program.source for program in again}
        replies = [(candidate, reply) for candidate, each in self.replies.items() for reply in each]
        turns = {reply.text: candidate for candidate, reply in replies if reply.model == INJECTED}
        behind = max((*self.asked, *self.replies), default=-1) + 1
        rest = (each for each in self.injected if each.source not in tried)
        return [*again, *(replace(each, not_before=turns.get(fenced(each.source), behind)) for each in rest)]

    @classmethod
    def of(cls, events: Iterable[Event]) -> Salvage:
        """Sort events by their use."""
        salvage = cls()
        for event in events:
            salvage._take(event)
        return salvage

    def _take(self, event: Event) -> None:
        match event:
            case RunStarted() | RunForked():
                self.opening = event
            case Injected():
                self.injected.append(event)
            case ClockRead():
                self.readings.append(event)
            case Asked(candidate):
                self.asked.setdefault(candidate, event)  # what comes later for it is a repair
            case Responded(candidate, reply):
                self.replies[candidate].append(reply)
            case NoteReceived(number, reply):
                self.replies[note_number(number)].append(reply)
            case Added(candidate) | NotAdded(candidate):
                self.registered = max(self.registered, candidate + 1)
            case Evaluated() if event.candidate == TEMPLATE:
                self.template = event
            case Evaluated(candidate, source):
                if event.copy_of is None:  # in older runs a copy can be of another text
                    verdict = Verdict(event.score, event.scores, tuple(event.trajectories), event.cpu_s)
                    self.verdicts[source] = verdict
                self.sources[candidate] = source
            case Rejected(candidate, source=source) if source:
                if event.copy_of is None:
                    self.verdicts[source] = Failure(event.reason, event.message, event.cpu_s)
                self.sources[candidate] = source


def unbroken(events: Mapping[int, Event]) -> list[Event]:
    """Return the events up to the last fork before which none is missing; none where there is no such fork."""
    kept: list[Event] = []
    last = 0
    for number, (seq, event) in enumerate(events.items(), 1):
        if seq != number:
            break
        kept.append(event)
        last = number if isinstance(event, RunForked) else last
    return kept[:last]


def stretched(events: Sequence[Event]) -> list[Salvage]:
    """Sort events by their use, those from one fork to the next together.

    What arrived before a fork for candidates that were registered after it is `late`: it is taken as it is, at the end
    of its stretch. Replies to a repair are not, and belong to the stretch behind the fork.
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
