"""The replies of a finished run once more, for nothing: other code, other settings of the archive, the same words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

from behavesim.base.errors import ProposerError
from behavesim.proposers.proposer import Errand, Proposer, ProposerSettings, note_number
from behavesim.state.events import INJECTED, Asked, ClockRead, Event, Injected, NoteReceived, Prompt, Reply, Responded
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events


class ReplayProposer(Proposer[ProposerSettings]):
    """Answers each candidate with what a journal holds for it, whatever the prompt is now."""

    costs_money = False
    brings_time = True

    def __init__(self, replies: Mapping[int, Reply], run: str = "the replayed run") -> None:
        """`replies` by number, from the journal of `run`."""
        self._replies = replies
        self._run = run

    @classmethod
    def of(cls, settings: ProposerSettings, errand: Errand) -> Self:
        """The replies of the run that stands behind `replay:`; raises UsageError where there is none."""
        source = RunFolder.find(errand.runs_dir, errand.argument)
        events = [event for _, _, event in read_events(source.journal, only=(Responded, NoteReceived))]
        replies = {event.candidate: event.reply for event in events if isinstance(event, Responded)}
        notes = {note_number(event.number): event.reply for event in events if isinstance(event, NoteReceived)}
        return cls({**replies, **notes}, source.run)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """The reply that the candidate had; raises ProposerError where it had none."""
        if number not in self._replies:
            raise ProposerError(
                f"{self._run} has no reply for candidate {number}; "
                f"it holds {len(self._replies)}, so ask for no more than that with --budget"
            )
        return self._replies[number]


def brought_again(events: Iterable[Event]) -> tuple[Injected | ClockRead, ...]:
    """What came to a run from outside beside its replies: programs that people put in, and the readings of its clock.

    For another run, which takes each of them in at the place that it had.
    """
    known = tuple(events)
    return (*injected_again(known), *(event for event in known if isinstance(event, ClockRead)))


def injected_again(events: Iterable[Event]) -> tuple[Injected, ...]:
    """The programs that people put into a run and that had their turn: for another run, where each has the same."""
    return tuple(
        Injected(f"candidate-{event.candidate}", event.prompt.text, event.candidate)
        for event in events
        if isinstance(event, Asked) and event.prompt.operator == INJECTED
    )
