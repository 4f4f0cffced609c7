"""Replay: answer each candidate with the reply that it had in an earlier run, at no cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Self

from behavesim.base.errors import ProposerError
from behavesim.proposers.proposer import Errand, Proposer, ProposerSettings, note_number
from behavesim.state.events import INJECTED, Asked, ClockRead, Event, Injected, NoteReceived, Prompt, Reply, Responded
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events


class ReplayProposer(Proposer[ProposerSettings]):
    """Answers each candidate with its reply in a journal, even if the prompt differs now."""

    costs_money = False
    brings_time = True

    def __init__(self, replies: Mapping[int, Reply], run: str = "the replayed run") -> None:
        """Take the replies, keyed by the candidate's number, and the name of the run they come from."""
        self._replies = replies
        self._run = run

    @classmethod
    def of(cls, settings: ProposerSettings, errand: Errand) -> Self:
        """Read the replies of the run named after `replay:`; raises UsageError if it does not exist."""
        source = RunFolder.find(errand.runs_dir, errand.argument)
        events = [event for _, _, event in read_events(source.journal, only=(Responded, NoteReceived))]
        replies = {event.candidate: event.reply for event in events if isinstance(event, Responded)}
        notes = {note_number(event.number): event.reply for event in events if isinstance(event, NoteReceived)}
        return cls({**replies, **notes}, source.run)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply that the candidate had; raises ProposerError if it had none."""
        if number not in self._replies:
            raise ProposerError(
                f"{self._run} has no reply for candidate {number}; "
                f"it holds {len(self._replies)}, so ask for no more than that with --budget"
            )
        return self._replies[number]


def brought_again(events: Iterable[Event]) -> tuple[Injected | ClockRead, ...]:
    """Return the injected programs and clock readings of a run, so that a replay can use them at the same places."""
    known = tuple(events)
    return (*injected_again(known), *(event for event in known if isinstance(event, ClockRead)))


def injected_again(events: Iterable[Event]) -> tuple[Injected, ...]:
    """Return the injected programs that were tried, each with its candidate number, for use in another run."""
    return tuple(
        Injected(f"candidate-{event.candidate}", event.prompt.text, event.candidate)
        for event in events
        if isinstance(event, Asked) and event.prompt.operator == INJECTED
    )
