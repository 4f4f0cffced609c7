"""What happens is said once, and what happens in crowds is counted."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from behavesim.base.notices import LoggedNotices, Notice, Notices, Sparing


def test_a_notice_goes_to_the_log_and_stays_to_be_shown() -> None:
    log: list[str] = []
    notices = Notices(log.append)
    notices("waiting 30 s")
    notices("going on")
    assert log == ["waiting 30 s", "going on"]
    assert [notice.text for notice in notices.said] == log
    assert str(notices.said[0]) == f"{notices.said[0].at:%H:%M:%S} waiting 30 s"


def test_who_looks_on_is_told_what_was_said_last_and_then_whatever_comes(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    looking = LoggedNotices(log)
    looking.follow()
    assert looking.said == []
    said = [Notice(datetime(2026, 1, 1, 12, 0, second).astimezone(), f"notice {second}") for second in range(4)]
    log.write_text("".join(f"{notice.logged}\n" for notice in said))
    looking.follow()
    assert looking.said == said
    late = LoggedNotices(log)
    assert late.said == said[-2:]
    with log.open("a") as file:
        file.write(f"by hand\n\n{said[0].logged}")
    late.follow()
    assert late.said == said[-2:]
    with log.open("a") as file:
        file.write(" and the rest\x1b[2J\n")
    late.follow()
    assert [notice.text for notice in late.said[2:]] == ["notice 0 and the rest\\u001b[2J"]


def test_what_happens_again_and_again_is_said_once_a_minute_with_how_often() -> None:
    said: list[str] = []
    now = 0.0
    note_once_a_minute = Sparing(said.append, lambda: now)
    for _ in range(5):
        note_once_a_minute("fault", "it failed")
    note_once_a_minute("given-up prompt", "candidate 3 is given up")
    now = 59.0
    note_once_a_minute("fault", "it failed in another way")
    now = 60.0
    note_once_a_minute("fault", "it failed again")
    now = 120.0
    note_once_a_minute("fault", "and again")
    assert said == [
        "it failed",
        "candidate 3 is given up",
        "it failed again (before it 5 more faults, not shown)",
        "and again",
    ]


def test_a_long_pause_is_said_whenever_it_grows_longer_and_once_for_a_crowd() -> None:
    said: list[str] = []
    now = 0.0
    note_once_a_minute = Sparing(said.append, lambda: now)
    for at, pause in ((0.0, 1.0), (2.0, 5.0), (3.0, 30.0), (3.1, 30.0), (4.0, 20.0), (5.0, 600.0), (34.0, 571.0)):
        now = at
        note_once_a_minute("pause", f"waiting {pause:.0f} s", lasts_s=pause)
    assert said == [
        "waiting 1 s",
        "waiting 30 s (before it 1 more pause, not shown)",
        "waiting 600 s (before it 2 more pauses, not shown)",
    ]


def test_a_pause_that_grows_by_more_than_five_seconds_is_said_again_at_any_time() -> None:
    said: list[str] = []
    now = 1000.0
    note_once_a_minute = Sparing(said.append, lambda: now)
    for at, pause in ((1000.0, 30.0), (1001.0, 34.0), (1002.0, 33.5), (1003.0, 9.0), (1004.0, 60.0)):
        now = at
        note_once_a_minute("pause", f"waiting {pause} s", lasts_s=pause)
    assert said == [
        "waiting 30.0 s",
        "waiting 33.5 s (before it 1 more pause, not shown)",
        "waiting 60.0 s (before it 1 more pause, not shown)",
    ]
