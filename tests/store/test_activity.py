"""How long a run has been active is told by the times of its events, and by its own clock."""

from __future__ import annotations

from behavesim.state.events import (
    ClockRead,
    Event,
    NotAdded,
    Recommended,
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
)
from behavesim.store.reading import Activity

SESSION: list[tuple[float, Event]] = [
    (10.0, RunStarted({}, {}, "strong")),
    (15.0, NotAdded(0)),
    (16.0, RunStopped("budget")),
    (90.0, Recommended(None, {})),
]


def active_s(*events: tuple[float, Event]) -> float:
    activity = Activity()
    for at, event in events:
        activity.take(at, event)
    return activity.seconds


def test_only_time_in_which_a_run_was_going_on_is_active() -> None:
    resumed, forked = RunResumed((), "strong"), RunForked("other", {}, {})
    assert active_s(*SESSION) == 6.0
    assert active_s(*SESSION, (50.0, resumed), (53.0, NotAdded(1))) == 9.0
    assert active_s(*SESSION, (99.0, forked), (100.0, resumed), (101.0, NotAdded(1))) == 7.0
    assert active_s() == 0.0


def test_a_run_is_as_old_as_its_clock_says_where_its_events_are_younger() -> None:
    assert active_s(*SESSION[:1], (11.0, ClockRead(7200.0, 3)), (12.0, ClockRead(14400.0, 9))) == 14400.0
    assert active_s(*SESSION[:1], (11.0, ClockRead(0.5, 3)), (19.0, NotAdded(0))) == 9.0
