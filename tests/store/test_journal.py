"""The journal keeps every event as it was, whole or not at all, and tells a person about it in SQL."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from behavesim.base.errors import JournalError
from behavesim.base.tokens import Usage
from behavesim.state.events import (
    Added,
    Advised,
    Asked,
    ClockRead,
    Compared,
    Evaluated,
    Event,
    Injected,
    NotAdded,
    NoteAsked,
    NoteReceived,
    Prompt,
    Regrouped,
    Rejected,
    Reply,
    Responded,
    RunResumed,
    RunStarted,
    RunStopped,
)
from behavesim.store.codec import decode, encode
from behavesim.store.database import check_time, open_database
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events, read_trajectories
from behavesim.trajectory import Trajectory, pack, unpack
from tests.analysis.journals import feasible, started

TOURS = (Trajectory.prefixes([0, 2, 1]), Trajectory.vectors([[0.0, 1.0], [0.5, 0.25]]))
USAGE = Usage(prompt=100, cached=40, completion=20, reasoning=None)

EVENTS: list[Event] = [
    RunStarted({"islands": 2, "models": {"a": 1.0}}, {"direction": "minimise"}, "strong"),
    Evaluated(-1, "template", 7.0, (7.0,), TOURS[:1]),
    Regrouped({"0": (-1,), "1": (-1,)}),
    Asked(0, (-1,), "0", Prompt("Write “it” – naïvely.", "improve")),
    Asked(1, (-1,), "1", Prompt("again", "improve")),
    Asked(2, (-1,), "1", Prompt("and again", "improve")),
    Responded(0, Reply("```python\n…\n```", "gpt", (USAGE, USAGE), "stop")),
    Responded(1, Reply("", "gpt", ())),
    Rejected(1, "extraction", "empty", "the reply is empty"),
    Evaluated(0, "def f(): ...", 6.25, (6.0, 6.5), TOURS, "a thought", "abc", None, 0.01),
    Compared(0, {"0": 0.5, "1": 1.0}, {-1: 0.25}),
    Added(0, "1", (-1,)),
    NotAdded(1),
    Regrouped({"0": (0,)}),
    Injected("mine.py", "x = 1", 3),
    Advised("a.txt", "Try “k-d trees”.", 3),
    ClockRead(7200.25, 41),
    NoteAsked(0, (0, -1), Prompt("Why?", "reflection")),
    NoteReceived(0, Reply("Because.", "gpt")),
    RunStopped("interrupted"),
    RunResumed((2,), "strong+"),
]


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[SqliteJournal]:
    async with SqliteJournal(tmp_path / "run.db") as opened:
        yield opened


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_survives_its_row(event: Event) -> None:
    assert decode(*encode(event)) == event


async def test_events_are_read_in_the_order_in_which_they_were_appended(journal: SqliteJournal, tmp_path: Path) -> None:
    for event in EVENTS[:5]:
        await journal.append([event])
    await journal.append(EVENTS[5:])
    assert [event for _, _, event in read_events(tmp_path / "run.db")] == EVENTS


async def test_a_batch_is_committed_whole_or_not_at_all(journal: SqliteJournal, tmp_path: Path) -> None:
    await journal.append(EVENTS[:2])
    too_large = NotAdded(2**70)  # no integer of SQLite's
    with pytest.raises(OverflowError):
        await journal.append([EVENTS[2], too_large])
    assert len(list(read_events(tmp_path / "run.db"))) == 2
    await journal.append([EVENTS[2]])
    assert len(list(read_events(tmp_path / "run.db"))) == 3


async def test_an_outcome_is_found_by_its_candidate(journal: SqliteJournal, tmp_path: Path) -> None:
    await journal.append(EVENTS)
    assert await journal.earlier_outcome(0, "def f(): ...") == EVENTS[9]
    assert read_trajectories(tmp_path / "run.db", [0, -1]) == [TOURS, TOURS[:1]]


async def test_the_views_answer_a_person_with_sqlite3(journal: SqliteJournal, tmp_path: Path) -> None:
    await journal.append(EVENTS)
    db = sqlite3.connect(tmp_path / "run.db")
    rows = db.execute(
        "SELECT candidate, status, stage, reason, score, parents, island, model, prompt_tokens FROM candidates"
    )
    assert rows.fetchall() == [
        (0, "feasible", "evaluation", None, 6.25, "[-1]", 1, "gpt", 200),
        (1, "rejected", "extraction", "empty", None, "[-1]", None, "gpt", None),
        (2, "open", None, None, None, "[-1]", None, None, None),
    ]
    assert db.execute("SELECT candidate, score FROM best").fetchall() == [(0, 6.25)]
    assert db.execute("SELECT island, size, highest_score FROM islands").fetchall() == [(0, 1, 6.25), (1, 1, 6.25)]
    assert db.execute("SELECT model, calls, prompt_tokens, reasoning_tokens FROM spend").fetchall() == [
        ("gpt", 2, 200, None)
    ]


async def test_the_views_say_when_candidates_came_and_which_were_the_best(tmp_path: Path) -> None:
    scores, at = (7.0, 5.0, 5.0, 6.0), iter(range(1000))
    async with SqliteJournal(tmp_path / "run.db", wall=lambda: 0.0, steady=lambda: float(next(at))) as journal:
        await journal.append(started())
        for number, score in enumerate(scores):
            await journal.append([*feasible(number, score, program=str(score))])
    with closing(sqlite3.connect(tmp_path / "run.db")) as db:
        assert db.execute("SELECT candidate, best FROM convergence").fetchall() == [
            (0, 7.0),
            (1, 5.0),
            (2, 5.0),
            (3, 5.0),
        ]
        assert db.execute("SELECT candidate, score, copies FROM top").fetchall() == [
            (1, 5.0, 2),
            (3, 6.0, 1),
            (0, 7.0, 1),
        ]
        times = db.execute("SELECT asked_at, responded_at, done_at FROM candidates WHERE candidate = 0").fetchone()
        assert all(each.startswith("1970-01-01 00:00:0") for each in times)


async def test_replies_that_nobody_was_asked_for_are_spent_on_as_nothing(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "run.db") as journal:
        await journal.append([Responded(number, Reply("text", "genetic")) for number in range(3)])
    with closing(sqlite3.connect(tmp_path / "run.db")) as db:
        rows = db.execute("SELECT model, replies, calls, cost_usd, unpriced FROM spend").fetchall()
    assert rows == [("genetic", 3, 0, 0, 0)]


async def test_a_commit_that_has_begun_ends_before_whoever_waits_for_it_is_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    async with SqliteJournal(path) as journal:
        for turns in range(1, 9):
            appending = asyncio.create_task(journal.append([RunStopped("a"), RunStopped("b")]))
            for _ in range(turns):
                await asyncio.sleep(0)
            appending.cancel()
            with suppress(asyncio.CancelledError):
                await appending
            assert sum(1 for _ in read_events(path)) == 3 * turns - 1
            await journal.append([RunStopped("c")])
            assert sum(1 for _ in read_events(path)) == 3 * turns


async def test_a_foreign_lock_holds_up_the_commit_and_nothing_else_on_the_loop(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    async with SqliteJournal(path, patience_s=600.0) as journal:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            appending = [asyncio.create_task(journal.append([event])) for event in EVENTS[:3]]
            for _ in range(20):  # only the loop itself, by going on, can let go of the lock
                await asyncio.sleep(0.001)
            assert not any(task.done() for task in appending)
            assert list(read_events(path)) == []
            other.execute("ROLLBACK")
        await asyncio.gather(*appending)
    assert [event for _, _, event in read_events(path)] == EVENTS[:3]


async def test_a_commit_under_a_foreign_lock_ends_before_its_cancellation_is_raised(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    async with SqliteJournal(path, patience_s=600.0) as journal:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            appending = asyncio.create_task(journal.append(EVENTS[:6]))
            for _ in range(3):
                await asyncio.sleep(0.001)
                appending.cancel()
            await asyncio.sleep(0.001)
            assert not appending.done()
            other.execute("ROLLBACK")
        with pytest.raises(asyncio.CancelledError):
            await appending
        assert [event for _, _, event in read_events(path)] == EVENTS[:6]


async def test_a_journal_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    async with SqliteJournal(path):
        pass
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(JournalError, match="newer behavesim"):
        list(read_events(path))
    with pytest.raises(JournalError, match="newer behavesim"):
        async with SqliteJournal(path):
            pass


async def test_a_damaged_journal_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(JournalError, match="damaged"):
        async with SqliteJournal(path):
            pass


def test_a_blob_that_is_cut_off_is_an_error_and_not_a_shorter_run() -> None:
    blob = pack(TOURS)
    assert unpack(blob) == TOURS
    for end in range(1, len(blob)):
        if end != len(pack(TOURS[:1])):
            with pytest.raises(ValueError, match=r"cut off|traject"):
                unpack(blob[:end])


@pytest.mark.parametrize(
    ("at", "is_one"), [(0.0, True), (253402300799.9, True), (253402300800.0, False), (-0.1, False)]
)
def test_times_are_of_the_years_1970_to_9999(at: float, is_one: bool) -> None:
    if is_one:
        assert check_time(at) == at
    else:
        with pytest.raises(ValueError, match="its time is"):
            check_time(at)


async def test_who_reads_while_the_run_goes_on_sees_what_comes(journal: SqliteJournal, tmp_path: Path) -> None:
    await journal.append(EVENTS[:2])
    with open_database(tmp_path / "run.db") as reader:
        counted = [reader.execute("SELECT count(*) FROM events").fetchone()]
        await journal.append(EVENTS[2:5])
        counted.append(reader.execute("SELECT count(*) FROM events").fetchone())
    assert counted == [(2,), (5,)]


@pytest.mark.parametrize(("may_write", "files"), [(True, 3), (False, 1)])
async def test_reading_needs_no_files_beside_the_journal_where_none_may_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, may_write: bool, files: int
) -> None:
    async with SqliteJournal(tmp_path / "run.db") as journal:
        await journal.append(EVENTS[:2])
    monkeypatch.setattr("behavesim.store.database.os.access", lambda folder, mode: may_write)
    with open_database(tmp_path / "run.db") as reader:
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (2,)
        assert len(list(tmp_path.iterdir())) == files


@pytest.mark.parametrize("clock_s", [-3e8, -0.5, 253402300799.5, 1e12])
async def test_a_clock_that_is_far_off_leaves_a_journal_that_can_be_read(tmp_path: Path, clock_s: float) -> None:
    async with SqliteJournal(tmp_path / "run.db", wall=lambda: clock_s) as journal:
        await journal.append(started())
    assert [event for _, _, event in read_events(tmp_path / "run.db")] == started()
