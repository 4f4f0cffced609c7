"""Replay: answer each candidate with the reply that it had in an earlier run, at no cost."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Self

from behavesim.base.errors import ProposerError
from behavesim.proposers.proposer import Proposer, ProposerContext, ProposerSettings
from behavesim.state.events import (
    INJECTED,
    TUNE,
    Advised,
    Asked,
    CandidateId,
    ClockRead,
    Event,
    Injected,
    NoteReceived,
    Prompt,
    Reply,
    Responded,
    note_number,
)
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events


class ReplaySettings(ProposerSettings):
    """The settings of a replay."""

    notes: bool = True
    """Answer requests for notes, such as reflections, with those of the replayed run. If not given, it is as in that
    run; false if its proposer read no prompts."""

    def takes_notes(self) -> bool:
        """Whether the replay answers requests for notes: the setting `notes`."""
        return self.notes


class ReplayProposer(Proposer[ReplaySettings]):
    """Answers each candidate with its reply in a journal, even if the prompt differs now."""

    settings_type = ReplaySettings
    costs_money = False
    repeats_run = True

    def __init__(self, replies: Mapping[int, Reply], run: str = "the replayed run") -> None:
        """`replies` are by the number of the question, a note's by `note_number` (-2 and below).

        `run` names their run in errors.
        """
        self._replies = replies
        self._run = run

    @classmethod
    def of(cls, settings: ReplaySettings, context: ProposerContext) -> Self:
        """Return the proposer with all replies of the run whose id or folder's path is `context.argument`.

        Raises UsageError if there is no such run, and JournalError if its journal cannot be read.
        """
        source = RunFolder.find(context.runs_dir, context.argument)
        events = [event for _, _, event in read_events(source.journal, only=(Asked, Responded, NoteReceived))]
        question = question_numbers(events)
        # Of a candidate that was repaired, the last reply stays: it is the one that counted.
        replies = {
            question[event.candidate]: event.reply
            for event in events
            if isinstance(event, Responded) and event.candidate in question
        }
        notes = {note_number(event.number): event.reply for event in events if isinstance(event, NoteReceived)}
        return cls({**replies, **notes}, source.run)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the last reply to the question or note of this `number`; raises ProposerError if it had none."""
        if number not in self._replies:
            if number < 0:
                raise ProposerError(f"{self._run} has no reply to this request for a note, such as a reflection")
            raise ProposerError(
                f"{self._run} has no reply for question {number}; "
                f"it holds {sum(each >= 0 for each in self._replies)}, so ask for no more than that with --budget"
            )
        return self._replies[number]


def question_numbers(events: Iterable[Event]) -> dict[CandidateId, int]:
    """Return the number of each candidate's question by the candidate: how many were asked for before it.

    Candidates whose numbers the machine tuned have none, and do not count. So the replies of a run that tunes are given
    again in one that does not, and the other way round.
    """
    asked = {event.candidate: event.prompt.operator == TUNE for event in events if isinstance(event, Asked)}
    tuned = sorted(candidate for candidate, is_tuned in asked.items() if is_tuned)
    # by what is missing and not by a count: a damaged journal lacks questions
    return {
        candidate: candidate - bisect_left(tuned, candidate) for candidate, is_tuned in asked.items() if not is_tuned
    }


def brought_again(events: Iterable[Event]) -> tuple[Injected | Advised | ClockRead, ...]:
    """Return what a replay needs from its start: programs, advice and clock readings of the first run."""
    known = tuple(events)
    readings = (event for event in known if isinstance(event, ClockRead))
    return (*repeat_injected(known), *repeat_advice(known), *readings)


def repeat_advice(events: Iterable[Event]) -> list[Advised]:
    """Return the advice in a run's events, as events for another run, where it begins at the same candidate."""
    asked, found = 0, list[Advised]()
    for event in events:
        if isinstance(event, Advised):
            found.append(replace(event, not_before=max(event.not_before, asked)))
        elif isinstance(event, Asked):
            asked = max(asked, event.candidate + 1)  # a repair asks for an earlier candidate again
    return found


def repeat_injected(events: Iterable[Event]) -> tuple[Injected, ...]:
    """Return the injected programs that became candidates in a run, as events for another run.

    Each is named `candidate-N` after candidate N, whose question it takes the place of there, too.
    """
    known = tuple(events)
    question = question_numbers(known)
    return tuple(
        Injected(f"candidate-{event.candidate}", event.prompt.text, question[event.candidate])
        for event in known
        if isinstance(event, Asked) and event.prompt.operator == INJECTED
    )
