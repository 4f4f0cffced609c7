"""What came from outside contradicts no event before it: each contradiction is named, and what is sound has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from behavesim.audit.audit import contradiction, opening_contradictions
from behavesim.engine.admission import settings_from_person
from behavesim.state.events import (
    Advised,
    Asked,
    ClockRead,
    Event,
    Injected,
    NotAdded,
    NoteAsked,
    Prompt,
    Rejected,
    Reply,
    Responded,
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
)
from behavesim.state.state import RunState
from behavesim.task import Objective

STARTED = RunStarted({"budget": 2}, {}, "strong")
PROMPT = Prompt("a prompt", "improve")
ASKED = [Asked(number, (), None, PROMPT) for number in range(3)]
ANSWERED = Responded(0, Reply("a reply", "m"))
OVER = [Rejected(0, "extraction", "no-function"), NotAdded(0)]
OTHER_OVER = [replace(ANSWERED, candidate=1), replace(OVER[0], candidate=1), NotAdded(1)]
OPEN = [STARTED, ASKED[0], ASKED[1], ANSWERED]
"""Two candidates were asked for, and one was answered."""


def contradicted(event: Event, *before: Event, every_s: float = 10.0) -> str:
    state = RunState(Objective("minimise"))
    for each in before:
        state.apply(each)
    return contradiction(event, state, every_s)


@pytest.mark.parametrize(
    ("event", "before"),
    [
        (STARTED, []),
        (RunResumed((1,), "strong+"), OPEN),
        (RunResumed((1,), "process", 1), OPEN),
        (RunResumed((1,), "partial", 1, "", (0,)), [*OPEN, NoteAsked(0, (), PROMPT)]),
        (RunResumed((1,), "strong", 2, "", (0,)), [*OPEN, NoteAsked(0, (), PROMPT)]),
        (RunResumed((1,), "strong", 0), [*OPEN, RunStopped("interrupted", 1)]),
        (RunResumed((1,), "strong", 1), [*OPEN, RunStopped("interrupted", 1)]),
        (RunStopped("interrupted", 0), OPEN),
        (RunStopped("interrupted", 1), OPEN),
        (RunStopped("interrupted", 3), OPEN),  # a prompt that was sent again after faults
        (RunStopped("interrupted", None), OPEN),
        (RunStopped("budget"), [*OPEN, *OVER, *OTHER_OVER]),
        (ClockRead(10.0, 1), OPEN),
        (ClockRead(39.0, 1), [*OPEN, ClockRead(29.9, 1)]),
        (Injected("mine", "x = 1"), [*OPEN, Injected("yours", "x = 1")]),
        (Advised("mine", "this"), [*OPEN, Advised("yours", "this")]),
    ],
)
def test_what_can_have_been_so_is_no_contradiction(event: Event, before: list[Event]) -> None:
    assert contradicted(event, *before) == ""


@pytest.mark.parametrize(
    ("event", "before", "said"),
    [
        (RunStarted({"budget": 2}, {}, "stronger"), [], "isolation of process, partial, walled, strong, strong+"),
        (RunResumed((0, 1), "strong"), OPEN, "asked_again=(1,), the candidates that were not answered"),
        (RunResumed((), "strong"), OPEN, "asked_again=(1,), the candidates that were not answered"),
        (RunResumed((1,), "strong", notes_again=(0,)), OPEN, "notes_again=(), the notes that were not answered"),
        (RunResumed((1,), "strong"), [*OPEN, NoteAsked(0, (), PROMPT)], "notes_again=(0,), the notes that were not"),
        (RunResumed((1,), "strong", 2), OPEN, "unanswered of 0 to 1, as many as were under way"),
        (RunResumed((1,), "strong", -1), OPEN, "unanswered of 0 to 1, as many as were under way"),
        (RunResumed((1,), "strong", 3), [*OPEN, NoteAsked(0, (), PROMPT)], "notes_again="),
        (RunResumed((1,), "strong", 3, "", (0,)), [*OPEN, NoteAsked(0, (), PROMPT)], "unanswered of 0 to 2"),
        (RunResumed((0, 1), "strong", 1), [*OPEN[:3], RunStopped("failed", 2)], "unanswered of 0 to 2"),
        (RunResumed((1,), ""), OPEN, "isolation of process, partial, walled, strong, strong+"),
        (RunStopped("budget"), [*OPEN, *OVER], "another reason: 2 of 2 candidates were asked for, and 1 are open"),
        (RunStopped("budget"), [STARTED, ASKED[0], ANSWERED, *OVER], "another reason: 1 of 2 candidates"),
        (RunStopped("interrupted", 1), OPEN[:1], "under_way of 0"),
        (RunStopped("interrupted", -1), OPEN, "under_way of 0 or more"),
        (ClockRead(10.0, 2), OPEN, "registered=1, the next registration"),
        (ClockRead(10.0, 0), OPEN, "registered=1, the next registration"),
        (ClockRead(9.9, 1), OPEN, "active_s in a period of 10 s after 0 s"),
        (ClockRead(29.9, 1), [*OPEN, ClockRead(20.0, 1)], "active_s in a period of 10 s after 20 s"),
        (Injected("mine", "y = 1"), [*OPEN, Injected("mine", "x = 1")], "another name than 'mine'"),
        (Advised("mine", "two  spaces"), OPEN, "a text of one line"),
        (Advised("mine", "that"), [*OPEN, Advised("mine", "this")], "another name than 'mine'"),
    ],
)
def test_what_cannot_have_been_so_is_named(event: Event, before: list[Event], said: str) -> None:
    assert contradicted(event, *before).startswith(said)


def test_a_clock_that_decides_nothing_may_say_anything() -> None:
    assert contradicted(ClockRead(0.0, 7), *OPEN, every_s=0.0) == ""


SETTINGS = settings_from_person({"task": "tsp", "budget": 20})


def opening(*, is_resumed: bool, origin: dict[str, str] | None = None, **changes: Any) -> list[str]:
    event = RunForked("another", SETTINGS.flat(), {"direction": "minimise", "best_known": "2.0"})
    now = SETTINGS.model_copy(update=changes)
    own = {"direction": "minimise", "best_known": "2.0"} if origin is None else origin
    return list(opening_contradictions(event, SETTINGS, now, is_resumed, own))


def test_an_opening_holds_what_the_task_and_the_settings_say_now() -> None:
    assert opening(is_resumed=False) == opening(is_resumed=True) == []
    maximised = opening(is_resumed=False, origin={"direction": "maximise", "best_known": "2.0"})
    assert maximised == ["provenance direction='maximise', as the task has it now"]
    assert opening(is_resumed=True, origin={"direction": "minimise"}) == [
        "provenance best_known=None, as the task has it now"
    ]


def test_only_a_run_that_was_resumed_may_have_other_adjustable_settings_and_a_larger_budget() -> None:
    assert opening(is_resumed=False, workers=7) == ["setting workers=7, as in settings.toml"]
    assert opening(is_resumed=False, budget=21) == ["setting budget=21, as in settings.toml"]
    assert opening(is_resumed=False, task="elsewhere/tsp.py") == []
    assert opening(is_resumed=True, workers=7, budget=21, task="elsewhere/tsp.py") == []
    assert opening(is_resumed=True, budget=19) == ["setting budget=19, as in settings.toml"]
    assert (
        opening(is_resumed=True, seed=5) == opening(is_resumed=False, seed=5) == ["setting seed=5, as in settings.toml"]
    )
