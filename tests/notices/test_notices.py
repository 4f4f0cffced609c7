"""What happens is said once, and what happens in crowds is counted."""

from __future__ import annotations

from behavesim.notices import Notices, Sparing


def test_a_notice_goes_to_the_log_and_stays_to_be_shown() -> None:
    log: list[str] = []
    notices = Notices(log.append)
    notices("waiting 30 s")
    notices("going on")
    assert log == ["waiting 30 s", "going on"]
    assert [notice.text for notice in notices.said] == log
    assert str(notices.said[0]) == f"{notices.said[0].at:%H:%M:%S} waiting 30 s"


def test_what_happens_again_and_again_is_said_once_a_minute_with_how_often() -> None:
    said: list[str] = []
    now = 0.0
    sparing = Sparing(said.append, lambda: now)
    for _ in range(5):
        sparing("fault", "it failed")
    sparing("given up", "candidate 3 is given up")
    now = 59.0
    sparing("fault", "it failed")
    now = 60.0
    sparing("fault", "it failed again")
    now = 120.0
    sparing("fault", "and again")
    assert said == [
        "it failed",
        "candidate 3 is given up",
        "it failed again (5 more like it before)",
        "and again",
    ]


def test_a_long_pause_is_said_whenever_it_grows_longer_and_once_for_a_crowd() -> None:
    said: list[str] = []
    now = 0.0
    sparing = Sparing(said.append, lambda: now)
    for at, pause in ((0.0, 1.0), (2.0, 5.0), (3.0, 30.0), (3.1, 30.0), (4.0, 20.0), (5.0, 600.0), (34.0, 571.0)):
        now = at
        sparing("pause", f"waiting {pause:.0f} s", lasts_s=pause)
    assert said == ["waiting 1 s", "waiting 30 s (1 more like it before)", "waiting 600 s (2 more like it before)"]
