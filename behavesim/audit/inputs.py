"""Checks of the events that no decision leads to: starts, forks, resumes, stops, clock readings, programs and advice.

Most of what these events say came from outside, so a journal cannot prove it.
docs/explanation/durability.md lists what.
"""

from __future__ import annotations

from collections.abc import Iterator

from behavesim.base.config import Settings, differences
from behavesim.base.text import one_line
from behavesim.sandbox.isolation import LEVELS
from behavesim.state.advice import LONGEST
from behavesim.state.events import Advised, ClockRead, Event, Injected, RunForked, RunResumed, RunStarted, RunStopped
from behavesim.state.state import RunState

MEASURED = ("direction", "best_known")
"""Keys of a run's provenance that are derived from the task again and must be equal in its last opening."""


def contradiction(event: Event, state: RunState, clock_every_s: float) -> str:
    """Return, for people, the first thing that an event should have contained and lacks; empty if there is none.

    state: the fold of all events before it. clock_every_s: active seconds between restarts of the method; 0 if it never
    restarts by the clock, or replays the clock readings of an earlier run.
    """
    return next(_contradictions(event, state, clock_every_s), "")


def _contradictions(event: Event, state: RunState, clock_every_s: float) -> Iterator[str]:
    match event:
        case RunResumed(asked_again, isolation, unanswered, _, notes_again):
            waiting = tuple(number for number, candidate in state.open.items() if candidate.reply is None)
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
            is_done = state.asked >= state.budget and not state.open
            if reason == "budget" and not is_done:
                asked = f"{state.asked} of {state.budget} candidates were asked for"
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
    """Yield, for people, what the last start or fork of a run should have contained; nothing if all is as it should be.

    opened: the settings recorded in `event`. now: those of the run's settings.toml. is_resumed: whether the run was
    ever resumed, so that adjustable settings may have changed and the budget may be larger. origin: the provenance as
    derived from the task now.
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
